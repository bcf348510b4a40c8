"""Why a job is never admitted to its queue, and the nearest change that would do."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.documents import label_of
from trainc.api.findings import Hint, Path, did_you_mean
from trainc.api.kube import Unchecked, documents, mapping, names, objects
from trainc.api.records import dataclass
from trainc.features.cluster.fits import assigner, scheduling
from trainc.features.cluster.fits.cluster import ClusterQueue, Flavor
from trainc.features.cluster.fits.inventory import (
    Inventory,
    Shortfall,
    fewer_pods,
    short_resource,
    split_hint,
    to_match,
    too_small,
)
from trainc.features.cluster.fits.placement import NO_LEVEL, NoPlace
from trainc.features.cluster.fits.pods import (
    HOSTNAME,
    amount_with_unit,
    counted_pods,
    level_word,
    near_label,
    other_label,
    out_of_range,
    over_limit,
    requests_text,
    written_amount,
)
from trainc.features.cluster.fits.state import State
from trainc.features.cluster.fits.workload import PodSet, Workload, part_of, with_tolerations, with_topology

_SMALLER = "request less per pod, or add larger nodes to the flavor"
# A quota of less memory is one whose unit was forgotten: of GiB up to the second number, else of MiB.
_BYTES_MEANT = 1 << 28
_GIBIBYTES_MEANT = 1 << 20
# Of how many queues of a namespace one is looked for that would admit a job.
_MOST_TRIED = 8


PARTIAL_SLICE, GAPS = "partial-slice", "gaps"


def unplaced_pods(pod_set: PodSet, placed: int) -> Shortfall:
    """Why pods are left when Kueue places whole slices only: they keep their scheduling gate."""
    size = pod_set.topology.slices[0][1]
    message = (
        f"Kueue before 0.19.6 places only whole slices of {size} pods, so {pod_set.count - placed} of the "
        f"{counted_pods(pod_set.count)} of {pod_set.name} are never scheduled"
    )
    return Shortfall(message, f"{fewer_pods(pod_set, placed)}, or another slice size", pod_set.name)


def left_in_domain(pod_set: PodSet, domain: str, count: int, held: int, topology: str) -> Shortfall:
    """Why pods may be left in the domain in which Kueue places them: it looks at the sum of the nodes there."""
    message = (
        f"Kueue before 0.20 adds up the nodes of {domain}, where it places {counted_pods(count)} of {pod_set.name} if the "
        f"cluster is idle; one by one, they have room for {held}, and the others keep the quota and wait"
    )
    hint = f"end the levels of the Topology with {HOSTNAME}, update Kueue, or request what divides a node evenly"
    hint = Hint(hint, objects=((f"Topology {topology}", ("spec", "levels")),))
    return Shortfall(message, hint, pod_set.name, certain=False)


def _quota_path(queue: Unchecked, flavor: str, resource: str) -> Path:
    """The path in the spec of a queue of the quota that a flavor has of a resource, or of all quotas."""
    for g, group in enumerate(objects(mapping(queue.get("spec")).get("resourceGroups"))):
        for f, one in enumerate(objects(group.get("flavors"))):
            for r, quota in enumerate(objects(one.get("resources"))):
                if (one.get("name"), quota.get("name")) == (flavor, resource):
                    return "resourceGroups", g, "flavors", f, "resources", r, "nominalQuota"
    return ("resourceGroups",)


def shortfall(entry: scheduling.Entry, queue: ClusterQueue, state: State, inventory: Inventory) -> Shortfall:
    """What prevents a job from being admitted to its queue."""
    assignment = entry.assignment or assigner.Assignment()
    return _Explainer(entry.workload, assignment, queue, state, inventory).explain(entry.cause)


@dataclass(frozen=True, slots=True)
class _Explainer:
    workload: Workload
    assignment: assigner.Assignment
    queue: ClusterQueue
    state: State
    inventory: Inventory

    def explain(self, cause: str) -> Shortfall:
        explain = {
            scheduling.NAMESPACE: self._namespace,
            scheduling.RESOURCES: self._over_limit,
            scheduling.LIMIT_RANGE: self._out_of_range,
            assigner.NOT_COVERED: self._not_covered,
            assigner.TOO_MUCH: self._too_much,
            assigner.NO_MATCH: self._no_match,
            assigner.TOPOLOGY: self._no_place,
            assigner.NO_TOPOLOGY: self._no_topology,
            assigner.SEVERAL: self._several,
            scheduling.NO_LONGER: self._asks_nothing,
        }.get(cause)
        return explain() if explain else Shortfall(f"Kueue can never admit it ({cause})", "check the ClusterQueue")

    @property
    def _queue_name(self) -> str:
        return f"ClusterQueue {self.queue.name}"

    def _of_queue(self, hint: str, *path: str | int) -> Hint:
        """A hint that knows the field of the queue."""
        return Hint(hint, objects=((self._queue_name, ("spec", *path)),))

    def _namespace(self) -> Shortfall:
        name = self.workload.namespace
        if self.queue.namespaces is None:
            message = f"{self._queue_name} has no namespaceSelector, so it accepts jobs from no namespace"
            return Shortfall(message, self._of_queue("write namespaceSelector: {} to accept every namespace"))
        if name not in self.state.cluster.namespaces:
            return Shortfall(f"there is no namespace {name}", "create it, or export the namespaces again")
        hint = "set namespaceSelector: {} on the ClusterQueue to accept every namespace"
        selector, spaces = self.queue.namespaces or {}, self.state.cluster.namespaces
        for one in objects(selector.get("matchExpressions")):
            key, values = str(one.get("key")), [str(value) for value in documents.items(one.get("values"))]
            own, known = spaces[name].get(key, ""), {space.get(key, "") for space in spaces.values()}
            if one.get("operator") == "In" and own not in values:
                wrong = next((v for v in values if v not in known and did_you_mean(v, [own])), "")
                instead = f"for {wrong}" if wrong else f"as one more value of {key}"
                hint = f"write {own} {instead} in its namespaceSelector" if own else f"label the namespace with {key}"
        if labels := selector.get("matchLabels"):
            hint = f"label the namespace with {', '.join(f'{key}: {value}' for key, value in labels.items())}"
            for key, value in labels.items():
                known = {space[key] for space in spaces.values() if key in space}
                if len(known) == 1 and value not in known:
                    hint = f'write {key}: "{known.pop()}" in its namespaceSelector: no namespace here has another one'
        message = f"{self._queue_name} does not accept jobs from namespace {name} (see its namespaceSelector)"
        return Shortfall(message, self._of_queue(hint, "namespaceSelector"))

    def _over_limit(self) -> Shortfall:
        pod_set, path, over = next((s, p, n) for s in self.workload.pod_sets for p, n in over_limit(s.pod))
        where = part_of(pod_set, path)
        hint = "raise the limit; if the manifest sets none, it comes from a LimitRange"
        return Shortfall(f"{where} requests more {' and '.join(over)} than its limit", hint, pod_set.name)

    def _out_of_range(self) -> Shortfall:
        limits = self.state.cluster.limits[self.workload.namespace]
        pod_set, path, outside, bound = next(
            (s, p, n, b) for s in self.workload.pod_sets for p, n, b in out_of_range(s.pod, limits)
        )
        where, side = part_of(pod_set, path), "above the max" if bound == "max" else "below the min"
        message = f"{' and '.join(outside)} of {where} {'are' if len(outside) > 1 else 'is'} {side} of a LimitRange"
        hint = f"request {'less' if bound == 'max' else 'more'}, or change the LimitRange"
        for limit_range in self.state.cluster.dump.of("LimitRange").by_namespace.get(self.workload.namespace, []):
            for n, item in enumerate(objects(mapping(limit_range.get("spec")).get("limits"))):
                if outside[0] in mapping(item.get(bound)):
                    limit = ("spec", "limits", n, bound, outside[0])
                    hint = Hint(hint, objects=((label_of(limit_range), limit),))
        return Shortfall(message, hint, pod_set.name)

    def _not_covered(self) -> Shortfall:
        assigned = next(item for item in self.assignment.pod_sets if item.uncovered)
        message = f"{self._queue_name} has no quota for {assigned.uncovered}, which the pods of {assigned.pod_set.name} request"
        covered = {resource for group in self.queue.groups for resource in group.covered}
        near = did_you_mean(assigned.uncovered, covered, 0.9)
        add = f"add {assigned.uncovered} to coveredResources of the ClusterQueue"
        hint = f"{near} Otherwise, {add}" if near else f"remove the request, or {add}"
        hint = self._of_queue(hint, "resourceGroups", 0, "coveredResources")
        return Shortfall(message, hint, assigned.pod_set.name)

    def _too_much(self) -> Shortfall:
        assigned, flavor, resource, requested, most = self._shortest()
        key = (flavor, resource)
        if len(self.queue.flavors) == 1:  # Later pods take from it, too.
            requested = max(requested, sum(pod_set.total.get(resource, 0) for pod_set in self.workload.pod_sets))
        nominal = min(most, self.queue.quotas[key].nominal if key in self.queue.quotas else 0)
        where = f" in flavor {flavor}" if len(self.queue.flavors) > 1 else ""
        message = f"the job requests {amount_with_unit(resource, requested)}, and {self._queue_name} can provide at most {written_amount(resource, most)}{where}: "
        borrowed = f"{written_amount(resource, most - nominal)} borrowed from cohort {self.queue.cohort}"
        of_both = f"{written_amount(resource, nominal)} of its own, {borrowed}"
        message += of_both if self.queue.cohort else "all from its own quota"
        if alone := self._larger_than_nodes(assigned.pod_set, flavor, resource):
            return alone
        fewer, amount = self._fewer(assigned.pod_set, resource)
        if fewer:
            total = written_amount(resource, requested - amount)
            message += f"; {total} would fit: {self._size(fewer[0], fewer[1])}"
        hint = f"raise the nominalQuota of {self._queue_name} for {resource} in flavor {flavor} by {written_amount(resource, requested - most)}"
        if resource in ("memory", "ephemeral-storage") and 0 < most < _BYTES_MEANT:
            unit = "Gi" if requested <= most << 30 and most < _GIBIBYTES_MEANT else "Mi"
            hint = (
                f"a quantity without a unit counts bytes: write {most}{unit} for {resource} if that is meant; or {hint}"
            )
        # More quota alone is no help where the nodes would not hold the pods.
        chosen = {item.pod_set.name: [self.state.cluster.flavors[flavor]] for item in self.assignment.pod_sets}
        if self.inventory.nodes and self.inventory.shortfall(self.workload, chosen):
            hint = f"{hint}, and add nodes: the flavor's do not hold the job"
        cluster, own = self.state.cluster, self.queue.cohort
        others = {*cluster.cohorts, *(q.cohort for q in cluster.cluster_queues.values() if q.name != self.queue.name)}
        if near := did_you_mean(own, others - {""}, 0.75) if own and own not in others else "":
            message += f"; no other ClusterQueue has cohortName {own}"
            hint = self._of_queue(f"{near.replace('mean', 'mean cohortName')} Or {hint}", "cohortName")
        else:
            less = f"{fewer_pods(*fewer, self._other_trainers(fewer[0]))}, or " if fewer else ""
            document = mapping(self.state.cluster.dump.get("ClusterQueue", "", self.queue.name))
            hint = self._of_queue(f"{less}{hint}", *_quota_path(document, flavor, resource))
        return Shortfall(message, hint, fewer[0].name if fewer else assigned.pod_set.name)

    def _shortest(self) -> tuple[assigner.Assigned, str, str, int, int]:
        """The closest flavor and its scarcest resource, with the requested and the largest possible amount."""
        candidates = [
            (
                max((requested / max(most, 1), name) for name, (requested, most) in attempt.short.items()),
                flavor,
                assigned,
            )
            for assigned in self.assignment.pod_sets
            for flavor, attempt in assigned.attempts.items()
            if attempt.short
        ]
        (_, resource), flavor, assigned = min(candidates, key=lambda item: (item[0], item[1]))
        requested, most = assigned.attempts[flavor].short[resource]
        return assigned, flavor, resource, requested, most

    def _fewer(self, failing: PodSet, resource: str = "") -> tuple[tuple[PodSet, int] | None, int]:
        """The pod set to shrink with the largest size that would fit, and how much of `resource` that saves."""
        for name in dict.fromkeys((failing.name, *(trainer.name for trainer in self._trainers))):
            pod_set = next(pod_set for pod_set in self.workload.pod_sets if pod_set.name == name)
            count = scheduling.most_pods(self.workload, name, self.queue, self.state) if pod_set.count > 1 else 0
            if count:
                return (pod_set, count), (pod_set.count - count) * pod_set.per_pod.get(resource, 0)
        return None, 0

    @property
    def _trainers(self) -> list[PodSet]:
        """The pod sets that a TrainJob's `numNodes` counts."""
        return [pod_set for pod_set in self.workload.pod_sets if pod_set.step == names.TRAINER]

    def _other_trainers(self, pod_set: PodSet) -> int:
        return sum(trainer.count for trainer in self._trainers if trainer.name != pod_set.name)

    def _size(self, pod_set: PodSet, count: int) -> str:
        if pod_set.step != names.TRAINER:
            return f"{counted_pods(count)} of {pod_set.name}"
        return f"numNodes {count + self._other_trainers(pod_set)}"

    def _no_match(self) -> Shortfall:
        assigned = next((item for item in reversed(self.assignment.pod_sets) if item.failed), None)
        if assigned is None:
            check = self._of_queue("check the flavors of the ClusterQueue", "resourceGroups")
            return Shortfall(f"{self._queue_name} has no flavor for it", check)
        reasons = [f"{name}: {attempt.reason}" for name, attempt in assigned.attempts.items() if attempt.reason]
        message = f"no flavor of {self._queue_name} accepts the pods of {assigned.pod_set.name}: {'; '.join(reasons)}"
        flavors = [flavor for name in assigned.attempts if (flavor := self.state.cluster.flavors.get(name))]
        others = [flavor for flavor in flavors if other_label(assigned.pod_set.pod, flavor.labels)]
        selects = other_label(assigned.pod_set.pod, others[0].labels) if others else ""
        hint = self._flavor_hint(assigned, flavors, others)
        return Shortfall(message, hint, assigned.pod_set.name, selects=selects)

    def _flavor_hint(self, assigned: assigner.Assigned, flavors: Sequence[Flavor], others: Sequence[Flavor]) -> str:
        for flavor in flavors:
            taints = [taint for taint in flavor.taints if taint.get("effect") in ("NoSchedule", "NoExecute")]
            added = [{"key": t.get("key"), "operator": "Exists", "effect": t.get("effect")} for t in taints]
            if added and self._would_do(with_tolerations(self.workload, added)):
                texts = ", ".join(
                    "{" + ", ".join(f"{k}: {v}" for k, v in toleration.items()) + "}" for toleration in added
                )
                hint = f"add to ResourceFlavor {flavor.name}: tolerations: [{texts}], which Kueue gives to the pods it admits"
                return Hint(hint, objects=((f"ResourceFlavor {flavor.name}", ("spec", "nodeTaints")),))
        topology = assigned.pod_set.topology
        levels = [
            level
            for flavor in flavors
            if flavor.name in self.state.trees
            for level in self.state.trees[flavor.name].levels
        ]
        requested = filter(None, (topology.required, topology.preferred))
        if near := next((did_you_mean(level, levels) for level in requested if level not in levels), ""):
            return self._with_topology(near, next(f for f in flavors if f.name in self.state.trees))
        softened = with_topology(self.workload, assigned.pod_set.name, type(topology)())
        if topology.explicit and self._would_do(softened):
            hint = "remove the topology annotation from the pods: without it, they fit"
            placing = [flavor for flavor in flavors if flavor.name in self.state.trees]
            return self._with_topology(hint, placing[0]) if placing else self._of_queue(hint, "resourceGroups")
        near = near_label(assigned.pod_set.pod, [flavor.labels for flavor in flavors])
        use = f"use the queue {name}, which has them; or " if (name := self._other_queue()) else near
        hint = f"{use}change the pods to match one of the flavors, as with another runtime, or add a flavor that matches them to the ClusterQueue"
        if len(others) == 1:
            return Hint(hint, objects=((f"ResourceFlavor {others[0].name}", ("spec", "nodeLabels")),))
        return self._of_queue(hint, "resourceGroups")

    def _other_queue(self) -> str:
        """Return another queue of the namespace that would admit the job, one of the first few."""
        cluster, namespace = self.state.cluster, self.workload.namespace
        for name in sorted(name for space, name in cluster.local_queues if space == namespace)[:_MOST_TRIED]:
            queue = cluster.cluster_queues.get(cluster.local_queues[namespace, name].cluster_queue)
            if queue is None or queue is self.queue or cluster.faults(queue):
                continue
            if scheduling.would_be_admitted(self.workload, queue, self.state):
                return name
        return ""

    def _no_place(self) -> Shortfall:
        assigned = next(item for item in self.assignment.pod_sets if item.no_place)
        pod_set, lacking = assigned.pod_set, assigned.no_place
        assert lacking is not None
        if not lacking.reason and (alone := self._larger_than_nodes(pod_set, assigned.tree)):
            return alone
        smaller = _SMALLER
        if lacking.reason == NO_LEVEL:
            flavor = self.state.cluster.flavors[assigned.tree]
            smaller = self._with_topology("correct the levels of its Topology, or label its nodes", flavor)
        message = self._room(assigned, lacking)
        for annotation, softer in scheduling.softer_topologies(pod_set.topology, self.state.trees[assigned.tree]):
            if self._would_do(with_topology(self.workload, pod_set.name, softer)):
                kind = annotation.partition(":")[0].removeprefix("podset-")
                fewer, _ = self._fewer(pod_set)
                less = f"{fewer_pods(*fewer, self._other_trainers(fewer[0]))}; or, " if fewer else ""
                hint = f"{less}use this annotation on the pods instead, where their runtime has another: kueue.x-k8s.io/{annotation}"
                return Shortfall(f"{message}; {kind} would fit", hint, pod_set.name)
        fewer, _ = self._fewer(pod_set)
        if fewer:
            message = f"{message}; {counted_pods(fewer[1])} would fit: {self._size(*fewer)}"
            return Shortfall(message, fewer_pods(*fewer, self._other_trainers(fewer[0])), pod_set.name)
        return Shortfall(message, smaller, pod_set.name)

    def _larger_than_nodes(self, pod_set: PodSet, flavor: str, resource: str | None = None) -> Shortfall | None:
        """Why no node of a flavor has room for a pod, which no quota helps if it is for want of that `resource`."""
        usable = self.inventory.usable(pod_set.pod, [self.state.cluster.flavors[flavor]])
        short = short_resource(pod_set.scheduled, usable)
        if usable.held(pod_set.per_pod) or not (resource is None or (short and usable.largest(short))):
            return None
        why = too_small(pod_set, usable, f" of flavor {flavor}")
        hint = split_hint(self.workload, pod_set, usable, self._would_do) or to_match(usable, _SMALLER)
        hint = self.inventory.with_node(hint, usable, short, [self.state.cluster.flavors[flavor]])
        return Shortfall(f"no node can run a pod of {pod_set.name}: {why}", hint, pod_set.name, resource=short)

    def _room(self, assigned: assigner.Assigned, lacking: NoPlace) -> str:
        pod_set = assigned.pod_set
        if lacking.reason:
            return f"the pods of {pod_set.name} do not fit into flavor {assigned.tree}: {lacking.reason}"
        pods = requests_text(lacking.size, pod_set.per_pod)
        slices = lacking.size > 1
        needed = f"{lacking.count} slices of {pods}" if slices else requests_text(lacking.count, pod_set.per_pod)
        if lacking.tail:
            needed += f" and one of {lacking.tail}"
        if lacking.level:
            return f"no {level_word(lacking.level)} has room for {needed}; the largest has room for {lacking.most}"
        return f"the nodes of flavor {assigned.tree} do not have room for {needed}; together they have room for {lacking.most}"

    def _with_topology(self, hint: str, flavor: Flavor) -> Hint:
        """A hint that knows the level of a flavor's Topology that is a label of no node, or all levels."""
        levels = self.state.cluster.topologies.get(flavor.topology or "", ())
        labels = {label for node in (*self.inventory.nodes, *self.inventory.down) for label in node.labels}
        wrong = next((n for n, level in enumerate(levels) if labels and level not in labels), None)
        path: Path = ("spec", "levels") if wrong is None else ("spec", "levels", wrong, "nodeLabel")
        return Hint(hint, objects=((f"Topology {flavor.topology}", path),))

    def _would_do(self, changed: Workload) -> bool:
        return scheduling.would_be_admitted(changed, self.queue, self.state)

    def _no_topology(self) -> Shortfall:
        name = next(assigned.pod_set.name for assigned in self.assignment.pod_sets if assigned.error)
        if not self.queue.flavors:
            hint = self._of_queue("add spec.resourceGroups to it")
            return Shortfall(f"{self._queue_name} has no flavors, so it can admit nothing", hint)
        message = f"the pods of {name} request a topology, and none of the resources they request has a flavor with one"
        return Shortfall(message, "request a resource whose flavors have a topology", name)

    def _several(self) -> Shortfall:
        assigned = next(item for item in self.assignment.pod_sets if item.error)
        flavors = sorted({c.flavor for c in assigned.flavors.values() if c.flavor in self.state.trees})
        message = f"the pods of {assigned.pod_set.name} get flavors with different topologies: {' and '.join(flavors)}"
        hint = "put resources that pods request together into one resource group of the ClusterQueue"
        return Shortfall(message, self._of_queue(hint, "resourceGroups"), assigned.pod_set.name)

    def _asks_nothing(self) -> Shortfall:
        pod_sets = (assigned.pod_set for assigned in self.assignment.pod_sets if assigned.placement)
        name = next((pod_set.name for pod_set in pod_sets if not pod_set.per_pod), "")
        idle = f", and the pods of {name} request none" if name else ""
        message = f"Kueue assigns pods to a topology only if they request resources{idle}"
        return Shortfall(message, "add a request to the pods, such as cpu: 100m", name)
