"""The content of `overlay.yaml`: its schema, and what it says, before it is applied."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from trainc.findings import CompileError, Diagnostic, Finding, Path, Source
from trainc.findings.policy import Rule, read_rules
from trainc.kube.documents import Json
from trainc.options import Limits
from trainc.project.overlays.patterns import Target, target_of
from trainc.project.settings import RULES, options_schema, read_options
from trainc.reading.document import Chunk, Document, split
from trainc.reading.opening import read_data
from trainc.reading.yaml_reader import Locator, Positions, read_documents, read_value
from trainc.schema.document_kinds import DocumentKind, struct, without_nulls
from trainc.startup.records import dataclass, field, replace

API = "trainc/v1alpha1"
KIND: Final = "Overlay"
CODE = "InvalidOverlay"


@dataclass(frozen=True, slots=True)
class PatchEntry:
    """An item of `patches`: either a body, or a file with bodies. `path` is its path in the overlay."""

    path: Path
    body: Json | Sequence[Any] | str | None
    file: str | None
    target: Target | None


@dataclass(frozen=True, slots=True)
class ImageChange:
    """An item of `images`: the new name, tag or digest for an image."""

    path: Path
    name: str
    new_name: str | None
    new_tag: str | None
    digest: str | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A label or annotation to set, and its path in the overlay."""

    key: str
    value: str
    path: Path


