"""Decides which pods start, restart and end, given how pods end, as the Job and JobSet controllers do.

Sources: kubernetes pkg/controller/job (backoffLimit, podFailurePolicy, success_policy.go, backoff_utils.go and
indexed_job_utils.go for backoffLimitPerIndex) and jobset pkg/controllers (dependsOn, success_policy.go,
failure_policy.go). The delays between attempts are not modeled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from trainc.api.records import dataclass
from trainc.features.authoring.run.model import Plan, Pod, Step


@dataclass(frozen=True, slots=True)
class Start:
    """Start this pod, for the first time or again."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop these pods, or every running pod if empty."""

    why: str
    pods: tuple[Pod, ...] = ()


@dataclass(frozen=True, slots=True)
class Finish:
    """The job has ended with this exit status."""

    status: int
    why: str


Action: TypeAlias = Start | Stop | Finish
_Job: TypeAlias = tuple[str, int]


class Lifecycle:
    """A running job. Each event returns the actions it causes."""

    def __init__(self, plan: Plan, *, restarts: bool = True) -> None:
        """Without `restarts`, the first failure ends the job."""
        self._plan = plan
        self._restarts = restarts
        self._steps = {step.name: step for step in plan.steps}
        self._used = 0
        self._restart()

    @property
    def done(self) -> int:
        """The number of successful pods, including those of Jobs that succeeded early."""
        return len(self._done)

    def begin(self) -> list[Action]:
        """Start the steps without dependencies."""
        return list(self._startable())

    def pod_ended(self, pod: Pod, status: int) -> list[Action]:
        """Handle the end of a pod, with status 0 or that of its first failed program."""
        self._running.discard(pod.name)
        if status:
            return self._failed(pod, status)
        self._done.add(pod.name)
        step, job = self._steps[pod.step], self._job_of(pod)
        early = list(self._met_early(step, job))
        if self._has_succeeded():
            return [*early, Finish(0, "the success policy is met")]
        return [*early, *(self._all_ended(step, job) or self._startable())]

    def deadline_passed(self, step: Step) -> list[Action]:
        """Handle the deadline of a step's Jobs."""
        return self._job_failed(step, "DeadlineExceeded", 1, f"{step.name} ran longer than {step.deadline} s")

    def failures(self, pod: Pod) -> int:
        """Return how many failures of the pods of its Job count so far."""
        return self._failures[pod.step, pod.replica]

    def is_complete(self, step: Step) -> bool:
        """Return whether every pod of the step has succeeded."""
        return all(pod.name in self._done for pod in step.pods)

    def _restart(self) -> None:
        self._done: set[str] = set()
        self._running: set[str] = set()
        self._failures: Counter[_Job] = Counter()
        self._index_failures: Counter[str] = Counter()
        # Indexes that have failed permanently: exit status by pod name.
        self._lost: dict[str, int] = {}

    def _startable(self) -> Iterator[Start]:
        for step in self._plan.steps:
            needed = ((self._steps[name], status) for name, status in step.after if name in self._steps)
            if not all(self._reached(other, status) for other, status in needed):
                continue
            for job in _jobs(step):  # The next pods of each Job, up to its parallelism.
                free = step.parallelism - sum(pod.name in self._running for pod in job)
                waiting = [pod for pod in job if pod.name not in self._running | self._done | self._lost.keys()]
                for pod in waiting[: max(0, free)]:
                    self._running.add(pod.name)
                    yield Start(pod)

    def _reached(self, step: Step, status: str) -> bool:
        if status == "Complete":
            return self.is_complete(step)
        waited_for = {pod.name for replica in _jobs(step) for pod in replica[: step.parallelism]}
        return waited_for <= self._running | self._done

    def _has_succeeded(self) -> bool:
        outcome = self._plan.outcome
        targets = [step for step in self._plan.steps if not outcome.targets or step.name in outcome.targets]
        complete = (all(pod.name in self._done for pod in job) for step in targets for job in _jobs(step))
        return any(complete) if outcome.operator == "Any" else all(complete)

    def _failed(self, pod: Pod, status: int) -> list[Action]:
        step = self._steps[pod.step]
        action = next((r.action for r in step.exit_rules if (status in r.codes) == r.among), "Count")
        if action == "FailJob":
            return self._job_failed(step, "PodFailurePolicy", status, f"{pod.short} exited with status {status}")
        if action != "Ignore":
            self._failures[step.name, pod.replica] += 1
        if not self._restarts or self._failures[step.name, pod.replica] > step.backoff_limit:
            return self._job_failed(step, "BackoffLimitExceeded", status, f"{pod.short} exited with status {status}")
        if step.limit_per_index is not None:
            self._index_failures[pod.name] += action != "Ignore"
            if action == "FailIndex" or self._index_failures[pod.name] > step.limit_per_index:
                return self._index_failed(step, pod, status)
        self._running.add(pod.name)
        return [Start(pod)]

    def _index_failed(self, step: Step, pod: Pod, status: int) -> list[Action]:
        """Handle the permanent failure of an index; the others continue unless too many have failed."""
        self._lost[pod.name] = status
        job = self._job_of(pod)
        lost = sum(other.name in self._lost for other in job)
        if step.most_failed is not None and lost > step.most_failed:
            why = f"{lost} indexes of {step.name} have failed"
            return self._job_failed(step, "MaxFailedIndexesExceeded", status, why)
        return self._all_ended(step, job) or list(self._startable())

    def _all_ended(self, step: Step, job: list[Pod]) -> list[Action]:
        """Fail a Job all of whose indexes have ended, at least one of them with a failure; otherwise do nothing."""
        lost = [pod for pod in job if pod.name in self._lost]
        if not lost or any(pod.name not in self._done | self._lost.keys() for pod in job):
            return []
        why = f"{', '.join(pod.short for pod in lost)} failed"
        return self._job_failed(step, "FailedIndexes", self._lost[lost[0].name], why)

    def _met_early(self, step: Step, job: list[Pod]) -> Iterator[Stop]:
        """Stop the rest of a Job whose success policy is met: the whole Job has succeeded."""
        succeeded = frozenset(pod.index for pod in job if pod.name in self._done)
        if len(succeeded) == len(job) or not any(rule.is_met(succeeded) for rule in step.success_rules):
            return
        running = tuple(pod for pod in job if pod.name in self._running)
        for pod in job:
            self._done.add(pod.name)
            self._running.discard(pod.name)
            self._lost.pop(pod.name, None)
        if running:
            yield Stop(f"the success policy of {step.name} is met", running)

    def _job_of(self, pod: Pod) -> list[Pod]:
        return [other for other in self._steps[pod.step].pods if other.replica == pod.replica]

    def _job_failed(self, step: Step, reason: str, status: int, why: str) -> list[Action]:
        outcome = self._plan.outcome
        action = next(
            (
                rule.action
                for rule in outcome.rules
                if (not rule.steps or step.name in rule.steps) and (not rule.reasons or reason in rule.reasons)
            ),
            "RestartJobSet",
        )
        free = action == "RestartJobSetAndIgnoreMaxRestarts"
        may_restart = self._restarts and action != "FailJobSet" and (free or self._used < outcome.max_restarts)
        if not may_restart:
            return [Finish(status, why)]
        self._used += not free
        self._restart()
        return [Stop(f"{why}; the job restarts"), *self._startable()]


def _jobs(step: Step) -> list[list[Pod]]:
    replicas: dict[int, list[Pod]] = {}
    for pod in step.pods:
        replicas.setdefault(pod.replica, []).append(pod)
    return list(replicas.values())
