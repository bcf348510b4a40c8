"""What is said about a field: the chain of those who set it, each with what it was taken from."""

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
    """A document of the input: `raw` as it was read, `data` as it was converted and its schema completed it.

    `written` leads from a path in `data` to the same field in `raw`, and `locate` from there to the file. `before` is
    the document as it was before overlays changed it, where they did.
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
    """The documents behind one job; `others` are those of the input that are neither TrainJob nor runtime."""

    trainjob: InputDocument
    runtime: InputDocument
    others: Sequence[InputDocument] = ()


@dataclass(frozen=True, slots=True)
class Input:
    """A field of a document, or the rule that answered because no document did.

    `object` reads "TrainJob team-a/llm"; for a rule it is empty, or "JobSet" where another field of it has that rule.
    `index` is the path as diagnostics write it.
    """

    object: str
    path: FieldPath
    index: Path
    value: Any
    source: Source | None = None
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who set a field, to which value.

    `by` is the plugin, the patch's manager, or the document; `at` the extension point of a plugin; `rule` names a
    default or says why the value is what it is; `deviation` is an id of ir.deviations.
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
    """An object of the output."""

    api_version: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ExplainedField:
    """A leaf of the output. `origins` is never empty and begins with who set it last."""

    path: FieldPath
    index: Path
    value: Any
    origins: tuple[Origin, ...]

    @property
    def origin(self) -> Origin:
        """Who set it last."""
        return self.origins[0]


@dataclass(frozen=True, slots=True)
class ExplainedObject:
    """An object of the output with every leaf, in document order."""

    name: ObjectName
    fields: tuple[ExplainedField, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where every field of one job's objects comes from."""

    job: str
    runtime: str
    source: Source | None
    release: str
    semantics: str
    objects: tuple[ExplainedObject, ...]
