"""The data model of an explanation: each field with the chain of origins that set it and their inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.api.field_path import FieldPath
from trainc.diagnostics import Path, Source
from trainc.startup.records import dataclass, field

Kind: TypeAlias = Literal[
    "runtime", "overlay", "patch", "trainjob", "plugin", "default", "admission", "deviation", "delivery"
]


@dataclass(frozen=True, slots=True)
class InputDocument:
    """An input document: `raw` as read, `data` after conversion and schema defaulting.

    `written` maps a path in `data` to the path in `raw`, which `locate` resolves to a position in a file. `before` is
    the document before overlays were applied, if any were.
    """

    label: str
    file: str
    raw: Mapping[str, Any]
    data: Mapping[str, Any]
    written: Callable[[Path], Path] = field(compare=False)
    locate: Callable[[Path], Source | None] = field(compare=False)
    before: InputDocument | None = None


@dataclass(frozen=True, slots=True)
class InputDocuments:
    """The documents behind one job; `others` are those other than TrainJobs and runtimes."""

    trainjob: InputDocument
    runtime: InputDocument
    others: Sequence[InputDocument] = ()


@dataclass(frozen=True, slots=True)
class Input:
    """A field of a document, or the rule that supplied a value because no document did.

    `object` is a name such as "TrainJob team-a/llm". For a rule it is empty, or "JobSet" if the rule belongs to another
    field of the JobSet. `index` is the path in the notation of diagnostics.
    """

    object: str
    path: FieldPath
    index: Path
    value: Any
    source: Source | None = None
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who set a field, and to which value.

    `by` is the plugin, the field manager of the patch, or the document; `at` is the extension point of a plugin; `rule`
    names a default or states why the value was chosen; `deviation` is an id from ir.deviations.
    """

    kind: Kind
    by: str
    value: Any
    at: str = ""
    rule: str = ""
    deviation: str = ""
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectName:
    """The identity of an output object."""

    api_version: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ExplainedField:
    """A leaf of the output. `origins` is never empty and starts with the most recent."""

    path: FieldPath
    index: Path
    value: Any
    origins: tuple[Origin, ...]

    @property
    def origin(self) -> Origin:
        """The most recent origin."""
        return self.origins[0]


@dataclass(frozen=True, slots=True)
class ExplainedObject:
    """An output object with all its leaves, in document order."""

    name: ObjectName
    fields: tuple[ExplainedField, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The origins of every field of one job's objects."""

    job: str
    runtime: str
    source: Source | None
    release: str
    semantics: str
    objects: tuple[ExplainedObject, ...]
