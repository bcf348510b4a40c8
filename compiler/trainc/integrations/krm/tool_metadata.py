"""What kustomize and kpt write into the metadata of resources: read where it helps, and never handed on.

Source: kubernetes-sigs/kustomize api/internal/utils/annotations.go, kyaml/kio/kioutil/kioutil.go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from trainc.api.documents import Json
from trainc.api.names import RUNTIME_KINDS
from trainc.diagnostics import CompileError, Path, Source
from trainc.ir.trainjob import carried
from trainc.options import Limits
from trainc.reading.confinement import is_inside, root_around
from trainc.reading.document import Document
from trainc.reading.opening import read_file
from trainc.reading.yaml_reader import read_documents
from trainc.startup.patterns import pattern

_PREVIOUS_NAMES = "internal.config.kubernetes.io/previousNames"
_ORIGIN = "config.kubernetes.io/origin"
_PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
_TRANSFORMATIONS = "alpha.config.kubernetes.io/transformations"
_ORIGIN_PATH = pattern(r"^path: (.+)$", re.MULTILINE)


def as_written(items: Sequence[Json], folder: str) -> list[Document]:
    """The items as their author means them: without the tools' own metadata, and each runtimeRef led to its runtime.

    Their places are those in the file that the tool names, where it lies below `folder` or in the repository around it.
    """
    renamed = _renamed_runtimes(items)
    return [Document(_cleaned(_following(item, renamed)), file_of(item), _finder(item, folder)) for item in items]


def file_of(item: Json) -> str:
    """The file that an item came from, as far as the tool says; else empty."""
    annotations = annotations_of(item)
    for key in _PATHS:
        if isinstance(annotations.get(key), str):
            return str(annotations[key])
    origin = _ORIGIN_PATH.search(str(annotations.get(_ORIGIN, "")))
    return origin.group(1).strip() if origin else ""


def _finder(item: Json, folder: str) -> Callable[[Path], Source | None]:
    """What finds a field in the file that the item was written in; patches may have changed it since."""

    def locate(path: Path) -> Source | None:
        written = _as_read(item, folder)
        return written.locate(path) if written else None

    return locate


def _as_read(item: Json, folder: str) -> Document | None:
    """The item as it stands in its file; None where nothing names the file, or it holds no such object."""
    file = os.path.normpath(os.path.join(folder, file_of(item))) if file_of(item) else ""
    if not file or not is_inside(file, root_around(folder)):
        return None
    try:
        documents, _ = read_documents(read_file(file, Limits().file_bytes), file, Limits())
    except (OSError, ValueError, CompileError):
        return None
    names = {name_of(item), *earlier_names(item)}
    return next((d for d in documents if d.data.get("kind") == item.get("kind") and name_of(d.data) in names), None)


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
        for earlier in earlier_names(runtime):
            names.setdefault((runtime["kind"], earlier), set()).add(name_of(runtime))
    present = {(runtime["kind"], name_of(runtime)) for runtime in runtimes}
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


def earlier_names(item: Json) -> list[str]:
    """What kustomize says that an item was called before it renamed it."""
    return [name for name in str(annotations_of(item).get(_PREVIOUS_NAMES, "")).split(",") if name]


def annotations_of(item: Json) -> Json:
    """The annotations of an item; empty where it has none."""
    metadata = item.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return annotations if isinstance(annotations, Mapping) else {}


def name_of(item: Json) -> str:
    """The name of an item; empty where it has none."""
    metadata = item.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""
