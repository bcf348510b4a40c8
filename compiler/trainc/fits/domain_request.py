"""What is to be placed on a topology, in terms of its levels, and the answer that there is no place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from trainc.fits.amounts import Amounts
from trainc.fits.topology import Values
from trainc.fits.workload import PodSet
from trainc.startup.records import dataclass, field

# What is taken of each lowest domain, in parts to be added up.
Taken: TypeAlias = Sequence[Mapping[Values, Amounts]]


@dataclass(frozen=True, slots=True)
class Request:
    """The pods to be placed together: a pod set, and with it the single pod of its group's other pod set, the leader."""

    workers: PodSet
    leader: PodSet | None
    implied: bool


@dataclass(frozen=True, slots=True)
class NoPlace:
    """That pods found no place: the domain of `level` with the most room holds `most` of the `count` wanted.

    Both count slices of `size` pods. `reason` says what else was wrong, such as a level that the topology lacks.
    """

    reason: str = ""
    level: str = ""
    most: int = 0
    count: int = 0
    size: int = 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for, in terms of levels of the tree. `inner` is the slice size by level below the outer slices."""

    count: int
    leaders: int
    level: int
    slice_level: int
    size: int
    required: bool
    free: bool
    inner: Mapping[int, int] = field(default_factory=dict)
