"""What the API server refuses of a pod although it has accepted the pod's Job.

Some rules are not applied to templates. The rest are those of admission plugins, which read objects of the cluster:
Priority, RuntimeClass, ServiceAccount, LimitRanger and ResourceQuota. An object that is not known says nothing, except
that a cluster has no default PriorityClass until somebody creates one.

Source: kubernetes pkg/apis/core/validation/validation.go (ValidatePodCreate, validateImageVolumeSource) and
plugin/pkg/admission/{priority,runtimeclass,serviceaccount}/admission.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from trainc.findings import Finding, Hint, Path, remove, write
from trainc.kube.documents import ByKey, Json, identity_of, items, mapping, objects, qualified
from trainc.kube.quantity import (
    NANOS_PER_UNIT,
    POD_LEVEL,
    ZERO,
    Quantity,
    ResourceList,
    add_resources,
    format_resources,
    pod_requests,
)
from trainc.pods import errors
from trainc.pods.checks import containers_of
from trainc.pods.resources import is_extended, read_amounts
from trainc.startup.records import dataclass

# Kind -> its objects by (namespace, name).
ClusterObjects: TypeAlias = Mapping[str, ByKey]
_NONE = ByKey()

_GROUPS = dict.fromkeys(("LimitRange", "ResourceQuota", "ServiceAccount"), "")
_GROUPS |= {"PriorityClass": "scheduling.k8s.io", "RuntimeClass": "node.k8s.io"}
# Every cluster has these. Source: kubernetes pkg/apis/scheduling/v1/helpers.go, SystemPriorityClasses.
_SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
# What Go's strconv.ParseBool reads as true.
_TRUE = ("1", "t", "T", "TRUE", "true", "True")


def cluster_objects(documents: Iterable[Any]) -> ClusterObjects:
    """Return the objects among `documents` that admission plugins read; Lists are expanded, later objects win."""
    by_kind: dict[str, ByKey] = {}
    pending = list(documents)[::-1]
    while pending:
        document = mapping(pending.pop())
        if not isinstance(kind := document.get("kind"), str):
            continue
        if kind.endswith("List"):
            pending += items(document.get("items"))[::-1]
        elif kind in _GROUPS and str(document.get("apiVersion") or "").rpartition("/")[0] == _GROUPS[kind]:
            by_kind.setdefault(kind, ByKey())[identity_of(document)] = document
    return by_kind


def refusals_of_pods(spec: Json, path: Path, namespace: str, cluster: ClusterObjects) -> Iterator[Finding]:
    """Yield why pods with this spec, whose path is `path`, would be refused in `namespace`."""
    for i, volume in enumerate(objects(spec.get("volumes"))):
        image = volume.get("image")
        if isinstance(image, dict) and not image.get("reference"):
            yield errors.missing((*path, "volumes", i, "image", "reference"))
    if spec.get("nodeName") and items(spec.get("schedulingGates")):
        message = "nodeName bypasses the scheduler, so a pod that has it cannot wait for schedulingGates"
        yield errors.conflict((*path, "nodeName"), message)
    priority_class = _priority_class(spec, cluster.get("PriorityClass", {}))
    if priority_class is not None:
        yield from _check_priority_class(spec, path, priority_class)
    class_name = spec.get("runtimeClassName")
    # {} where the pod has none, None if it is not known.
    runtime_class = cluster.get("RuntimeClass", _NONE).get(("", str(class_name))) if class_name else {}
    if runtime_class is not None:
        yield from _check_runtime_class(spec, path, runtime_class)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    yield from _check_secrets(spec, path, cluster.get("ServiceAccount", _NONE).get((namespace, str(account)), {}))
    if "LimitRange" in cluster or "ResourceQuota" in cluster:
        ranges, quotas = (in_namespace(cluster, kind, namespace) for kind in ("LimitRange", "ResourceQuota"))
        name = _name(priority_class) if priority_class else str(spec.get("priorityClassName") or "")
        charged = {**spec, "overhead": _overhead(runtime_class)} if runtime_class else spec
        yield from quota_refusals(charged, path, name, ranges, quotas)


def in_namespace(cluster: ClusterObjects, kind: str, namespace: str) -> list[Json]:
    """Return the objects of a kind in a namespace, by name."""
    return cluster[kind].by_namespace.get(namespace, []) if kind in cluster else []


def _name(document: Json) -> str:
    return str(mapping(document.get("metadata")).get("name") or "")


def _priority_class(spec: Json, classes: Mapping[tuple[str, str], Json]) -> Json | None:
    """Return the class that decides, {} where the pod has none, or None if it is not known."""
    name = str(spec.get("priorityClassName") or "")
    if name in _SYSTEM_CLASSES:
        return {"metadata": {"name": name}, "value": _SYSTEM_CLASSES[name]}
    readable = {key: document for key, document in classes.items() if isinstance(document.get("value"), int)}
    if name:
        return readable.get(("", name))
    defaults = (document for document in readable.values() if document.get("globalDefault") is True)
    return min(defaults, key=lambda document: int(document["value"]), default={})


def _check_priority_class(spec: Json, path: Path, priority_class: Json) -> Iterator[Finding]:
    name = _name(priority_class)
    if not name:
        giver = "a pod without a priorityClassName has"
        hint = "remove {}; to have it, set priorityClassName: NAME of a class that gives it (`kubectl get priorityclasses`)"
    else:
        default = "" if spec.get("priorityClassName") else ", the cluster's default,"
        giver, hint = f"PriorityClass {name}{default} gives", "remove {}: it comes from the class"
    policy = priority_class.get("preemptionPolicy") or "PreemptLowerPriority"
    for field, class_value in (("priority", priority_class.get("value", 0)), ("preemptionPolicy", policy)):
        value = spec.get(field)
        if value not in (None, "", class_value):
            message = (
                f"{field} is {value}, but {giver} {class_value}, and the API server refuses pods that say otherwise"
            )
            yield Finding("PriorityNotOfClass", "error", message, remove(hint.format(field)), (*path, field))


def _overhead(runtime_class: Json) -> Json:
    return mapping(mapping(runtime_class.get("overhead")).get("podFixed"))


def _check_runtime_class(spec: Json, path: Path, runtime_class: Json) -> Iterator[Finding]:
    name, overhead, fixed = spec.get("runtimeClassName"), mapping(spec.get("overhead")), _overhead(runtime_class)
    if overhead and read_amounts(overhead) != read_amounts(fixed):
        if not name:
            message = "overhead is what a RuntimeClass adds to a pod, and this pod has no runtimeClassName"
            hint = remove("remove overhead, or set runtimeClassName: NAME of the class that has it")
        else:
            amounts = ", ".join(f"{key} {value}" for key, value in fixed.items()) or "none"
            message = f"the overhead of RuntimeClass {name} is {amounts}; a pod cannot set another one"
            hint = remove("remove overhead: it comes from the class")
        yield Finding("OverheadNotOfClass", "error", message, hint, (*path, "overhead"))
    selector = mapping(spec.get("nodeSelector"))
    for key, value in mapping(mapping(runtime_class.get("scheduling")).get("nodeSelector")).items():
        if selector.get(key, value) != value:
            message = f"RuntimeClass {name} runs its pods on nodes with {key}: {value}, not {selector[key]}"
            hint = write(value, ", or remove it, or use another runtimeClassName", field=key)
            yield Finding("RuntimeClassConflict", "error", message, hint, (*path, "nodeSelector", key))


def _check_secrets(spec: Json, path: Path, account: Json) -> Iterator[Finding]:
    metadata = mapping(account.get("metadata"))
    if mapping(metadata.get("annotations")).get(_ENFORCED) not in _TRUE:
        return
    pull_secrets = (
        ((*path, "imagePullSecrets", i, "name"), str(secret.get("name") or ""))
        for i, secret in enumerate(objects(spec.get("imagePullSecrets")))
    )
    for field, used in (("secrets", _mounted_secrets(spec, path)), ("imagePullSecrets", pull_secrets)):
        allowed = {str(secret.get("name")) for secret in objects(account.get(field))}
        for secret_path, name in used:
            if name not in allowed:
                message = f"ServiceAccount {metadata.get('name')} does not list {name} in its {field}, and its pods may use no other secret"
                hint = f"add {name} to {field} of the account, or set serviceAccountName to another one"
                yield Finding("SecretNotAllowed", "error", message, hint, secret_path)


def _mounted_secrets(spec: Json, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the Secrets of volumes and variables, with their paths. Projected volumes are free, as upstream."""
    for i, volume in enumerate(objects(spec.get("volumes"))):
        if secret := mapping(volume.get("secret")).get("secretName"):
            yield (*path, "volumes", i, "secret", "secretName"), str(secret)
    for container_path, container in containers_of(spec, path):
        for i, variable in enumerate(objects(container.get("env"))):
            if secret := mapping(mapping(variable.get("valueFrom")).get("secretKeyRef")).get("name"):
                yield (*container_path, "env", i, "valueFrom", "secretKeyRef", "name"), str(secret)
        for i, source in enumerate(objects(container.get("envFrom"))):
            if secret := mapping(source.get("secretRef")).get("name"):
                yield (*container_path, "envFrom", i, "secretRef", "name"), str(secret)


