"""Read a snapshot, the output of `kubectl get ... -o yaml`, with a diagnostic for whatever cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from trainc.api.cluster import KINDS, Dump, group_of, kueue_versions
from trainc.api.documents import label_of, opening
from trainc.api.findings import Diagnostic, Finding
from trainc.api.kube import Json, Unchecked, documents, mapping, objects, parse_quantity, releases
from trainc.api.records import pattern, replace
from trainc.api.schema import unknown_fields
from trainc.features.cluster.fits.cluster import (
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
    Preemption,
    Quota,
)
from trainc.features.cluster.fits.pods import amount, amounts, merged_limits

# Kueue's limit: apis/kueue/v1beta2/topology_types.go.
_MOST_LEVELS = 16


class WrongValue(ValueError):
    """A value of the wrong type or without meaning, with its path in the object."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


_WORDS: Mapping[type, str] = {str: "a string", list: "a list", dict: "a mapping"}
# What is read of each kind: an empty text for text, mappings by their fields (`*` for any), and lists by their items.
SHAPES: Mapping[str, Any] = opening.read_data(__file__, "shapes.json")


def check_shape(value: Any, shape: Any, path: str) -> None:
    """Raise WrongValue for the first value of another type."""
    if value is not None and not isinstance(value, type(shape)):
        raise WrongValue(path, f"{path} is not {_WORDS[type(shape)]}")
    if isinstance(shape, list):
        for i, item in enumerate(value or ()):
            for inner in shape:
                check_shape(item, inner, f"{path}[{i}]")
    elif isinstance(shape, dict) and value:
        for key, inner in shape.items():
            for item in value.values() if key == "*" else (value.get(key),):
                check_shape(item, inner, path if key == "*" else f"{path}.{key}".lstrip("."))


def _texts(value: Any) -> dict[str, str]:
    return {str(key): str(item or "") for key, item in mapping(value).items()}


def check_type(value: Any, definition: str, path: str) -> Json:
    """Check a value against a type that JobSets use as well."""
    steps = unknown_fields.find_wrong_type(value, definition, releases.NEWEST_RELEASE)
    if steps is not None:
        field_path = ".".join((path, *map(str, steps)))
        raise WrongValue(field_path, f"{field_path} has the wrong type")
    return cast("Json", value)


def _labels(document: Unchecked) -> dict[str, str]:
    return _texts(mapping(document.get("metadata")).get("labels"))


def _flavor(name: str, document: Unchecked) -> Flavor:
    spec = mapping(document.get("spec"))
    tolerations = enumerate(documents.items(spec.get("tolerations")))
    return Flavor(
        name,
        _texts(spec.get("nodeLabels")),
        tuple(map(_texts, objects(spec.get("nodeTaints")))),
        tuple(check_type(toleration, "core.Toleration", f"spec.tolerations[{i}]") for i, toleration in tolerations),
        str(spec.get("topologyName") or "") or None,
    )


def _levels(_: str, document: Unchecked) -> tuple[str, ...]:
    """The labels of a Topology's levels, from the top."""
    levels = objects(mapping(document.get("spec")).get("levels"))
    if not 0 < len(levels) <= _MOST_LEVELS:
        raise WrongValue("spec.levels", f"spec.levels has {len(levels)} levels; 1 to {_MOST_LEVELS} are allowed")
    return tuple(str(level.get("nodeLabel") or "") for level in levels)


def _node(name: str, document: Unchecked) -> Node:
    spec, status = mapping(document.get("spec")), mapping(document.get("status"))
    ready = next((c.get("status") for c in objects(status.get("conditions")) if c.get("type") == "Ready"), None)
    usable = ready == "True" and not spec.get("unschedulable")
    counted = Dump.is_counted(document)
    taints = tuple(map(_texts, objects(spec.get("taints"))))
    return Node(name, _labels(document), taints, amounts(status.get("allocatable")), ready=usable, counted=counted)


