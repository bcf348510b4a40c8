"""The data model of a local run: steps of pods, pods of programs, and the policies that decide how the job ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from trainc.diagnostics import Finding
from trainc.startup.records import dataclass

ProgramKind = Literal["init", "sidecar", "main"]


@dataclass(frozen=True, slots=True)
class Program:
    """A container as a local process: its command, and the variables it has in addition to the inherited ones.

    `folder` is its working directory, empty for the current one. An `init` program must end before the next one starts;
    a `sidecar` runs until the main programs have ended.
    """

    name: str
    kind: ProgramKind
    words: tuple[str, ...]
    env: Mapping[str, str]
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of one replica of a step. `name` is its host name; `short` omits the job's name."""

    name: str
    short: str
    step: str
    replica: int
    programs: tuple[Program, ...]
    index: int = 0


@dataclass(frozen=True, slots=True)
class SuccessRule:
    """A rule of a Job's successPolicy: `count` of the given indexes have succeeded, or all of them if it is None.

    If `indexes` is None, any index counts.
    """

    indexes: frozenset[int] | None
    count: int | None

    def is_met(self, succeeded: frozenset[int]) -> bool:
        """Whether a Job succeeds once these indexes have succeeded."""
        if self.indexes is None:
            return self.count is not None and len(succeeded) >= self.count
        found = succeeded & self.indexes
        return bool(found) and len(found) >= (len(self.indexes) if self.count is None else self.count)


@dataclass(frozen=True, slots=True)
class ExitRule:
    """A rule of a podFailurePolicy: exit codes that are (or are not) among `codes`, and the action they trigger."""

    action: str
    among: bool
    codes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Step:
    """A replicated job. `after` lists the steps that must be Ready or Complete first; each replica is one Job.

    A Job runs at most `parallelism` pods at a time. It fails after more than `backoff_limit` failures, or after
    `deadline` seconds. With `limit_per_index`, each index fails on its own, and more than `most_failed` failed indexes
    end the Job.
    It succeeds as soon as one of `success_rules` is met.
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
    """A rule of a JobSet's failurePolicy, for the listed steps and reasons; an empty list matches all."""

    action: str
    steps: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A JobSet's policies: when it succeeds, and what happens if one of its Jobs fails."""

    operator: str
    targets: tuple[str, ...]
    max_restarts: int
    rules: tuple[FailureRule, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that `trainc run` does: the folders and files to create, the steps to run, and the findings to report.

    `files` maps paths to text; those in `executable` are stand-in programs. Paths are absolute.
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
    """The facts about the local machine that a plan depends on.

    `programs` maps the requested names found on the PATH to their paths; `ports` are free ports; `places` maps folders
    of the image to local folders; `python` is the requested interpreter, and `missing` are the requested modules that
    it lacks.
    """

    workdir: str
    environ: Mapping[str, str]
    programs: Mapping[str, str]
    ports: tuple[int, ...]
    places: Mapping[str, str]
    python: str = ""
    is_root: bool = False
    missing: frozenset[str] = frozenset()
