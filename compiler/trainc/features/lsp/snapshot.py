"""Everything the server needs to answer a request about one open file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from trainc.api.documents import Chunk, Document, decode, encode, split
from trainc.api.findings import Diagnostic, Path
from trainc.api.jobs import CompiledJob, Session
from trainc.api.records import dataclass, field, pattern
from trainc.api.settings import Limits
from trainc.reading.libyaml import Node, RefusedError, compose

Schema: TypeAlias = Mapping[str, Any]


def _no_schema(kind: str) -> Schema | None:
    return None


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
    a kind, or of `trainc.yaml`. `queues` are the LocalQueues of the cluster that trainc.yaml names, and `fits` says
    whether it can ever admit the jobs of the file. It is `complete` once what all jobs together show is known.
    """

    root: str
    file: str
    text: str
    documents: Sequence[Document] = ()
    workspace: Sequence[Document] = ()
    built: Sequence[Built] = ()
    diagnostics: Sequence[Diagnostic] = ()
    schema: Callable[[str], Schema | None] = field(default=_no_schema, repr=False)
    queues: Sequence[str] = ()
    fits: Sequence[Any] = ()
    complete: bool = True
    docs_url: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines of the text, without their ends."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class Workspace(Protocol):
    """A folder with its trainc.yaml, if it has one, as the editor has its files: what makes snapshots."""

    root: str

    def changed(self) -> None:
        """Take notice that something on the disk has changed."""

    def look_at(self, file: str, texts: Mapping[str, str], *, thorough: bool = True) -> Snapshot:
        """One file, by its real path; `texts` are those of all open files. `thorough` asks the cluster, too."""

    def at_head(self, file: str, texts: Mapping[str, str]) -> Sequence[Sequence[CompiledJob]] | None:
        """What the jobs of a file were in git's HEAD, for each environment; None where there is no HEAD."""


# Places in a text: from a position to the field that stands there, and from a field to its range.
#
# Lines and columns count from 0, in characters: the server knows in which units its client counts.


class Position(NamedTuple):
    """A place between two characters."""

    line: int
    column: int


class Range(NamedTuple):
    """What stands between two places; `end` is behind its last character."""

    start: Position
    end: Position

    def holds(self, position: Position) -> bool:
        """Whether a place is in it or at one of its ends."""
        return self.start <= position <= self.end


@dataclass(frozen=True, slots=True)
class Field:
    """A field or an item of a list. `key` is the range of its name, empty for an item; `value` is the range of its value.

    `whole` reaches from its name to the end of the last line that belongs to it. `text` is that of a scalar.
    """

    path: Path
    key: Range
    value: Range
    whole: Range
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Tree:
    """One document of a text: its fields, outermost first, in the order of the text. `whole` is where it stands."""

    fields: Sequence[Field]
    whole: Range

    def field(self, path: Path) -> Field | None:
        """The field at a path; None where there is none."""
        return next((field for field in self.fields if field.path == path), None)

    def at(self, position: Position) -> Field | None:
        """The innermost field at a place."""
        found = [field for field in self.fields if field.key.holds(position) or field.value.holds(position)]
        return found[-1] if found else None


def trees(text: str) -> list[Tree]:
    """A tree for each document of a text that can be read as YAML; the others have no fields."""
    chunks = (chunk for chunk in split(decode(encode(text)), "") if not isinstance(chunk, Diagnostic))
    return [tree for chunk in chunks if (tree := _tree(chunk)).fields or chunk.text.strip()]


def _tree(chunk: Chunk) -> Tree:
    from yaml.error import YAMLError

    try:
        root = compose(chunk, Limits())
    except (YAMLError, RefusedError):
        root = None
    reader = _Reader(chunk)
    whole = Range(reader.place(0), reader.place(len(chunk.text.rstrip())))
    return Tree(tuple(reader.fields(root, (), len(chunk.text))) if root is not None else (), whole)