def _local_queue(_: str, document: Unchecked) -> LocalQueue:
    spec = mapping(document.get("spec"))
    return LocalQueue(str(spec.get("clusterQueue") or ""), _is_stopped(spec))


def _is_stopped(spec: Unchecked) -> bool:
    return (spec.get("stopPolicy") or "None") != "None"


def _cohort(name: str, document: Unchecked) -> Cohort:
    spec = mapping(document.get("spec"))
    return Cohort(name, str(spec.get("parentName") or spec.get("parent") or ""), _quotas(spec))


def _cluster_queue(name: str, document: Unchecked) -> ClusterQueue:
    spec = mapping(document.get("spec"))
    selector, fungibility = spec.get("namespaceSelector"), mapping(spec.get("flavorFungibility"))
    checks = {str(check): frozenset[str]() for check in documents.items(spec.get("admissionChecks"))}
    for rule in objects(mapping(spec.get("admissionChecksStrategy")).get("admissionChecks")):
        checks[str(rule.get("name"))] = frozenset(map(str, documents.items(rule.get("onFlavors"))))
    groups = (
        Group(
            frozenset(map(str, documents.items(group.get("coveredResources")))),
            tuple(str(f.get("name") or "") for f in flavors),
        )
        for group in objects(spec.get("resourceGroups"))
        for flavors in [objects(group.get("flavors"))]
    )
    return ClusterQueue(
        name,
        str(spec.get("cohortName") or spec.get("cohort") or ""),
        tuple(groups),
        _quotas(spec),
        None if selector is None else check_type(selector, "meta.LabelSelector", "spec.namespaceSelector"),
        _is_stopped(spec),
        spec.get("queueingStrategy") == "StrictFIFO",
        fungibility.get("whenCanBorrow") == "TryNextFlavor",
        (fungibility.get("whenCanPreempt") or "TryNextFlavor") == "TryNextFlavor",
        fungibility.get("preference") == "PreemptionOverBorrowing",
        _preemption(mapping(spec.get("preemption"))),
        checks,
        _reported_fault(document),
    )


def _preemption(spec: Unchecked) -> Preemption:
    borrowing = mapping(spec.get("borrowWithinCohort"))
    threshold = borrowing.get("maxPriorityThreshold")
    return Preemption(
        str(spec.get("withinClusterQueue") or "Never"),
        str(spec.get("reclaimWithinCohort") or "Never"),
        (borrowing.get("policy") or "Never") != "Never",
        threshold if isinstance(threshold, int) else None,
    )


# What other objects of the dump show better is left to them.
_REPORTED = ("AdmissionCheckNotFound", "AdmissionCheckInactive")


def _reported_fault(document: Unchecked) -> str:
    """The message of Kueue's condition that a ClusterQueue is inactive for an admission check; empty otherwise."""
    for condition in objects(mapping(document.get("status")).get("conditions")):
        if condition.get("type") == "Active" and condition.get("status") == "False":
            reason = str(condition.get("reason"))
            if any(reported in reason for reported in _REPORTED) or "MultiKueue" in reason:
                return str(condition.get("message") or reason)
    return ""


def _quotas(spec: Unchecked) -> dict[FlavorResource, Quota]:
    quotas = {}
    for i, group in enumerate(objects(spec.get("resourceGroups"))):
        for j, flavor in enumerate(objects(group.get("flavors"))):
            for k, resource in enumerate(objects(flavor.get("resources"))):
                path = f"spec.resourceGroups[{i}].flavors[{j}].resources[{k}]"
                quotas[str(flavor.get("name") or ""), str(resource.get("name") or "")] = _quota(resource, path)
    return quotas


def _quota(resource: Unchecked, path: str) -> Quota:
    def read_amount(name: str) -> int | None:
        if resource.get(name) is None:
            return None
        try:
            return amount(str(resource.get("name")), parse_quantity(str(resource[name])))
        except ValueError as error:
            raise WrongValue(f"{path}.{name}", f"{path}.{name}: {error}") from None

    return Quota(read_amount("nominalQuota") or 0, read_amount("borrowingLimit"), read_amount("lendingLimit"))


