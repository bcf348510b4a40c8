"""The dialects: APIs other than trainer.kubeflow.org/v1alpha1 that documents are still written in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trainc.frontend.dialects.dialect import Conversion, Dialect, Surroundings
from trainc.frontend.dialects.ome import API as OME_API
from trainc.frontend.dialects.ome import BASE_MODEL_KIND, OME
from trainc.frontend.dialects.v2alpha1 import ONE_DAY_V2ALPHA1, V2ALPHA1

__all__ = [
    "DIALECTS",
    "OME",
    "V2ALPHA1",
    "Conversion",
    "Dialect",
    "Surroundings",
    "claimed_by",
    "dialect_of",
    "surroundings_of",
]

Json = Mapping[str, Any]

DIALECTS = (OME, V2ALPHA1, ONE_DAY_V2ALPHA1)


def dialect_of(document: Json) -> Dialect | None:
    """The dialect that a document is written in; None for Trainer's own API and for everything else."""
    version, kind = document.get("apiVersion"), document.get("kind")
    return next((d for d in DIALECTS if version in d.api_versions and kind in d.kinds), None)


def claimed_by(document: Json) -> Dialect | None:
    """The dialect whose group and kind a document names, whether or not the version exists."""
    group, _, version = str(document.get("apiVersion", "")).partition("/")
    kind = str(document.get("kind"))
    return next((d for d in DIALECTS if version and group == d.group and kind in d.kinds), None)


def surroundings_of(documents: Iterable[Json]) -> Surroundings:
    """What the input says that a conversion of one of its documents may need."""
    models: dict[str, str] = {}
    for document in documents:
        if document.get("kind") == BASE_MODEL_KIND and document.get("apiVersion") == OME_API:
            uri = _at(document, "spec", "storage", "storageUri")
            name = _at(document, "metadata", "name")
            if isinstance(name, str) and isinstance(uri, str):
                models[name] = uri
    return Surroundings(models)


def _at(value: Any, *path: str) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