class _Reader:
    """Makes fields of nodes, whose own ends the parser does not keep."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk

    def place(self, index: int) -> Position:
        source = self._chunk.source(index)
        return Position(source.line - 1, source.column - 1)

    def fields(self, node: Node, path: Path, end: int) -> Iterator[Field]:
        """The fields below a node that nothing of reaches beyond `end`."""
        if node.kind == "mapping":
            pairs = list(node.pairs())
            for (key, value), stop in zip(pairs, (*(later.index for later, _ in pairs[1:]), end), strict=False):
                yield self._field((*path, key.text), key, value, stop)
                yield from self.fields(value, (*path, key.text), stop)
        elif node.kind == "sequence":
            stops = (*(later.index for later in node.children[1:]), end)
            for number, (item, stop) in enumerate(zip(node.children, stops, strict=False)):
                yield self._field((*path, number), None, item, stop)
                yield from self.fields(item, (*path, number), stop)

    def _field(self, path: Path, key: Node | None, value: Node, stop: int) -> Field:
        start = value.index if key is None else key.index
        last = self._trimmed(max(value.index, start), stop)
        named = Range(self.place(start), self.place(start if key is None else self._end_of(key, stop)))
        held = Range(self.place(value.index), self.place(self._end_of(value, last)))
        return Field(path, named, held, Range(named.start, self.place(last)), value.kind, value.text)

    def _end_of(self, node: Node, stop: int) -> int:
        """Behind the last character of a scalar on one line, or of brackets; of anything else, where it stops."""
        text, start = self._chunk.text, node.index
        if node.kind != "scalar":
            return _closing_bracket(text, start, stop) if text[start : start + 1] in ("[", "{") else stop
        if text[start : start + 1] in ("'", '"'):
            end = _closing(text, start)
            return end if end > start else stop
        return start + len(node.text) if text.startswith(node.text, start) else self._line_end(start, stop)

    def _line_end(self, start: int, stop: int) -> int:
        end = self._chunk.text.find("\n", start, stop)
        return stop if end < 0 else end

    def _trimmed(self, start: int, stop: int) -> int:
        """The end of the last line before `stop` that says something: what stands there may be the next item's dash."""
        text = self._chunk.text[start:stop]
        lines = text.split("\n")
        while (len(lines) > 1 and not lines[-1].strip(" -\t")) or lines[-1].lstrip().startswith("#"):
            lines.pop()
            if not lines:
                return start
        return start + len("\n".join(lines).rstrip())


def _closing(text: str, start: int) -> int:
    """Behind the quote that closes the one at `start`; `start` where none does."""
    quote, at = text[start], start + 1
    while at < len(text):
        if quote == '"' and text[at] == "\\":
            at += 2
        elif text[at] != quote:
            at += 1
        elif quote == "'" and text[at + 1 : at + 2] == "'":
            at += 2
        else:
            return at + 1
    return start


def _closing_bracket(text: str, start: int, stop: int) -> int:
    """Behind the bracket that closes the one at `start`; `stop` where none does before."""
    depth, at = 0, start
    while at < stop:
        if text[at] in ("'", '"') and text[at - 1] in " ,:[{":
            at = max(_closing(text, at), at + 1)
            continue
        depth += (text[at] in "[{") - (text[at] in "]}")
        at += 1
        if not depth:
            return at
    return stop


# The field path at the cursor, even while the YAML is incomplete.
#
# Read from indentation alone, line by line upward from the cursor, and inside brackets that stand on the same line.


Awaits: TypeAlias = Literal["key", "value", "item"]

_KEY = pattern(r"""(?:"([^"]*)"|'([^']*)'|([^\s"'#:{}\[\],][^:#{}\[\],]*?))\s*:(?:\s|$)""")
_LONGEST = 10_000
_DASHES = pattern(r"(?:- +|-$)*")


@dataclass(frozen=True, slots=True)
class Typing:
    """What is being typed: a key of the mapping at `path`, or the value at it; `word` is what is there of it already.

    `start` is the column at which the word begins; `indent` that of the mapping. `siblings` are the keys beside it.
    """

    path: Path
    awaits: Awaits
    word: str
    start: int
    indent: int
    siblings: frozenset[str]
    first: int