def _limit_range(_: str, document: Unchecked) -> Unchecked:
    """A LimitRange with amounts that can be read."""
    for i, item in enumerate(objects(mapping(document.get("spec")).get("limits"))):
        for name in ("max", "min", "default", "defaultRequest"):
            amounts(item.get(name))
        if not isinstance(item.get("type"), str):
            raise WrongValue(f"spec.limits[{i}].type", "an entry of spec.limits has no type")
    return document


def _overhead(_: str, document: Unchecked) -> Unchecked:
    """What the pods of a RuntimeClass use in addition to their containers."""
    overhead = mapping(mapping(document.get("overhead")).get("podFixed"))
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
_KUEUE = (*READ_KINDS[:6], "WorkloadPriorityClass")


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
WORKLOADS = "kubectl get workloads.kueue.x-k8s.io -A -o yaml"
# Everything that is read, by the file to write it to.
EXPORT = {"core.yaml": export_command(_CORE), "kueue.yaml": export_command(_KUEUE), "names.yaml": _NAMES_ONLY}


def read_cluster(dump: Dump, version: str | None = None) -> tuple[Cluster, list[Diagnostic]]:
    """Return the cluster that a dump describes, and the problems found.

    An object that cannot be read is reported as an error and left out. `version` is that of Kueue, if the dump is not
    to decide.
    """
    problems = [*dump.problems]
    problems += [unreadable(d, "metadata.name", "it has no name") for d in dump.nameless if _is_read(d)]
    problems += [_twice(document) for document in dump.repeated if _is_read(document)]

    guard = Finding.Guard("what the cluster can run", "reading this object", ())

    def readable(kind: str, parse: Callable[[str, Unchecked], Any]) -> Iterator[tuple[tuple[str, str], Any]]:
        for key, document in dump.of(kind).items():
            with guard(label_of(document)):
                try:
                    check_shape(document, SHAPES[kind], "")
                    yield key, parse(key[1], document)
                except ValueError as error:
                    problems.append(unreadable(document, getattr(error, "path", ""), str(error)))

    def by_name(kind: str, parse: Callable[[str, Unchecked], Any]) -> dict[str, Any]:
        return {name: value for (_, name), value in readable(kind, parse)}

    ranges: dict[str, list[Unchecked]] = {}
    for (namespace, _), limit_range in sorted(readable("LimitRange", _limit_range), key=lambda item: item[0]):
        ranges.setdefault(namespace, []).append(limit_range)
    nodes = list(by_name("Node", _node).values())
    queues, flavors = by_name("ClusterQueue", _cluster_queue), by_name("ResourceFlavor", _flavor)
    topologies = by_name("Topology", _levels)
    namespaces = by_name("Namespace", lambda name, document: {NAME_LABEL: name, **_labels(document)})
    failed = {failure.about.partition(" ")[0] for failure in guard.failures}
    unknown = frozenset(kind for kind in READ_KINDS if kind in failed or not dump.covers(kind))
    cluster = Cluster(
        _with_vague_flavors(flavors, queues, unknown),
        topologies,
        tuple(node for node in nodes if node.ready),
        tuple(node for node in nodes if not node.ready),
        _low_enough(by_name("Cohort", _cohort), dump.of("Cohort"), problems),
        queues,
        dict(readable("LocalQueue", _local_queue)),
        namespaces,
        {namespace: merged_limits(documents) for namespace, documents in ranges.items()},
        by_name("RuntimeClass", _overhead),
        by_name("AdmissionCheck", lambda _, document: mapping(document.get("spec")).get("controllerName") or ""),
        _scaler(dump, nodes),
        kueue_versions.step_of(kueue_versions.version_of(version, dump.version(kueue_versions.IMAGE))),
        unknown,
        dump,
    )
    return cluster, [*problems, *guard.diagnostics]


