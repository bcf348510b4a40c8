"""Loads overlays with their bases, patches and resources. This is the only module of the package that reads files."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.findings import Diagnostic, Finding, Path, suggest
from trainc.findings.policy import Rule
from trainc.findings.text import near_names
from trainc.kube.documents import identity_of, mapping
from trainc.options import Limits, Options, merge_layers
from trainc.project.overlays.apply import Layer, Use, target_of_body
from trainc.project.overlays.overlay import (
    Body,
    Overlay,
    Patch,
    PatchEntry,
    bodies_of,
    body_in_place,
    is_overlay,
    read_overlay,
)
from trainc.project.overlays.patterns import Edited
from trainc.reading.catalog import Catalog, NotFound
from trainc.reading.document import Document
from trainc.reading.files import (
    OVERLAY_FILE,
    READ_SUFFIXES,
    TEMPLATE_SUFFIXES,
    Texts,
    is_overlay_folder,
    near_paths,
    read_paths,
    shown_path,
)
from trainc.reading.opening import OUTSIDE_HINT, error_reason, is_inside, read_file, root_around
from trainc.reading.templates import TemplateFailedError, render
from trainc.reading.yaml_reader import decode
from trainc.startup.records import dataclass, field, fields, replace

# A loaded overlay, and the settings and values of several overlays combined.


@dataclass(frozen=True, slots=True)
class Loaded:
    """An overlay with the content of everything it refers to.

    `bases` are the overlays among its resources, which are applied first. `files` are its other resources, with their
    index in `resources`. `texts` are all files read to load it and the overlays loaded with it, by path. `root` is the
    directory that its references may not leave.
    """

    overlay: Overlay
    folder: str
    bases: tuple[Loaded, ...] = ()
    files: tuple[tuple[int, str], ...] = ()
    patches: tuple[Patch, ...] = ()
    resources: tuple[Document, ...] = ()
    texts: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    root: str = ""

    @property
    def in_order(self) -> tuple[Loaded, ...]:
        """This overlay and all its bases, in the order of application."""
        return (*(loaded for base in self.bases for loaded in base.in_order), self)

    @property
    def has_resources(self) -> bool:
        """Return whether it or a base lists resources, in which case no other input is needed."""
        return any(loaded.overlay.resources for loaded in self.in_order)

    @property
    def resource_files(self) -> set[str]:
        """The files of its resources and those of its bases."""
        return {document.file for loaded in self.in_order for document in loaded.resources}

    @property
    def settings(self) -> dict[str, Any]:
        """The `Options` fields that it and its bases set."""
        return merge_layers(*(loaded.overlay.settings for loaded in self.in_order))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Its rules for diagnostics and those of its bases; the last one wins."""
        return tuple(rule for loaded in self.in_order for rule in loaded.overlay.rules)

    @property
    def all_runtimes(self) -> tuple[str, ...]:
        """The runtime directories that it and its bases list."""
        return tuple(
            path_from(loaded.folder, path) for loaded in reversed(self.in_order) for path in loaded.overlay.runtimes
        )


def path_from(folder: str, path: str) -> str:
    """Resolve a path in an overlay located in `folder`."""
    return os.path.normpath(os.path.join(folder, path))


def values_of(overlays: Sequence[Loaded]) -> dict[str, Any]:
    """Merge the template values of all overlays recursively; later overlays override earlier ones."""
    from copy import deepcopy

    from deepmerge import Merger

    merger = Merger([(dict, ["merge"])], ["override"], ["override"])
    values: dict[str, Any] = {}
    for overlay in overlays:
        for loaded in overlay.in_order:
            merger.merge(
                values, deepcopy(dict(loaded.overlay.values))
            )  # It shares parts of the second with the result.
    return values


def at_value(diagnostic: Diagnostic, overlays: Sequence[Loaded]) -> Diagnostic:
    """Say of a value that a template lacks where an overlay sets one with almost this name, if one does."""
    name = diagnostic.message.removeprefix("'").partition("'")[0]
    if diagnostic.trait != "unset":
        return diagnostic
    for loaded in (loaded for overlay in reversed(overlays) for loaded in reversed(overlay.in_order)):
        near = near_names(name, loaded.overlay.values, limit=1, cutoff=0.8)
        if near and (at := loaded.overlay.document.locate(("values", near[0]))):
            return replace(diagnostic, hint=at.refusing(f"write {name} for {near[0]} at {at.file}:{at.line}"))
    return diagnostic


# Options from overlays: later overlays override earlier ones, and the caller overrides all.


def overlaid_options(options: Options, overlays: Sequence[Loaded]) -> tuple[Options, list[Diagnostic]]:
    """Return `options` with the settings of overlays instead of defaults, and any conflicts."""
    settings = merge_layers(*(overlay.settings for overlay in overlays), _options_set(options))
    try:
        return replace(options, **settings), []
    except ValueError as contradiction:
        hint = "change the setting in one of the overlays, or on the command line"
        return options, [Diagnostic("InvalidOverlay", "error", str(contradiction), hint)]


