"""The field structure of one Trainer release: the compact schema data, loaded when a definition is first asked for."""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

from trainc.startup.records import dataclass

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
# Metadata inside a template: the CRDs are generated with generateEmbeddedObjectMeta, which keeps these fields only.
EMBEDDED_METADATA = "meta.EmbeddedObjectMeta"
_EMBEDDED_FIELDS = ("annotations", "finalizers", "labels", "name", "namespace")
# Required beyond what the CRDs say: without them no object has a type, and no TrainJob a runtime.
_REQUIRED_TOO = dict.fromkeys(ROOTS.values(), ("apiVersion", "kind")) | {
    ROOTS["TrainJob"]: ("apiVersion", "kind", "spec")
}
# Go structs without fields, such as `jax: {}`.
EMPTY_STRUCT = "meta.EmptyStruct"
# A Go struct that one release left without fields; it keeps its name here, so that hints know what it had before.
_EMPTIED = {("trainer.MLPolicy", "torch"): "trainer.TorchMLPolicySource"}

ScalarType: TypeAlias = Literal["string", "integer", "boolean", "time", "quantity", "int-or-string", "any"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A leaf value; "any" is a tree that is not checked."""

    type: ScalarType


@dataclass(frozen=True, slots=True)
class Struct:
    """An object with known fields: the name of its definition."""

    definition: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items all have one shape."""

    item: Shape


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with free keys whose values all have one shape."""

    value: Shape


Shape: TypeAlias = Scalar | Struct | ListOf | MapOf


@dataclass(frozen=True, slots=True)
class Definition:
    """One API type: its fields by JSON name, and which of them are required."""

    name: str
    fields: dict[str, Shape]
    required: tuple[str, ...]


@cache
def definition(release: str, name: str) -> Definition:
    """The definition `name` ("core.Container") in `release`. KeyError if the release has none."""
    texts = definition_texts(release)[name]
    fields = {field: _shape(name, field, text.removesuffix("!")) for field, text in texts.items()}
    required = (field for field, text in texts.items() if text.endswith("!"))
    return Definition(name, fields, (*_REQUIRED_TOO.get(name, ()), *required))


def definition_names(release: str) -> tuple[str, ...]:
    """Every definition of `release`, sorted."""
    return tuple(sorted(definition_texts(release)))


@cache
def definition_texts(release: str) -> dict[str, dict[str, str]]:
    """Every definition of `release` in the notation of scripts/generate_schemas.py: field -> type."""
    from trainc.api.schema.definitions import DEFINITIONS

    texts: dict[str, dict[str, str]] = {}
    for row in DEFINITIONS.until(release):
        for name, changed in row.items():
            fields = {**texts.get(name, {}), **changed}
            # A field without a type is gone, and so is a definition without fields.
            texts[name] = {field: fields[field] for field in sorted(fields) if fields[field]} if changed else {}
    texts = {name: fields for name, fields in texts.items() if fields}
    embedded = {field: texts["meta.ObjectMeta"][field] for field in _EMBEDDED_FIELDS}
    without_fields: dict[str, dict[str, str]] = {name: {} for name in (EMPTY_STRUCT, *_EMPTIED.values())}
    return {**without_fields, **texts, EMBEDDED_METADATA: embedded}


def _shape(owner: str, field: str, text: str) -> Shape:
    """A type in the notation of scripts/generate_schemas.py as a Shape."""
    if text.startswith("["):
        return ListOf(_shape(owner, field, text[1:-1]))
    if text.startswith("{"):
        return MapOf(_shape(owner, field, text[1:-1]))
    if text == "meta.ObjectMeta" and owner not in ROOTS.values():
        return Struct(EMBEDDED_METADATA)
    if text == "object":
        return Struct(_EMPTIED.get((owner, field), EMPTY_STRUCT))
    return Struct(text) if "." in text else Scalar(text)  # type: ignore[arg-type]
