"""The result of a comparison as data, for the reporters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from trainc.api.documents import Manifest
from trainc.diff.changes import Change, Move
from trainc.diff.delivery import DeliveryMethod
from trainc.diff.objects import ObjectKey
from trainc.diff.outcomes import Outcome
from trainc.diff.steps import Step, Totals
from trainc.diff.verdicts import Verdict
from trainc.startup.records import dataclass

Status: TypeAlias = Literal["added", "removed", "changed", "unchanged"]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the comparison: its display name and its manifests."""

    label: str
    manifests: Sequence[Manifest]


@dataclass(frozen=True, slots=True)
class Versions:
    """A value on both sides; None on a side where the object does not exist."""

    before: Totals | None
    after: Totals | None

    @property
    def differ(self) -> bool:
        """Whether the two values differ."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """A changed object. `verdicts` is by delivery method; `renamed` is (before, after) if only the hash changed."""

    key: ObjectKey
    status: Status
    changes: tuple[Change, ...]
    moves: tuple[Move, ...]
    verdicts: Mapping[str, Verdict]
    renamed: tuple[str, str] | None = None

    def outcomes(self, index: int) -> dict[str, Outcome]:
        """The outcome of one change, by delivery method."""
        return {method: verdict.per_change[index] for method, verdict in self.verdicts.items()}


@dataclass(frozen=True, slots=True)
class JobDiff:
    """A job with its changed objects, or a single object that belongs to no job (`kind` is then not JobSet).

    `outcomes` maps each delivery method to the worst outcome among the objects. `notes` are full sentences.
    """

    kind: str
    namespace: str
    name: str
    status: Status
    objects: tuple[ObjectDiff, ...]
    outcomes: Mapping[str, Outcome]
    totals: Versions
    steps_before: tuple[Step, ...]
    steps_after: tuple[Step, ...]
    notes: tuple[str, ...]

    @property
    def label(self) -> str:
        """The display name: "team-a/llm", with the kind unless it is JobSet."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return name if self.kind == "JobSet" else f"{self.kind} {name}"


@dataclass(frozen=True, slots=True)
class Diff:
    """The comparison of two sets of manifests.

    `jobs` are the changed jobs, ordered by namespace and name; `unchanged` counts the others. `method` is the one
    selected by the options, and `deliveries` are those to show. `totals` covers all jobs, including unchanged ones.
    """

    before: str
    after: str
    release: str
    method: DeliveryMethod
    deliveries: tuple[DeliveryMethod, ...]
    jobs: tuple[JobDiff, ...]
    unchanged: int
    totals: Versions
    notes: tuple[str, ...]

    @property
    def has_changes(self) -> bool:
        """Whether any field differs; reordered lists do not count."""
        return any(job.status != "unchanged" for job in self.jobs)
