"""Loads overlays with their bases, patches and resources. This is the only module of the package that reads files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from trainc.diagnostics import Diagnostic, Path, format_path
from trainc.options import Limits
from trainc.overlays.apply import target_of_body
from trainc.overlays.loaded import Loaded, path_from, values_of
from trainc.overlays.overlay import Overlay, Patch, PatchEntry
from trainc.overlays.patch_files import Body, bodies_of, body_in_place
from trainc.overlays.read import is_overlay, read_overlay
from trainc.reading.confinement import OUTSIDE_HINT, is_inside, root_around
from trainc.reading.document import Document
from trainc.reading.encoding import decode
from trainc.reading.files import (
    OVERLAY_FILE,
    READ_SUFFIXES,
    TEMPLATE_SUFFIXES,
    Texts,
    is_overlay_folder,
    read_paths,
    shown_path,
)
from trainc.reading.opening import error_reason, read_file
from trainc.reading.templates import render
from trainc.reading.templates.failure import TemplateFailedError
from trainc.startup.records import replace

AnyPath: TypeAlias = "str | os.PathLike[str]"


def load_overlays(paths: Sequence[AnyPath], limits: Limits) -> tuple[list[Loaded], list[Diagnostic]]:
    """Load the overlays at `paths` (directories or files) and everything they refer to; return them and all problems.

    Templates among resources and patches see the combined values of all overlays.
    """
    loader = _Loader(limits)
    found = [loader.start(os.fspath(path)) for path in paths]
    return _with_contents([overlay for overlay in found if overlay is not None], loader, limits)


def load_overlay(document: Document, folder: str, limits: Limits) -> tuple[list[Loaded], list[Diagnostic]]:
    """Like `load_overlays`, for an overlay that was passed as a document; paths are relative to `folder`."""
    loader = _Loader(limits)
    return _with_contents([loader.follow(document, folder, (), root_around(folder or os.curdir))], loader, limits)


def _with_contents(overlays: list[Loaded], loader: _Loader, limits: Limits) -> tuple[list[Loaded], list[Diagnostic]]:
    contents = _Contents(values_of(overlays), limits, loader.texts)
    loaded = [contents.read(overlay) for overlay in overlays]
    loaded = [replace(overlay, texts=tuple(loader.texts)) for overlay in loaded]
    return loaded, [*loader.diagnostics, *contents.diagnostics]


class _Loader:
    """Loads overlays and their bases within the repository of the first one, and rejects cycles."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._loaded = 0
        self.diagnostics: list[Diagnostic] = []
        self.texts: Texts = []

    def start(self, path: str) -> Loaded | None:
        """Load the overlay at a path from the user: a directory or the overlay's file."""
        return self._load(path, (), root_around(path if os.path.isdir(path) else os.path.dirname(path) or os.curdir))

    def _load(self, path: str, above: tuple[str, ...], root: str) -> Loaded | None:
        file = os.path.join(path, OVERLAY_FILE) if os.path.isdir(path) else path
        if file != path and not self._limits.allow_outside and not is_inside(file, root):
            message = f"{shown_path(file)} is a symbolic link that points outside the repository"
            self.diagnostics.append(Diagnostic("OutsideRoot", "error", message, hint=OUTSIDE_HINT))
            return None
        found, problems = read_paths([file], self._limits, texts=self.texts)
        self.diagnostics += problems
        if len(found) != 1:
            if not problems:
                message = f"{file} has {len(found)} documents; an overlay file has one"
                self.diagnostics.append(
                    Diagnostic("InvalidOverlay", "error", message, hint="put each overlay in its own file")
                )
            return None
        return self.follow(found[0], os.path.dirname(file), (*above, os.path.realpath(file)), root)

    def follow(self, document: Document, folder: str, above: tuple[str, ...], root: str) -> Loaded:
        """Load the bases of an overlay; `above` are the files of the overlays that led to it."""
        overlay, problems = read_overlay(document)
        self.diagnostics += problems
        self._loaded += 1
        bases: list[Loaded] = []
        files: list[tuple[int, str]] = []
        for index, resource in enumerate(overlay.resources):
            path = path_from(folder, resource)
            file = os.path.join(path, OVERLAY_FILE) if is_overlay_folder(path) else path
            if not self._may_be_read(overlay, ("resources", index), resource, path, root):
                continue
            if os.path.basename(file) != OVERLAY_FILE:
                files.append((index, path))
            elif os.path.realpath(file) in above:
                hint = "remove one of the two references"
                message = f"{resource} refers back to this overlay"
                self.diagnostics.append(_about(overlay, ("resources", index), message, hint))
            elif self._loaded > self._limits.overlays or len(above) > self._limits.depth:
                # Shared bases multiply: ten levels of overlays that each list the same two bases are a thousand to
                # apply.
                hint = "list each base once, or raise the limit (--max-overlays)"
                message = f"more than {self._limits.overlays:,} overlays, or overlays nested too deeply"
                self.diagnostics.append(_about(overlay, ("resources", index), message, hint))
                break
            elif (base := self._load(path, above, root)) is not None:
                bases.append(base)
        for index, runtime in enumerate(overlay.runtimes):
            self._may_be_read(overlay, ("runtimes", index), runtime, path_from(folder, runtime), root)
        for entry in overlay.patches:
            if entry.file is not None:
                self._may_be_read(overlay, (*entry.path, "path"), entry.file, path_from(folder, entry.file), root)
        return Loaded(overlay, folder, tuple(bases), tuple(files), root=root)

    def _may_be_read(self, overlay: Overlay, at: Path, written: str, path: str, root: str) -> bool:
        """Return whether a path in an overlay may be read: manifests in the repository, nothing else on the machine."""
        allowed = self._limits.allow_outside
        if not allowed and not os.path.isabs(written) and not is_inside(path, root):
            message = f"{written} is outside the repository"
            self.diagnostics.append(replace(_about(overlay, at, message, OUTSIDE_HINT), code="OutsideRoot"))
            return False
        if not allowed and os.path.isabs(written):
            message, hint = f"{written} is an absolute path", "write it relative to the overlay's folder"
        elif not os.path.isdir(path) and not path.endswith(READ_SUFFIXES):
            message = f"{written} is not a folder or a file that ends in {', '.join(READ_SUFFIXES)}"
            hint = "copy remote files into the repository: trainc does not download anything"
        else:
            return True
        self.diagnostics.append(_about(overlay, at, message, hint))
        return False


