"""What an object of a cluster looked like when its author applied it.

Removed is what the API server, its defaults, webhooks, Kueue, controllers and GitOps tools have added. What is left has the
same meaning: the schema's defaults bring it back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from trainc.api.documents import check
from trainc.api.kube import QUEUE_LABEL, RUNTIME_KINDS, Json, mapping
from trainc.api.records import dataclass
from trainc.kube.documents import items, leaves
from trainc.kube.live_objects import KUEUE, Owners, annotations_of, is_mark, labels_of
from trainc.schema.defaults import DEFAULTS

# Kueue's entry in the patches of a TrainJob; before Trainer 2.2 an annotation says where Kueue's overrides begin.
# Source: kubernetes-sigs/kueue pkg/controller/jobs/trainjob/trainjob_controller.go, v0.20 and v0.14.
_KUEUE_PATCH = "kueue.x-k8s.io/manager"
_KUEUE_OVERRIDES = "kueue.x-k8s.io/override-idx"
_PLACEHOLDERS = ("metadata", "resources", "status", "strategy", "labels", "annotations")
_SECRET_ENDINGS = ("TOKEN", "KEY", "SECRET", "PASSWORD")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """An object as its author wrote it, and the number of values that were removed."""

    data: dict[str, Any]
    removed: int


def clean(each: Json, release: str) -> Cleaned:
    """Remove from a TrainJob or a runtime what others have set."""
    kind = str(each["kind"])
    spec = dict(mapping(each.get("spec")))
    if kind not in RUNTIME_KINDS:
        spec = _without_kueue(spec, each)
    metadata = applied_metadata(each)
    data = {"apiVersion": each.get("apiVersion"), "kind": kind, "metadata": metadata, "spec": spec}
    data = _without_defaults(data, release)
    return Cleaned(data, len(leaves(each)) - len(leaves(data)))


def applied_metadata(each: Json) -> dict[str, Any]:
    """The name, and the labels and annotations that are neither a tool's mark nor Kueue's."""
    owners, metadata = Owners(each), mapping(each.get("metadata"))
    kept: dict[str, Any] = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
    for field, values in (("labels", labels_of(each)), ("annotations", annotations_of(each))):
        own = {
            key: value
            for key, value in values.items()
            if key != _KUEUE_OVERRIDES
            and not is_mark(("metadata", field, key), by := owners.of(("metadata", field, key)))
            and not (by or "").startswith(KUEUE)
        }
        if own:
            kept[field] = own
    return kept


def _without_kueue(spec: dict[str, Any], each: Json) -> dict[str, Any]:
    """The spec of a TrainJob without Kueue's patches, and without `suspend` where Kueue decides about it."""
    kept = {key: value for key, value in spec.items() if key != "suspend" or QUEUE_LABEL not in labels_of(each)}
    if isinstance(patches := spec.get("runtimePatches"), list):
        own = [patch for patch in patches if mapping(patch).get("manager") != _KUEUE_PATCH]
        # The time is that of the last write, which a webhook notes.
        kept["runtimePatches"] = [{k: v for k, v in mapping(patch).items() if k != "time"} for patch in own]
    first = annotations_of(each).get(_KUEUE_OVERRIDES)
    for field in ("podTemplateOverrides", "podSpecOverrides"):
        if isinstance(overrides := spec.get(field), list) and str(first).isdecimal():
            kept[field] = overrides[: int(str(first))]
    return {key: value for key, value in kept.items() if value != []}


def _without_defaults(data: dict[str, Any], release: str) -> dict[str, Any]:
    """The document without values that the schema's defaults bring back, as far as that changes nothing."""
    kind = str(data["kind"])
    whole, problems = check(data, kind, release, prune=True)
    if any(problem.severity == "error" for problem in problems):
        return data
    known = {(name.rpartition(".")[2], type(value), value) for name, value in DEFAULTS.at(release).items()}
    without: dict[str, Any] = {key: _pruned(value, known) for key, value in data.items()}
    return without if check(without, kind, release, prune=True)[0] == whole else data


def _pruned(value: Any, known: Collection[tuple[str, type, Any]]) -> Any:
    if isinstance(value, Mapping):
        inner = {key: _pruned(each, known) for key, each in value.items() if each is not None}
        return {key: each for key, each in inner.items() if not _adds_nothing(key, each, known)}
    return [_pruned(each, known) for each in value] if isinstance(value, list) else value


def _adds_nothing(field: str, value: Any, known: Collection[tuple[str, type, Any]]) -> bool:
    if isinstance(value, dict | list):
        return value == {} and field in _PLACEHOLDERS
    return (field, type(value), value) in known


# Literals that look like a token, which must not reach git.


def literal_secrets(document: Any) -> list[str]:
    """The names of variables with a literal value that looks like a token, each once."""
    found: dict[str, None] = {}
    waiting = [("", document)]
    while waiting:
        field, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(str(key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(field, inner) for inner in value]
            found.update((str(each["name"]), None) for each in items(value) if field == "env" and _is_secret(each))
    return sorted(found)


def with_references(document: Any, secret: str, field: str = "") -> Any:
    """The document with references to keys of a Secret in place of such literals."""
    if isinstance(document, Mapping):
        if field == "env" and _is_secret(document):
            reference = {"secretKeyRef": {"name": secret, "key": str(document["name"])}}
            return {"name": document["name"], "valueFrom": reference}
        return {key: with_references(inner, secret, str(key)) for key, inner in document.items()}
    return [with_references(each, secret, field) for each in document] if isinstance(document, list) else document


def _is_secret(variable: Any) -> bool:
    each = mapping(variable)
    return bool(each.get("value")) and str(each.get("name")).upper().endswith(_SECRET_ENDINGS)
