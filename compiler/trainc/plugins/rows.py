"""The rows with which a plugin tells `explain` where its fields come from, and the references to inputs that they yield.

A plugin's `explain` module has ROWS, a list of rows for each extension point. The first row whose pattern matches a leaf
explains it. Tests check the rows against the passes.
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
    """A field of the JobSet at that step, which stands for the inputs of that field."""

    path: FieldPath


@dataclass(frozen=True, slots=True)
class TemplateField:
    """A field of the JobSet as the runtime and its patches set it, before the TrainJob replaced it."""

    path: FieldPath


@dataclass(frozen=True, slots=True)
class FixedRule:
    """The rule that decides a value that no document sets."""

    rule: str


Ref: TypeAlias = TrainJobField | RuntimeField | JobSetField | TemplateField | FixedRule


@dataclass(frozen=True, slots=True)
class Situation:
    """The state before a step, and the leaf that the step set: `path` and `value`, in the named object.

    `is_set` says whether the JobSet has a field at that step.
    """

    job: TrainJob
    info: Info
    is_set: Callable[[FieldPath], bool]
    path: FieldPath = ()
    value: object = None
    object: str = ""

    @property
    def pod_set(self) -> PodSet | None:
        """The pod set of the replicated job that contains the leaf."""
        inside = len(self.path) > 2 and self.path[1] == "replicatedJobs"
        return self.info.pod_set(str(self.path[2])) if inside else None


Reading: TypeAlias = Callable[[Situation], Iterable[Ref]]


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the leaves that it explains, the inputs read for them, and the deviation that affects them.

    `pattern` is a field expression as `trainc explain` accepts it, and matches everything below that field. `verbatim`
    is true if the TrainJob's value is carried over unchanged.
    """

    pattern: str
    reads: tuple[Reading, ...]
    deviation: Callable[[Situation], str] = lambda _: ""
    verbatim: bool = False

    def refs(self, s: Situation) -> Iterable[Ref]:
        """Return the inputs that were read."""
        return (ref for reading in self.reads for ref in reading(s))


Rows: TypeAlias = Mapping[str, tuple[Row, ...]]


def when(condition: Callable[[Situation], bool], deviation: str) -> Callable[[Situation], str]:
    """Return a function that returns `deviation` if the condition is true, and none under `controller` semantics."""
    return lambda s: deviation if s.info.gitops and condition(s) else ""
