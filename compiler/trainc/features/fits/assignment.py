"""The result of scheduling a job: the flavors and domains of its pod sets, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TypeAlias

from trainc.api.records import dataclass, field
from trainc.features.fits.cluster import ClusterQueue, FlavorResource
from trainc.features.fits.placement import NoPlace
from trainc.features.fits.requests import Amounts
from trainc.features.fits.topology import Placement
from trainc.features.fits.workload import PodSet

# By pod set: resource -> index of the flavor at which the search stopped, -1 if all flavors were tried.
Progress: TypeAlias = tuple[Mapping[str, int], ...]
# Pod set -> resource -> flavor.
Chosen: TypeAlias = Mapping[str, Mapping[str, str]]


class Mode(IntEnum):
    """Whether a flavor is unavailable, available once other jobs finish, or available now."""

    NO = 0
    WAITS = 1
    FITS = 2


# Causes, mildest first.
TOPOLOGY, QUOTA_TAKEN, TOO_MUCH, NO_MATCH = "topology", "waiting-for-quota", "exceeds-max-quota", "no-matching-flavor"
_SEVERITY = ("", TOPOLOGY, QUOTA_TAKEN, TOO_MUCH, NO_MATCH)
NOT_COVERED, NO_TOPOLOGY, SEVERAL = "resource-not-covered", "no-topology-flavor", "several-topologies"


def more_severe(left: str, right: str) -> str:
    """The more severe of two causes."""
    return max(left, right, key=_SEVERITY.index)


@dataclass(slots=True)
class Choice:
    """A flavor chosen for a resource: its mode, how far up the tree quota is borrowed, and where the search stopped."""

    flavor: str
    mode: Mode
    level: int
    tried: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of trying a flavor: its mode, the cause if it does not fit, and a description of the mismatch.

    `short` maps resources that can never suffice to (requested amount, largest possible amount).
    """

    mode: Mode
    cause: str
    reason: str = ""
    short: Mapping[str, tuple[int, int]] = field(default_factory=dict)


Attempts: TypeAlias = dict[str, Attempt]


@dataclass(slots=True)
class Assigned:
    """The assignment of a pod set. `waiting` means that some flavor is in use, `failed` that none was found.

    `error` is a cause that no flavor can avoid; `uncovered` is a resource that the queue does not cover.
    """

    pod_set: PodSet
    requested: Amounts
    flavors: dict[str, Choice]
    attempts: Attempts
    waiting: bool
    failed: bool
    error: str
    uncovered: str
    placement: Placement | None = None
    tree: str = ""
    no_place: NoPlace | None = None

    @property
    def mode(self) -> Mode:
        """The worst mode of its flavors."""
        if self.error:
            return Mode.NO
        if not self.waiting and not self.failed:
            return Mode.FITS
        return min((choice.mode for choice in self.flavors.values()), default=Mode.NO)


@dataclass(slots=True)
class Assignment:
    """The result for a job: its pod sets as far as the search got. `level` is how far up the tree quota is borrowed.

    `saw_nodes` means that the result depends on what is placed on the nodes.
    """

    pod_sets: list[Assigned] = field(default_factory=list)
    used: dict[FlavorResource, int] = field(default_factory=dict)
    level: int = 0
    mode: Mode = Mode.NO
    saw_nodes: bool = False

    @property
    def progress(self) -> Progress:
        """How far the search of each pod set got."""
        return tuple({name: choice.tried for name, choice in one.flavors.items()} for one in self.pod_sets)

    @property
    def chosen(self) -> Chosen:
        """The flavors of each pod set."""
        return {one.pod_set.name: {res: c.flavor for res, c in one.flavors.items()} for one in self.pod_sets}

    def add(self, one: Assigned) -> None:
        """Add a pod set and charge its usage."""
        self.pod_sets.append(one)
        for name, choice in one.flavors.items():
            self.level = max(self.level, choice.level)
            key = (choice.flavor, name)
            self.used[key] = self.used.get(key, 0) + one.requested.get(name, 0)

    def settle(self) -> Mode:
        """Set the mode to the worst of the pod sets."""
        self.mode = min((one.mode for one in self.pod_sets), default=Mode.NO)
        return self.mode

    def put(self, places: Mapping[str, Placement]) -> None:
        """Record the placement of pod sets."""
        for one in self.pod_sets:
            one.placement = places.get(one.pod_set.name, one.placement)

    def lower(self, one: Assigned, mode: Mode) -> None:
        """Set the mode of a pod set's flavors, and with it that of the whole assignment."""
        one.waiting = True
        for choice in one.flavors.values():
            choice.mode = mode
        self.mode = mode

    def cause(self, queue: ClusterQueue) -> str:
        """Why there is no assignment; empty if there is one."""
        error = next((one.error for one in self.pod_sets if one.error), "")
        if error or self.mode != Mode.NO:
            return error
        if any(one.uncovered for one in self.pod_sets):
            return NOT_COVERED
        return max((_pod_set_cause(one, queue) for one in self.pod_sets), key=_SEVERITY.index, default="")


def _pod_set_cause(one: Assigned, queue: ClusterQueue) -> str:
    """The mildest cause within each resource group, as any flavor would do; the most severe one across groups."""
    if one.no_place:
        return TOPOLOGY
    if one.mode != Mode.NO:
        return ""
    refused = {name: attempt.cause for name, attempt in one.attempts.items() if attempt.mode == Mode.NO}
    groups = [[refused[name] for name in group.flavors if name in refused] for group in queue.groups]
    mildest = [min(causes, key=_SEVERITY.index) for causes in groups if causes]
    return max(mildest, key=_SEVERITY.index, default=NO_MATCH)
