"""What kustomize's changes of names and images do not reach in compiled jobs: an error, where it would say nothing.

kustomize fixes references and adds the hashes of generators after its transformers, in the JobSets that trainc has
made, and only where `configurations` tell it of JobSets. `images` are replaced before, in the TrainJobs.

Source: kubernetes-sigs/kustomize api/internal/target/kusttarget.go (makeCustomizedResMap),
api/internal/utils/annotations.go, api/image/image.go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from trainc.api.cluster import live_objects
from trainc.api.documents import Document, label_of, opening, yaml_reader
from trainc.api.findings import CompileError, Diagnostic, Path, Source
from trainc.api.jobs import jobset_metadata
from trainc.api.kube import Json, Manifest, mapping, names, objects
from trainc.api.records import dataclass, pattern
from trainc.api.settings import Limits
from trainc.features.gitops.krm import FILE_NAME
from trainc.features.gitops.krm.kustomization import Kustomization, images_of, references_of

# What kustomize and kpt write into the metadata of resources: read where it helps, and never handed on.
#
# Source: kubernetes-sigs/kustomize api/internal/utils/annotations.go, kyaml/kio/kioutil/kioutil.go.
_PREVIOUS_NAMES = "internal.config.kubernetes.io/previousNames"
_ORIGIN = "config.kubernetes.io/origin"
_PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
_TRANSFORMATIONS = "alpha.config.kubernetes.io/transformations"
_ORIGIN_PATH = pattern(r"^path: (.+)$", re.MULTILINE)


def as_written(items: Sequence[Json], folder: str) -> list[Document]:
    """The items as their author means them: without the tools' own metadata, and each runtimeRef led to its runtime.

    Their places are those in the file that the tool names, where it lies below `folder` or in the repository around it.
    """
    renamed = _renamed_runtimes(items)

    def locate(item: Json, path: Path) -> Source | None:
        """Patches may have changed the field since."""
        return read.locate(path) if (read := _as_read(item, folder)) else None

    return [Document(_cleaned(_following(item, renamed)), file_of(item), partial(locate, item)) for item in items]


def file_of(item: Json) -> str:
    """The file that an item came from, as far as the tool says; else empty."""
    annotations = live_objects.annotations_of(item)
    for key in _PATHS:
        if isinstance(annotations.get(key), str):
            return str(annotations[key])
    origin = _ORIGIN_PATH.search(str(annotations.get(_ORIGIN, "")))
    return origin.group(1).strip() if origin else ""


def _as_read(item: Json, folder: str) -> Document | None:
    """The item as it stands in its file; None where nothing names the file, or it holds no such object."""
    file = os.path.normpath(os.path.join(folder, file_of(item))) if file_of(item) else ""
    if not file or not opening.is_inside(file, opening.root_around(folder)):
        return None
    try:
        documents, _ = yaml_reader.read_documents(opening.read_file(file, Limits().file_bytes), file, Limits())
    except (OSError, ValueError, CompileError):
        return None
    names = {name_of(item), *earlier_names(item)}
    return next((d for d in documents if d.data.get("kind") == item.get("kind") and name_of(d.data) in names), None)


def _cleaned(item: Json) -> dict[str, Any]:
    metadata = item.get("metadata")
    if not isinstance(metadata, Mapping):
        return dict(item)
    cleaned = dict(metadata)
    for field in ("labels", "annotations"):
        if isinstance(cleaned.get(field), Mapping):
            cleaned[field] = {k: v for k, v in jobset_metadata(cleaned[field]).items() if k != _TRANSFORMATIONS}
    return {**item, "metadata": cleaned}


def _renamed_runtimes(items: Iterable[Json]) -> dict[tuple[str, str], set[str]]:
    """(kind, earlier name) of each runtime that kustomize has renamed, with what it is called now.

    kustomize does not know that a runtimeRef is a reference, and leaves it as it was.
    """
    now: dict[tuple[str, str], set[str]] = {}
    runtimes = [item for item in items if item.get("kind") in names.RUNTIME_KINDS]
    for runtime in runtimes:
        for earlier in earlier_names(runtime):
            now.setdefault((runtime["kind"], earlier), set()).add(name_of(runtime))
    present = {(runtime["kind"], name_of(runtime)) for runtime in runtimes}
    return {key: called for key, called in now.items() if key not in present and len(called) == 1}


def _following(item: Json, renamed: Mapping[tuple[str, str], set[str]]) -> Json:
    reference = mapping(mapping(item.get("spec")).get("runtimeRef"))
    key = (str(reference.get("kind", "ClusterTrainingRuntime")), str(reference.get("name")))
    if key not in renamed:
        return item
    (name,) = renamed[key]
    return {**item, "spec": {**item["spec"], "runtimeRef": {**reference, "name": name}}}


def earlier_names(item: Json) -> list[str]:
    """What kustomize says that an item was called before it renamed it."""
    return [name for name in str(live_objects.annotations_of(item).get(_PREVIOUS_NAMES, "")).split(",") if name]


def name_of(item: Json) -> str:
    """The name of an item; empty where it has none."""
    return str(mapping(item.get("metadata")).get("name", ""))


_GETS_HASH = "internal.config.kubernetes.io/needsHashSuffix"
_LIST_IT = (
    f"`trainc krm --print {FILE_NAME} > {FILE_NAME}`, and add `configurations: [{FILE_NAME}]` to the kustomization"
)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A field of a JobSet that names one of the resources, which kustomize has renamed or is going to."""

    jobset: Manifest
    path: str
    kind: str
    name: str
    target: Json