# What the LimitRanges and ResourceQuotas of a namespace refuse of a pod, whatever else runs there.
# Source: kubernetes plugin/pkg/admission/limitranger/admission.go, SetDefaults_LimitRangeItem of
# pkg/apis/core/v1/defaults.go, pkg/quota/v1/evaluator/core/pods.go, and kubernetes/apiserver
# pkg/admission/plugin/resourcequota/controller.go, v1.36.


_PathOf: TypeAlias = Callable[[str, str], Path]

_COMPUTE = ("cpu", "memory")
_QUOTA_PARTS = ("cpu", "memory", "ephemeral-storage")
_POD_COUNTS = ("pods", "count/pods")
_QUOTA_HINT = "request less, use a namespace with a larger quota, or have the quota raised"


@dataclass(frozen=True, slots=True)
class _Consumer:
    """Something with resources, after all defaults: a container, or the whole pod. `resources` is what it sets itself."""

    what: str
    path: Path
    resources: Json
    requests: ResourceList
    limits: ResourceList

    def path_of(self, kind: str, resource: str) -> Path:
        """Return the path of the amount in question, or of the resources if it is absent or comes from a default."""
        for field in (kind, "limits"):
            if resource in mapping(self.resources.get(field)):
                return (*self.path, field, resource)
        return self.path