def typing_at(lines: Sequence[str], position: Position) -> Typing | None:
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
    first = _start_of_document(lines, position.line)
    indent, content = indent + skipped, content[skipped:]
    above = _above(lines, position.line, first, indent - skipped if skipped else indent, dashed=bool(skipped))
    if content[:1] in ("{", "["):
        return _in_brackets(above, content, position, indent, first)
    key = _KEY.match(content)
    if key is None:
        siblings = frozenset(_siblings(lines, position.line, first, indent))
        return Typing(above, "key", content, position.column - len(content), indent, siblings, first)
    path, value = (*above, _text(key)), content[key.end() :].lstrip(" ")
    if value[:1] in ("{", "["):
        return _in_brackets(path, value, position, indent, first)
    return Typing(path, "value", value, position.column - len(value), indent, frozenset(), first)


def _start_of_document(lines: Sequence[str], number: int) -> int:
    return next((n + 1 for n in range(number - 1, -1, -1) if lines[n].startswith("---")), 0)


def _above(lines: Sequence[str], number: int, first: int, indent: int, *, dashed: bool) -> Path:
    """The path of the mapping or list whose entries stand at `indent` before line `number`."""
    steps: list[str | int] = []
    count = 0 if dashed else None
    for at in range(number - 1, first - 1, -1):
        line = lines[at]
        content = line.lstrip(" ")
        column = len(line) - len(content)
        if not content.strip() or content.startswith("#") or column > indent:
            continue
        for inner, text, is_item in reversed(list(_parts(column, content))):
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


def _parts(column: int, content: str) -> Iterator[tuple[int, str | None, bool]]:
    """The dashes of a line and the key behind them, each with its column."""
    while content.startswith("- ") or content == "-":
        yield column, None, True
        rest = content[1:].lstrip(" ")
        column, content = column + len(content) - len(rest), rest
    key = _KEY.match(content)
    yield column, _text(key) if key is not None else None, False


def _text(key: object) -> str:
    groups: Sequence[str | None] = key.groups()  # type: ignore[attr-defined]
    return next(group for group in groups if group is not None)


def _siblings(lines: Sequence[str], number: int, first: int, indent: int) -> Iterator[str]:
    """The keys of the mapping that a line at `indent` belongs to, those below it included."""
    for step in (-1, 1):
        at = number
        while first <= at < len(lines) and not lines[at].startswith("---"):
            line = lines[at]
            content = line.lstrip(" ")
            column = len(line) - len(content)
            parts = list(_parts(column, content)) if content.strip() and not content.startswith("#") else []
            keys = [text for inner, text, is_item in parts if inner == indent and not is_item and text]
            yield from keys if at != number else ()
            begins = any(is_item for _, _, is_item in parts) and parts[-1][0] == indent
            if parts and (column < indent and not begins):
                break
            if begins and (step == -1 or at != number):
                break
            at += step


def _in_brackets(path: Path, value: str, position: Position, indent: int, first: int) -> Typing:
    """What is being typed behind brackets that are still open at the cursor."""
    stack: list[str | int] = []
    kinds: list[str] = []
    start, key = 0, False
    names: list[set[str]] = []
    for at, character in enumerate(value):
        if character in "{[":
            kinds.append(character)
            stack.append(0 if character == "[" else "")
            names.append(set())
            start, key = at + 1, False
        elif character in "}]" and kinds:
            kinds.pop()
            stack.pop()
            names.pop()
            start = at + 1
        elif character == "," and kinds:
            stack[-1] = int(stack[-1]) + 1 if kinds[-1] == "[" else ""
            start, key = at + 1, False
        elif character == ":" and kinds and kinds[-1] == "{":
            stack[-1] = value[start:at].strip().strip("\"'")
            names[-1].add(str(stack[-1]))
            start, key = at + 1, True
    word = value[start:].lstrip(" ")
    column = position.column - len(word)
    if not kinds:
        return Typing(path, "value", word, column, indent, frozenset(), first)
    if kinds[-1] == "{" and not key:
        return Typing((*path, *stack[:-1]), "key", word, column, -1, frozenset(names[-1]), first)
    return Typing((*path, *stack), "value", word, column, -1, frozenset(), first)
