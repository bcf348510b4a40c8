"""What `explain` says of a plugin's fields: rows of a table, and how a row refers to what was read.

A plugin's `explain` module has ROWS: by extension point, rows in order, of which the first whose pattern names a leaf
speaks for it. They are declared beside the passes and held to them by tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from trainc.api.field_path import FieldPath
from trainc.diagnostics import Path
from trainc.ir.info import Info
from trainc.ir.podset import PodSet
from trainc.ir.trainjob import TrainJob
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class TrainJobField:
    """A field of the TrainJob."""

    path: Path


@dataclass(frozen=True, slots=True)
class RuntimeField:
    """A field of the runtime's document."""

    path: Path


@dataclass(frozen=True, slots=True)
class JobSetField:
    """A field of the JobSet as it is at the time: stands for whatever that was taken from."""

    path: FieldPath


@dataclass(frozen=True, slots=True)
class TemplateField:
    """A field of the JobSet as the runtime and its patches had it, whatever the TrainJob put in its place."""

    path: FieldPath


@dataclass(frozen=True, slots=True)
class FixedRule:
    """No document says it: the rule that decides instead."""

    rule: str


Ref: TypeAlias = TrainJobField | RuntimeField | JobSetField | TemplateField | FixedRule


@dataclass(frozen=True, slots=True)
class Situation:
    """What a step had before it, and `path` and `value` of the leaf that it set, in the object of that name.

    `is_set` tells whether the JobSet has a field at the time.
    """

    job: TrainJob
    info: Info
    is_set: Callable[[FieldPath], bool]
    path: FieldPath = ()
    value: object = None
    object: str = ""

    @property
    def pod_set(self) -> PodSet | None:
        """The pod set of the replicated job that the leaf lies in."""
        inside = len(self.path) > 2 and self.path[1] == "replicatedJobs"
        return self.info.pod_set(str(self.path[2])) if inside else None


Reading: TypeAlias = Callable[[Situation], Iterable[Ref]]


@dataclass(frozen=True, slots=True)
class Row:
    """Which leaves, what was read for them, and which deviation shows in them.

    `pattern` is a field expression as `trainc explain` takes it, and covers what lies below it. `verbatim` says that the
    value is the TrainJob's own, carried over as it is.
    """

    pattern: str
    reads: tuple[Reading, ...]
    deviation: Callable[[Situation], str] = lambda _: ""
    verbatim: bool = False

    def refs(self, s: Situation) -> Iterable[Ref]:
        """What was read."""
        return (ref for reading in self.reads for ref in reading(s))


Rows: TypeAlias = Mapping[str, tuple[Row, ...]]


def when(condition: Callable[[Situation], bool], deviation: str) -> Callable[[Situation], str]:
    """A deviation that shows under a condition; under `controller` semantics none does."""
    return lambda s: deviation if s.info.gitops and condition(s) else ""