def quota_refusals(
    spec: Json, path: Path, priority_class: str, ranges: Sequence[Json], quotas: Sequence[Json]
) -> Iterator[Finding]:
    """Yield why LimitRanger and ResourceQuota would refuse pods with this spec, whose path is `path`.

    `ranges` and `quotas` are those of the namespace, `priority_class` is the name of the class after admission.
    """
    containers = _containers(spec, path, ranges)
    for container in containers:
        yield from _check_default_limit(container)
    pod = _pod_consumer(spec, path, containers)
    judged: dict[str, list[tuple[_Consumer, _PathOf]]] = {"Pod": [(pod, partial(_path_in_pod, pod, containers))]}
    judged["Container"] = [(container, container.path_of) for container in containers]
    for limit_range in ranges:
        space, name = identity_of(limit_range)
        for n, item in enumerate(objects(mapping(limit_range.get("spec")).get("limits"))):
            for consumer, path_of in judged.get(str(item.get("type")), ()):
                for bound, resource, message, hint, at in _outside(consumer, item, f"LimitRange {name}", path_of):
                    rule = (f"LimitRange {qualified(space, name)}", ("spec", "limits", n, bound, resource))
                    yield Finding("OutsideLimitRange", "error", message, Hint(hint, objects=(rule,)), at)
    for quota in quotas:
        yield from _check_quota(quota, spec, path, containers, priority_class)


def _containers(spec: Json, path: Path, ranges: Sequence[Json]) -> list[_Consumer]:
    return [
        _container_consumer(container, (*container_path, "resources"), ranges)
        for container_path, container in containers_of(spec, path)
    ]


