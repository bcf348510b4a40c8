"""Who may what, as trainc.yaml says: whose runtimes, namespaces and images a team's folder may use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.findings import Diagnostic, Finding, Path
from trainc.findings.policy import matches
from trainc.kube.documents import identity_of, mapping
from trainc.kube.names import JOB_KINDS, RUNTIME_KINDS, full_name
from trainc.project.configuration import Configuration, Images
from trainc.project.dialects import is_trainer_document
from trainc.reading.document import Document, label_of

_CONTAINERS = ("initContainers", "containers")


def check_boundaries(
    documents: Sequence[Document], runtimes: Sequence[Document], configuration: Configuration
) -> Iterator[Diagnostic]:
    """Report documents in a namespace that is not their folder's, and runtimes that take the place of the platform's.

    `runtimes` are those of the folders that trainc.yaml names.
    """
    ours = [document for document in documents if is_trainer_document(document.data)]
    if configuration.namespaces:
        for document in ours:
            yield from _foreign_namespace(document, configuration)
    known = {_key(document): document for document in runtimes if document.data.get("kind") in RUNTIME_KINDS}
    for document in ours if known else ():
        other = known.get(_key(document))
        if other is None or other.data.get("spec") == document.data.get("spec"):
            continue
        if os.path.realpath(other.file) != os.path.realpath(document.file):
            message = f"this runtime would take the place of that in {other.file}, for the jobs of everybody"
            hint = "rename it; `runtimes` in trainc.yaml names the folders of the runtimes that all jobs share"
            yield document.place(Finding("RuntimeReplaced", "error", message, hint, ("metadata", "name")))


def _key(document: Document) -> tuple[Any, ...]:
    kind, (namespace, name) = document.data.get("kind"), identity_of(document.data)
    return kind, "" if kind == "ClusterTrainingRuntime" else namespace, name


def _foreign_namespace(document: Document, configuration: Configuration) -> Iterator[Diagnostic]:
    if document.data.get("kind") not in (*JOB_KINDS, "TrainingRuntime"):
        return
    written = document
    while written.before is not None:
        written = written.before
    namespace = identity_of(written.data)[0]
    inside = os.path.relpath(document.file, os.path.dirname(configuration.file or "") or os.curdir).replace(os.sep, "/")
    allowed = next(
        (names for glob, names in reversed(tuple(configuration.namespaces.items())) if matches(inside, glob)), None
    )
    if namespace and allowed is not None and not any(matches(namespace, name) for name in allowed):
        message = f"{inside} may not have jobs in namespace {namespace}, only in {' or '.join(allowed) or 'none'}"
        hint = "use a namespace of this folder, move the file, or change `namespaces` in trainc.yaml"
        yield written.place(
            Finding("ForeignNamespace", "error", message, hint, ("metadata", "namespace")), label_of(document.data)
        )


def check_images(manifests: Iterable[Mapping[str, Any]], images: Images) -> Iterator[tuple[str, Finding]]:
    """Yield, with the label of its object, each image that is not pinned or comes from another registry."""
    for manifest in manifests:
        if manifest["kind"] != "JobSet":
            continue
        for path, image in _images(manifest):
            if images.pinned and "@sha256:" not in image:
                message = f"the image {image} is not pinned by its digest, as trainc.yaml requires"
                hint = f"write the digest, as in {image.partition('@')[0]}@sha256:<digest>"
                yield label_of(manifest), Finding("ImageNotPinned", "error", message, hint, path)
            name = full_name(image)
            if images.registries and not is_of(name, images.registries):
                message = f"the image {image} is from {name.partition('/')[0]}, which trainc.yaml does not allow"
                hint = f"use an image from {' or '.join(images.registries)}"
                yield label_of(manifest), Finding("RegistryNotAllowed", "error", message, hint, path)


def is_of(name: str, registries: Iterable[str]) -> bool:
    """Return whether the full name of an image belongs to one of these registries, or parts of them."""
    return any(name == one or name.startswith(f"{one}/") for one in registries)


def _images(jobset: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for index, job in enumerate(jobset["spec"].get("replicatedJobs") or ()):
        pod = mapping(mapping(mapping(mapping(job.get("template")).get("spec")).get("template")).get("spec"))
        for field in _CONTAINERS:
            for number, container in enumerate(pod.get(field) or ()):
                path: Path = ("spec", "replicatedJobs", index, "template", "spec", "template", "spec", field, number)
                if isinstance(container.get("image"), str):
                    yield (*path, "image"), container["image"]
