"""Overlays applied: patches first, then namespace, names, labels, annotations and images, as kustomize orders them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.diagnostics import Diagnostic, Path, Severity, format_path
from trainc.diagnostics.near_names import did_you_mean
from trainc.overlays.edited import Edited, Origin, identity
from trainc.overlays.json_patch import apply_operations
from trainc.overlays.merge import PatchFailedError, merge
from trainc.overlays.overlay import ImageChange, Overlay, Patch
from trainc.overlays.selectors import exact_target
from trainc.overlays.transforms import image_names, transformed

# What identifies the document that a patch is for; none of it is a change.
_IDENTITY = ("apiVersion", "kind")
_IDENTITY_METADATA = ("name", "namespace")

# Something of an overlay that met a document: the number of its layer, and its own among those of its sort.
Use: TypeAlias = tuple[int, Literal["image", "patch"], int]


class Layer:
    """One overlay on its way over documents: what each of them becomes is a matter of the two alone."""

    def __init__(self, overlay: Overlay, patches: Sequence[Patch], number: int = 0) -> None:
        self._overlay = overlay
        self._patches = patches
        self._number = number
        self.diagnostics: list[Diagnostic] = []

    def apply(self, documents: Iterable[Edited], uses: set[Use]) -> list[Edited]:
        """The documents after this overlay, less those that a patch deletes; `uses` gathers what met one."""
        images: set[int] = set()
        patched = (self._patched(document, uses) for document in documents)
        done = [transformed(d, self._overlay, images) for d in patched if d is not None]
        uses.update((self._number, "image", index) for index in images)
        return done

    def unused(self, documents: Sequence[Edited], uses: set[Use]) -> list[Diagnostic]:
        """An error for each patch that addresses nothing, a warning for each image that nobody uses."""
        patches = [p for i, p in enumerate(self._patches) if (self._number, "patch", i) not in uses]
        images = [c for i, c in enumerate(self._overlay.images) if (self._number, "image", i) not in uses]
        return [
            *(self._missing_target(patch, documents) for patch in patches),
            *(self._missing_image(change, documents) for change in images),
        ]

    def _patched(self, document: Edited, uses: set[Use]) -> Edited | None:
        found: Edited | None = document
        for index, patch in enumerate(self._patches):
            if found is not None and patch.target.fits(found):
                uses.add((self._number, "patch", index))
                found = self._apply_patch(found, patch)
        return found

    def _apply_patch(self, document: Edited, patch: Patch) -> Edited | None:
        try:
            if isinstance(patch.body, Mapping):
                data, written = merge(document.data, _change(patch.body))
            else:
                data, written = apply_operations(document.data, patch.body)
        except PatchFailedError as failed:
            self._failed(document, patch, failed)
            return document
        if data is None:
            return None
        origins = [(path, Origin(patch.document, (*patch.prefix, *place))) for path, place in written]
        return document.with_data(data, origins)

    def _failed(self, document: Edited, patch: Patch, failed: PatchFailedError) -> None:
        namespace, name = identity(document.data)
        what = f"{document.data.get('kind')} {'/'.join(part for part in (namespace, name) if part)}"
        in_place = ("patch", *failed.path) if patch.entry.file is None else ("path",)
        self.diagnostics.append(
            Diagnostic(
                "PatchFailed",
                "error",
                f"the patch cannot be applied to {what}: {failed}",
                "mend the patch, or narrow its target to the documents that it fits",
                self._overlay.label,
                format_path((*patch.entry.path, *in_place)),
                patch.document.locate((*patch.prefix, *failed.path)),
            )
        )

    def _missing_target(self, patch: Patch, documents: Sequence[Edited]) -> Diagnostic:
        names = [identity(document.data)[1] for document in documents]
        wanted = patch.body.get("metadata", {}).get("name", "") if isinstance(patch.body, Mapping) else ""
        some = ", ".join(f"{d.data.get('kind')} {identity(d.data)[1]}" for d in documents[:5]) or "none"
        hint = did_you_mean(str(wanted), names) or f"documents here: {some}{' and others' if documents[5:] else ''}"
        return self._diagnostic(
            "PatchTargetMissing", "error", "the patch addresses no document", hint, patch.entry.path
        )

    def _missing_image(self, change: ImageChange, documents: Sequence[Edited]) -> Diagnostic:
        names = image_names(documents)
        hint = did_you_mean(change.name, names) or f"images here: {', '.join(names[:5]) or 'none'}"
        message = f"no container uses the image {change.name!r}"
        return self._diagnostic("ImageNotUsed", "warning", message, hint, change.path)

    def _diagnostic(self, code: str, severity: Severity, message: str, hint: str, path: Path) -> Diagnostic:
        place = self._overlay.document.locate(path)
        return Diagnostic(code, severity, message, hint, self._overlay.label, format_path(path), place)


def _change(body: Mapping[str, Any]) -> dict[str, Any]:
    """A strategic merge patch less what only identifies its document."""
    change = {key: value for key, value in body.items() if key not in _IDENTITY}
    metadata = change.get("metadata")
    if isinstance(metadata, Mapping):
        change["metadata"] = {key: value for key, value in metadata.items() if key not in _IDENTITY_METADATA}
    return change


def target_of_body(body: Any) -> Any:
    """The target that a patch without one names itself; None where it does not."""
    named = isinstance(body, Mapping) and body.get("kind") and isinstance(body.get("metadata"), Mapping)
    return exact_target(body) if named and body["metadata"].get("name") else None