def _with_vague_flavors(
    flavors: Mapping[str, Flavor], queues: Mapping[str, ClusterQueue], unknown: Collection[str]
) -> dict[str, Flavor]:
    """The flavors; those about which the snapshot does not say enough are assumed to accept and to hold every pod."""
    if "ResourceFlavor" in unknown:
        flavor_names = {name for queue in queues.values() for name in queue.flavors}
        return {name: Flavor(name, {}, (), (), None, vague=True) for name in sorted(flavor_names)}
    if "Node" in unknown:
        return {name: replace(flavor, vague=flavor.topology is not None) for name, flavor in flavors.items()}
    return dict(flavors)


def _is_read(document: Unchecked) -> bool:
    kind = document.get("kind")
    return kind in READ_KINDS and group_of(document) in ("", KINDS[str(kind)].group)


# What adds nodes -> the end of its image's path, without the tag.
_SCALERS = {KARPENTER: "karpenter", AUTOSCALER: "cluster-autoscaler"}


def _scaler(dump: Dump, nodes: Iterable[Node]) -> str:
    """What adds nodes to the cluster when pods do not fit; empty if nothing in the dump shows such a program.

    Managed autoscalers show only in the ConfigMap in which they report (kubernetes/autoscaler
    cluster-autoscaler/clusterstate/utils/status.go).
    """
    programs = [image.partition("@")[0].rpartition("/")[2].partition(":")[0] for image in dump.images()]
    for scaler, name in _SCALERS.items():
        if any(program == name or program.startswith(f"{name}-") for program in programs):
            return scaler
    if dump.of("NodePool") or any("karpenter.sh/nodepool" in node.labels for node in nodes):
        return KARPENTER
    if dump.get("ConfigMap", "kube-system", "cluster-autoscaler-status"):
        return AUTOSCALER
    return ""


# Kueue has no limit, but no real cluster nests this many cohorts.
_MOST_PARENTS = 100


def _low_enough(
    cohorts: Mapping[str, Cohort], documents: Mapping[tuple[str, str], Unchecked], problems: list[Diagnostic]
) -> dict[str, Cohort]:
    """The cohorts without those that are nested too deeply."""
    deep = {name for name in cohorts if _is_below_too_many(name, cohorts)}
    message = f"more than {_MOST_PARENTS} cohorts are above it"
    problems += [unreadable(d, "spec.parentName", message) for (_, name), d in documents.items() if name in deep]
    return {name: cohort for name, cohort in cohorts.items() if name not in deep}


def _is_below_too_many(name: str, cohorts: Mapping[str, Cohort]) -> bool:
    seen: set[str] = set()
    while name in cohorts and name not in seen and len(seen) <= _MOST_PARENTS:
        seen.add(name)
        name = cohorts[name].parent
    return len(seen) > _MOST_PARENTS


# A quantity with a thousands separator, a space, a byte, or what it counts.
_AMOUNT = pattern(
    r"'\s*([0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?)\s*(?:([KMGTPE]i?)[Bb]?|x?\s*(?i:[gct]pus?|cores?|nodes?|pods?|devices?))?\s*' is not a quantity"
)


def unreadable(document: Unchecked, path: str, message: str, command: str = "") -> Diagnostic:
    """An object that cannot be read, and the command that exports it again."""
    command = command or export_command([str(document["kind"])])
    hint = f"export it again: {command}"
    if meant := _AMOUNT.match(message.rpartition(": ")[2]):
        hint = f"write {meant[1].replace(',', '')}{meant[2] or ''}, or {hint}"
    message = f"this object cannot be read: {message.removeprefix(f'{path}: ')}"
    return Diagnostic("SnapshotUnreadable", "error", message, hint, label_of(document), path)


def _twice(document: Unchecked) -> Diagnostic:
    hint = "use one folder per cluster, with files that were exported together"
    return Diagnostic("SnapshotTwice", "error", "the snapshot contains this object twice", hint, label_of(document))