def _options_set(options: Options) -> dict[str, Any]:
    """Return the fields that differ from the defaults, which is how the Python API detects explicit choices."""
    default = Options()
    return {
        f.name: getattr(options, f.name)
        for f in fields(Options)
        if getattr(options, f.name) != getattr(default, f.name)
    }


AnyPath: TypeAlias = "str | os.PathLike[str]"


def load_overlays(paths: Sequence[AnyPath], limits: Limits) -> tuple[list[Loaded], list[Diagnostic]]:
    """Load the overlays at `paths` (directories or files) and everything they refer to; return them and all problems.

    Templates among resources and patches see the combined values of all overlays.
    """
    loader = _Loader(limits)
    overlays = [loader.start(os.fspath(path)) for path in paths]
    return _with_contents([overlay for overlay in overlays if overlay is not None], loader, limits)


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
            self.diagnostics.append(Diagnostic("OutsideRoot", "error", message, OUTSIDE_HINT))
            return None
        documents, problems = read_paths([file], self._limits, texts=self.texts)
        self.diagnostics += problems
        if len(documents) != 1:
            if not problems:
                message = f"{file} has {len(documents)} documents; an overlay file has one"
                self.diagnostics.append(
                    Diagnostic("InvalidOverlay", "error", message, "put each overlay in its own file")
                )
            return None
        return self.follow(documents[0], os.path.dirname(file), (*above, os.path.realpath(file)), root)

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
            if not self._may_be_read(overlay, ("resources", index), resource, folder, root):
                continue
            if os.path.basename(file) != OVERLAY_FILE:
                files.append((index, path))
            elif os.path.realpath(file) in above:
                hint = "remove one of the two references"
                message = f"{resource} refers back to this overlay"
                self.diagnostics.append(_invalid(overlay, ("resources", index), message, hint))
            elif self._loaded > self._limits.overlays or len(above) > self._limits.depth:
                # Shared bases multiply: ten levels of overlays that each list the same two bases are a thousand to
                # apply.
                hint = "list each base once, or raise the limit (--max-overlays)"
                message = f"more than {self._limits.overlays:,} overlays, or overlays nested too deeply"
                self.diagnostics.append(_invalid(overlay, ("resources", index), message, hint))
                break
            elif (base := self._load(path, above, root)) is not None:
                bases.append(base)
        for index, runtime in enumerate(overlay.runtimes):
            self._may_be_read(overlay, ("runtimes", index), runtime, folder, root)
        for entry in overlay.patches:
            if entry.file is not None:
                self._may_be_read(overlay, (*entry.path, "path"), entry.file, folder, root)
        return Loaded(overlay, folder, tuple(bases), tuple(files), root=root)

    def _may_be_read(self, overlay: Overlay, at: Path, reference: str, folder: str, root: str) -> bool:
        """Return whether a path in an overlay may be read: manifests in the repository, nothing else on the machine."""
        allowed, path = self._limits.allow_outside, path_from(folder, reference)
        if not allowed and not os.path.isabs(reference) and not is_inside(path, root):
            message = f"{reference} is outside the repository"
            self.diagnostics.append(replace(_invalid(overlay, at, message, OUTSIDE_HINT), code="OutsideRoot"))
            return False
        if not allowed and os.path.isabs(reference):
            message, hint = f"{reference} is an absolute path", "write it relative to the overlay's folder"
        elif not os.path.isdir(path) and not path.endswith(READ_SUFFIXES):
            message = f"{reference} is not a folder or a file that ends in {', '.join(READ_SUFFIXES)}"
            remote = "copy remote files into the repository: trainc does not download anything"
            near = [] if "://" in reference else near_paths(path)
            hint = suggest(reference, [_reference(name, folder) for name in near]) if near else remote
        else:
            return True
        self.diagnostics.append(_invalid(overlay, at, message, hint))
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
        source = loaded.overlay.document.locate(("resources", index))
        self.diagnostics += [p if p.source else replace(p, source=source) for p in problems]
        if any(is_overlay(document.data) for document in documents):
            message = f"{path} is an overlay, but is not called {OVERLAY_FILE}"
            hint = f"rename the file to {OVERLAY_FILE}"
            self.diagnostics.append(_invalid(loaded.overlay, ("resources", index), message, hint))
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
                hint = "add a target, as in target: {kind: TrainJob, name: llm}, or add apiVersion, kind and metadata.name to the patch"
                self.diagnostics.append(_invalid(overlay, entry.path, message, hint))
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
            near = [_reference(other, loaded.folder) for other in near_paths(path)]
            hint = suggest(file, near) if near else "check the path: it is relative to the overlay's folder"
            return [], [_invalid(loaded.overlay, (*entry.path, "path"), message, hint)]
        except TemplateFailedError as failed:
            return [], [failed.diagnostic]
        return bodies_of(text, path.replace(os.sep, "/"), self._limits)


def _reference(path: str, folder: str) -> str:
    return os.path.relpath(path, folder or os.curdir).replace(os.sep, "/")


def _invalid(overlay: Overlay, path: Path, message: str, hint: str) -> Diagnostic:
    return overlay.document.diagnose(Finding("InvalidOverlay", "error", message, hint, path), overlay.label)


# Applies a stack of overlays: each one sees the result of those before it, and the last one wins.


