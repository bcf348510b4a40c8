"""Many v1 jobs on one runtime that is there already: where it gives a job the same pods, and what differs where not.

Nothing is guessed: the job is compiled on a runtime of its own and on that one, and the two JobSets are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from trainc.api.findings import CompileError, Finding, Path, first_of, format_path
from trainc.api.jobs import functions
from trainc.api.kube import Json, identity_of
from trainc.api.settings import Options
from trainc.features.migration.v1.v1.job import Layout, changes

_SOME = 3


def on_runtime(
    layout: Layout, own: Sequence[dict[str, Any]], patched: dict[str, Any], runtime: Json, release: str
) -> tuple[tuple[dict[str, Any], ...], list[Finding]]:
    """Return a job on `runtime`, with the patch that it needs, or else its `own` documents and why.

    `own` begins with its TrainJob and the runtime made for it; `patched` is the TrainJob with a patch for what a TrainJob
    alone does not say.
    """
    kind, (namespace, name) = str(runtime["kind"]), identity_of(runtime)
    reference = {"name": name} if kind == "ClusterTrainingRuntime" else {"name": name, "kind": kind}
    path = ("spec", layout.job.kind.replicas)
    if kind != "ClusterTrainingRuntime" and namespace not in ("", layout.job.metadata.get("namespace") or ""):
        message = f"the {kind} {name} is in namespace {namespace}; the job gets a runtime of its own"
        return tuple(own), [changes(path, message, "use a ClusterTrainingRuntime for jobs of several namespaces")]
    job, made, *rest = own
    candidates = [{**one, "spec": {**one["spec"], "runtimeRef": reference}} for one in (job, patched)]
    differing: list[list[str]] = []
    wanted = _jobset(job, made, release)
    for candidate in candidates if wanted and not rest else ():
        got = _jobset(candidate, runtime, release)
        differing.append(["what it compiles to"] if got is None else _paths(wanted, got))
        if not differing[-1]:
            return (candidate,), []
    fields = min(differing, key=len, default=["the ConfigMap that the job needs"])
    message = f"on the runtime {name} other pods would run: {first_of(fields, _SOME)} would differ; the job gets a runtime of its own"
    hint = (
        f"to use {name}, make these fields the same in the job, or write runtimeRef: {{name: {name}}} if it may run so"
    )
    return tuple(own), [changes(path, message, hint)]


def _jobset(job: Json, runtime: Json, release: str) -> Json | None:
    """Return the spec of the JobSet that a job becomes; None if it does not compile."""
    try:
        manifests = functions.compile_trainjob(dict(job), [dict(runtime)], Options(release=release)).manifests
    except CompileError:
        return None
    return next((manifest["spec"] for manifest in manifests if manifest["kind"] == "JobSet"), None)


def _paths(before: Any, after: Any) -> list[str]:
    """Return the fields of pods and Jobs that differ, by their last steps."""
    return list(dict.fromkeys(format_path(_short(path)) for path in _differing(before, after, ())))


def _short(path: Path) -> Path:
    """Return a path from the pod on: what is before is the same for all jobs."""
    last = max((at for at, step in enumerate(path) if step == "template"), default=-1)
    return path[last + 2 :] if path[last + 1 : last + 2] == ("spec",) and path[last + 2 :] else path[last + 1 :] or path


def _differing(before: Any, after: Any, path: Path) -> Iterator[Path]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys(chain(before, after)):
            yield from _differing(before.get(key), after.get(key), (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and (by_name := _by_name(path, before, after)):
        for name in dict.fromkeys(chain(*by_name)):
            yield from _differing(by_name[0].get(name), by_name[1].get(name), (*path, name))
    else:
        yield path


def _by_name(path: Path, *lists: list[Any]) -> list[dict[str, Any]] | None:
    """Return lists of objects with names as mappings, None if they are others, or have another order where that counts."""
    if not all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in chain(*lists)):
        return None
    named = [{item["name"]: item for item in items} for items in lists]
    common = [[item["name"] for item in items if all(item["name"] in other for other in named)] for items in lists]
    # A variable refers to those before it, and each init container waits for the one before it.
    is_ordered = path[-1] in ("env", "initContainers")
    return None if is_ordered and common[0] != common[1] else named
