"""The field structure of each Trainer release; the schema data is loaded on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from trainc.schema.definitions import DEFINITIONS
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass
from trainc.startup.typing import Any, Literal, TypeAlias

ROOTS = {
    "TrainJob": "trainer.TrainJob",
    "TrainingRuntime": "trainer.TrainingRuntime",
    "ClusterTrainingRuntime": "trainer.ClusterTrainingRuntime",
    "JobSet": "jobset.JobSet",
}
API_VERSIONS = {
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "TrainingRuntime": "trainer.kubeflow.org/v1alpha1",
    "ClusterTrainingRuntime": "trainer.kubeflow.org/v1alpha1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
}
# The most problems of one kind that are reported of a document: as many as a report shows.
MOST_LISTED = 1_000
# Metadata in templates: the CRDs are generated with generateEmbeddedObjectMeta, which only keeps these fields.
EMBEDDED_METADATA = "meta.EmbeddedObjectMeta"
_EMBEDDED_FIELDS = ("annotations", "finalizers", "labels", "name", "namespace")
# Not required by the CRDs, but objects without them have no type, and TrainJobs no runtime.
_REQUIRED_TOO = dict.fromkeys(ROOTS.values(), ("apiVersion", "kind")) | {
    ROOTS["TrainJob"]: ("apiVersion", "kind", "spec")
}
# Go structs without fields, such as `jax: {}`.
EMPTY_STRUCT = "meta.EmptyStruct"
# A struct whose fields one release removed. It keeps its name here so that hints know its former fields.
_EMPTIED = {("trainer.MLPolicy", "torch"): "trainer.TorchMLPolicySource"}
_WITHOUT_FIELDS = frozenset((EMPTY_STRUCT, *_EMPTIED.values()))

ScalarType: TypeAlias = Literal["string", "integer", "boolean", "time", "quantity", "int-or-string", "any"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar; "any" is a tree that is not validated."""

    type: ScalarType


@dataclass(frozen=True, slots=True)
class Struct:
    """An object with known fields, by the name of its definition."""

    definition: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list with items of one shape."""

    item: Shape


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping with arbitrary keys and values of one shape."""

    value: Shape


Shape: TypeAlias = Scalar | Struct | ListOf | MapOf


@dataclass(frozen=True, slots=True)
class Definition:
    """An API type: its fields by JSON name, and which of them are required."""

    name: str
    fields: Mapping[str, Shape]
    required: tuple[str, ...]


class _Fields(Mapping[str, Shape]):
    """The shapes of a definition's fields, parsed on access because most are never used."""

    def __init__(self, owner: str, texts: Mapping[str, str]) -> None:
        self._owner = owner
        self._texts = texts
        self._parsed: dict[str, Shape] = {}

    def __getitem__(self, field: str) -> Shape:
        shape = self._parsed.get(field)
        if shape is None:
            shape = self._parsed[field] = _shape(self._owner, field, self._texts[field].removesuffix("!"))
        return shape

    def __contains__(self, field: object) -> bool:
        return field in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@cache
def definition(release: str, name: str) -> Definition:
    """Return the definition `name` ("core.Container") in `release`. Raises KeyError if it does not exist."""
    texts = definition_texts(release, name)
    required = (field for field, text in texts.items() if text.endswith("!"))
    return Definition(name, _Fields(name, texts), (*_REQUIRED_TOO.get(name, ()), *required))


def definition_names(release: str) -> tuple[str, ...]:
    """Return the names of all definitions of `release`, sorted."""
    names = {EMBEDDED_METADATA, *_WITHOUT_FIELDS, *(name for row in DEFINITIONS.until(release) for name in row)}
    return tuple(sorted(name for name in names if name in _WITHOUT_FIELDS or _texts_in(release, name)))


def definition_texts(release: str, name: str) -> dict[str, str]:
    """Return a definition as in tools/scripts/generate_schemas.py: field -> type. Raises KeyError if it does not exist."""
    texts = _texts_in(release, name)
    if not texts and name not in _WITHOUT_FIELDS:
        raise KeyError(name)
    return texts


def _texts_in(release: str, name: str) -> dict[str, str]:
    if name == EMBEDDED_METADATA:
        metadata = _texts_in(release, "meta.ObjectMeta")
        return {field: metadata[field] for field in _EMBEDDED_FIELDS}
    texts: dict[str, str] = {}
    for row in DEFINITIONS.until(release):
        if (changed := row.get(name)) is not None:
            fields = {**texts, **changed}
            # A field without a type has been removed, as has a definition without fields.
            texts = {field: fields[field] for field in sorted(fields) if fields[field]} if changed else {}
    return texts


def _shape(owner: str, field: str, text: str) -> Shape:
    """Parse a type in the notation of tools/scripts/generate_schemas.py."""
    if text.startswith("["):
        return ListOf(_shape(owner, field, text[1:-1]))
    if text.startswith("{"):
        return MapOf(_shape(owner, field, text[1:-1]))
    if text == "meta.ObjectMeta" and owner not in ROOTS.values():
        return Struct(EMBEDDED_METADATA)
    if text == "object":
        return Struct(_EMPTIED.get((owner, field), EMPTY_STRUCT))
    return Struct(text) if "." in text else Scalar(text)  # type: ignore[arg-type]


# Scalars as in JSON: strings, integers and times.


_RFC3339 = pattern(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(?:\.\d+)?(?:Z|[+-][0-2]\d:[0-5]\d)")

_LONGEST_SHOWN = 80


class Refused(Exception):
    """A value does not match its schema; explanation.py finds out why."""


def as_text(value: Any) -> str:
    """Return `value` as a plain string. Raises Refused if it is not one."""
    if isinstance(value, str):
        return str(value)
    raise Refused


def is_integer(value: object) -> bool:
    """Return whether a value is an integer; as in JSON, 2.0 is one and true is not."""
    return value.is_integer() if isinstance(value, float) else isinstance(value, int) and not isinstance(value, bool)


def as_integer(value: Any) -> int:
    """Return `value` as an integer. Raises Refused if it is not one."""
    if is_integer(value):
        return int(value)
    raise Refused


def text_or_integer(value: Any) -> str | int:
    """Return `value` as a plain string or an integer. Raises Refused if it is neither."""
    return str(value) if isinstance(value, str) else as_integer(value)


def is_time(text: str) -> bool:
    """Return whether `text` is an RFC 3339 time with a time zone."""
    return _RFC3339.fullmatch(text) is not None


def quote(text: str) -> str:
    """Quote and shorten `text` for a message."""
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")
