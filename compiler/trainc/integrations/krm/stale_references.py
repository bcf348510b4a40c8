"""What kustomize's changes of names and images do not reach in compiled jobs: an error, where it would say nothing.

kustomize fixes references and adds the hashes of generators after its transformers, in the JobSets that trainc has
made, and only where `configurations` tell it of JobSets. `images` are replaced before, in the TrainJobs.

Source: kubernetes-sigs/kustomize api/internal/target/kusttarget.go (makeCustomizedResMap),
api/internal/utils/annotations.go, api/image/image.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.documents import Json, Manifest
from trainc.diagnostics import Diagnostic
from trainc.integrations.krm.kustomization import Kustomization
from trainc.integrations.krm.kustomize_config import FILE_NAME, images_of, references_of
from trainc.integrations.krm.tool_metadata import annotations_of, earlier_names, name_of
from trainc.reading.document import label_of
from trainc.startup.records import dataclass

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
    if name_hash:
        yield from (_hashed_too_early(one) for one in renamed if _GETS_HASH in annotations_of(one.target))
    if kustomization is None:
        return
    known = _configured_kinds(kustomization)
    yield from (_left_behind(one) for one in renamed if one.kind not in known)
    for jobset in jobsets:
        yield from _images_left(jobset, items, kustomization)


def _renamed(jobset: Manifest, items: Sequence[Json]) -> Iterator[_Reference]:
    for path, kind, name in references_of(jobset):
        for item in items:
            called = {name_of(item), *earlier_names(item)}
            changes = name_of(item) != name or _GETS_HASH in annotations_of(item)
            if item.get("kind") == kind and name in called and changes:
                yield _Reference(jobset, path, kind, name, item)
                break


def _hashed_too_early(reference: _Reference) -> Diagnostic:
    message = (
        f"nameHash cannot include the contents of {reference.kind} {reference.name}: kustomize adds the "
        "generator's hash after the JobSet is named, so a change would modify a JobSet of the same name and be refused"
    )
    hint = (
        "compile what kustomize prints (`kubectl kustomize DIR | trainc build - --name-hash`, without the transformer), "
        "or remove nameHash, or set `generatorOptions: {disableNameSuffixHash: true}`"
    )
    return Diagnostic("NameHashTooEarly", "error", message, hint, label_of(reference.jobset), reference.path)


def _left_behind(reference: _Reference) -> Diagnostic:
    now = name_of(reference.target) + ("-HASH" if _GETS_HASH in annotations_of(reference.target) else "")
    message = (
        f"kustomize renames {reference.kind} {reference.name} to {now}, but not where the JobSet refers to it: "
        "the pods would never start"
    )
    return Diagnostic("ReferenceNotFollowed", "error", message, _LIST_IT, label_of(reference.jobset), reference.path)


def _configured_kinds(kustomization: Kustomization) -> set[str]:
    """The kinds of objects of which some configuration says where JobSets name them."""
    return {
        str(reference.get("kind"))
        for one in kustomization.beneath()
        for entry in one.entries("configurations")
        for document in one.documents(entry)
        for reference in _mappings(document.get("nameReference"))
        if "JobSet" in (field.get("kind") for field in _mappings(reference.get("fieldSpecs")))
    }


def _images_left(jobset: Manifest, items: Sequence[Json], kustomization: Kustomization) -> Iterator[Diagnostic]:
    given = {image for item in items for _, image in images_of(item)}
    for path, image in images_of(jobset):
        for change in _mappings(kustomization.data.get("images")):
            wanted = _replaced(image, change)
            if wanted != image:
                name = change["name"]
                message = f"{kustomization.file} replaces the image {name} with {wanted}, but {image} would still run"
                hint = (
                    _LIST_IT
                    if image in given
                    else f"the image is from a built-in runtime, which kustomize does not see: move the entry of {name} to "
                    "`images` of the overlay, or add the runtime to `resources`"
                )
                yield Diagnostic("ImageNotReplaced", "error", message, hint, label_of(jobset), path)


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


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
