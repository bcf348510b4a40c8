"""Read the dump of a cluster, and find where in git the jobs of a side come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import BinaryIO

from trainc.api.arguments import Arguments
from trainc.api.cluster import Dump
from trainc.api.documents import Document
from trainc.api.explained import Recorder, explanation
from trainc.api.findings import Diagnostic, Path, Source
from trainc.api.kube import NEWEST_RELEASE, Manifest
from trainc.api.records import replace
from trainc.explain.placing import source_of
from trainc.features import ask
from trainc.features.diff.delivery import chosen_method
from trainc.features.diff.live import InGit, LiveDiff, compare_live
from trainc.features.diff.manifests import ManifestSet
from trainc.features.diff.sides import ReadSide
from trainc.features.diff.waiting import Wait
from trainc.kube.live_objects import state_of
from trainc.output.ownership import source_in

_Key = tuple[str, str]


def compare_with_dump(
    deployed: ReadSide, coming: ReadSide, arguments: Arguments, stdin: BinaryIO
) -> tuple[LiveDiff | None, list[Diagnostic]]:
    """Compare what git has with the dump that --live names; None if the dump cannot be read."""
    dump, problems = Dump.read(arguments.live, coming.options.limits, stdin)
    if dump is None:
        return None, problems
    namespace = coming.options.namespace or ""
    sides = in_git(deployed.found, namespace), in_git(coming.found, namespace)
    sides = replace(sides[0], judged=_judged(sides[0], dump, coming.options.kueue)), sides[1]
    release = coming.options.release or NEWEST_RELEASE
    method = chosen_method(coming.options)
    found = compare_live(*sides, dump, method, release)
    return replace(found, git=deployed.label, dump=arguments.live), problems


def in_git(found: ManifestSet, namespace: str) -> InGit:
    """A side with the places of its jobs. Objects without a namespace are in `namespace`."""
    rendered = {(key[0] or namespace, key[1]): document for key, document in found.rendered.items()}
    sources = {key: source for key, document in rendered.items() if (source := _source_of_file(document.file))}
    locate = _in_sources(found) if found.session is not None else _in_rendered(rendered)
    manifests = [_in_namespace(manifest, namespace) for manifest in found.manifests]
    return InGit(manifests, found.names, locate, {**sources, **found.sources})


def _judged(deployed: InGit, dump: Dump, kueue: str | None) -> dict[_Key, list[Wait]]:
    """Why the queues in the dump can never admit JobSets that are suspended; nothing if the dump has no queues."""
    judge = ask("fits", "never")
    if judge is None or not dump.of("ClusterQueue"):
        return {}
    waiting = []
    for manifest in deployed.manifests:
        if manifest["kind"] == "JobSet":
            metadata = manifest["metadata"]
            live = dump.get("JobSet", str(metadata.get("namespace") or ""), str(metadata["name"]))
            if live is not None and state_of(live)[0] == "suspended":
                waiting.append(manifest)
    return {
        key: [Wait("trainc fits", one.code, one.message, one.path) for one in findings]
        for key, findings in judge(waiting, dump, kueue).items()
    }


def _in_namespace(manifest: Manifest, namespace: str) -> Manifest:
    metadata = manifest["metadata"]
    if not namespace or metadata.get("namespace"):
        return manifest
    return {**manifest, "metadata": {**metadata, "namespace": namespace}}


def _source_of_file(file: str) -> str:
    """The source that the first line of a rendered file names; empty if there is none."""
    try:
        return source_in(file) or ""
    except OSError:
        return ""


def _in_rendered(documents: Mapping[_Key, Document]) -> Callable[[_Key, Path], str]:
    def locate(job: _Key, path: Path) -> str:
        return _place(documents[job].locate(path) if job in documents else None)

    return locate


def _in_sources(found: ManifestSet) -> Callable[[_Key, Path], str]:
    """Finds the line of a source that set a field, by compiling its job under observation."""
    session = found.session
    assert session is not None
    jobs = found.trainjobs

    def locate(job: _Key, path: Path) -> str:
        source = jobs.get((job[0], found.names.get(job, job[1])))
        if source is None:
            return ""
        recorder = Recorder()
        replace(session, hold=None, judge=None).compile(source, recorder)
        described = explanation(recorder).objects if recorder.stages else ()
        jobset = next((one for one in described if one.name.kind == "JobSet"), None)
        return _place(source_of(jobset, path) if jobset else None)

    return locate


def _place(source: Source | None) -> str:
    return f"{os.path.normpath(source.file)}:{source.line}" if source is not None and source.file else ""
