"""What a comparison found, as data: the reporters write it, and nothing else reads it."""

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
    """One of the two: what it is called, and its manifests."""

    label: str
    manifests: Sequence[Manifest]


@dataclass(frozen=True, slots=True)
class Versions:
    """A value on both sides; None where a side has no such object."""

    before: Totals | None
    after: Totals | None

    @property
    def differ(self) -> bool:
        """Whether the two are not the same."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """One object. `verdicts` is by method; `renamed` is the name before and after, where a content hash changed."""

    key: ObjectKey
    status: Status
    changes: tuple[Change, ...]
    moves: tuple[Move, ...]
    verdicts: Mapping[str, Verdict]
    renamed: tuple[str, str] | None = None

    def outcomes(self, index: int) -> dict[str, Outcome]:
        """What each method does about one change."""
        return {method: verdict.per_change[index] for method, verdict in self.verdicts.items()}


@dataclass(frozen=True, slots=True)
class JobDiff:
    """One job with the objects that differ, or one object that belongs to none (`kind` is then not JobSet).

    `outcomes` is the worst of its objects by method. `notes` are whole sentences.
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
        """What it is called: "team-a/llm", with its kind where that is not JobSet."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return name if self.kind == "JobSet" else f"{self.kind} {name}"


@dataclass(frozen=True, slots=True)
class Diff:
    """Two sets of manifests compared.

    `jobs` are those that differ, by namespace and name; `unchanged` counts the others. `method` is the one that the
    options choose, and `deliveries` are those to be shown. `totals` are over all jobs, unchanged ones included.
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
        """Whether any field differs; lists in another order do not count."""
        return any(job.status != "unchanged" for job in self.jobs)
