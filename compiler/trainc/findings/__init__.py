"""Findings and diagnostics: what the compiler reports about its input, as data.

Stages return `Finding`s, which know the field path inside an object but nothing about files. The pipeline turns them
into `Diagnostic`s, which name the object and, if known, the source position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from types import TracebackType

    from trainc.startup.typing import Self


# policy.py marks diagnostics as "ignored"; `sort_diagnostics` drops them from reports.
Severity: TypeAlias = Literal["error", "warning", "info", "ignored"]
Path: TypeAlias = tuple[str | int, ...]
# Objects of the cluster by label, each with the field in question.
Objects: TypeAlias = tuple[tuple[str, Path], ...]
# What a finding is to others: `failing` is a rule that cannot be evaluated for some objects, `faulty` one that no object
# can help, `misspelt` a name with another one near it, `alone` a name that nothing else has, `unset` a value that is not
# given to a template.
Trait: TypeAlias = Literal["", "failing rule", "faulty rule", "no Namespaces", "misspelt", "alone", "moved", "unset"]

# The hint for a value that still contains template syntax.
TEMPLATE_HINT = "this looks like a template: render it first, or rename the file to `.yaml.j2` for an overlay to render"

_RANK: dict[str, int] = {"error": 0, "warning": 1, "info": 2}


def is_identifier(key: str) -> bool:
    """Return whether `key` needs no quotes in a field path: ASCII letters, digits, `_` and `-`, no leading digit."""
    return key.replace("-", "_").isidentifier() and key.isascii()


def format_path(path: Path) -> str:
    """Format `("spec", "env", 2, "name")` as `spec.env[2].name`. Other keys are quoted: `labels["a.b/c"]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else format_key(step, leads=not text)
    return text


def format_key(key: str, *, leads: bool) -> str:
    """Format one key of a field path: `.name`, `name` if it comes first, or `["a.b/c"]` if it is not an identifier."""
    if is_identifier(key):
        return key if leads else f".{key}"
    return '["' + key.replace("\\", "\\\\").replace('"', '\\"') + '"]'


@dataclass(frozen=True, slots=True)
class Source:
    """A position in an input file. `line` and `column` are 1-based.

    `origin` says where `file` lives: on disk, in trainc's catalog, or in a git revision.
    """

    file: str
    line: int
    column: int
    origin: Literal["file", "catalog", "git"] = "file"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def refusing(self, hint: str, trait: Trait = "") -> str:
        """Return a hint that knows this line as that of the rule which is not met, and what is wrong with that, if it is."""
        return Hint(hint, rule=self, trait=trait)


@dataclass(frozen=True, slots=True)
class Fix:
    """An edit that does what a hint says, at the field or list item that its finding is about.

    `set` makes `text`, as YAML, the value of that field, or of the field `name`: the same one, another one of its
    mapping, or a new one. `replace` writes `text` for the word `name` in the key or value. `remove` deletes the field or
    item, or the word `name` in it. `quote` and `unquote` add and delete quotes.
    """

    action: Literal["set", "replace", "remove", "quote", "unquote"]
    text: str = ""
    name: str = ""


class Hint(str):
    """A hint with its fixes, which are alternatives. It is compared, copied and shown as the text that it is.

    `rule` is the line of the policy, setting or object of the cluster that is not met. `trait` is what its finding is to
    others. `objects` decide, or are missing. A hint that is made of another one has what that has.
    """

    __slots__ = ("fixes", "objects", "rule", "trait")
    fixes: tuple[Fix, ...]
    rule: Source | None
    trait: Trait
    objects: Objects

    def __new__(
        cls, text: str, *fixes: Fix, rule: Source | None = None, trait: Trait = "", objects: Objects = ()
    ) -> Self:
        """Return `text` with fixes."""
        hint = super().__new__(cls, text)
        hint.fixes, hint.rule, hint.trait, hint.objects = fixes, rule, trait, objects
        if isinstance(text, Hint):
            hint.fixes, hint.rule = fixes or text.fixes, rule or text.rule
            hint.trait, hint.objects = trait or text.trait, objects or text.objects
        return hint

    def __add__(self, more: str, /) -> Hint:
        """Return the hint with more text, and the same fixes."""
        return Hint(f"{self}{more}", *self.fixes, rule=self.rule, trait=self.trait, objects=self.objects)


# These return a Hint. Its type is that of text, because a message's hint may be either.


def write(value: object, more: str = "", *, field: str = "", verb: str = "write") -> str:
    """Return the hint `write VALUE` or `write FIELD: VALUE`, followed by `more`."""
    text = f"{verb} {field}: {value}{more}" if field else f"{verb} {value}{more}"
    return Hint(text, Fix("set", str(value), field))


def remove(text: str = "remove it", word: str = "") -> str:
    """Return a hint to remove the field or item or, with `word`, that word of a command."""
    return Hint(text, Fix("remove", name=word))


def suggest(word: str, names: Iterable[str], text: str = "") -> str:
    """Return the hint `did you mean NAME or NAME?`, or `text`, to write one of the names for `word`."""
    names = list(names)
    fixes = (Fix("replace", name, word) for name in names)
    return Hint(text, *fixes) if text else Hint(f"did you mean {' or '.join(names)}?", *fixes, trait="misspelt")


def choose(word: str, names: Sequence[str], start: str = "use one of", none: str = "(there are none)") -> str:
    """Return the hint `START NAME, NAME` to write one of the names for `word`."""
    return suggest(word, names, f"{start} {', '.join(names) or none}")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem or note, with everything needed to act on it.

    `code` is a CamelCase name that `trainc rule` explains. `object` reads "TrainJob team-a/llm". `path` is the field
    path inside the object ("spec.trainer.env[2].name"), or empty if the diagnostic is about the whole object.
    `environments` lists the environments in trainc.yaml that are affected, and is empty if all of them are. `others` are
    the objects that have the same from the same cause.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    object: str = ""
    path: str = ""
    source: Source | None = None
    environments: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """Return the edits that would do what the hint says; only one of them is needed."""
        return self.hint.fixes if isinstance(self.hint, Hint) else ()

    @property
    def rule(self) -> Source | None:
        """Return the line of the policy, setting or object of the cluster that is not met, as far as it is known."""
        return self.hint.rule if isinstance(self.hint, Hint) else None

    @property
    def trait(self) -> Trait:
        """Return what it is to other findings, if anything."""
        return self.hint.trait if isinstance(self.hint, Hint) else ""

    @property
    def objects(self) -> Objects:
        """Return the objects of the cluster that decide; what it lacks is one of them, without a field."""
        return self.hint.objects if isinstance(self.hint, Hint) else ()

    def __str__(self) -> str:
        position = str(self.source) if self.source else self.object
        field = f"{self.path}: " if self.path else ""
        return f"{position}: {self.severity}[{self.code}] {field}{self.message}".removeprefix(": ")


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic without a source position.

    `about` is what `path` refers to: "trainjob" (including its patches), "runtime", "file", or the label of a built object,
    such as "JobSet team-a/llm". A file is a text in `document`, another one of the input, and `line` its line, from 0.
    `source_path` is a more precise path for the position; `numbers` are others that decide as well. If the cluster makes
    the object, `built_by` labels the one that trainc writes, which these refer to. The `Report` sets `stage`.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    path: Path = ()
    about: str = "trainjob"
    source_path: Path | None = None
    built_by: str = ""
    stage: str = ""
    document: Any = None
    line: int = 0
    numbers: tuple[Path, ...] = ()

    class Guard:
        """What a judge raises in the `with` block is one of `failures`, and the command goes on.

        It says that something is `unknown` of the trainjob, or what the guard was called with last, once. A judge has the
        name of its function, or `judge`.
        """

        def __init__(self, unknown: str, judge: str = "", path: Path = ("metadata", "name")) -> None:
            self.unknown, self.judge, self.path, self.about = unknown, judge, path, "trainjob"
            self.failures: list[Finding] = []

        def __call__(self, about: str) -> Self:
            """Name what the block is about."""
            self.about = about
            return self

        def __enter__(self) -> None: ...

        def __exit__(self, _: object, error: BaseException | None, trace: TracebackType | None) -> bool:
            if not isinstance(error, Exception) or isinstance(error, (MemoryError, CompileError)):
                return False
            called = trace and trace.tb_next
            judge = self.judge or (called.tb_frame.f_code.co_name if called else "a check")
            message = f"{self.unknown} is unknown: {judge} failed with {type(error).__name__}"
            hint = "write or export this object again; if it is as trainc or the cluster wrote it, please report this"
            failure = Finding("WrongType", "error", message, hint, self.path, self.about)
            self.failures = [*dict.fromkeys((*self.failures, failure))]
            return True

        def take(self, error: Exception) -> None:
            """Note what a judge raised as the block would, or raise it again."""
            if not self.__exit__(None, error, error.__traceback__):
                raise error

        @property
        def diagnostics(self) -> list[Diagnostic]:
            """The failures, each with the object that the guard was called with."""
            return [
                Diagnostic(f.code, f.severity, f.message, f.hint, f.about, format_path(f.path)) for f in self.failures
            ]


# What all stages of the compilation of one job have found.

# Without these a job cannot be built. The errors of all other stages can be lowered or ignored by the user's rules.
_BLOCKING = frozenset({"reference", "lowering", "validation"})
_DOCUMENTS = frozenset({"trainjob", "runtime", "file"})


@dataclass(slots=True)
class Report:
    """The findings about one job, in the order in which its stages added them.

    Each finding knows its stage, and what it is about: the TrainJob, its runtime, or an object that was built from them.
    """

    findings: list[Finding] = field(default_factory=list)

    def add(self, stage: str, findings: Iterable[Finding]) -> None:
        """Add the findings of a stage."""
        for finding in findings:
            self.findings.append(replace(finding, stage=stage))

    @property
    def has_errors(self) -> bool:
        """Return whether any finding is an error, before the user's rules are applied."""
        return has_errors(self.findings)

    def keep_errors(self) -> None:
        """Drop all findings but errors."""
        self.findings = [finding for finding in self.findings if finding.severity == "error"]

    def about_documents(self) -> Iterator[tuple[list[Finding], bool]]:
        """Yield (findings, whether they block compilation): those about the TrainJob and its runtime, in two parts."""
        findings = [finding for finding in self.findings if finding.about in _DOCUMENTS]
        for blocking in (True, False):
            yield [finding for finding in findings if (finding.stage in _BLOCKING) is blocking], blocking

    def about_objects(self) -> Sequence[Finding]:
        """Return the findings about objects."""
        return [finding for finding in self.findings if finding.about not in _DOCUMENTS]


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort diagnostics for a report.

    Drops duplicates and ignored ones; of a template, only the first finding is kept. Sorts by file and position, then
    object, severity, path and code.
    """

    def key(d: Diagnostic) -> tuple[str, int, int, str, int, str, str, str]:
        source = d.source or Source("", 0, 0)
        return (source.file, source.line, source.column, d.object, _RANK[d.severity], d.path, d.code, d.message)

    ordered = sorted(dict.fromkeys(d for d in diagnostics if d.severity != "ignored"), key=key)
    of_files = {d.source.file if d.source else d.object: d for d in reversed(ordered) if d.code == "UnrenderedTemplate"}
    first = {*of_files.values()}
    return [d for d in ordered if d.code != "UnrenderedTemplate" or d in first] if first else ordered


def has_errors(findings: Sequence[Finding] | Sequence[Diagnostic]) -> bool:
    """Return whether any of `findings` is an error."""
    return bool(findings) and any(finding.severity == "error" for finding in findings)


class CompileError(Exception):
    """The input was rejected.

    `diagnostics` holds every problem found, sorted; at least one of them is an error. `str()` lists all of them with
    their hints, and a notebook renders them as a list.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = sort_diagnostics(diagnostics)
        super().__init__("\n".join(f"{d}\n  help: {d.hint}" if d.hint else str(d) for d in self.diagnostics))

    def _repr_html_(self) -> str:
        # `html` is only needed in a notebook.
        from trainc.findings.as_html import count_severities, diagnostics_html

        return f"<div><b>refused: {count_severities(self.diagnostics)}</b>{diagnostics_html(self.diagnostics)}</div>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows of an error that nobody caught: the findings, and nothing of trainc's own code."""
        return str(self).splitlines()

    def __reduce__(self) -> tuple[type[CompileError], tuple[list[Diagnostic]]]:
        return type(self), (self.diagnostics,)