@dataclass(frozen=True, slots=True)
class Overlay:
    """The content of an `overlay.yaml`.

    `settings` are `Options` fields. `runtimes` and `resources` are paths relative to the overlay.
    """

    document: Document
    resources: tuple[str, ...] = ()
    patches: tuple[PatchEntry, ...] = ()
    namespace: str | None = None
    name_prefix: str = ""
    name_suffix: str = ""
    labels: tuple[Pair, ...] = ()
    annotations: tuple[Pair, ...] = ()
    images: tuple[ImageChange, ...] = ()
    mirrors: Mapping[str, str] = field(default_factory=dict)
    values: Json = field(default_factory=dict)
    runtimes: tuple[str, ...] = ()
    settings: Json = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    @property
    def label(self) -> str:
        """The name of the overlay in diagnostics."""
        metadata = self.document.data.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return f"{KIND} {name or self.document.file}".rstrip()


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch to apply; `prefix` is the path of its body in `document`."""

    body: Json | Sequence[Any]
    document: Document
    prefix: Path
    target: Target
    entry: PatchEntry


# The schema of `overlay.yaml`: kustomize's field names, and compile options.


_DATA = read_data(__file__, "overlay.json")
_FIELDS = {**_DATA["fields"], "rules": RULES, **options_schema(KIND)}
# With hints for kustomize's fields that are deprecated or do not apply to TrainJobs.
OVERLAY = DocumentKind(KIND, "an overlay", CODE, struct(_FIELDS, required=["apiVersion", "kind"]), _DATA["kustomize"])


# Reads `overlay.yaml`.


_PREFIX = re.compile(r"([a-z][-a-z0-9]*)?")
_SUFFIX = re.compile(r"([-a-z0-9]*[a-z0-9])?")


def is_overlay(data: Any) -> bool:
    """Return whether a document is an overlay of any version."""
    api = str(data.get("apiVersion", "")) if isinstance(data, Mapping) else ""
    return api.startswith("trainc/") and data.get("kind") == KIND


def read_overlay(document: Document) -> tuple[Overlay, list[Diagnostic]]:
    """Read the overlay in a document; return it, without the fields in which something is wrong, and all problems."""
    label = Overlay(document).label
    if (document.data.get("apiVersion"), document.data.get("kind")) != (API, KIND):
        hint = f"start it with apiVersion: {API} and kind: {KIND}"
        wrong = ("kind",) if document.data.get("apiVersion") == API and "kind" in document.data else ()
        return Overlay(document), [document.diagnose(_wrong(wrong, "this is not an overlay", hint), label)]
    data, findings = OVERLAY.check(without_nulls(OVERLAY.schema, document.data))
    options, problems = read_options(data, KIND, CODE)
    rules, unknown = read_rules(data.get("rules", {}), os.path.dirname(document.file), CODE)
    findings += [*problems, *unknown, *_wrong_names(data)]
    overlay = Overlay(
        document,
        resources=tuple(data.get("resources", ())),
        patches=tuple(_patch(item, index, findings) for index, item in enumerate(data.get("patches", ()))),
        namespace=data.get("namespace"),
        name_prefix=data.get("namePrefix", ""),
        name_suffix=data.get("nameSuffix", ""),
        labels=tuple(
            pair
            for index, group in enumerate(data.get("labels", ()))
            for pair in _pairs(group.get("pairs", {}), ("labels", index, "pairs"))
        ),
        annotations=_pairs(data.get("commonAnnotations", {}), ("commonAnnotations",)),
        mirrors={name.rstrip("/"): mirror.rstrip("/") for name, mirror in data.get("mirrors", {}).items()},
        images=tuple(
            ImageChange(("images", index), item["name"], item.get("newName"), item.get("newTag"), item.get("digest"))
            for index, item in enumerate(data.get("images", ()))
        ),
        values=data.get("values", {}),
        runtimes=tuple(data.get("runtimes", ())),
        settings=options,
        rules=tuple(rules),
    )
    return overlay, [document.diagnose(finding, label) for finding in findings]


def _patch(item: Json, index: int, findings: list[Finding]) -> PatchEntry:
    path: Path = ("patches", index)
    target = item.get("target")
    try:
        patch_target = None if target is None else target_of(target)
    except ValueError as error:
        hint = "write names as regular expressions, and selectors as for kubectl -l"
        findings.append(_wrong((*path, "target"), f"the target is not valid: {error}", hint))
        patch_target = Target()
    return PatchEntry(path, item.get("patch"), item.get("path"), patch_target)


def _pairs(pairs: Mapping[str, str], path: Path) -> tuple[Pair, ...]:
    return tuple(Pair(key, value, (*path, key)) for key, value in pairs.items())


def _wrong_names(data: Json) -> Iterator[Finding]:
    for name, form in (("namePrefix", _PREFIX), ("nameSuffix", _SUFFIX)):
        if not form.fullmatch(data.get(name, "")):
            hint = "use lowercase letters, digits and `-`; a name starts with a letter and does not end with `-`"
            yield _wrong((name,), f"{data[name]!r} cannot be part of a name", hint)


def _wrong(path: Path, message: str, hint: str) -> Finding:
    return Finding(CODE, "error", message, hint, path)


# Reads the bodies of patches: inline values, inline text, or separate files.


# A body, the document that contains it, and its path there.
Body: TypeAlias = tuple[Mapping[str, Any] | Sequence[Any], Document, Path]
_OPERATIONS_KEY = "operations"


def body_in_place(overlay: Overlay, entry: PatchEntry, limits: Limits) -> tuple[list[Body], list[Diagnostic]]:
    """Return the bodies of an inline `patch`: a mapping, a list of operations, or the text of either."""
    path: Path = (*entry.path, "patch")
    if not isinstance(entry.body, str):
        return ([(entry.body, overlay.document, path)] if entry.body is not None else []), []

    def locate_inside(source: Source | None) -> Source | None:
        start = overlay.document.locate(path)
        if start is None or source is None:
            return start
        # The text of a block scalar starts on the line after its key.
        inside = source.line if "\n" in str(entry.body) else 0
        return replace(start, line=start.line + inside)

    bodies, diagnostics = bodies_of(entry.body, overlay.document.file, limits)
    relocated = [(body, replace(d, locate=_relocate(d.locate, locate_inside)), at) for body, d, at in bodies]
    return relocated, [replace(d, source=locate_inside(d.source)) for d in diagnostics]


def bodies_of(text: str, file: str, limits: Limits) -> tuple[list[Body], list[Diagnostic]]:
    """Return the bodies in a text: one strategic merge patch per document, or a list of JSON Patch operations."""
    bodies: list[Body] = []
    diagnostics: list[Diagnostic] = []
    for chunk in split(text, file):
        if isinstance(chunk, Diagnostic):
            diagnostics.append(chunk)
        elif _is_list(chunk.text):
            diagnostics += _read_operations(chunk, limits, bodies)
        else:
            documents, problems = read_documents(chunk.text.encode("utf-8", "surrogateescape"), file, limits)
            below = _locate_below(chunk)
            bodies += [(d.data, replace(d, locate=_relocate(d.locate, below)), ()) for d in documents]
            diagnostics += [replace(problem, source=below(problem.source)) for problem in problems]
    return bodies, diagnostics


def _is_list(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return first.startswith(("- ", "[")) or first == "-"


def _read_operations(chunk: Chunk, limits: Limits, bodies: list[Body]) -> Iterator[Diagnostic]:
    below = _locate_below(chunk)
    try:
        operations = read_value(chunk.text)
    except CompileError as error:
        yield from (replace(problem, source=below(problem.source, chunk.file)) for problem in error.diagnostics)
        return
    locate = Locator(Positions(chunk, limits))
    # Documents must be mappings, so wrap the list in one with a single field.
    bodies.append(
        (
            operations,
            Document({_OPERATIONS_KEY: operations}, chunk.file, lambda path: locate(path[1:])),
            (_OPERATIONS_KEY,),
        )
    )


def _locate_below(chunk: Chunk) -> Callable[..., Source | None]:
    """Return a function that translates positions in a chunk to positions in its file."""

    def locate(source: Source | None, file: str = "") -> Source | None:
        return source and replace(source, line=source.line + chunk.line - 1, file=file or source.file)

    return locate


def _relocate(
    locate: Callable[[Path], Source | None], move: Callable[[Source | None], Source | None]
) -> Callable[[Path], Source | None]:
    return lambda path: move(locate(path))