def find_stale_references(
    items: Sequence[Json], manifests: Sequence[Manifest], kustomization: Kustomization | None, *, name_hash: bool
) -> Iterator[Diagnostic]:
    """An error for each name and image of `manifests` that would not be what the kustomization means by it.

    `items` are the resources as kustomize hands them over; without a kustomization only they tell.
    """
    jobsets = [manifest for manifest in manifests if manifest["kind"] == "JobSet"]
    renamed = [reference for jobset in jobsets for reference in _renamed(jobset, items)]
    for reference in renamed if name_hash else ():
        if _GETS_HASH in live_objects.annotations_of(reference.target):
            message = (
                f"nameHash cannot include the contents of {reference.kind} {reference.name}: kustomize adds the "
                "generator's hash after the JobSet is named, so a change would modify a JobSet of the same name and be refused"
            )
            hint = (
                "compile what kustomize prints (`kubectl kustomize DIR | trainc build - --name-hash`, without the transformer), "
                "or remove nameHash, or set `generatorOptions: {disableNameSuffixHash: true}`"
            )
            yield Diagnostic("NameHashTooEarly", "error", message, hint, label_of(reference.jobset), reference.path)
    if kustomization is None:
        return
    kinds = _configured_kinds(kustomization)
    for reference in renamed:
        if reference.kind not in kinds:
            now = name_of(reference.target) + (
                "-HASH" if _GETS_HASH in live_objects.annotations_of(reference.target) else ""
            )
            where = "not where the JobSet refers to it: the pods would never start"
            message = f"kustomize renames {reference.kind} {reference.name} to {now}, but {where}"
            yield Diagnostic(
                "ReferenceNotFollowed", "error", message, _LIST_IT, label_of(reference.jobset), reference.path
            )
    for jobset in jobsets:
        yield from _images_left(jobset, items, kustomization)


def _images_left(jobset: Manifest, items: Sequence[Json], kustomization: Kustomization) -> Iterator[Diagnostic]:
    input_images = {image for item in items for _, image in images_of(item)}
    for path, image in images_of(jobset):
        for change in objects(kustomization.data.get("images")):
            if (replacement := _replaced(image, change)) == image:
                continue
            name, hint = change["name"], _LIST_IT
            if image not in input_images:
                hint = (
                    f"the image is from a built-in runtime, which kustomize does not see: move the entry of {name} to "
                    "`images` of the overlay, or add the runtime to `resources`"
                )
            replaces = f"replaces the image {name} with {replacement}, but {image} would still run"
            yield Diagnostic(
                "ImageNotReplaced", "error", f"{kustomization.file} {replaces}", hint, label_of(jobset), path
            )


def _renamed(jobset: Manifest, items: Sequence[Json]) -> Iterator[_Reference]:
    for path, kind, name in references_of(jobset):
        for item in items:
            called = {name_of(item), *earlier_names(item)}
            changes = name_of(item) != name or _GETS_HASH in live_objects.annotations_of(item)
            if item.get("kind") == kind and name in called and changes:
                yield _Reference(jobset, path, kind, name, item)
                break


def _configured_kinds(kustomization: Kustomization) -> set[str]:
    """The kinds of objects of which some configuration says where JobSets name them."""
    return {
        str(reference.get("kind"))
        for layer in kustomization.beneath()
        for entry in layer.entries("configurations")
        for document in layer.documents(entry)
        for reference in objects(document.get("nameReference"))
        if "JobSet" in (field.get("kind") for field in objects(reference.get("fieldSpecs")))
    }


def _replaced(image: str, change: Json) -> str:
    """`image` as kustomize's entry of `images` has it."""
    name = str(change.get("name", ""))
    match = re.fullmatch(rf"{re.escape(name)}(:[\w.-]*)?(@sha256:[\w.-]*)?", image) if name else None
    if match is None:
        return image
    tag, digest = (match.group(part) or "" for part in (1, 2))
    new_tag, new_digest = change.get("newTag"), change.get("digest")
    if new_tag or new_digest:
        tag = f":{new_tag}" if new_tag else ""
        digest = f"@{new_digest}" if new_digest else ""
    return f"{change.get('newName') or name}{tag}{digest}"