class _Contents:
    """Reads the resources and patches of overlays."""

    def __init__(self, values: Mapping[str, Any], limits: Limits, texts: Texts) -> None:
        self._values = values
        self._limits = limits
        self._texts = texts
        self._read = 0
        self.diagnostics: list[Diagnostic] = []

    def read(self, loaded: Loaded) -> Loaded:
        resources = [document for index, path in loaded.files for document in self._resource(loaded, index, path)]
        patches = tuple(patch for entry in loaded.overlay.patches for patch in self._patches(loaded, entry))
        bases = tuple(self.read(base) for base in loaded.bases)
        return replace(loaded, bases=bases, patches=patches, resources=tuple(resources))

    def _resource(self, loaded: Loaded, index: int, path: str) -> list[Document]:
        documents, problems = read_paths(
            [path], self._limits, values=self._values, texts=self._texts, already=self._read
        )
        self._read += len(documents)
        place = loaded.overlay.document.locate(("resources", index))
        self.diagnostics += [p if p.source else replace(p, source=place) for p in problems]
        if any(is_overlay(document.data) for document in documents):
            message, hint = (
                f"{path} is an overlay, but is not called {OVERLAY_FILE}",
                f"rename the file to {OVERLAY_FILE}",
            )
            self.diagnostics.append(_about(loaded.overlay, ("resources", index), message, hint))
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
                message = "the patch has no target, and no apiVersion, kind and name that say which document it changes"
                self.diagnostics.append(
                    _about(
                        overlay,
                        entry.path,
                        message,
                        "add a target, as in target: {kind: TrainJob, name: llm}, or add apiVersion, kind and metadata.name to the patch",
                    )
                )
            else:
                patches.append(Patch(body, document, prefix, target, entry))
        return patches

    def _from_file(self, loaded: Loaded, entry: PatchEntry, file: str) -> tuple[list[Body], list[Diagnostic]]:
        path = path_from(loaded.folder, file)
        allowed = self._limits.allow_outside or (is_inside(path, loaded.root) and not os.path.isabs(file))
        if not allowed or not path.endswith(READ_SUFFIXES):
            return [], []  # Already reported by `_may_be_read`.
        try:
            data = read_file(path, self._limits.file_bytes)
            self._texts.append((path, data))
            text = decode(data)
            if path.endswith(TEMPLATE_SUFFIXES):
                text = render(text, path, self._values, self._limits)
        except OSError as error:
            message = f"{file} cannot be read: {error_reason(error)}"
            return [], [
                _about(
                    loaded.overlay,
                    (*entry.path, "path"),
                    message,
                    "check the path: it is relative to the overlay's folder",
                )
            ]
        except TemplateFailedError as failed:
            return [], [failed.diagnostic]
        return bodies_of(text, path.replace(os.sep, "/"), self._limits)


def _about(overlay: Overlay, path: Path, message: str, hint: str) -> Diagnostic:
    place = overlay.document.locate(path)
    return Diagnostic(
        "InvalidOverlay", "error", message, hint=hint, object=overlay.label, path=format_path(path), source=place
    )
