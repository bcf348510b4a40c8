"""Overlays from their files: what they say, their bases, their patches and resources. The only file access of overlays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from trainc.diagnostics import Diagnostic, Path, format_path
from trainc.frontend.document import Document
from trainc.frontend.files import OVERLAY_FILE, is_overlay_folder, read_paths
from trainc.frontend.overlays.apply import target_of_body
from trainc.frontend.overlays.overlay import Overlay, Patch, PatchEntry
from trainc.frontend.overlays.patch_files import Body, bodies_of, body_in_place
from trainc.frontend.overlays.read import read_overlay
from trainc.frontend.reading.encoding import decode
from trainc.frontend.templates import SUFFIXES as TEMPLATE_SUFFIXES
from trainc.frontend.templates import render
from trainc.frontend.templates.failure import TemplateFailedError
from trainc.options import Limits

AnyPath: TypeAlias = "str | os.PathLike[str]"


@dataclass(frozen=True, slots=True)
class Loaded:
    """An overlay with what it refers to: `bases` are overlays among its resources, which are applied first.

    `files` are its other resources, each with its place in the list of resources.
    """

    overlay: Overlay
    folder: str
    bases: tuple[Loaded, ...] = ()
    files: tuple[tuple[int, str], ...] = ()
    patches: tuple[Patch, ...] = ()
    resources: tuple[Document, ...] = ()

    @property
    def in_order(self) -> tuple[Loaded, ...]:
        """This overlay and all its bases, in the order in which they apply."""
        return (*(loaded for base in self.bases for loaded in base.in_order), self)

    @property
    def brings_input(self) -> bool:
        """Whether it has resources, so that nothing else needs to be read."""
        return any(one.overlay.resources for one in self.in_order)

    @property
    def resource_files(self) -> set[str]:
        """The files that its resources, and those of its bases, were read from."""
        return {document.file for one in self.in_order for document in one.resources}

    @property
    def settings(self) -> dict[str, Any]:
        """What it and its bases say about how to compile: fields of Options."""
        return {name: value for one in self.in_order for name, value in one.overlay.settings.items()}

    @property
    def all_runtimes(self) -> tuple[str, ...]:
        """The folders of runtimes that it and its bases name."""
        return tuple(_beside(one.folder, path) for one in reversed(self.in_order) for path in one.overlay.runtimes)


def load_overlays(paths: Sequence[AnyPath], limits: Limits) -> tuple[list[Loaded], list[Diagnostic]]:
    """The overlays at `paths`, folders or files, with everything they refer to, and what is wrong with any of it.

    Templates among resources and patches see the values of all of them.
    """
    loader = _Loader(limits)
    found = [loader.load(os.fspath(path), ()) for path in paths]
    overlays = [overlay for overlay in found if overlay is not None]
    contents = _Contents(values_of(overlays), limits)
    loaded = [contents.read(overlay) for overlay in overlays]
    return loaded, [*loader.diagnostics, *contents.diagnostics]


def values_of(overlays: Sequence[Loaded]) -> dict[str, Any]:
    """The values that every template sees: those of all overlays, later ones over earlier ones, mappings merged."""
    from deepmerge import Merger

    merger = Merger([(dict, [_merge_values])], ["override"], ["override"])
    values: dict[str, Any] = {}
    for loaded in (one for overlay in overlays for one in overlay.in_order):
        values = merger.merge(values, dict(loaded.overlay.values))
    return values


def _merge_values(config: Any, path: list[Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    merged = dict(before)
    for name, value in after.items():
        merged[name] = config.value_strategy([*path, name], merged[name], value) if name in merged else value
    return merged


class _Loader:
    """Follows overlays to their bases and refuses circles."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.diagnostics: list[Diagnostic] = []

    def load(self, path: str, above: tuple[str, ...]) -> Loaded | None:
        file = os.path.join(path, OVERLAY_FILE) if os.path.isdir(path) else path
        found, problems = read_paths([file], self._limits)
        self.diagnostics += problems
        if len(found) != 1:
            if not problems:
                message = f"{file} holds {len(found)} documents, and an overlay is one"
                self.diagnostics.append(Diagnostic("InvalidOverlay", "error", message, "give each a file of its own"))
            return None
        overlay, problems = read_overlay(found[0])
        self.diagnostics += problems
        return self._followed(Loaded(overlay, os.path.dirname(file)), (*above, os.path.realpath(file)))

    def _followed(self, loaded: Loaded, above: tuple[str, ...]) -> Loaded:
        bases: list[Loaded] = []
        files: list[tuple[int, str]] = []
        for index, resource in enumerate(loaded.overlay.resources):
            path = _beside(loaded.folder, resource)
            file = os.path.join(path, OVERLAY_FILE) if is_overlay_folder(path) else path
            if os.path.basename(file) != OVERLAY_FILE:
                files.append((index, path))
            elif os.path.realpath(file) in above:
                hint = "leave the way back out of one of them"
                self._report(loaded.overlay, ("resources", index), f"{resource} leads back to this overlay", hint)
            elif (base := self.load(path, above)) is not None:
                bases.append(base)
        return replace(loaded, bases=tuple(bases), files=tuple(files))

    def _report(self, overlay: Overlay, path: Path, message: str, hint: str) -> None:
        self.diagnostics.append(_about(overlay, path, message, hint))


