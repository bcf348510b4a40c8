"""What kustomize and kpt write into the metadata of resources: read where it helps, and never handed on.

Source: kubernetes-sigs/kustomize api/internal/utils/annotations.go, kyaml/kio/kioutil/kioutil.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainc.api.documents import Json
from trainc.api.names import RUNTIME_KINDS
from trainc.ir.trainjob import carried
from trainc.reading.document import Document
from trainc.startup.patterns import pattern

_PREVIOUS_NAMES = "internal.config.kubernetes.io/previousNames"
_ORIGIN = "config.kubernetes.io/origin"
_PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
_TRANSFORMATIONS = "alpha.config.kubernetes.io/transformations"
_ORIGIN_PATH = pattern(r"^path: (.+)$", re.MULTILINE)


def as_written(items: Sequence[Json]) -> list[Document]:
    """The items as their author means them: without the tools' own metadata, and each runtimeRef led to its runtime."""
    renamed = _renamed_runtimes(items)
    return [Document(_cleaned(_following(item, renamed)), file_of(item), _nowhere) for item in items]


def file_of(item: Json) -> str:
    """The file that an item came from, as far as the tool says; else empty."""
    annotations = _annotations(item)
    for key in _PATHS:
        if isinstance(annotations.get(key), str):
            return str(annotations[key])
    origin = _ORIGIN_PATH.search(str(annotations.get(_ORIGIN, "")))
    return origin.group(1).strip() if origin else ""


def _nowhere(path: object) -> None:
    """No position: what a function reads has been written anew by the tool that calls it."""


def _cleaned(item: Json) -> dict[str, Any]:
    metadata = item.get("metadata")
    if not isinstance(metadata, Mapping):
        return dict(item)
    kept = dict(metadata)
    for field in ("labels", "annotations"):
        if isinstance(kept.get(field), Mapping):
            kept[field] = {k: v for k, v in carried(kept[field]).items() if k != _TRANSFORMATIONS}
    return {**item, "metadata": kept}


def _renamed_runtimes(items: Iterable[Json]) -> dict[tuple[str, str], set[str]]:
    """(kind, earlier name) of each runtime that kustomize has renamed, with what it is called now.

    kustomize does not know that a runtimeRef is a reference, and leaves it as it was.
    """
    names: dict[tuple[str, str], set[str]] = {}
    runtimes = [item for item in items if item.get("kind") in RUNTIME_KINDS]
    for runtime in runtimes:
        for earlier in str(_annotations(runtime).get(_PREVIOUS_NAMES, "")).split(","):
            names.setdefault((runtime["kind"], earlier), set()).add(_name(runtime))
    present = {(runtime["kind"], _name(runtime)) for runtime in runtimes}
    return {key: now for key, now in names.items() if key not in present and len(now) == 1}


def _following(item: Json, renamed: Mapping[tuple[str, str], set[str]]) -> Json:
    spec = item.get("spec")
    reference = spec.get("runtimeRef") if isinstance(spec, Mapping) else None
    if not isinstance(reference, Mapping):
        return item
    key = (str(reference.get("kind", "ClusterTrainingRuntime")), str(reference.get("name")))
    if key not in renamed:
        return item
    (name,) = renamed[key]
    return {**item, "spec": {**item["spec"], "runtimeRef": {**reference, "name": name}}}


def _annotations(item: Json) -> Json:
    metadata = item.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return annotations if isinstance(annotations, Mapping) else {}


def _name(item: Json) -> str:
    metadata = item.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""
