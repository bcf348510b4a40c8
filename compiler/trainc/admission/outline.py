"""The outline of a JobSet: the parts that admission rules depend on, so that the result for one job can be reused.

It omits values that the rules do not restrict: valid names and labels, a container's command, arguments and image, and
the values of its variables. Name lengths and numbers of pods, which have only upper limits, are replaced by upper
bounds, and amounts of resources, of which only requests and limits are compared, by a small and a large one. Everything
else is part of the outline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from marshal import dumps, loads
from typing import Any

from trainc.kube.documents import Json
from trainc.kube.names import LABEL_LIMIT, is_dns1035_label, is_dns1123_label, is_label_value
from trainc.kube.quantity import parse_quantity

_CONTAINERS = ("initContainers", "containers")
_COUNTS = ("parallelism", "completions")
_MOST_COUNTED = 999
# Name lengths are rounded up to a multiple of this number.
_STEP = 8
_WORD = "word"
_COMPUTE = ("cpu", "memory")
_SMALL, _LARGE = "1", "2"


def outline_of(jobset: Json) -> bytes | None:
    """Return the outline, which is a JobSet, as bytes that are equal for equal outlines; None for unusual JobSets."""
    try:
        spec = jobset["spec"]
        if not isinstance(spec["replicatedJobs"], list):
            return None
        jobs = [_job(job, "coordinator" not in spec) for job in spec["replicatedJobs"]]
        metadata = _without_names(jobset["metadata"])
        # Version 2 of the format has no references, so equal objects have equal bytes even if they share parts.
        return dumps({**jobset, "metadata": metadata, "spec": {**spec, "replicatedJobs": jobs}}, 2)
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def with_words(outline: bytes, jobset: Json) -> dict[str, Any]:
    """Return the processed outline as a new object, with the omitted values and counts of a JobSet filled in."""
    restored: dict[str, Any] = loads(outline)  # noqa: S302 - what `dumps` wrote
    _restore(restored["metadata"], jobset["metadata"], ("name", "namespace", "labels"))
    for job, original in zip(
        restored["spec"].get("replicatedJobs") or (), jobset["spec"]["replicatedJobs"], strict=True
    ):
        template, original_template = job["template"], original["template"]
        _restore_labels(template, original_template)
        spec, original_spec = template["spec"], original_template["spec"]
        spec |= {name: original_spec[name] for name in _COUNTS if _is_small(original_spec.get(name))}
        _restore_labels(spec["template"], original_spec["template"])
        _restore_containers(spec["template"]["spec"], original_spec["template"]["spec"])
    return restored


def _restore(restored: dict[str, Any], original: Json, fields: Iterable[str]) -> None:
    for field in fields:
        if value := original.get(field):
            restored[field] = value if isinstance(value, str) else value.copy()


def _restore_labels(restored: Json, original: Json) -> None:
    if (metadata := original.get("metadata")) and metadata.get("labels"):
        _restore(restored["metadata"], metadata, ("labels",))


def _restore_containers(restored: Json, original: Json) -> None:
    for kind in _CONTAINERS:
        for container, original_container in zip(restored.get(kind) or (), original.get(kind) or (), strict=True):
            _restore(container, original_container, ("command", "args", "image"))
            if (amounts := original_container.get("resources")) and _amounts(amounts):
                _restore(container["resources"], amounts, ("requests", "limits"))
            for variable, original_variable in zip(
                container.get("env") or (), original_container.get("env") or (), strict=True
            ):
                _restore(variable, original_variable, ("value",))


def _without_names(metadata: Json) -> Json:
    """Return the JobSet's metadata without its names. Raises ValueError if one is invalid."""
    drawn, name = _without_label_values(metadata), metadata["name"]
    length = min(-(-len(name) // _STEP) * _STEP, LABEL_LIMIT)
    if not is_dns1035_label(name) or len(name) > length:
        raise ValueError(name)
    if "namespace" in metadata:
        drawn["namespace"] = _namespace(metadata["namespace"])
    return {**drawn, "name": "a" * length}


@lru_cache(maxsize=256)
def _namespace(name: str) -> str:
    if not is_dns1123_label(name) or len(name) > LABEL_LIMIT:
        raise ValueError(name)
    return _WORD


def _without_label_values(metadata: Json) -> dict[str, Any]:
    """Return metadata without the values of its labels. Raises ValueError if one is invalid."""
    labels = metadata.get("labels")
    return {**metadata, "labels": {key: _label(value) for key, value in labels.items()}} if labels else {**metadata}


@lru_cache(maxsize=1024)
def _label(value: str) -> str:
    if not is_label_value(value):
        raise ValueError(value)
    return _WORD


def _job(job: Json, counts: bool) -> Json:
    template = job["template"]
    spec = template["spec"]
    pod = spec["template"]
    fields = pod["spec"]
    drawn = {kind: [_container(container) for container in fields[kind]] for kind in _CONTAINERS if fields.get(kind)}
    if spec.get("manualSelector"):
        raise ValueError("the values of labels matter")
    if fields.get("resources"):
        raise ValueError("the amounts of the containers are added up")
    # The highest numbers of pods with the same number of digits, unless something refers to a pod's index.
    bounded = counts and "successPolicy" not in spec and "maxFailedIndexes" not in spec
    small = [name for name in _COUNTS if bounded and _is_small(spec.get(name))]
    bounds = {name: 10 ** len(str(spec[name])) - 1 for name in small}
    spec = {**spec, **bounds, "template": {**_with_labels(pod), "spec": {**fields, **drawn}}}
    return {**job, "template": {**_with_labels(template), "spec": spec}}


def _with_labels(template: Json) -> Json:
    metadata = template.get("metadata")
    return {**template, "metadata": _without_label_values(metadata)} if metadata else template


def _is_small(count: object) -> bool:
    return type(count) is int and 0 < count <= _MOST_COUNTED


def _container(container: Mapping[str, Any]) -> Json:
    drawn = dict(container)
    for field in ("command", "args"):
        if arguments := container.get(field):
            if type(arguments) is not list or not all(type(word) is str for word in arguments):
                raise TypeError(arguments)
            drawn[field] = [_WORD]
    if image := container.get("image"):
        drawn["image"] = _word(image)
    if (resources := container.get("resources")) and (amounts := _amounts(resources)):
        drawn["resources"] = {**resources, **amounts}
    if env := container.get("env"):
        drawn["env"] = [
            {**variable, "value": _word(variable["value"])} if variable.get("value") else variable for variable in env
        ]
    return drawn


def _amounts(resources: Json) -> dict[str, dict[str, str]] | None:
    """Return the resources with small and large amounts, or None if more than their order may matter."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not all(_is_plain(name, amount) for amounts in (limits, requests) for name, amount in amounts.items()):
        return None
    drawn = {name: _LARGE if amount == limits.get(name) else _SMALL for name, amount in requests.items()}
    for name, amount in drawn.items():
        if (
            amount == _SMALL
            and name in limits
            and parse_quantity(requests[name]).nanos >= parse_quantity(limits[name]).nanos
        ):
            return None
    outlined = {"limits": dict.fromkeys(limits, _LARGE), "requests": drawn}
    return {kind: amounts for kind, amounts in outlined.items() if amounts}


@lru_cache(maxsize=1024)
def _is_plain(name: str, amount: object) -> bool:
    """Return whether it is cores, bytes or devices, in the form in which they are stored."""
    if type(amount) is not str or not (name in _COMPUTE or "/" in name):
        return False
    quantity = parse_quantity(amount)
    return str(quantity) == amount and quantity.nanos > 0 and (name in _COMPUTE or quantity.is_whole)


def _word(word: Any) -> str:
    if type(word) is not str:
        raise TypeError(word)
    return _WORD