class _Contents:
    """Reads what overlays refer to."""

    def __init__(self, values: Mapping[str, Any], limits: Limits) -> None:
        self._values = values
        self._limits = limits
        self.diagnostics: list[Diagnostic] = []

    def read(self, loaded: Loaded) -> Loaded:
        resources = [document for index, path in loaded.files for document in self._resource(loaded, index, path)]
        patches = tuple(patch for entry in loaded.overlay.patches for patch in self._patches(loaded, entry))
        bases = tuple(self.read(base) for base in loaded.bases)
        return replace(loaded, bases=bases, patches=patches, resources=tuple(resources))

    def _resource(self, loaded: Loaded, index: int, path: str) -> list[Document]:
        documents, problems = read_paths([path], self._limits, values=self._values)
        place = loaded.overlay.document.locate(("resources", index))
        self.diagnostics += [p if p.source else replace(p, source=place) for p in problems]
        return documents

    def _patches(self, loaded: Loaded, entry: PatchEntry) -> list[Patch]:
        overlay = loaded.overlay
        if entry.file is None:
            bodies, problems = body_in_place(overlay, entry, self._limits)
        else:
            bodies, problems = self._from_file(loaded, entry, entry.file)
        self.diagnostics += problems
        patches: list[Patch] = []
        for body, document, prefix in bodies:
            target = entry.target or target_of_body(body)
            if target is None:
                message = "the patch says neither by a target nor by apiVersion, kind and name what it is for"
                self.diagnostics.append(
                    _about(overlay, entry.path, message, "add a target, or name the document in it")
                )
            else:
                patches.append(Patch(body, document, prefix, target, entry))
        return patches

    def _from_file(self, loaded: Loaded, entry: PatchEntry, file: str) -> tuple[list[Body], list[Diagnostic]]:
        path = _beside(loaded.folder, file)
        try:
            with open(path, "rb") as stream:
                text = decode(stream.read())
            if path.endswith(TEMPLATE_SUFFIXES):
                text = render(text, path, self._values, self._limits)
        except OSError as error:
            message = f"{file} cannot be read: {(error.strerror or type(error).__name__).lower()}"
            return [], [_about(loaded.overlay, (*entry.path, "path"), message, "paths begin at the overlay's folder")]
        except TemplateFailedError as failed:
            return [], [failed.diagnostic]
        return bodies_of(text, path.replace(os.sep, "/"), self._limits)


def _beside(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))


def _about(overlay: Overlay, path: Path, message: str, hint: str) -> Diagnostic:
    place = overlay.document.locate(path)
    return Diagnostic("InvalidOverlay", "error", message, hint, overlay.label, format_path(path), place)
