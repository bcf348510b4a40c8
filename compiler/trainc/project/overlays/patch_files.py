"""Reads the bodies of patches: inline values, inline text, or separate files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.findings import CompileError, Diagnostic, Path, Source
from trainc.options import Limits
from trainc.project.overlays.overlay import Overlay, PatchEntry
from trainc.reading.document import Chunk, Document, split
from trainc.reading.yaml_reader import Locator, Positions, read_documents, read_value
from trainc.startup.records import replace

# A body, the document that contains it, and its path there.
Body: TypeAlias = tuple[Mapping[str, Any] | Sequence[Any], Document, Path]
_OPERATIONS_KEY = "operations"


def body_in_place(overlay: Overlay, entry: PatchEntry, limits: Limits) -> tuple[list[Body], list[Diagnostic]]:
    """Return the bodies of an inline `patch`: a mapping, a list of operations, or the text of either."""
    path: Path = (*entry.path, "patch")
    if not isinstance(entry.body, str):
        return ([(entry.body, overlay.document, path)] if entry.body is not None else []), []

    def place(source: Source | None) -> Source | None:
        start = overlay.document.locate(path)
        if start is None or source is None:
            return start
        # The text of a block scalar starts on the line after its key.
        inside = source.line if "\n" in str(entry.body) else 0
        return replace(start, line=start.line + inside)

    bodies, diagnostics = bodies_of(entry.body, overlay.document.file, limits)
    moved = [(body, replace(d, locate=_moved(d.locate, place)), at) for body, d, at in bodies]
    return moved, [replace(d, source=place(d.source)) for d in diagnostics]


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
            found, problems = read_documents(chunk.text.encode("utf-8", "surrogateescape"), file, limits)
            below = _below(chunk)
            bodies += [(d.data, replace(d, locate=_moved(d.locate, below)), ()) for d in found]
            diagnostics += [replace(problem, source=below(problem.source)) for problem in problems]
    return bodies, diagnostics


def _is_list(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return first.startswith(("- ", "[")) or first == "-"


def _read_operations(chunk: Chunk, limits: Limits, bodies: list[Body]) -> Iterator[Diagnostic]:
    below = _below(chunk)
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


def _below(chunk: Chunk) -> Callable[..., Source | None]:
    """Return a function that translates positions in a chunk to positions in its file."""

    def place(source: Source | None, file: str = "") -> Source | None:
        return source and replace(source, line=source.line + chunk.line - 1, file=file or source.file)

    return place


def _moved(
    locate: Callable[[Path], Source | None], move: Callable[[Source | None], Source | None]
) -> Callable[[Path], Source | None]:
    return lambda path: move(locate(path))
