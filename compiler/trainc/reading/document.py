"""A document of the input: its data, its place in a file, and how a file and a `List` become documents."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import accumulate

from trainc.findings import Diagnostic, Finding, Path, Source, format_path
from trainc.kube.documents import Places, identity_of, resolve_path, stable_path, value_at
from trainc.kube.names import reference_problem
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import Any, TypeVar

T = TypeVar("T")
# A file with a text of another program: its `text`, and its path as `metadata.name`.
TEXT_FILE = "File"
# What is wrong with an image whatever registry an overlay takes it from.
NOT_OF_MIRRORS = ("InvalidImage", "MovingImageTag", "ImageNotPinned", "MPIImagesDiffer")
# There may be many findings about the lines of one text.
_lines = lru_cache(maxsize=8)(str.splitlines)


@dataclass(frozen=True, slots=True)
class Document:
    """A mapping from a file.

    `locate(path)` returns the position of `path` in the file: the key of a mapping entry or the first character of a
    list item. If the path does not exist, it returns the position of its nearest existing ancestor, and None for
    documents without a file. The first call parses the text again, so only call it for diagnostics. `before` is the
    original document if overlays have changed it, and `written(path)` returns all places that a value was made from then,
    the latest first: a document and a path in it. `listing` is the place of the List in which an API server printed it;
    empty for any other document. `held_back` are the fields that overlays set in all outputs alike, with the values before
    (None without one) and after, in order. `siblings` are files that a job names, or the base of a sweep that is left out.
    """

    data: dict[str, Any]
    file: str
    locate: Callable[[Path], Source | None]
    before: Document | None = None
    listing: str = ""
    written: Callable[[Path], list[tuple[Document, Path]]] | None = None
    held_back: tuple[tuple[Path, Any, Any], ...] = ()
    siblings: tuple[Document, ...] = ()

    @classmethod
    def of(cls, data: dict[str, Any]) -> Document:
        """Create a document from data that was not read from a file."""
        return cls(data, "", lambda _: None)

    @staticmethod
    def each_in(value: Any) -> Iterator[tuple[Path, Any]]:
        """Yield each object in `value` with its path. Nested lists are expanded too."""
        waiting: list[tuple[Path, Any]] = [((), value)]
        while waiting:
            path, item = waiting.pop()
            if not is_list(item):
                yield path, item
                continue
            inner = item["items"]
            waiting += [((*path, "items", i), _with_kind(inner[i], item)) for i in range(len(inner) - 1, -1, -1)]

    def place_in(self, other: Document, path: Path, known: Places) -> Path:
        """Return the path that a value has in another version, as far as that has it; `known` keeps the places of items."""
        return resolve_path(stable_path(path, self.data), other.data, known)

    def diagnose(self, finding: Finding, label: str = "") -> Diagnostic:
        """Convert a finding about this document to a diagnostic; `label` overrides the name of the object.

        An error about a value that has yet to be filled in is one about the template.
        """
        if finding.severity == "error":
            from trainc.reading.unrendered import template_finding

            finding = template_finding(self.data, finding.path, self.file) or finding
        place = finding.path if finding.source_path is None else finding.source_path
        about, path = label or label_of(self.data), format_path(finding.path)
        if self.written is not None and place is finding.path and any(isinstance(step, int) for step in place):
            origin, at = self.written(place)[0]
            if origin is self.before and len(at) == len(place):
                path = format_path(at)  # The numbers of a list are those of the file, not of after the overlays.
        diagnostic = Diagnostic(
            finding.code, finding.severity, finding.message, finding.hint, about, path, self.locate(place)
        )
        return self.as_written(diagnostic, place) if finding.code in NOT_OF_MIRRORS else diagnostic

    def as_written(self, diagnostic: Diagnostic, path: Path) -> Diagnostic:
        """Place a diagnostic about an image where somebody wrote it, with that name, if a mirror has replaced it."""
        steps = self.written(path) if self.written is not None else []
        document, at = next(((d, at) for d, at in steps if at[:1] != ("mirrors",)), (self, path))
        image, written = value_at(self.data, path), value_at(document.data, at)
        if not steps or not isinstance(image, str):
            return diagnostic
        texts = [diagnostic.message, diagnostic.hint]
        if isinstance(written, str):
            texts = [text.replace(image, written) for text in texts]
            if diagnostic.code == "InvalidImage":
                if (problem := reference_problem(written)) is None:
                    return diagnostic
                texts[1] = f"write {problem[1]}" if problem[1] else texts[1]
        hint = texts[1] if diagnostic.rule is None else diagnostic.rule.refusing(texts[1])
        return replace(diagnostic, source=document.locate(at), message=texts[0], hint=hint)

    def diagnose_text(self, finding: Finding) -> Diagnostic:
        """Convert a finding about a line of a text in this document, which is usually a block scalar below its key."""
        diagnostic = self.diagnose(finding)
        source = diagnostic.source
        if self.data.get("kind") == TEXT_FILE:
            line = "".join(_lines(self.data["text"])[finding.line : finding.line + 1])
            place = Source(self.file, finding.line + 1, 1 + len(line) - len(line.lstrip()))
            return replace(diagnostic, path="", source=place)
        text = self.data.get(str(finding.path[0]), {}).get(finding.path[1]) if len(finding.path) > 1 else None
        lines = _lines(text) if isinstance(text, str) else []
        if source is None or len(lines) < 2 or finding.line >= len(lines):
            return diagnostic
        line = lines[finding.line]
        column = source.column + 2 + len(line) - len(line.lstrip())
        return replace(diagnostic, source=Source(source.file, source.line + 1 + finding.line, column, source.origin))


class Surroundings:
    """The documents of an input that are neither TrainJobs nor runtimes, and the `files` that a job names."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        """Take documents of any kind, as they were read."""
        self.documents, self.files = tuple(documents), tuple[Document, ...]()
        self._gathered: dict[Any, Any] = {}

    def with_files(self, files: tuple[Document, ...]) -> Surroundings:
        """Return the same documents beside the files of one job."""
        if not files:
            return self
        other = Surroundings(self.documents)
        other.files, other._gathered = files, self._gathered
        return other

    def __bool__(self) -> bool:
        return bool(self.documents or self.files)

    def gathered(self, gather: Callable[..., T], *about: str) -> T:
        """Return what `gather(self, *about)` makes of the documents, which it is asked once for all jobs."""
        key = (gather, *about)
        if key not in self._gathered:
            self._gathered[key] = gather(self, *about)
        found: T = self._gathered[key]
        return found

    def of(self, kind: str, namespace: str) -> Mapping[str, Document]:
        """Return the objects of a kind that a job in a namespace sees, by name: those of the namespace, and of none."""
        return self.gathered(_seen, kind, namespace)


def _seen(around: Surroundings, kind: str, namespace: str) -> Mapping[str, Document]:
    by_namespace = around.gathered(_by_kind).get(kind, {})
    own, without = by_namespace.get(namespace, {}), by_namespace.get("", {})
    return {**without, **own} if own and without else own or without


def _by_kind(around: Surroundings) -> dict[str, dict[str, dict[str, Document]]]:
    """Return documents by kind, namespace and name, the first of each. No schema has checked them."""
    found: dict[str, dict[str, dict[str, Document]]] = {}
    for document in around.documents:
        kind, (namespace, name) = document.data.get("kind"), identity_of(document.data)
        if isinstance(kind, str) and name:
            found.setdefault(kind, {}).setdefault(namespace, {}).setdefault(name, document)
    return found


def label_of(data: Mapping[str, Any]) -> str:
    """Return `kind namespace/name` for diagnostics, without the parts that are missing."""
    metadata = data.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    name = "/".join(str(fields[part]) for part in ("namespace", "name") if fields.get(part))
    return f"{data.get('kind') or 'document'} {name}".rstrip()


# Splits a file into documents.

# kubectl splits at every line that starts with this, before parsing (k8s.io/apimachinery pkg/util/yaml YAMLReader).
# Scalars in valid YAML cannot contain such a line.
_SEPARATOR = "\n---"


@dataclass(slots=True)
class Chunk:
    """The text of one document, ending with a line feed. It starts at `line` and `column` (1-based) of `file`.

    `is_plain` means that the reader of lines has read it.
    """

    text: str
    file: str
    line: int = 1
    column: int = 1
    is_plain: bool = field(default=False, init=False, repr=False, compare=False)
    _starts: array[int] = field(default_factory=partial(array, "I"), init=False, repr=False, compare=False)

    @property
    def starts(self) -> array[int]:
        """Where each line starts, and the end; computed once, because a document may have an error on every line."""
        if not self._starts:
            self._starts.extend(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))
        return self._starts

    def source(self, index: int) -> Source:
        """Return the position of `text[index]`; columns count characters."""
        from bisect import bisect_right

        line = bisect_right(self.starts, index) - 1
        return self.source_at(line, index - self.starts[line])

    def source_at(self, line: int, column: int) -> Source:
        """Return the position of a line and column of the text, both from 0."""
        return Source(self.file, self.line + line, column + (1 if line else self.column))

    def error(self, code: str, index: int, message: str, hint: str) -> Diagnostic:
        """Create an error diagnostic for `text[index]`."""
        return Diagnostic(code, "error", message, hint, source=self.source(index))

    def around(self, index: int) -> tuple[str, str]:
        """Return the line that contains `text[index]`, split at that character."""
        start = self.text.rfind("\n", 0, index) + 1
        return self.text[start:index], self.text[index:].partition("\n")[0]

    def part(self, start: int, end: int) -> Chunk:
        """Return the text from `start` to `end` as a chunk."""
        source = self.source(start)
        return Chunk(self.text[start:end], self.file, source.line, source.column)


def split(text: str, file: str) -> Iterator[Chunk | Diagnostic]:
    """Yield the documents of a file; a document whose separator kubectl rejects is replaced by a diagnostic."""
    if not text.endswith("\n"):
        text += "\n"  # Like kubectl, so that the last line of a block scalar ends with a line feed.
    before, *parts = f"\n{text[:-1]}".split(_SEPARATOR)
    if before:  # Empty if the file starts with `---`.
        yield _chunk(before[1:] + "\n", file, 1, "")
    line = 1 + before.count("\n")
    for part in parts:
        trailer, line_feed, document = part.partition("\n")
        yield _chunk(document + line_feed, file, line + 1, trailer.strip())
        line += 1 + part.count("\n")


def _chunk(text: str, file: str, line: int, trailer: str) -> Chunk | Diagnostic:
    if trailer and not trailer.startswith("#"):
        message = "a `---` line separates documents and cannot have anything else on it"
        hint = "put `---` on a line of its own and start the document on the next line"
        return Diagnostic("YAMLSyntax", "error", message, hint, source=Source(file, line - 1, 1))
    return Chunk(text.removeprefix("\ufeff"), file, line)


# Expands `List` kinds to one document per item, like kubectl.


def is_list(value: Any) -> bool:
    """Return whether `value` is a `List`, or a typed list such as `TrainJobList`."""
    kind = value.get("kind") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list)


def is_printed(value: Any) -> bool:
    """Return whether `value` is a list as an API server or kubectl prints it, which has a resourceVersion."""
    metadata = value.get("metadata") if is_list(value) else None
    return isinstance(metadata, dict) and isinstance(metadata.get("resourceVersion"), str)


def _with_kind(item: Any, parent: dict[str, Any]) -> Any:
    """Add the kind to an item of a typed list such as `TrainJobList`; items of a plain `List` have their own."""
    kind = parent["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict) or item.get("kind"):
        return item
    return {**item, "apiVersion": parent.get("apiVersion"), "kind": kind}
