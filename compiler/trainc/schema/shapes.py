"""The field structure of each Trainer release; the schema data is loaded on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from trainc.kube.releases import Since
from trainc.schema.definitions import DEFINITIONS
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass
from trainc.startup.shipped import read_data, read_sections
from trainc.startup.typing import Any, Literal, TypeAlias, get_args

ROOTS = {
    "TrainJob": "trainer.TrainJob",
    "TrainingRuntime": "trainer.TrainingRuntime",
    "ClusterTrainingRuntime": "trainer.ClusterTrainingRuntime",
    "JobSet": "jobset.JobSet",
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


_SCALARS: Mapping[str, Scalar] = {kind: Scalar(kind) for kind in get_args(ScalarType)}


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
    if text in _SCALARS:
        return _SCALARS[text]
    if text.startswith("["):
        return ListOf(_shape(owner, field, text[1:-1]))
    if text.startswith("{"):
        return MapOf(_shape(owner, field, text[1:-1]))
    if text == "meta.ObjectMeta" and owner not in ROOTS.values():
        return Struct(EMBEDDED_METADATA)
    if text == "object":
        return Struct(_EMPTIED.get((owner, field), EMPTY_STRUCT))
    return Struct(text)


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


# What the CRDs of Trainer and JobSet declare of fields, by "group.Definition.field", in the words of JSON Schema: bounds,
# defaults, each of which applies only if its parent object is present, and the integers that are int64, or a Go `int`,
# which has no format there; all others are int32. Source: manifests/base/crds of kubeflow/trainer and
# config/components/crd/bases of kubernetes-sigs/jobset, at the tags that PORT.yaml pins.
KEYWORDS = Since[dict[str, Any]](read_data(__file__, "keywords.json"))
Default: TypeAlias = str | int | bool


@cache
def keywords(release: str) -> dict[str, dict[str, Any]]:
    """Return what the CRDs of a release declare; a later release replaces what earlier ones say, keyword by keyword."""
    declared: dict[str, dict[str, Any]] = {}
    for row in KEYWORDS.until(release):
        for key, words in row.items():
            declared[key] = {**declared.get(key, {}), **words}
    return declared


# Fields that keep a zero value ("", 0, false) when a release's Go types marshal the object. Runtime templates,
# overrides and JobSets pass through Go types, where `omitempty` drops empty lists and maps and the zero value of every
# optional non-pointer field. The fields in pointers.txt are pointers. `spec.trainer` and `spec.initializer` of a TrainJob are
# only read and never marshaled, so there `args: []` and `image: ""` have a meaning. Source: k8s.io/api core/v1,
# batch/v1 and autoscaling/v2, jobset v1alpha2, trainer v1alpha1, volcano scheduling v1beta1 Go types at the versions
# that each release pins; all of them have the same pointers.


_POINTERS = read_sections(__file__, "pointers.txt")["pointers"]
KEEPS_ZERO = frozenset(f"{definition}.{field}" for definition, fields in _POINTERS for field in fields.split())

# Non-pointer structs: Go writes them even if they are empty, but the API ignores them, so they are omitted.
EMPTY_STRUCT_DROPPED = frozenset({"metadata", "resources", "status"})

# Which zero values are dropped. "read": none. "marshalled": all except in pointers and required fields. "applied": also
# empty lists in required fields, as by Go's apply configurations, which runtime templates pass through.
Form: TypeAlias = Literal["read", "marshalled", "applied"]

# Required by the CRDs, but omitted by Go if they are empty.
OMITTED_THOUGH_REQUIRED = frozenset(
    {"core.ContainerRestartRule.action", "core.ContainerRestartRuleOnExitCodes.operator"}
)

# Fields that Go types always write, with the value that they write for a missing one.
EMPTY = object()  # a struct without fields, created for each document
ALWAYS_WRITTEN: dict[str, object] = {
    "batch.PodFailurePolicyOnPodConditionsPattern.status": "",  # Required until 2.1.
    "core.PersistentVolumeClaim.spec": EMPTY,
    "core.ResourceFieldSelector.divisor": "0",
}

# TrainJob fields that the controller reads but never marshals, so nothing inside them is dropped.
NEVER_MARSHALLED = frozenset({"trainer.TrainJobSpec.trainer", "trainer.TrainJobSpec.initializer"})


def keeps_zero(key: str, form: Form, *, required: bool, is_list: bool) -> bool:
    """Return whether the zero value of the field `key` ("group.Definition.field") is written."""
    if form == "read":
        return True
    omitted = key in OMITTED_THOUGH_REQUIRED or (form == "applied" and is_list)
    return not omitted and (required or key in KEEPS_ZERO)


@cache
def defaults_of(release: str) -> dict[str, dict[str, Default]]:
    """Return the defaults of `release` by definition and field."""
    grouped: dict[str, dict[str, Default]] = {}
    for key, words in keywords(release).items():
        if "default" in words:
            name, _, field = key.rpartition(".")
            grouped.setdefault(name, {})[field] = words["default"]
    return grouped


def added_values(release: str, name: str, marshalled: bool) -> tuple[tuple[str, Default | object], ...]:
    """Return the fields that are added to a struct: CRD defaults, except for zero values that Go drops again."""
    schema_fields = definition(release, name).fields
    defaults = {field: value for field, value in defaults_of(release).get(name, {}).items() if field in schema_fields}
    if not marshalled:
        return tuple(defaults.items())
    marshalled_defaults = {
        field: value for field, value in defaults.items() if value or f"{name}.{field}" in KEEPS_ZERO
    }
    always = {key.rpartition(".")[2]: value for key, value in ALWAYS_WRITTEN.items() if key.startswith(f"{name}.")}
    return tuple({**marshalled_defaults, **always}.items())