_DELETED = "an overlay deletes it"


@dataclass(frozen=True, slots=True)
class Passed:
    """Documents after a stack of overlays.

    `uses` are the parts of overlays that matched them, and `runtimes` the cluster runtimes that they refer to. `failed`
    means that a patch could not be applied to one of them.
    """

    documents: list[Document]
    uses: frozenset[Use]
    runtimes: tuple[str, ...]
    failed: bool


class Stack:
    """The layers of overlays in order of application, and documents and runtimes after applying them.

    A base only changes its own resources. Catalog runtimes that a TrainJob refers to pass through every overlay too, so
    that overlays can patch them and change their images.
    """

    def __init__(
        self,
        overlays: Sequence[Loaded],
        documents: Sequence[Document],
        sources: Sequence[Sequence[Document]],
        catalog: Catalog,
        release: str,
    ) -> None:
        self._catalog = catalog
        self._release = release
        self._layers: list[Layer] = []
        self._uses: set[Use] = set()
        self._shipped: dict[str, tuple[Document | Callable[[], NotFound], set[Use]]] = {}
        current = [Edited.of(document) for document in documents]
        further = [[Edited.of(document) for document in source] for source in sources]
        self._outermost: list[Layer] = []
        for overlay in overlays:
            current, layer = self._build(overlay, current)
            further = [layer.apply(source, self._uses) for source in further]
            self._outermost.append(layer)
        self._current, self._further = current, further

    @property
    def documents(self) -> list[Document]:
        """The input and the resources of overlays."""
        return [document.to_document() for document in self._current]

    @property
    def sources(self) -> list[list[Document]]:
        """The additional sources of runtimes."""
        return [[document.to_document() for document in source] for source in self._further]

    def catalog(self, name: str, release: str) -> Document | Callable[[], NotFound]:
        """Return a catalog runtime after all layers; `release` must be that of the compilation."""
        assert release == self._release
        return self._shipped_runtime(name)[0]

    def more(self, documents: Iterable[Document]) -> Passed:
        """Apply the layers that the input passes through to additional documents."""
        uses: set[Use] = set()
        problem_count = len(self._problems())
        edited = [Edited.of(document) for document in documents]
        for layer in self._outermost:
            edited = layer.apply(edited, uses)
        failed = len(self._problems()) > problem_count
        finished = [document.to_document() for document in edited]
        return Passed(finished, frozenset(uses), tuple(_runtime_names(edited)), failed)

    def diagnostics(
        self, uses: Iterable[Use] = (), runtimes: Iterable[str] = (), elsewhere: Collection[str] = ()
    ) -> list[Diagnostic]:
        """Return all problems, and unused patches and images.

        `uses` and `runtimes` come from documents that were passed to `more`; `elsewhere` are the names of other
        environments' jobs.
        """
        used = {*self._uses, *uses}
        documents = [*self._current, *(document for source in self._further for document in source)]
        defined = {identity_of(d.data)[1] for d in documents if d.data.get("kind") == "ClusterTrainingRuntime"}
        for name in dict.fromkeys((*_runtime_names(self._current), *runtimes)):
            if name not in defined:
                answer, matching = self._shipped_runtime(name)
                used |= matching
                documents += [Edited.of(answer)] if isinstance(answer, Document) else []
        found = ((*layer.diagnostics, *layer.find_unused(documents, used, elsewhere)) for layer in self._layers)
        return [d for of_layer in found for d in of_layer]

    def _problems(self) -> list[Diagnostic]:
        return [problem for layer in self._layers for problem in layer.diagnostics]

    def _build(self, overlay: Loaded, documents: Sequence[Edited]) -> tuple[list[Edited], Layer]:
        """Apply an overlay to `documents`, its bases and its resources; return the result and its layer."""
        gathered = list(documents)
        for base in overlay.bases:
            gathered += self._build(base, ())[0]
        gathered += [Edited.of(document) for document in overlay.resources]
        layer = Layer(overlay.overlay, overlay.patches, len(self._layers))
        self._layers.append(layer)
        return layer.apply(gathered, self._uses), layer

    def _shipped_runtime(self, name: str) -> tuple[Document | Callable[[], NotFound], set[Use]]:
        """Return a catalog runtime after all layers and what matched it; computed once per runtime."""
        if name not in self._shipped:
            answer, uses = self._catalog(name, self._release), set[Use]()
            if isinstance(answer, Document):
                documents = [Edited.of(answer)]
                for layer in self._layers:
                    documents = layer.apply(documents, uses)
                answer = documents[0].to_document() if documents else lambda: NotFound(_DELETED)
            self._shipped[name] = answer, uses
        return self._shipped[name]


def _runtime_names(documents: Iterable[Edited]) -> Iterator[str]:
    """Yield the names of cluster runtimes that documents refer to, before schema defaults."""
    for document in documents:
        reference = mapping(mapping(document.data.get("spec")).get("runtimeRef"))
        name = reference.get("name")
        if isinstance(name, str) and name and reference.get("kind", _CLUSTER) == _CLUSTER:
            yield name


_CLUSTER = "ClusterTrainingRuntime"
