"""What an overlay changes besides its patches: namespace, name, labels, annotations, images.

TrainJobs take all of it. Runtimes never reach the cluster: they take the namespace, so that they stay beside their
TrainJobs, and the images, and keep their names, so that every runtimeRef still means the same. Other documents are
left alone: a SealedSecret is bound to its name and namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.diagnostics import Path
from trainc.dialects import is_ours
from trainc.overlays.edited import Edited, Origin
from trainc.overlays.overlay import ImageChange, Overlay

# TrainJob is Trainer's and v2alpha1's, TrainingJob OME's.
_JOB_KINDS = ("TrainJob", "TrainingJob")
_NAMESPACED_KINDS = (*_JOB_KINDS, "TrainingRuntime")
_KINDS = (*_NAMESPACED_KINDS, "ClusterTrainingRuntime")
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")


def _is_concerned(data: Mapping[str, Any]) -> bool:
    """Whether a document is a TrainJob or a runtime, in any dialect."""
    return data.get("kind") in _KINDS and is_ours(data)


def transformed(document: Edited, overlay: Overlay, used_images: set[int]) -> Edited:
    """The document after everything of `overlay` but its patches; `used_images` gathers which changes of images met one."""
    if not _is_concerned(document.data):
        return document
    before, kind = document, document.data["kind"]
    if overlay.namespace and kind in _NAMESPACED_KINDS:
        document = _set(document, overlay, ("metadata", "namespace"), overlay.namespace, ("namespace",))
    if kind in _JOB_KINDS:
        document = _renamed(document, overlay)
        for field, pairs in (("labels", overlay.labels), ("annotations", overlay.annotations)):
            for pair in pairs:
                document = _set(document, overlay, ("metadata", field, pair.key), pair.value, pair.path)
    document = _with_images(document, overlay, used_images)
    return document if document is before else before.renamed(document)


def _set(document: Edited, overlay: Overlay, path: Path, value: Any, origin: Path) -> Edited:
    return document.with_field(path, value, Origin(overlay.document, origin))


def _renamed(document: Edited, overlay: Overlay) -> Edited:
    metadata = document.data.get("metadata")
    if not isinstance(metadata, Mapping):
        return document
    name = metadata.get("name")
    new = f"{overlay.name_prefix}{name}{overlay.name_suffix}"
    if not isinstance(name, str) or new == name:
        return document
    # No origin: the document says which job it is, and is where its author looks.
    return document.with_data({**document.data, "metadata": {**metadata, "name": new}}, ())


def _with_images(document: Edited, overlay: Overlay, used: set[int]) -> Edited:
    if not overlay.images:
        return document
    for path, image in list(_images(document.data, ())):
        for index, change in enumerate(overlay.images):
            if _split_image(image)[0] == change.name:
                used.add(index)
                document = _set(document, overlay, path, changed_image(image, change), change.path)
    return document


def _images(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The image of every container and of the trainer, with its path."""
    if isinstance(value, Mapping):
        holds_image = path[-1:] == ("trainer",) or (len(path) > 1 and path[-2] in _CONTAINER_LISTS)
        if holds_image and isinstance(value.get("image"), str):
            yield (*path, "image"), value["image"]
        for key, inner in value.items():
            yield from _images(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _images(inner, (*path, index))


def changed_image(image: str, change: ImageChange) -> str:
    """The image with what `change` names in its place: a digest takes the place of the tag, a new tag that of both."""
    name, tag, digest = _split_image(image)
    name = change.new_name or name
    if change.digest:
        return f"{name}{f':{change.new_tag}' if change.new_tag else ''}@{change.digest}"
    if change.new_tag:
        return f"{name}:{change.new_tag}"
    return f"{name}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}"


def _split_image(image: str) -> tuple[str, str, str]:
    """(name, tag, digest); the colon of a registry's port begins no tag."""
    rest, _, digest = image.partition("@")
    name, colon, tag = rest.rpartition(":")
    return (name, tag, digest) if colon and "/" not in tag else (rest, "", digest)


def image_names(documents: Sequence[Edited]) -> list[str]:
    """The names of all images in use, for a hint."""
    found = (image for d in documents if _is_concerned(d.data) for _, image in _images(d.data, ()))
    return list(dict.fromkeys(_split_image(image)[0] for image in found))
