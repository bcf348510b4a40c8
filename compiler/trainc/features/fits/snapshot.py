"""Read a snapshot, the output of `kubectl get ... -o yaml`, with a diagnostic for whatever cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from trainc.api.cluster import KINDS, Dump, group_of
from trainc.api.findings import Diagnostic
from trainc.api.kube import NEWEST_RELEASE, Json, parse_quantity
from trainc.api.records import replace
from trainc.features.fits.cluster import (
    AUTOSCALER,
    KARPENTER,
    NAME_LABEL,
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
from trainc.features.fits.pods import amount, amounts, merged_limits
from trainc.kube.kueue import IMAGE, step_of, version_of
from trainc.reading.cluster import CLUSTER, UNCOUNTED, Key, label_of  # noqa: F401 - the table of features names the kind
from trainc.schema.unknown_fields import mistyped

# Kueue's limit: apis/kueue/v1beta2/topology_types.go.
_MOST_LEVELS = 16


class WrongValue(ValueError):
    """A value of the wrong type or without meaning, with its path in the object."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def _map(value: Any, path: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise WrongValue(path, f"{path} is not a mapping")
    return value


def _list(value: Any, path: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise WrongValue(path, f"{path} is not a list")
    return value


def _maps(value: Any, path: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(_map(item, f"{path}[{i}]") for i, item in enumerate(_list(value, path)))


def _text(value: Any, path: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongValue(path, f"{path} is not a string")
    return value


def _texts(value: Any, path: str) -> dict[str, str]:
    return {str(key): _text(item, path) for key, item in _map(value, path).items()}


def _spec(document: Json) -> Mapping[str, Any]:
    return _map(document.get("spec"), "spec")


def _taints(value: Any, path: str) -> tuple[Json, ...]:
    return tuple(_texts(one, f"{path}[{i}]") for i, one in enumerate(_list(value, path)))


def _typed(value: Any, definition: str, path: str) -> Json:
    """Check a value against a type that JobSets use as well."""
    wrong = mistyped(value, definition, NEWEST_RELEASE)
    if wrong is not None:
        place = ".".join((path, *map(str, wrong)))
        raise WrongValue(place, f"{place} has the wrong type")
    return cast("Json", value)


def labels_of(document: Json) -> dict[str, str]:
    """The labels of an object."""
    return _texts(_map(document.get("metadata"), "metadata").get("labels"), "metadata.labels")


def flavor_of(name: str, document: Json) -> Flavor:
    """Read a ResourceFlavor."""
    spec = _spec(document)
    topology = _text(spec.get("topologyName"), "spec.topologyName")
    tolerations = _list(spec.get("tolerations"), "spec.tolerations")
    return Flavor(
        name,
        _texts(spec.get("nodeLabels"), "spec.nodeLabels"),
        _taints(spec.get("nodeTaints"), "spec.nodeTaints"),
        tuple(_typed(one, "core.Toleration", f"spec.tolerations[{i}]") for i, one in enumerate(tolerations)),
        topology or None,
    )


def levels_of(_: str, document: Json) -> tuple[str, ...]:
    """The labels of a Topology's levels, from the top."""
    levels = _maps(_spec(document).get("levels"), "spec.levels")
    if not 0 < len(levels) <= _MOST_LEVELS:
        raise WrongValue("spec.levels", f"spec.levels has {len(levels)} levels; 1 to {_MOST_LEVELS} are allowed")
    return tuple(_text(level.get("nodeLabel"), "spec.levels") for level in levels)


def node_of(name: str, document: Json) -> Node:
    """Read a node."""
    spec, status = _spec(document), _map(document.get("status"), "status")
    conditions = _maps(status.get("conditions"), "status.conditions")
    ready = next((one.get("status") for one in conditions if one.get("type") == "Ready"), None)
    room = amounts(_map(status.get("allocatable"), "status.allocatable"))
    taints = _taints(spec.get("taints"), "spec.taints")
    annotations = _map(_map(document.get("metadata"), "metadata").get("annotations"), "metadata.annotations")
    usable = ready == "True" and not spec.get("unschedulable")
    return Node(name, labels_of(document), taints, room, ready=usable, counted=UNCOUNTED not in annotations)


def local_queue_of(_: str, document: Json) -> LocalQueue:
    """Read a LocalQueue."""
    spec = _spec(document)
    return LocalQueue(_text(spec.get("clusterQueue"), "spec.clusterQueue"), _stopped(spec))


def _stopped(spec: Json) -> bool:
    return (spec.get("stopPolicy") or "None") != "None"


def cohort_of(name: str, document: Json) -> Cohort:
    """Read a Cohort."""
    spec = _spec(document)
    parent = _text(spec.get("parentName") or spec.get("parent"), "spec.parentName")
    return Cohort(name, parent, _quotas(spec))


def cluster_queue_of(name: str, document: Json) -> ClusterQueue:
    """Read a ClusterQueue."""
    spec = _spec(document)
    policy = _map(spec.get("preemption"), "spec.preemption")
    within = _map(policy.get("borrowWithinCohort"), "spec.preemption.borrowWithinCohort")
    fungibility = _map(spec.get("flavorFungibility"), "spec.flavorFungibility")
    selector = spec.get("namespaceSelector")
    return ClusterQueue(
        name,
        _text(spec.get("cohortName") or spec.get("cohort"), "spec.cohortName"),
        tuple(_group(group, path) for group, path in _groups(spec)),
        _quotas(spec),
        None if selector is None else _typed(selector, "meta.LabelSelector", "spec.namespaceSelector"),
        _stopped(spec),
        spec.get("queueingStrategy") == "StrictFIFO",
        fungibility.get("whenCanBorrow") == "TryNextFlavor",
        (within.get("policy") or "Never") != "Never",
        policy.get("reclaimWithinCohort") == "Any",
        _checks(spec),
    )


def _checks(spec: Json) -> dict[str, frozenset[str]]:
    checks = {str(check): frozenset[str]() for check in _list(spec.get("admissionChecks"), "spec.admissionChecks")}
    strategy = _map(spec.get("admissionChecksStrategy"), "spec.admissionChecksStrategy")
    path = "spec.admissionChecksStrategy.admissionChecks"
    for i, rule in enumerate(_maps(strategy.get("admissionChecks"), path)):
        checks[str(rule.get("name"))] = frozenset(map(str, _list(rule.get("onFlavors"), f"{path}[{i}].onFlavors")))
    return checks


def _groups(spec: Json) -> Iterator[tuple[Json, str]]:
    for i, group in enumerate(_maps(spec.get("resourceGroups"), "spec.resourceGroups")):
        yield group, f"spec.resourceGroups[{i}]"


def _group(group: Json, path: str) -> Group:
    covered = _list(group.get("coveredResources"), f"{path}.coveredResources")
    flavors = _maps(group.get("flavors"), f"{path}.flavors")
    return Group(frozenset(map(str, covered)), tuple(_text(one.get("name"), f"{path}.flavors") for one in flavors))


def _quotas(spec: Json) -> dict[FlavorResource, Quota]:
    quotas = {}
    for group, path in _groups(spec):
        for j, flavor in enumerate(_maps(group.get("flavors"), f"{path}.flavors")):
            for k, resource in enumerate(_maps(flavor.get("resources"), f"{path}.flavors[{j}].resources")):
                place = f"{path}.flavors[{j}].resources[{k}]"
                quotas[_text(flavor.get("name"), path), _text(resource.get("name"), place)] = _quota(resource, place)
    return quotas


def _quota(resource: Json, path: str) -> Quota:
    def read(name: str) -> int | None:
        if resource.get(name) is None:
            return None
        try:
            return amount(str(resource.get("name")), parse_quantity(str(resource[name])))
        except ValueError as error:
            raise WrongValue(f"{path}.{name}", f"{path}.{name}: {error}") from None

    return Quota(read("nominalQuota") or 0, read("borrowingLimit"), read("lendingLimit"))


def limit_range_of(_: str, document: Json) -> Json:
    """Return a LimitRange after checking its amounts."""
    for i, item in enumerate(_maps(_spec(document).get("limits"), "spec.limits")):
        for name in ("max", "min", "default", "defaultRequest"):
            amounts(_map(item.get(name), f"spec.limits[{i}].{name}"))
        if not isinstance(item.get("type"), str):
            raise WrongValue(f"spec.limits[{i}].type", "an entry of spec.limits has no type")
    return document


def overhead_of(_: str, document: Json) -> Json:
    """The overhead of a RuntimeClass, i.e. what its pods use in addition to their containers."""
    overhead = _map(_map(document.get("overhead"), "overhead").get("podFixed"), "overhead.podFixed")
    amounts(overhead)
    return overhead


# The kinds that say where jobs run. An object of one of them that cannot be read leaves nothing to be judged.
READ_KINDS = (
    *("ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "Topology", "AdmissionCheck", "Node", "Namespace"),
    *("LimitRange", "RuntimeClass"),
)
_CORE = (
    *("Namespace", "Node", "LimitRange", "ResourceQuota", "ServiceAccount", "PersistentVolumeClaim", "RuntimeClass"),
    *("PriorityClass", "StorageClass", "Deployment"),
)
_KUEUE = (
    "ClusterQueue",
    "LocalQueue",
    "Cohort",
    "ResourceFlavor",
    "Topology",
    "AdmissionCheck",
    "WorkloadPriorityClass",
)


def export_command(kinds: Iterable[str]) -> str:
    """The command that prints all objects of some kinds."""
    return f"kubectl get {','.join(KINDS[kind].plural for kind in kinds)} -A -o yaml"


# Of Secrets and ConfigMaps, only the names and those of their keys are exported.
_NAMES_ONLY = (
    r"""kubectl get secrets,configmaps -A -o go-template='{{"kind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n"}}"""
    r"""{{range .items}}{{printf "- {kind: %s, metadata: {namespace: %q, name: %q}, data: {" .kind .metadata.namespace"""
    r""" .metadata.name}}{{range $key, $value := .data}}{{printf "%q: \"\", " $key}}{{end}}"""
    r"""{{range $key, $value := .binaryData}}{{printf "%q: \"\", " $key}}{{end}}{{"}}\n"}}{{end}}'"""
)
# Everything that is read, by the file to write it to.
EXPORT = {
    "core.yaml": export_command(_CORE),
    "kueue.yaml": export_command(_KUEUE),
    "names.yaml": _NAMES_ONLY,
}


def read_cluster(dump: Dump, version: str | None = None) -> tuple[Cluster, list[Diagnostic]]:
    """Return the cluster that a dump describes, and the problems found.

    An object that cannot be read is reported as an error and left out. `version` is that of Kueue, if the dump is not
    to decide.
    """
    problems = [*dump.problems]
    problems += [_unreadable(one, "metadata.name", "it has no name") for one in dump.nameless if _is_read(one)]
    problems += [_twice(one) for one in dump.repeated if _is_read(one)]

    def readable(kind: str, read: Callable[[str, Json], Any]) -> Iterator[tuple[Key, Any]]:
        for place, document in dump.of(kind).items():
            try:
                value = read(place[1], document)
            except ValueError as error:
                problems.append(_unreadable(document, getattr(error, "path", ""), str(error)))
            else:
                yield place, value

    def by_name(kind: str, read: Callable[[str, Json], Any]) -> dict[str, Any]:
        return {name: value for (_, name), value in readable(kind, read)}

    ranges: dict[str, list[Json]] = {}
    for (namespace, _), limit_range in sorted(readable("LimitRange", limit_range_of), key=lambda item: item[0]):
        ranges.setdefault(namespace, []).append(limit_range)
    nodes = list(by_name("Node", node_of).values())
    queues = by_name("ClusterQueue", cluster_queue_of)
    flavors, unknown = (
        by_name("ResourceFlavor", flavor_of),
        frozenset(kind for kind in READ_KINDS if not dump.covers(kind)),
    )
    cluster = Cluster(
        _with_vague_flavors(flavors, queues, unknown),
        by_name("Topology", levels_of),
        tuple(node for node in nodes if node.ready),
        tuple(node for node in nodes if not node.ready),
        _low_enough(by_name("Cohort", cohort_of), dump.of("Cohort"), problems),
        queues,
        dict(readable("LocalQueue", local_queue_of)),
        by_name("Namespace", lambda name, document: {NAME_LABEL: name, **labels_of(document)}),
        {namespace: merged_limits(documents) for namespace, documents in ranges.items()},
        by_name("RuntimeClass", overhead_of),
        by_name(
            "AdmissionCheck", lambda _, document: _text(_spec(document).get("controllerName"), "spec.controllerName")
        ),
        _scaler(dump, nodes),
        step_of(version_of(version, dump.version(IMAGE))),
        unknown,
        dump,
    )
    return cluster, problems


def _with_vague_flavors(
    flavors: Mapping[str, Flavor], queues: Mapping[str, ClusterQueue], unknown: Collection[str]
) -> dict[str, Flavor]:
    """The flavors; those about which the snapshot does not say enough are assumed to accept and to hold every pod."""
    if "ResourceFlavor" in unknown:
        named = {name for queue in queues.values() for name in queue.flavors}
        return {name: Flavor(name, {}, (), (), None, vague=True) for name in sorted(named)}
    if "Node" in unknown:
        return {name: replace(one, vague=one.topology is not None) for name, one in flavors.items()}
    return dict(flavors)


def _is_read(document: Json) -> bool:
    kind = document.get("kind")
    return kind in READ_KINDS and group_of(document) in ("", KINDS[str(kind)].group)


# What adds nodes -> the end of its image's path, without the tag.
_SCALERS = {KARPENTER: "karpenter", AUTOSCALER: "cluster-autoscaler"}


def _scaler(dump: Dump, nodes: Iterable[Node]) -> str:
    """What adds nodes to the cluster when pods do not fit; empty if nothing in the dump shows such a program.

    Managed autoscalers show only in the ConfigMap in which they report (kubernetes/autoscaler
    cluster-autoscaler/clusterstate/utils/status.go).
    """
    images = [image.partition("@")[0].rpartition("/")[2].partition(":")[0] for image in dump.images()]
    for scaler, image in _SCALERS.items():
        if any(each == image or each.startswith(f"{image}-") for each in images):
            return scaler
    if dump.of("NodePool") or any("karpenter.sh/nodepool" in node.labels for node in nodes):
        return KARPENTER
    if dump.get("ConfigMap", "kube-system", "cluster-autoscaler-status"):
        return AUTOSCALER
    return ""


# Kueue has no limit, but no real cluster nests this many cohorts.
_MOST_PARENTS = 100


def _low_enough(
    cohorts: Mapping[str, Cohort], documents: Mapping[tuple[str, str], Json], problems: list[Diagnostic]
) -> dict[str, Cohort]:
    """The cohorts without those that are nested too deeply."""
    high = {name for name in cohorts if _is_below_too_many(name, cohorts)}
    message = f"more than {_MOST_PARENTS} cohorts are above it"
    problems += [_unreadable(one, "spec.parentName", message) for (_, name), one in documents.items() if name in high]
    return {name: cohort for name, cohort in cohorts.items() if name not in high}


def _is_below_too_many(name: str, cohorts: Mapping[str, Cohort]) -> bool:
    seen: set[str] = set()
    while name in cohorts and name not in seen and len(seen) <= _MOST_PARENTS:
        seen.add(name)
        name = cohorts[name].parent
    return len(seen) > _MOST_PARENTS


def _unreadable(document: Json, path: str, message: str) -> Diagnostic:
    return Diagnostic(
        "SnapshotUnreadable",
        "error",
        f"this object cannot be read: {message}",
        f"export it again: {export_command([document['kind']])}",
        label_of(document),
        path,
    )


def _twice(document: Json) -> Diagnostic:
    return Diagnostic(
        "SnapshotTwice",
        "error",
        "the snapshot contains this object twice",
        "use one folder per cluster, with files that were exported together",
        label_of(document),
    )
