"""What a Kustomization of Flux makes of the rendered files, if it is not what was rendered.

Source: fluxcd/kustomize-controller docs/spec/v1/kustomizations.md, v1.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from trainc.api.findings import counted, did_you_mean, first_of, suggest
from trainc.api.kube import identity_of, mapping, objects
from trainc.api.records import pattern
from trainc.features.gitops.applying.documents import Applier, Around, Reported

_DURATION = pattern(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s)")
_SUBSTITUTED = pattern(r"(?<!\$)\$\{[A-Za-z_]")
# The kind of a patch's target is an expression: of those, the ones that people write.
_ALTERNATIVES = pattern(r"[|()^$]+")
_NOT_SUBSTITUTED = "kustomize.toolkit.fluxcd.io/substitute: disabled"


def of_kustomization(applier: Applier, around: Around) -> Iterator[Reported]:
    """Yield what a Kustomization leaves out, does not delete, or changes, with the GitRepository that it names."""
    outputs, spec = applier.outputs, applier.spec
    hashed = any(output.hashed for output in outputs)
    if spec.get("prune") is not True:
        stays = "a changed job is a new JobSet (`nameHash`), and the former one goes on and keeps its GPUs"
        stays = stays if hashed else "a job that leaves git goes on"
        yield "warning" if hashed else "info", f"Flux deletes nothing: {stays}", "write `prune: true`", ("prune",)
    if spec.get("suspend") is True:
        message = f"Flux applies nothing of {around.prefixed(applier.path)} while this is true"
        yield "warning", message, "remove it once changes may reach the cluster again", ("suspend",)
    names = sorted({file.partition("/")[0] for _, file in applier.files.values() if "/" in file})
    target = spec.get("targetNamespace")
    if target and names and names != [target]:
        message = f"Flux puts all jobs into namespace {target}: those of {first_of(names)}, whose quotas and queues they were built for"
        yield "warning", message, "remove it: every rendered job has its namespace", ("targetNamespace",)
    for key in ("namePrefix", "nameSuffix"):
        if spec.get(key):
            message = "Flux renames every JobSet, and what its pods call each other is still the rendered name"
            yield "warning", message, "remove it, and write namePrefix in the overlay", (key,)
    raw = any(not output.hashed for output in outputs)
    if spec.get("force") is True and raw:
        message = "Flux deletes and starts again each job whose change the cluster refuses, which `trainc diff` does not know from here"
        yield "warning", message, "remove it, or write `syncOptions: [force=enabled]` in trainc.yaml", ("force",)
    yield from _rewritten(applier)
    yield from _source(applier, around)
    if spec.get("wait") is True:
        yield from _waits(applier)


def _source(applier: Applier, around: Around) -> Iterator[Reported]:
    reference = mapping(applier.get("sourceRef"))
    space = identity_of(applier.document.data)[0]
    kind, name, kinds = (
        str(reference.get("kind")),
        str(reference.get("name")),
        ("GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"),
    )
    named = around.named(kind, name)
    if kind not in kinds and (near := did_you_mean(kind, kinds, 0.7, 1)):
        yield "warning", f"Flux has no source of kind {kind}", near, ("sourceRef", "kind")
    elif not named and (near := around.near_name(kind, name)):
        message = f"there is no {kind} {name} here: Flux applies nothing"
        yield "warning", message, near, ("sourceRef", "name")
    elif (
        named
        and (spaces := {identity_of(d.data)[0] for d in named})
        and reference.get("namespace", space) not in spaces
    ):
        message = f"{kind} {name} is in namespace {min(spaces)}: Flux does not find it"
        yield "warning", message, f"write `namespace: {min(spaces)}` below `sourceRef`", ("sourceRef",)
    repository = named[0] if len(named) == 1 and kind == "GitRepository" else None
    spec = mapping(repository.data.get("spec")) if repository else {}
    branch, url = str(mapping(spec.get("ref")).get("branch") or "HEAD"), str(spec.get("url") or "")
    if spec.get("suspend") is True:
        message = (
            f"Flux reads no new commit, so nothing that changes in {around.prefixed(applier.path)} reaches the cluster"
        )
        yield "warning", message, "remove it once changes may reach the cluster again", (repository, "spec", "suspend")
    if meant := around.near_branch(branch):
        message = f"there is no branch {branch} here: Flux applies nothing"
        yield "warning", message, suggest(branch, [meant]), (repository, "spec", "ref", "branch")
    if meant := around.near_repository(url):
        message = f"this is not the repository here, {around.origin}"
        yield "warning", message, suggest(url, [meant]), (repository, "spec", "url")
    left, source = around.ignored(str(spec.get("ignore") or ""), applier.files.values())
    if left:
        message = f"this leaves out {counted(len(left), 'file')} that {'is' if len(left) == 1 else 'are'} rendered, {first_of(left, 3)}"
        fate = ": Flux deletes their jobs" if applier.get("prune") is True else ": Flux does not apply them"
        at: tuple[Any, ...] = (source,) if source else (repository, "spec", "ignore")
        yield "warning", message + fate, f"add a line !/{around.prefixed(applier.path)} after it", at


def _rewritten(applier: Applier) -> Iterator[Reported]:
    """Yield what a Kustomization changes in the rendered files: variables, labels, images, and patches."""
    spec, after = applier.spec, mapping(applier.get("postBuild"))
    labels = mapping(mapping(spec.get("commonMetadata")).get("labels"))
    images = [str(image.get("name")) for image in objects(spec.get("images"))]
    read = after or labels or images
    texts = [each for output in applier.outputs for each in output.texts] if read else []
    documents = [(file, document) for file, text in texts for document in re.split(r"(?m)^---$", text)]
    if after:
        found = [
            file for file, document in documents if _SUBSTITUTED.search(document) and _NOT_SUBSTITUTED not in document
        ]
        if found:
            message = f"Flux replaces each ${{NAME}} in {first_of(sorted({*found}), 3)} before the pods' shell sees it"
            hint = "write $NAME there, or annotate it with kustomize.toolkit.fluxcd.io/substitute: disabled"
            yield "warning", message, hint, ("postBuild",)
    for label, value in labels.items():
        other = [
            file
            for file, text in texts
            if f"{label}:" in text
            and not re.search(rf"(?m)^ *{re.escape(label)}: [\"']?{re.escape(str(value))}[\"']?$", text)
        ]
        if other:
            message = f"Flux writes {label}: {value} over what {counted(len(other), 'job')} have: {first_of(sorted(other), 3)}"
            yield (
                "warning",
                message,
                "remove it, or write it in the overlay, where trainc sees it",
                ("commonMetadata", "labels", label),
            )
    for i, image in enumerate(images):
        users = [
            file for file, text in texts if re.search(rf"(?m)image: [\"']?{re.escape(image)}(?=[:@\"'\s]|$)", text)
        ]
        if users:
            message = f"Flux replaces the image {image} of {counted(len(users), 'job')}, which nothing of trainc sees: {first_of(sorted(users), 3)}"
            yield "warning", message, "write it under `images` in the overlay", ("images", i)
    for i, patch in enumerate(objects(spec.get("patches"))):
        kind = str(mapping(patch.get("target")).get("kind") or "")
        if {"JobSet", ".*"} & {*_ALTERNATIVES.split(kind)} or (not kind and "kind: JobSet" in str(patch.get("patch"))):
            message = "Flux changes rendered JobSets, which nothing of trainc checks, and a running one may refuse"
            yield "warning", message, "write it under `patches` in the overlay", ("patches", i)


def _waits(applier: Applier) -> Iterator[Reported]:
    """Yield where Flux waits for jobs to complete, and gives up earlier than they may."""
    checked = [
        e
        for e in objects(applier.get("healthCheckExprs"))
        if e.get("kind") == "JobSet" and "Completed" in str(e.get("current"))
    ]
    limit = str(applier.get("timeout") or applier.get("interval") or "")
    seconds = sum(float(n) * {"h": 3600, "m": 60, "s": 1, "ms": 0.001}[unit] for n, unit in _DURATION.findall(limit))
    longest = 0
    for output in applier.outputs if checked and seconds else ():
        for _, text in output.texts:
            longest = max([longest, *(int(n) for n in re.findall(r"activeDeadlineSeconds: (\d{1,9})\b", text))])
    if longest > seconds:
        message = f"Flux waits for the jobs to complete, and reports a failure after {limit}: a job here may take {longest // 3600 or 1} h"
        hint = f"remove `wait`, or write `timeout: {longest // 3600 + 1}h`"
        yield "warning", message, hint, ("wait",)
