"""A placement request in terms of topology levels, and the answer that there is no place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from trainc.features.fits.amounts import Amounts
from trainc.features.fits.topology import Values
from trainc.features.fits.workload import PodSet
from trainc.startup.records import dataclass, field

# The usage of each lowest-level domain, as several mappings to be added up.
Taken: TypeAlias = Sequence[Mapping[Values, Amounts]]


@dataclass(frozen=True, slots=True)
class Request:
    """Pods to place together: a pod set and, as the leader, the single pod of the other pod set in its group."""

    workers: PodSet
    leader: PodSet | None
    implied: bool


@dataclass(frozen=True, slots=True)
class NoPlace:
    """No place was found: of the `count` requested, the roomiest domain of `level` holds `most`.

    Both count slices of `size` pods. `reason` describes another problem, such as a level missing from the topology.
    """

    reason: str = ""
    level: str = ""
    most: int = 0
    count: int = 0
    size: int = 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request in terms of tree levels. `inner` is the slice size for each level below the outer slices."""

    count: int
    leaders: int
    level: int
    slice_level: int
    size: int
    required: bool
    free: bool
    inner: Mapping[int, int] = field(default_factory=dict)
