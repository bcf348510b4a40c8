"""Everything the server needs to answer a request about one open file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.api.cluster import Dump
from trainc.api.documents import Document
from trainc.api.editing import edits
from trainc.api.findings import Diagnostic, Path
from trainc.api.jobs import CompiledJob, Session
from trainc.api.records import dataclass, field, pattern

Schema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Built:
    """The file as one environment of trainc.yaml has it: a session with its jobs, and what they compile to.

    The session's jobs are those of the file; where it has runtimes, some that use them too.
    """

    environment: str
    session: Session
    compiled: tuple[CompiledJob, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An immutable view of one open file: every edit creates a new one.

    `file` is what diagnostics call it, and so is `Document.file` of all documents: paths lead from `root`. `documents`
    are those of the file, `workspace` all that were read, both as they are written. `schema` gives the JSON Schema of
    a kind, or of `trainc.yaml`. `cluster` is the dump that trainc.yaml names, and `fits` says whether that cluster
    can ever admit the jobs of the file. It is `complete` once what all jobs together show is known.
    """

    root: str
    file: str
    text: str
    documents: Sequence[Document] = ()
    workspace: Sequence[Document] = ()
    built: Sequence[Built] = ()
    diagnostics: Sequence[Diagnostic] = ()
    schema: Callable[[str], Schema | None] = field(default=dict[str, Schema]().get, repr=False)
    cluster: Dump | None = field(default=None, repr=False)
    fits: Sequence[Any] = ()
    complete: bool = True
    docs_url: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines of the text, without their ends."""
        return edits.lines_of(self.text)


# The field path at the cursor, even while the YAML is incomplete.
#
# Read from indentation alone, line by line upward from the cursor, and inside brackets that stand on the same line.


_KEY = pattern(r"""(?:"([^"]*)"|'([^']*)'|([^\s"'#:{}\[\],][^:#{}\[\],]*?))\s*:(?:\s|$)""")
_LONGEST = 10_000
_DASHES = pattern(r"(?:- +|-$)*")


@dataclass(frozen=True, slots=True)
class Typing:
    """What is being typed: a key of the mapping at `path`, or the value at it; `word` is what is there of it already.

    `start` is the column at which the word begins; `indent` that of the mapping, -1 in brackets. `siblings` are the keys
    beside it, and `line` is the line without what is being typed: empty, or what is in its brackets, which are closed.
    """

    path: Path
    awaits: Literal["key", "value"]
    word: str
    start: int
    indent: int
    siblings: frozenset[str]
    first: int
    line: str = ""


def typing_at(lines: Sequence[str], position: edits.Position) -> Typing | None:
    """What is being typed at a place; None in a comment, and in what nobody types."""
    if any(len(line) > _LONGEST for line in lines):
        return None
    line = lines[position.line] if position.line < len(lines) else ""
    before = line[: position.column]
    if "#" in before and (before.lstrip().startswith("#") or " #" in before):
        return None
    content = before.lstrip(" ")
    indent = len(before) - len(content)
    dashes = _DASHES.match(content)
    skipped = dashes.end() if dashes is not None else 0
    first = next((n + 1 for n in range(position.line - 1, -1, -1) if lines[n].startswith("---")), 0)
    indent, content = indent + skipped, content[skipped:]
    above = _above(lines, position.line, first, indent - skipped if skipped else indent, dashed=bool(skipped))
    if content[:1] in ("{", "["):
        return _in_brackets(above, content, before, indent, first)
    key = _KEY.match(content)
    if key is None:
        siblings = frozenset(_siblings(lines, position.line, first, indent))
        return Typing(above, "key", content, position.column - len(content), indent, siblings, first)
    path, value = (*above, key[key.lastindex or 0]), content[key.end() :].lstrip(" ")
    if value[:1] in ("{", "["):
        return _in_brackets(path, value, before, indent, first)
    return Typing(path, "value", value, position.column - len(value), indent, frozenset(), first)


def _above(lines: Sequence[str], number: int, first: int, indent: int, *, dashed: bool) -> Path:
    """The path of the mapping or list whose entries stand at `indent` before line `number`."""
    steps: list[str | int] = []
    count = 0 if dashed else None
    for index in range(number - 1, first - 1, -1):
        parts = _parts(lines[index])
        for inner, text, is_item in reversed(parts if parts and parts[0][0] <= indent else []):
            if is_item and inner == indent and count is not None:
                count += 1
            elif is_item and inner < indent and count is None:
                indent, count = inner, 0
            elif not is_item and (inner < indent or (inner == indent and count is not None)) and text is not None:
                steps += [count] if count is not None else []
                steps.append(text)
                indent, count = inner, None
        if indent == 0 and count is None:
            break
    return tuple(reversed(steps))


def _parts(line: str) -> list[tuple[int, str | None, bool]]:
    """The dashes of a line and the key behind them, each with its column; nothing of a comment or a blank line."""
    content = line.lstrip(" ")
    column, parts = len(line) - len(content), list[tuple[int, str | None, bool]]()
    if not content.strip() or content.startswith("#"):
        return parts
    while content.startswith("- ") or content == "-":
        parts.append((column, None, True))
        content = content[1:].lstrip(" ")
        column = len(line) - len(content)
    key = _KEY.match(content)
    return [*parts, (column, key[key.lastindex or 0] if key is not None else None, False)]


def _siblings(lines: Sequence[str], number: int, first: int, indent: int) -> Iterator[str]:
    """The keys of the mapping that a line at `indent` belongs to, those below it included."""
    for step in (-1, 1):
        index = number
        while first <= index < len(lines) and not lines[index].startswith("---"):
            parts = _parts(lines[index])
            keys = [text for inner, text, is_item in parts if inner == indent and not is_item and text]
            yield from keys if index != number else ()
            begins = any(is_item for _, _, is_item in parts) and parts[-1][0] == indent
            if parts and parts[0][0] < indent and not begins:
                break
            if begins and (step == -1 or index != number):
                break
            index += step


def _in_brackets(path: Path, value: str, before: str, indent: int, first: int) -> Typing:
    """What is being typed behind brackets that are still open at the cursor."""
    stack: list[str | int] = []
    kinds: list[str] = []
    start, end, key = 0, 0, False
    names: list[set[str]] = []
    for index, character in enumerate(value):
        if character in "{[":
            kinds.append(character)
            stack.append(0 if character == "[" else "")
            names.append(set())
            start, end, key = index + 1, index + 1, False
        elif character in "}]" and kinds:
            kinds.pop()
            stack.pop()
            names.pop()
            start = end = index + 1
        elif character == "," and kinds:
            stack[-1] = int(stack[-1]) + 1 if kinds[-1] == "[" else ""
            start, end, key = index + 1, index, False
        elif character == ":" and kinds and kinds[-1] == "{":
            stack[-1] = value[start:index].strip().strip("\"'")
            names[-1].add(str(stack[-1]))
            start, key = index + 1, True
    word = value[start:].lstrip(" ")
    column = len(before) - len(word)
    line = before.removesuffix(value) + value[:end] + "".join("}" if kind == "{" else "]" for kind in reversed(kinds))
    if not kinds:
        return Typing(path, "value", word, column, indent, frozenset(), first)
    if kinds[-1] == "{" and not key:
        return Typing((*path, *stack[:-1]), "key", word, column, -1, frozenset(names[-1]), first, line)
    return Typing((*path, *stack), "value", word, column, -1, frozenset(), first, line)