def _container_consumer(container: Json, path: Path, ranges: Iterable[Json]) -> _Consumer:
    resources = mapping(container.get("resources"))
    limits = read_amounts(resources.get("limits"))
    # The API server copies limits to missing requests before any LimitRange is looked at.
    requests = {**limits, **read_amounts(resources.get("requests"))}
    for limit_range in ranges:
        for item in objects(mapping(limit_range.get("spec")).get("limits")):
            if item.get("type") == "Container":
                default = {**read_amounts(item.get("max")), **read_amounts(item.get("default"))}
                least = {**read_amounts(item.get("min")), **default, **read_amounts(item.get("defaultRequest"))}
                limits, requests = {**default, **limits}, {**least, **requests}
    return _Consumer(f"container {container.get('name')}", path, resources, requests, limits)


def _check_default_limit(container: _Consumer) -> Iterator[Finding]:
    for name in read_amounts(container.resources.get("requests")):
        limit, request = container.limits.get(name), container.requests[name]
        if name not in mapping(container.resources.get("limits")) and limit is not None and request.nanos > limit.nanos:
            message = f"the request of {name} is {request}, more than the limit of {limit} that a LimitRange sets"
            hint = f"write the limit, too: limits: {{{name}: {request}}}"
            yield Finding("RequestExceedsLimit", "error", message, hint, (*container.path, "requests", name))


def _pod_consumer(spec: Json, path: Path, containers: Sequence[_Consumer]) -> _Consumer:
    """Return the pod as the sum of its containers, or what it sets for all of them, without overhead."""
    resources = mapping(spec.get("resources"))
    requests, limits = (
        {name: amount for name, amount in read_amounts(resources.get(kind)).items() if name.startswith(POD_LEVEL)}
        for kind in ("requests", "limits")
    )
    total_requests, total_limits = (_total(spec, containers, kind) for kind in ("requests", "limits"))
    requests = {name: total_requests.get(name, limit) for name, limit in limits.items()} | requests
    resources_path = (*path, "resources") if resources else path
    return _Consumer("the pod", resources_path, resources, {**total_requests, **requests}, {**total_limits, **limits})


def _total(spec: Json, containers: Sequence[_Consumer], kind: str) -> ResourceList:
    amounts = ({"requests": format_resources(getattr(container, kind))} for container in containers)
    return pod_requests(
        {
            field: [
                {"restartPolicy": container.get("restartPolicy"), "resources": next(amounts)}
                for container in objects(spec.get(field))
            ]
            for field in ("initContainers", "containers")
        }
    )


def _path_in_pod(pod: _Consumer, containers: Sequence[_Consumer], kind: str, resource: str) -> Path:
    """Return where a pod's total of a resource comes from: its own resources, or the container with most of it."""
    if any(resource in mapping(pod.resources.get(field)) for field in (kind, "limits")) or not containers:
        return pod.path_of(kind, resource)
    largest = max(containers, key=lambda container: getattr(container, kind).get(resource, ZERO).nanos)
    return largest.path_of(kind, resource)


