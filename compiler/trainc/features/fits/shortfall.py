"""Why a job can never be admitted, and the nearest alternative that would be: the message and the suggested change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.api.kube import names
from trainc.api.records import dataclass
from trainc.features.fits.assigner import (
    NO_MATCH,
    NO_TOPOLOGY,
    NOT_COVERED,
    SEVERAL,
    TOO_MUCH,
    TOPOLOGY,
    Assigned,
    Assignment,
    State,
)
from trainc.features.fits.cluster import ClusterQueue
from trainc.features.fits.nodes import Inventory, Shortfall, split_hint, too_small
from trainc.features.fits.placement import NoPlace
from trainc.features.fits.pods import (
    HOSTNAME,
    amount_with_unit,
    bare_amount,
    counted_pods,
    level_word,
    out_of_range,
    over_limit,
    requests_text,
)
from trainc.features.fits.scheduling import (
    LIMIT_RANGE,
    NAMESPACE,
    NO_LONGER,
    RESOURCES,
    Entry,
    most_pods,
    softer_topologies,
    would_be_admitted,
)
from trainc.features.fits.workload import PodSet, Workload, with_tolerations, with_topology

PARTIAL_SLICE, GAPS = "partial-slice", "gaps"


def unplaced_pods(one: PodSet, placed: int) -> Shortfall:
    """Why pods are left when Kueue places whole slices only: they keep their scheduling gate."""
    size = one.topology.slices[0][1]
    message = (
        f"Kueue before 0.19.6 places only whole slices of {size} pods, so {one.count - placed} of the "
        f"{counted_pods(one.count)} of {one.name} are never scheduled"
    )
    fewer = f"write numNodes: {placed}" if one.step == names.TRAINER else f"reduce {one.name} to {counted_pods(placed)}"
    return Shortfall(message, f"{fewer}, or another slice size", one.name)


def left_in_domain(one: PodSet, domain: str, count: int, held: int) -> Shortfall:
    """Why pods may be left in the domain in which Kueue places them: it looks at the sum of the nodes there."""
    message = (
        f"Kueue before 0.20 adds up the nodes of {domain}, where it places {counted_pods(count)} of {one.name} if the "
        f"cluster is idle; one by one, they have room for {held}, and the others keep the quota and wait"
    )
    hint = f"end the levels of the Topology with {HOSTNAME}, update Kueue, or request what divides a node evenly"
    return Shortfall(message, hint, one.name, certain=False)


def shortfall(entry: Entry, queue: ClusterQueue, state: State, inventory: Inventory) -> Shortfall:
    """What prevents a job from being admitted to its queue."""
    return _Looker(entry.workload, entry.assignment or Assignment(), queue, state, inventory).explained(entry.cause)


@dataclass(frozen=True, slots=True)
class _Looker:
    workload: Workload
    found: Assignment
    queue: ClusterQueue
    state: State
    inventory: Inventory

    def explained(self, cause: str) -> Shortfall:
        explain = {
            NAMESPACE: self._namespace,
            RESOURCES: self._over_limit,
            LIMIT_RANGE: self._out_of_range,
            NOT_COVERED: self._not_covered,
            TOO_MUCH: self._too_much,
            NO_MATCH: self._no_match,
            TOPOLOGY: self._no_place,
            NO_TOPOLOGY: self._no_topology,
            SEVERAL: self._several,
            NO_LONGER: self._asks_nothing,
        }.get(cause)
        return explain() if explain else Shortfall(f"Kueue can never admit it ({cause})", "check the ClusterQueue")

    @property
    def _named(self) -> str:
        return f"ClusterQueue {self.queue.name}"

    def _namespace(self) -> Shortfall:
        name = self.workload.namespace
        if name not in self.state.cluster.namespaces:
            return Shortfall(f"there is no namespace {name}", "create it, or export the namespaces again")
        hint = "set namespaceSelector: {} on the ClusterQueue to accept every namespace"
        selector = self.queue.namespaces
        if selector and selector.get("matchLabels"):
            labels = ", ".join(f"{key}: {value}" for key, value in selector["matchLabels"].items())
            hint = f"label the namespace with {labels}"
        return Shortfall(f"{self._named} does not accept jobs from namespace {name} (see its namespaceSelector)", hint)

    def _over_limit(self) -> Shortfall:
        one, place, over = next((s, p, n) for s in self.workload.pod_sets for p, n in over_limit(s.pod))
        where = _container(one, place)
        message = f"{where} requests more {' and '.join(over)} than its limit"
        return Shortfall(message, "raise the limit; if the manifest sets none, it comes from a LimitRange", one.name)

    def _out_of_range(self) -> Shortfall:
        limits = self.state.cluster.limits[self.workload.namespace]
        one, place, outside, bound = next(
            (s, p, n, b) for s in self.workload.pod_sets for p, n, b in out_of_range(s.pod, limits)
        )
        where, side = _container(one, place), "above the max" if bound == "max" else "below the min"
        message = f"{' and '.join(outside)} of {where} {'are' if len(outside) > 1 else 'is'} {side} of a LimitRange"
        return Shortfall(message, f"request {'less' if bound == 'max' else 'more'}, or change the LimitRange", one.name)

    def _not_covered(self) -> Shortfall:
        one = next(each for each in self.found.pod_sets if each.uncovered)
        message = f"{self._named} has no quota for {one.uncovered}, which the pods of {one.pod_set.name} request"
        return Shortfall(
            message,
            f"remove the request, or add {one.uncovered} to coveredResources of the ClusterQueue",
            one.pod_set.name,
        )

    def _too_much(self) -> Shortfall:
        one, flavor, resource, requested, most = self._shortest()
        key = (flavor, resource)
        own = min(most, self.queue.quotas[key].nominal if key in self.queue.quotas else 0)
        where = f" in flavor {flavor}" if len(self.queue.flavors) > 1 else ""
        message = (
            f"the job requests {amount_with_unit(resource, requested)}, and {self._named} can provide at most {bare_amount(resource, most)}{where}: "
            f"{self._sources(resource, own, most)}"
        )
        fewer, amount = self._fewer(one.pod_set, resource)
        if fewer:
            total = bare_amount(resource, requested - amount)
            message += f"; {total} would fit: {self._size(fewer[0], fewer[1])}"
        hint = f"raise the nominalQuota of {self._named} for {resource} in flavor {flavor} by {bare_amount(resource, requested - most)}"
        if fewer:
            hint = f"{self._reduced(*fewer)}, or {hint}"
        return Shortfall(message, hint, fewer[0].name if fewer else one.pod_set.name)

    def _shortest(self) -> tuple[Assigned, str, str, int, int]:
        """The closest flavor and its scarcest resource, with the requested and the largest possible amount."""
        candidates = [
            (max((requested / max(most, 1), name) for name, (requested, most) in attempt.short.items()), flavor, one)
            for one in self.found.pod_sets
            for flavor, attempt in one.attempts.items()
            if attempt.short
        ]
        (_, resource), flavor, one = min(candidates, key=lambda item: (item[0], item[1]))
        requested, most = one.attempts[flavor].short[resource]
        return one, flavor, resource, requested, most

    def _sources(self, resource: str, own: int, most: int) -> str:
        if not self.queue.cohort:
            return "all from its own quota"
        borrowed = f"{bare_amount(resource, most - own)} borrowed from cohort {self.queue.cohort}"
        return f"{bare_amount(resource, own)} of its own, {borrowed}"

    def _fewer(self, failing: PodSet, resource: str = "") -> tuple[tuple[PodSet, int] | None, int]:
        """The pod set to shrink with the largest size that would fit, and how much of `resource` that saves."""
        for one in dict.fromkeys((failing.name, *(each.name for each in self._trainers))):
            pod_set = next(each for each in self.workload.pod_sets if each.name == one)
            count = most_pods(self.workload, one, self.queue, self.state) if pod_set.count > 1 else 0
            if count:
                return (pod_set, count), (pod_set.count - count) * pod_set.one.get(resource, 0)
        return None, 0

    @property
    def _trainers(self) -> list[PodSet]:
        """The pod sets that a TrainJob's `numNodes` counts."""
        return [one for one in self.workload.pod_sets if one.step == names.TRAINER]

    def _size(self, one: PodSet, count: int) -> str:
        if one.step != names.TRAINER:
            return f"{counted_pods(count)} of {one.name}"
        return f"numNodes {count + sum(other.count for other in self._trainers if other.name != one.name)}"

    def _reduced(self, one: PodSet, count: int) -> str:
        size = self._size(one, count)
        return (
            f"write {size.replace(' ', ': ')}"
            if one.step == names.TRAINER
            else f"reduce {one.name} to {counted_pods(count)}"
        )

    def _no_match(self) -> Shortfall:
        one = next((each for each in reversed(self.found.pod_sets) if each.failed), None)
        if one is None:
            return Shortfall(f"{self._named} has no flavor for it", "check the flavors of the ClusterQueue")
        reasons = [f"{name}: {attempt.reason}" for name, attempt in one.attempts.items() if attempt.reason]
        message = f"no flavor of {self._named} accepts the pods of {one.pod_set.name}: {'; '.join(reasons)}"
        return Shortfall(message, self._flavor_hint(one), one.pod_set.name)

    def _flavor_hint(self, one: Assigned) -> str:
        for taints in self._taints(one):
            added = [{"key": t.get("key"), "operator": "Exists", "effect": t.get("effect")} for t in taints]
            if would_be_admitted(with_tolerations(self.workload, added), self.queue, self.state):
                written = ", ".join("{" + ", ".join(f"{k}: {v}" for k, v in each.items()) + "}" for each in added)
                return f"add to the pod spec: tolerations: [{written}]"
        topology = one.pod_set.topology
        softened = with_topology(self.workload, one.pod_set.name, type(topology)())
        if topology.explicit and would_be_admitted(softened, self.queue, self.state):
            return "remove the topology annotation from the pods: without it, they fit"
        return "change the pods to match one of the flavors, or add a flavor that matches them to the ClusterQueue"

    def _taints(self, one: Assigned) -> Iterator[list[dict[str, str]]]:
        for name in one.attempts:
            flavor = self.state.cluster.flavors.get(name)
            taints = (
                [dict(t) for t in flavor.taints if t.get("effect") in ("NoSchedule", "NoExecute")] if flavor else []
            )
            if taints:
                yield taints

    def _no_place(self) -> Shortfall:
        one = next(each for each in self.found.pod_sets if each.no_place)
        lacking = one.no_place
        assert lacking is not None
        flavor = self.state.cluster.flavors[one.tree]
        usable = self.inventory.usable(one.pod_set.pod, [flavor])
        if not lacking.reason and not usable.held(one.pod_set.one):
            why = too_small(one.pod_set, usable, f" of flavor {one.tree}")
            hint = split_hint(self.workload, one.pod_set, usable, self._would_do)
            hint = hint or "request less per pod, or add larger nodes to the flavor"
            return Shortfall(f"no node can run a pod of {one.pod_set.name}: {why}", hint, one.pod_set.name)
        message = self._room(one, lacking)
        softer = self._softer(one)
        if softer:
            kind = softer.partition(":")[0].removeprefix("podset-")
            return Shortfall(
                f"{message}; {kind} would fit",
                f"use this annotation on the pods instead: kueue.x-k8s.io/{softer}",
                one.pod_set.name,
            )
        fewer, _ = self._fewer(one.pod_set)
        if fewer:
            size = self._size(*fewer)
            return Shortfall(
                f"{message}; {counted_pods(fewer[1])} would fit: {size}", self._reduced(*fewer), one.pod_set.name
            )
        return Shortfall(message, "request less per pod, or add larger nodes to the flavor", one.pod_set.name)

    def _room(self, one: Assigned, lacking: NoPlace) -> str:
        pod_set = one.pod_set
        if lacking.reason:
            return f"the pods of {pod_set.name} do not fit into flavor {one.tree}: {lacking.reason}"
        pods = requests_text(lacking.size, pod_set.one)
        slices = lacking.size > 1
        needed = f"{lacking.count} slices of {pods}" if slices else requests_text(lacking.count, pod_set.one)
        if lacking.tail:
            needed += f" and one of {lacking.tail}"
        if lacking.level:
            return f"no {level_word(lacking.level)} has room for {needed}; the largest has room for {lacking.most}"
        return (
            f"the nodes of flavor {one.tree} do not have room for {needed}; together they have room for {lacking.most}"
        )

    def _would_do(self, changed: Workload) -> bool:
        return would_be_admitted(changed, self.queue, self.state)

    def _softer(self, one: Assigned) -> str:
        requested = one.pod_set.topology
        for annotation, softer in softer_topologies(requested, self.state.trees[one.tree]):
            if would_be_admitted(with_topology(self.workload, one.pod_set.name, softer), self.queue, self.state):
                return annotation
        return ""

    def _no_topology(self) -> Shortfall:
        name = next(one.pod_set.name for one in self.found.pod_sets if one.error)
        if not self.queue.flavors:
            return Shortfall(f"{self._named} has no flavors, so it can admit nothing", "add spec.resourceGroups to it")
        message = f"the pods of {name} request a topology, and none of the resources they request has a flavor with one"
        return Shortfall(message, "request a resource whose flavors have a topology", name)

    def _several(self) -> Shortfall:
        one = next(each for each in self.found.pod_sets if each.error)
        flavors = sorted({c.flavor for c in one.flavors.values() if c.flavor in self.state.trees})
        message = f"the pods of {one.pod_set.name} get flavors with different topologies: {' and '.join(flavors)}"
        return Shortfall(
            message,
            "put resources that pods request together into one resource group of the ClusterQueue",
            one.pod_set.name,
        )

    def _asks_nothing(self) -> Shortfall:
        idle = (one.pod_set.name for one in self.found.pod_sets if one.placement and not one.pod_set.one)
        name = next(idle, "")
        message = "Kueue assigns pods to a topology only if they request resources" + (
            f", and the pods of {name} request none" if name else ""
        )
        return Shortfall(message, "add a request to the pods, such as cpu: 100m", name)


def _container(one: PodSet, place: Iterable[str | int]) -> str:
    path = list(place)
    if not path:
        return f"a pod of {one.name}"
    kind, index = str(path[0]), int(path[1])
    return f"container {one.pod[kind][index].get('name', index)} of {one.name}"
