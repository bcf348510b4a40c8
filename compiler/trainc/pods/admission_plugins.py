"""What the API server refuses of a pod although it has accepted the pod's Job.

Some rules are not applied to templates. The rest are those of admission plugins, which read objects of the cluster:
Priority, RuntimeClass and ServiceAccount are here, LimitRanger and ResourceQuota in `quotas`. An object that is not
known says nothing, except that a cluster has no default PriorityClass until somebody creates one.

Source: kubernetes pkg/apis/core/validation/validation.go (ValidatePodCreate, validateImageVolumeSource) and
plugin/pkg/admission/{priority,runtimeclass,serviceaccount}/admission.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from trainc.findings import Finding, Path, remove, write
from trainc.kube.documents import Json, items, mapping, objects
from trainc.pods import errors
from trainc.pods.resources import read_amounts

# Kind -> its objects by (namespace, name).
ClusterObjects: TypeAlias = Mapping[str, Mapping[tuple[str, str], Json]]

_GROUPS = {
    "LimitRange": "",
    "PriorityClass": "scheduling.k8s.io",
    "ResourceQuota": "",
    "RuntimeClass": "node.k8s.io",
    "ServiceAccount": "",
}
# Every cluster has these. Source: kubernetes pkg/apis/scheduling/v1/helpers.go, SystemPriorityClasses.
_SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
# What Go's strconv.ParseBool reads as true.
_TRUE = ("1", "t", "T", "TRUE", "true", "True")


def cluster_objects(documents: Iterable[Any]) -> ClusterObjects:
    """Return the objects among `documents` that admission plugins read; Lists are expanded, later objects win."""
    found: dict[str, dict[tuple[str, str], Json]] = {}
    left = list(documents)[::-1]
    while left:
        document = mapping(left.pop())
        kind, metadata = document.get("kind"), mapping(document.get("metadata"))
        if not isinstance(kind, str):
            continue
        if kind.endswith("List"):
            left += items(document.get("items"))[::-1]
        elif kind in _GROUPS and str(document.get("apiVersion") or "").rpartition("/")[0] == _GROUPS[kind]:
            place = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
            found.setdefault(kind, {})[place] = document
    return found


def refusals_of_pods(spec: Json, path: Path, namespace: str, cluster: ClusterObjects) -> Iterator[Finding]:
    """Yield why pods with this spec, whose path is `path`, would be refused in `namespace`."""
    yield from _unlike_templates(spec, path)
    priority_class = _priority_class(spec, cluster.get("PriorityClass", {}))
    if priority_class is not None:
        yield from _against_priority_class(spec, path, priority_class)
    runtime_class = _runtime_class(spec, cluster.get("RuntimeClass", {}))
    if runtime_class is not None:
        yield from _against_runtime_class(spec, path, runtime_class)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    yield from _secrets(spec, path, cluster.get("ServiceAccount", {}).get((namespace, str(account)), {}))
    if "LimitRange" in cluster or "ResourceQuota" in cluster:
        from trainc.pods.quotas import quota_refusals

        ranges, quotas = (
            [one for (home, _), one in sorted(cluster.get(kind, {}).items()) if home == namespace]
            for kind in ("LimitRange", "ResourceQuota")
        )
        name = _name(priority_class) if priority_class else str(spec.get("priorityClassName") or "")
        charged = {**spec, "overhead": _overhead(runtime_class)} if runtime_class else spec
        yield from quota_refusals(charged, path, name, ranges, quotas)


def _unlike_templates(spec: Json, path: Path) -> Iterator[Finding]:
    for i, volume in enumerate(objects(spec.get("volumes"))):
        if isinstance(volume.get("image"), dict) and not volume["image"].get("reference"):
            yield errors.missing((*path, "volumes", i, "image", "reference"))
    if spec.get("nodeName") and items(spec.get("schedulingGates")):
        message = "nodeName bypasses the scheduler, so a pod that has it cannot wait for schedulingGates"
        yield errors.conflict((*path, "nodeName"), message)


def _name(document: Json) -> str:
    return str(mapping(document.get("metadata")).get("name") or "")


def _priority_class(spec: Json, classes: Mapping[tuple[str, str], Json]) -> Json | None:
    """Return the class that decides, {} where the pod has none, or None if it is not known."""
    name = str(spec.get("priorityClassName") or "")
    if name in _SYSTEM_CLASSES:
        return {"metadata": {"name": name}, "value": _SYSTEM_CLASSES[name]}
    readable = {key: one for key, one in classes.items() if isinstance(one.get("value"), int)}
    if name:
        return readable.get(("", name))
    defaults = [one for one in readable.values() if one.get("globalDefault") is True]
    return min(defaults, key=lambda one: int(one["value"]), default={})


def _against_priority_class(spec: Json, path: Path, priority_class: Json) -> Iterator[Finding]:
    name = _name(priority_class)
    if not name:
        giver = "a pod without a priorityClassName has"
        hint = "remove {}; to have it, set priorityClassName: NAME of a class that gives it (`kubectl get priorityclasses`)"
    else:
        default = "" if spec.get("priorityClassName") else ", the cluster's default,"
        giver, hint = f"PriorityClass {name}{default} gives", "remove {}: it comes from the class"
    policy = priority_class.get("preemptionPolicy") or "PreemptLowerPriority"
    for field, given in (("priority", priority_class.get("value", 0)), ("preemptionPolicy", policy)):
        value = spec.get(field)
        if value not in (None, "", given):
            message = f"{field} is {value}, but {giver} {given}, and the API server refuses pods that say otherwise"
            yield Finding("PriorityNotOfClass", "error", message, remove(hint.format(field)), (*path, field))


def _runtime_class(spec: Json, classes: Mapping[tuple[str, str], Json]) -> Json | None:
    """Return the class of a pod, {} where it has none, or None if it is not known."""
    name = spec.get("runtimeClassName")
    return classes.get(("", str(name))) if name else {}


def _overhead(runtime_class: Json) -> Json:
    return mapping(mapping(runtime_class.get("overhead")).get("podFixed"))


def _against_runtime_class(spec: Json, path: Path, runtime_class: Json) -> Iterator[Finding]:
    name, overhead, fixed = spec.get("runtimeClassName"), mapping(spec.get("overhead")), _overhead(runtime_class)
    if overhead and read_amounts(overhead) != read_amounts(fixed):
        if not name:
            message = "overhead is what a RuntimeClass adds to a pod, and this pod has no runtimeClassName"
            hint = remove("remove overhead, or set runtimeClassName: NAME of the class that has it")
        else:
            given = ", ".join(f"{key} {value}" for key, value in fixed.items()) or "none"
            message = f"the overhead of RuntimeClass {name} is {given}; a pod cannot set another one"
            hint = remove("remove overhead: it comes from the class")
        yield Finding("OverheadNotOfClass", "error", message, hint, (*path, "overhead"))
    selector = mapping(spec.get("nodeSelector"))
    for key, value in mapping(mapping(runtime_class.get("scheduling")).get("nodeSelector")).items():
        if selector.get(key, value) != value:
            message = f"RuntimeClass {name} runs its pods on nodes with {key}: {value}, not {selector[key]}"
            hint = write(value, ", or remove it, or use another runtimeClassName", field=key)
            yield Finding("RuntimeClassConflict", "error", message, hint, (*path, "nodeSelector", key))


def _secrets(spec: Json, path: Path, account: Json) -> Iterator[Finding]:
    metadata = mapping(account.get("metadata"))
    if mapping(metadata.get("annotations")).get(_ENFORCED) not in _TRUE:
        return
    for field, used in (("secrets", _mounted(spec, path)), ("imagePullSecrets", _pulled_with(spec, path))):
        allowed = [str(one.get("name")) for one in objects(account.get(field))]
        for place, secret in used:
            if secret not in allowed:
                message = f"ServiceAccount {metadata.get('name')} does not list {secret} in its {field}, and its pods may use no other secret"
                hint = f"add {secret} to {field} of the account, or set serviceAccountName to another one"
                yield Finding("SecretNotAllowed", "error", message, hint, place)


def _mounted(spec: Json, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the Secrets of volumes and variables, with their paths. Projected volumes are free, as upstream."""
    for i, volume in enumerate(objects(spec.get("volumes"))):
        if secret := mapping(volume.get("secret")).get("secretName"):
            yield (*path, "volumes", i, "secret", "secretName"), str(secret)
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(objects(spec.get(kind))):
            for field, source in (("env", "secretKeyRef"), ("envFrom", "secretRef")):
                for k, variable in enumerate(objects(container.get(field))):
                    inner: Path = ("valueFrom",) if field == "env" else ()
                    holder = mapping(variable.get("valueFrom")) if field == "env" else variable
                    if secret := mapping(holder.get(source)).get("name"):
                        yield (*path, kind, i, field, k, *inner, source, "name"), str(secret)


def _pulled_with(spec: Json, path: Path) -> Iterator[tuple[Path, str]]:
    for i, secret in enumerate(objects(spec.get("imagePullSecrets"))):
        yield (*path, "imagePullSecrets", i, "name"), str(secret.get("name") or "")
