"""What a job is on one machine: steps of pods, pods of programs, and the policies that decide how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from trainc.diagnostics import Finding
from trainc.startup.records import dataclass

ProgramKind = Literal["init", "sidecar", "main"]


@dataclass(frozen=True, slots=True)
class Program:
    """A container as a process: its words, and the variables that it has beside those of this machine.

    `folder` is where it starts, empty for the current one. An `init` program ends before the next one starts; a
    `sidecar` runs until the main programs have ended.
    """

    name: str
    kind: ProgramKind
    words: tuple[str, ...]
    env: Mapping[str, str]
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of one replica of a step. `name` is its host name, `short` the same without the name of the job."""

    name: str
    short: str
    step: str
    replica: int
    programs: tuple[Program, ...]
    index: int = 0


@dataclass(frozen=True, slots=True)
class SuccessRule:
    """A rule of a Job's successPolicy: `count` of these indexes have succeeded, all of them where it is None.

    Where `indexes` is None, `count` of any.
    """

    indexes: frozenset[int] | None
    count: int | None

    def is_met(self, succeeded: frozenset[int]) -> bool:
        """Whether a Job of which these indexes have succeeded has as well."""
        if self.indexes is None:
            return self.count is not None and len(succeeded) >= self.count
        found = succeeded & self.indexes
        return bool(found) and len(found) >= (len(self.indexes) if self.count is None else self.count)


@dataclass(frozen=True, slots=True)
class ExitRule:
    """A rule of a podFailurePolicy: exit codes that are, or are not, among `codes`, and what they do to the Job."""

    action: str
    among: bool
    codes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Step:
    """A replicated job. `after` has the steps that must be Ready or Complete before it; each replica is one Job.

    Of a Job's pods, `parallelism` run at a time; with more than `backoff_limit` failures it has failed, after `deadline`
    seconds too. With `limit_per_index`, each index fails by itself, and more than `most_failed` of them end the Job.
    Where one of `success_rules` is met, the Job has succeeded.
    """

    name: str
    pods: tuple[Pod, ...]
    after: tuple[tuple[str, str], ...]
    parallelism: int
    backoff_limit: int
    exit_rules: tuple[ExitRule, ...] = ()
    deadline: int | None = None
    limit_per_index: int | None = None
    most_failed: int | None = None
    success_rules: tuple[SuccessRule, ...] = ()


@dataclass(frozen=True, slots=True)
class FailureRule:
    """A rule of a JobSet's failurePolicy: the steps and reasons that it is for, all of them where it names none."""

    action: str
    steps: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The policies of a JobSet: when it has succeeded, and what happens when one of its Jobs fails."""

    operator: str
    targets: tuple[str, ...]
    max_restarts: int
    rules: tuple[FailureRule, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that `trainc run` does: folders and files to make, steps to run, and what there is to say first.

    `files` are texts by path; those in `executable` are programs that stand in for others. Paths are absolute.
    """

    name: str
    steps: tuple[Step, ...]
    outcome: Outcome
    folders: tuple[str, ...]
    files: Mapping[str, str]
    executable: frozenset[str]
    findings: tuple[Finding, ...]

    @property
    def pods(self) -> int:
        """Pods of all steps."""
        return sum(len(step.pods) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Machine:
    """What a plan has to know of the machine: all that makes it differ from one to the next.

    `programs` are the names on the PATH that were asked about, with their paths; `ports` are free ones; `places` says
    where a folder of the image is here; `python` is the interpreter that was asked for, and `missing` are the modules
    that it was asked about and does not have.
    """

    workdir: str
    environ: Mapping[str, str]
    programs: Mapping[str, str]
    ports: tuple[int, ...]
    places: Mapping[str, str]
    python: str = ""
    is_root: bool = False
    missing: frozenset[str] = frozenset()
