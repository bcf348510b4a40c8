"""Reading a snapshot: from what `kubectl get ... -o yaml` prints to a cluster, with a diagnostic for what cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.api.documents import Json
from trainc.api.quantity import parse_quantity
from trainc.diagnostics import Diagnostic
from trainc.fits.amounts import amount, amounts
from trainc.fits.cluster import (
    Cluster,
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorResource,
    Group,
    LocalQueue,
    Node,
    Quota,
)
from trainc.fits.requests import merged_limits
from trainc.fits.values import WrongValue, as_list, as_map, as_maps, as_text, as_texts

# Kind -> the name that kubectl knows it by, in the order in which --help lists them.
KINDS = {
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "Cohort": "cohorts",
    "ResourceFlavor": "resourceflavors",
    "Topology": "topologies",
    "Node": "nodes",
    "Namespace": "namespaces",
    "LimitRange": "limitranges",
    "RuntimeClass": "runtimeclasses",
}
FETCH = f"kubectl get {','.join(KINDS.values())} -A -o yaml"


def read_cluster(documents: Sequence[Json]) -> tuple[Cluster, list[Diagnostic]]:
    """The cluster that `documents` describe (Lists are opened, other kinds ignored), and what is wrong with them.

    An object that cannot be read is left out and is an error.
    """
    problems: list[Diagnostic] = []
    found: dict[str, dict[tuple[str, str], Json]] = {kind: {} for kind in KINDS}
    for document in objects(documents):
        kind, place = document["kind"], _key(document)
        if not place[1]:
            problems.append(_unreadable(document, "metadata.name", "it has no name"))
        elif place in found[kind]:
            problems.append(_twice(document))
        else:
            found[kind][place] = document
    return _assembled(found, problems), problems


def objects(documents: Iterable[Any]) -> Iterator[Json]:
    """The objects of the kinds that are read, those inside a List too."""
    for document in documents:
        if not isinstance(document, Mapping):
            continue
        kind = document.get("kind")
        if not isinstance(kind, str):
            continue
        if kind.endswith("List") and isinstance(document.get("items"), list):
            yield from objects(document["items"])
        elif kind in KINDS:
            yield document


def _key(document: Json) -> tuple[str, str]:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def named(document: Json) -> str:
    """An object as diagnostics name it: `ClusterQueue team-a`."""
    namespace, name = _key(document)
    return f"{document['kind']} {namespace}/{name}" if namespace else f"{document['kind']} {name}"


def _assembled(found: Mapping[str, Mapping[tuple[str, str], Json]], problems: list[Diagnostic]) -> Cluster:
    def readable(kind: str, read: Any) -> Iterator[tuple[tuple[str, str], Any]]:
        for place, document in found[kind].items():
            try:
                value = read(place[1], document)
            except (WrongValue, ValueError, TypeError, AttributeError, KeyError) as error:
                problems.append(_unreadable(document, getattr(error, "path", ""), _reason(error)))
            else:
                if value is not None:
                    yield place, value

    def by_name(kind: str, read: Any) -> dict[str, Any]:
        return {place[1]: value for place, value in readable(kind, read)}

    ranges: dict[str, list[Json]] = {}
    for (namespace, _), limit_range in sorted(readable("LimitRange", _limit_range), key=lambda item: item[0]):
        ranges.setdefault(namespace, []).append(limit_range)
    return Cluster(
        by_name("ResourceFlavor", _flavor),
        by_name("Topology", _topology),
        tuple(by_name("Node", _node).values()),
        by_name("Cohort", _cohort),
        by_name("ClusterQueue", _cluster_queue),
        dict(readable("LocalQueue", _local_queue)),
        by_name("Namespace", lambda _, document: _labels(document)),
        {namespace: merged_limits(documents) for namespace, documents in ranges.items()},
        by_name("RuntimeClass", _overhead),
        {kind: len(of_kind) for kind, of_kind in found.items()},
    )


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "it does not have the shape of this kind"


def _unreadable(document: Json, path: str, message: str) -> Diagnostic:
    return Diagnostic(
        "SnapshotUnreadable",
        "error",
        f"this object cannot be read: {message}",
        f"fetch it again: {FETCH}",
        named(document),
        path,
    )


def _twice(document: Json) -> Diagnostic:
    return Diagnostic(
        "SnapshotTwice",
        "error",
        "the snapshot holds this object twice",
        "keep one folder per cluster, and the files of one moment in it",
        named(document),
    )


def _spec(document: Json) -> Mapping[str, Any]:
    return as_map(document.get("spec"), "spec")


def _labels(document: Json) -> dict[str, str]:
    return as_texts(as_map(document.get("metadata"), "metadata").get("labels"), "metadata.labels")


def _flavor(name: str, document: Json) -> Flavor:
    spec = _spec(document)
    topology = as_text(spec.get("topologyName"), "spec.topologyName")
    return Flavor(
        name,
        as_texts(spec.get("nodeLabels"), "spec.nodeLabels"),
        as_maps(spec.get("nodeTaints"), "spec.nodeTaints"),
        as_maps(spec.get("tolerations"), "spec.tolerations"),
        topology or None,
    )


def _topology(_: str, document: Json) -> tuple[str, ...]:
    levels = as_maps(_spec(document).get("levels"), "spec.levels")
    if not levels:
        raise WrongValue("spec.levels", "spec.levels is empty")
    return tuple(as_text(level.get("nodeLabel"), "spec.levels") for level in levels)


def _node(name: str, document: Json) -> Node | None:
    """A node; None for one that Kueue leaves out: not Ready, or unschedulable."""
    spec, status = _spec(document), as_map(document.get("status"), "status")
    conditions = as_maps(status.get("conditions"), "status.conditions")
    ready = next((one.get("status") for one in conditions if one.get("type") == "Ready"), None)
    room = amounts(as_map(status.get("allocatable"), "status.allocatable"))
    taints = as_maps(spec.get("taints"), "spec.taints")
    return None if spec.get("unschedulable") or ready != "True" else Node(name, _labels(document), taints, room)


def _local_queue(_: str, document: Json) -> LocalQueue:
    spec = _spec(document)
    return LocalQueue(as_text(spec.get("clusterQueue"), "spec.clusterQueue"), _stopped(spec))


def _stopped(spec: Json) -> bool:
    return (spec.get("stopPolicy") or "None") != "None"


def _cohort(name: str, document: Json) -> Cohort:
    spec = _spec(document)
    parent = as_text(spec.get("parentName") or spec.get("parent"), "spec.parentName")
    return Cohort(name, parent, _quotas(spec))


def _cluster_queue(name: str, document: Json) -> ClusterQueue:
    spec = _spec(document)
    policy = as_map(spec.get("preemption"), "spec.preemption")
    within = as_map(policy.get("borrowWithinCohort"), "spec.preemption.borrowWithinCohort")
    fungibility = as_map(spec.get("flavorFungibility"), "spec.flavorFungibility")
    selector = spec.get("namespaceSelector")
    return ClusterQueue(
        name,
        as_text(spec.get("cohortName") or spec.get("cohort"), "spec.cohortName"),
        tuple(_group(group, path) for group, path in _groups(spec)),
        _quotas(spec),
        None if selector is None else as_map(selector, "spec.namespaceSelector"),
        _stopped(spec),
        spec.get("queueingStrategy") == "StrictFIFO",
        fungibility.get("whenCanBorrow") == "TryNextFlavor",
        (within.get("policy") or "Never") != "Never",
        policy.get("reclaimWithinCohort") == "Any",
        _checks(spec),
    )


def _checks(spec: Json) -> tuple[str, ...]:
    listed = [str(check) for check in as_list(spec.get("admissionChecks"), "spec.admissionChecks")]
    strategy = as_map(spec.get("admissionChecksStrategy"), "spec.admissionChecksStrategy")
    rules = as_maps(strategy.get("admissionChecks"), "spec.admissionChecksStrategy.admissionChecks")
    return (*listed, *(str(rule.get("name")) for rule in rules))


def _groups(spec: Json) -> Iterator[tuple[Json, str]]:
    for i, group in enumerate(as_maps(spec.get("resourceGroups"), "spec.resourceGroups")):
        yield group, f"spec.resourceGroups[{i}]"


def _group(group: Json, path: str) -> Group:
    covered = as_list(group.get("coveredResources"), f"{path}.coveredResources")
    flavors = as_maps(group.get("flavors"), f"{path}.flavors")
    return Group(frozenset(map(str, covered)), tuple(as_text(one.get("name"), f"{path}.flavors") for one in flavors))


def _quotas(spec: Json) -> dict[FlavorResource, Quota]:
    found = {}
    for group, path in _groups(spec):
        for j, flavor in enumerate(as_maps(group.get("flavors"), f"{path}.flavors")):
            for k, resource in enumerate(as_maps(flavor.get("resources"), f"{path}.flavors[{j}].resources")):
                place = f"{path}.flavors[{j}].resources[{k}]"
                found[as_text(flavor.get("name"), path), as_text(resource.get("name"), place)] = _quota(resource, place)
    return found


def _quota(resource: Json, path: str) -> Quota:
    def read(name: str) -> int | None:
        if resource.get(name) is None:
            return None
        try:
            return amount(resource["name"], parse_quantity(str(resource[name])))
        except ValueError as error:
            raise WrongValue(f"{path}.{name}", f"{path}.{name}: {error}") from None

    return Quota(read("nominalQuota") or 0, read("borrowingLimit"), read("lendingLimit"))


def _limit_range(_: str, document: Json) -> Json:
    for i, item in enumerate(as_maps(_spec(document).get("limits"), "spec.limits")):
        for name in ("max", "min", "default", "defaultRequest"):
            amounts(as_map(item.get(name), f"spec.limits[{i}].{name}"))
        if not isinstance(item.get("type"), str):
            raise WrongValue(f"spec.limits[{i}].type", "a limit has no type")
    return document


def _overhead(_: str, document: Json) -> Json:
    overhead = as_map(as_map(document.get("overhead"), "overhead").get("podFixed"), "overhead.podFixed")
    amounts(overhead)
    return overhead