def _outside(consumer: _Consumer, item: Json, name: str, path_of: _PathOf) -> Iterator[tuple[str, str, str, str, Path]]:
    """Yield the bounds of an entry of a LimitRange that are not met: which one, of what, message, hint and path."""
    unit = "container" if item.get("type") == "Container" else "pod"
    by_kind = {"requests": consumer.requests, "limits": consumer.limits}
    both = ("requests", "limits")
    for bound, kinds, relation in (("min", both, "at least"), ("max", both[::-1], "at most")):
        for resource, allowed in read_amounts(item.get(bound)).items():
            if resource not in by_kind[kinds[0]]:
                message = f"{name} allows {relation} {allowed} {resource} per {unit}, so it needs a {kinds[0][:-1]}; {consumer.what} has none"
                hint = f"add {kinds[0]}: {{{resource}: {allowed}}} to its resources"
                yield bound, resource, message, hint, path_of(kinds[0], resource)
                continue
            for kind in kinds:
                amount = by_kind[kind].get(resource, allowed)
                if amount.nanos < allowed.nanos if bound == "min" else amount.nanos > allowed.nanos:
                    message = f"{consumer.what} has a {resource} {kind[:-1]} of {amount}; {name} allows {relation} {allowed} per {unit}"
                    hint = f"{'raise' if bound == 'min' else 'lower'} it to {allowed}"
                    yield bound, resource, message, hint, path_of(kind, resource)
                    break
    bound = "maxLimitRequestRatio"
    for resource, ratio in read_amounts(item.get(bound)).items():
        request, limit = consumer.requests.get(resource), consumer.limits.get(resource)
        rule = f"{name} allows a limit of at most {ratio} times the request"
        if request is None or limit is None or not request.nanos or not limit.nanos:
            message = f"{rule} for {resource}, so both are needed; {consumer.what} does not set them"
            hint = f"add both to its resources: requests: {{{resource}: 1}}, limits: {{{resource}: 1}}"
            yield bound, resource, message, hint, path_of("limits", resource)
        elif limit.nanos * NANOS_PER_UNIT > ratio.nanos * request.nanos:
            message = f"{consumer.what} has a {resource} limit of {limit} and a request of {request}; {rule}"
            least = -(-limit.nanos * NANOS_PER_UNIT // ratio.nanos) if ratio.nanos > 0 else limit.nanos
            hint = f"raise the request to {Quantity(least, request.family)}"
            yield bound, resource, message, hint, path_of("limits", resource)


def _check_quota(
    quota: Json, spec: Json, path: Path, containers: Sequence[_Consumer], priority_class: str
) -> Iterator[Finding]:
    name = str(mapping(quota.get("metadata")).get("name"))
    hard = _counted_limits(quota, spec, containers, priority_class)
    if not hard:
        return
    if not mapping(spec.get("resources")):
        for container in containers:
            yield from _missing_resources(container, hard, name)
    pod = _pod_consumer(spec, path, containers)
    usage = _usage_of(pod, spec)
    for key, most in hard.items():
        used = usage.get(key)
        if used is None or used.nanos <= most.nanos or not used.nanos:
            continue
        if key in _POD_COUNTS:
            message, amount_path = f"ResourceQuota {name} allows {most} pods in the namespace", path
        else:
            message = f"a single pod uses {used} of {key}; ResourceQuota {name} allows {most} for the whole namespace"
            kind, _, resource = key.partition(".")
            if kind not in ("requests", "limits"):
                kind, resource = "requests", key
            amount_path = _path_in_pod(pod, containers, kind, resource)
        yield Finding("ExceedsQuota", "error", message, _QUOTA_HINT, amount_path)


def pod_usage(quota: Json, spec: Json, priority_class: str, ranges: Sequence[Json]) -> ResourceList:
    """Return what a pod uses of each resource that a quota limits; nothing if its scopes leave the pod out."""
    containers = _containers(spec, (), ranges)
    hard = _counted_limits(quota, spec, containers, priority_class)
    usage = _usage_of(_pod_consumer(spec, (), containers), spec) if hard else {}
    return {key: used for key, used in usage.items() if key in hard}


def _counted_limits(
    quota: Json, spec: Json, containers: Sequence[_Consumer], priority_class: str
) -> dict[str, Quantity]:
    """Return what a quota allows of the resources of pods; nothing if its scopes leave this pod out."""
    hard = {key: most for key, most in _hard_limits(quota).items() if _counts_pods(key)}
    scopes = _scopes(mapping(quota.get("spec")))
    return hard if hard and all(_in_scope(scope, spec, containers, priority_class) for scope in scopes) else {}


def _usage_of(pod: _Consumer, spec: Json) -> ResourceList:
    """Return what a pod uses of each key of a quota."""
    overhead = read_amounts(spec.get("overhead"))
    usage: dict[str, Quantity] = dict.fromkeys(_POD_COUNTS, Quantity(NANOS_PER_UNIT))
    for name, amount in add_resources(pod.requests, overhead).items():
        usage[f"requests.{name}"] = amount
        if not is_extended(name):
            usage[name] = amount
    for name, limit in pod.limits.items():
        if name in _QUOTA_PARTS:
            usage[f"limits.{name}"] = limit + overhead[name] if name in overhead else limit
    return usage


def count_refusals(created: Mapping[str, int], path: Path, quotas: Iterable[Json]) -> Iterator[Finding]:
    """Yield the quotas that allow fewer objects than are created; `created` has their number by key of a quota."""
    for quota in quotas:
        spec = mapping(quota.get("spec"))
        if any(_scopes(spec)):
            continue  # Scopes select pods.
        for key, most in _hard_limits(quota).items():
            if created.get(key, 0) * NANOS_PER_UNIT > most.nanos:
                name = mapping(quota.get("metadata")).get("name")
                message = (
                    f"the job needs {created[key]} {key}; ResourceQuota {name} allows {most} for the whole namespace"
                )
                yield Finding("ExceedsQuota", "error", message, _QUOTA_HINT, path)


def _hard_limits(quota: Json) -> dict[str, Quantity]:
    return read_amounts(mapping(quota.get("spec")).get("hard"))


def _counts_pods(key: str) -> bool:
    """Return whether the quota of pods covers this key; others, such as `services`, count other objects."""
    if key in _POD_COUNTS or key in _QUOTA_PARTS:
        return True
    kind, _, resource = key.partition(".")
    if kind not in ("requests", "limits"):
        return key.startswith("hugepages-")
    return resource in _QUOTA_PARTS or (
        kind == "requests" and (resource.startswith("hugepages-") or is_extended(resource))
    )


def _missing_resources(container: _Consumer, hard: Mapping[str, Quantity], quota: str) -> Iterator[Finding]:
    """Report a container without an amount of CPU or memory that the quota counts: those have to be given."""
    for kind, prefixes in (("requests", ("", "requests.")), ("limits", ("limits.",))):
        sizes = getattr(container, kind)
        absent = [r for r in _COMPUTE if r not in sizes and any(f"{prefix}{r}" in hard for prefix in prefixes)]
        if absent:
            missing = " and ".join(absent)
            message = f"ResourceQuota {quota} counts {missing} {kind}, so every container must set them; {container.what} does not"
            amounts = ", ".join(f"{resource}: {'4' if resource == 'cpu' else '16Gi'}" for resource in absent)
            hint = f"add what it needs, such as resources: {{{kind}: {{{amounts}}}}}"
            yield Finding("QuotaNeedsResources", "error", message, hint, container.path)


def _scopes(spec: Json) -> Iterator[Json]:
    yield from ({"scopeName": scope, "operator": "Exists"} for scope in items(spec.get("scopes")))
    yield from objects(mapping(spec.get("scopeSelector")).get("matchExpressions"))


def _in_scope(scope: Json, spec: Json, containers: Sequence[_Consumer], priority_class: str) -> bool:
    name, operator = str(scope.get("scopeName")), str(scope.get("operator"))
    if name == "PriorityClass":
        if operator in ("Exists", "DoesNotExist"):
            return bool(priority_class) == (operator == "Exists")
        return (priority_class in items(scope.get("values"))) == (operator == "In")
    if name in ("Terminating", "NotTerminating"):
        return isinstance(spec.get("activeDeadlineSeconds"), int) == (name == "Terminating")
    if name in ("BestEffort", "NotBestEffort"):
        resources = mapping(spec.get("resources"))
        sizes = [*(s for container in containers for s in (container.requests, container.limits))]
        sizes += [read_amounts(resources.get(kind)) for kind in ("requests", "limits")]
        best_effort = not any(size[r].nanos > 0 for size in sizes for r in _COMPUTE if r in size)
        return best_effort == (name == "BestEffort")
    return name == "CrossNamespacePodAffinity" and _looks_into_other_namespaces(spec)


def _looks_into_other_namespaces(spec: Json) -> bool:
    affinity = mapping(spec.get("affinity"))
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = mapping(affinity.get(kind))
        terms = objects(rules.get("requiredDuringSchedulingIgnoredDuringExecution"))
        preferred = objects(rules.get("preferredDuringSchedulingIgnoredDuringExecution"))
        terms += [mapping(preference.get("podAffinityTerm")) for preference in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False
