"""Fields of a valid document that never affect the output. Each is reported; none is dropped silently.

Sources: kubeflow/trainer pkg/runtime/core/trainingruntime.go uses only labels and annotations of a template's or a
patch's metadata, and pkg/webhooks sets the time of a patch. The other fields are set by the API server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.api.documents import Json
from trainc.diagnostics import Finding, Path

_CODE = "FieldIgnored"
# Fields that the API server sets.
_RECORD = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
_OF_THE_TRAINJOB = ("finalizers", "generateName", "ownerReferences")
_AMOUNTS = {"limits": "limits: {nvidia.com/gpu: 8}", "requests": "requests: {cpu: 16, memory: 64Gi}"}
_OTHER_METADATA = ("finalizers", "name", "namespace")


def ignored_fields(document: Json, kind: str) -> Iterator[Finding]:
    """Yield a finding for each such field of a document that passed its schema."""
    if kind != "TrainJob":
        template = document["spec"].get("template") or {}
        yield from _embedded(template.get("metadata"), ("spec", "template", "metadata"), "template")
        return
    yield from _own_metadata(document)
    for index, patch in enumerate(document["spec"].get("runtimePatches") or ()):
        path: Path = ("spec", "runtimePatches", index)
        if "time" in patch:
            message = "time has no effect: controllers use it to record when they saw the patch"
            yield Finding(_CODE, "info", message, "remove it", (*path, "time"))
        template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        place = (*path, "trainingRuntimeSpec", "template", "metadata")
        yield from _embedded(template.get("metadata"), place, "patch")
    for index, override in enumerate(document["spec"].get("podTemplateOverrides") or ()):
        yield from _embedded(override.get("metadata"), ("spec", "podTemplateOverrides", index, "metadata"), "override")


def empty_amounts(document: Json) -> Iterator[Finding]:
    """Yield a warning if resourcesPerNode, or its limits or requests, has no value: the API server drops it silently."""
    trainer = (document.get("spec") or {}).get("trainer") or {}
    resources = trainer.get("resourcesPerNode", {})
    path: Path = ("spec", "trainer", "resourcesPerNode")
    empty = [path] if resources is None else [(*path, kind) for kind in _AMOUNTS if resources.get(kind, ()) is None]
    for place in empty:
        message = f"{place[-1]} has no value and is ignored: the pods get no resources from it"
        hint = f"write the amounts below it, as in {_AMOUNTS.get(str(place[-1]), _AMOUNTS['limits'])}, or remove it"
        yield Finding(_CODE, "warning", message, hint, place)


def _own_metadata(document: Json) -> Iterator[Finding]:
    metadata = document["metadata"]
    record = [field for field in _RECORD if metadata.get(field) is not None]
    if record:
        hint = "remove it: `kubectl get` adds it to objects of a cluster"
        message = f"{_join_fields(record)}: ignored, because the API server sets it"
        yield Finding(_CODE, "info", message, hint, ("metadata",))
    if document.get("status"):
        message = "status is ignored: the controller in the cluster sets it"
        yield Finding(_CODE, "info", message, "remove it", ("status",))
    for field in _OF_THE_TRAINJOB:
        if metadata.get(field):
            message = f"{field} of a TrainJob has no effect: it is not copied to the objects made from the TrainJob"
            yield Finding(_CODE, "warning", message, f"remove {field}", ("metadata", field))


def _embedded(metadata: Json | None, path: Path, owner: str) -> Iterator[Finding]:
    for field in _OTHER_METADATA:
        if (metadata or {}).get(field):
            message = (
                f"{field} in the metadata of a {owner} has no effect: all releases use only labels and annotations"
            )
            yield Finding(_CODE, "warning", message, f"remove {field}", (*path, field))


def _join_fields(fields: Sequence[str]) -> str:
    *first, last = fields
    return f"{', '.join(first)} and {last}" if first else last
