"""Run pods as process groups: start them, read their output line by line, and stop them without leaving strays."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from trainc.api.records import dataclass
from trainc.features.run.model import Plan, Pod, Program, Step

# Decide which pods start, restart and end, given how pods end, following the Job and JobSet controllers.
#
# Sources: kubernetes pkg/controller/job (backoffLimit, podFailurePolicy, success_policy.go, backoff_utils.go and
# indexed_job_utils.go for backoffLimitPerIndex) and jobset pkg/controllers (dependsOn, success_policy.go,
# failure_policy.go). The delays between attempts are not modeled.


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

    def is_complete(self, step: Step) -> bool:
        """Whether every pod of the step has succeeded."""
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
            if all(self._reached(self._steps[name], status) for name, status in step.after if name in self._steps):
                yield from self._room(step)

    def _reached(self, step: Step, status: str) -> bool:
        if status == "Complete":
            return self.is_complete(step)
        waited_for = {pod.name for replica in _jobs(step) for pod in replica[: step.parallelism]}
        return waited_for <= self._running | self._done

    def _room(self, step: Step) -> Iterator[Start]:
        """The next pods of each Job, up to its parallelism."""
        for job in _jobs(step):
            free = step.parallelism - sum(pod.name in self._running for pod in job)
            waiting = [pod for pod in job if pod.name not in self._running | self._done | self._lost.keys()]
            for pod in waiting[: max(0, free)]:
                self._running.add(pod.name)
                yield Start(pod)

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
        lost = sum(each.name in self._lost for each in job)
        if step.most_failed is not None and lost > step.most_failed:
            return self._job_failed(
                step, "MaxFailedIndexesExceeded", status, f"{lost} indexes of {step.name} have failed"
            )
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
        rest = tuple(pod for pod in job if pod.name in self._running)
        for pod in job:
            self._done.add(pod.name)
            self._running.discard(pod.name)
            self._lost.pop(pod.name, None)
        if rest:
            yield Stop(f"the success policy of {step.name} is met", rest)

    def _job_of(self, pod: Pod) -> list[Pod]:
        return [each for each in self._steps[pod.step].pods if each.replica == pod.replica]

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
    """The pods of each replica, in index order."""
    replicas: dict[int, list[Pod]] = {}
    for pod in step.pods:
        replicas.setdefault(pod.replica, []).append(pod)
    return list(replicas.values())


# Set in the environment of every process of a run, including those that leave their process group.
MARK = "TRAINC_RUN"
_GRACE_SECONDS = 5.0
# The same statuses as timeout(1) and the shell.
_OVERDUE, _NOT_FOUND, _SIGNALLED = 124, 127, 128
_CHUNK = 65536
_BETWEEN_STATES = 0.25


@dataclass(frozen=True, slots=True)
class Reports:
    """The callbacks of a run: a line of program output, an event of a pod or the job, and the current state.

    `state` receives the short names of the running pods and the number of completed pods, several times a second.
    """

    output: Callable[[Pod, Program, bytes], None]
    event: Callable[[str, str], None]
    state: Callable[[Sequence[str], int], None] | None = None


def run_plan(
    plan: Plan, environ: Mapping[str, str], reports: Reports, *, restarts: bool = True, timeout: float | None = None
) -> int:
    """Run the job to completion and return its exit status; 124 after `timeout` seconds, 143 after SIGTERM.

    Ctrl-C raises KeyboardInterrupt. In every case, all processes of the run are stopped before this returns.
    """
    mark = environ[MARK]
    try:
        return asyncio.run(_Run(plan, environ, reports, restarts=restarts).run(timeout))
    except asyncio.CancelledError:
        return _SIGNALLED + signal.SIGTERM
    finally:
        stop_strays(mark)


class _Run:
    """The state of a run: the tasks of the running pods, and the lifecycle that decides about them."""

    def __init__(self, plan: Plan, environ: Mapping[str, str], reports: Reports, *, restarts: bool) -> None:
        self._plan, self._environ, self._reports = plan, environ, reports
        self._course = Lifecycle(plan, restarts=restarts)
        self._pods: dict[asyncio.Task[Any], Pod] = {}
        self._deadlines: dict[asyncio.Task[Any], Step] = {}
        self._started: set[str] = set()

    async def run(self, patience: float | None) -> int:
        """Run until the lifecycle says that the job has ended."""
        loop, this = asyncio.get_running_loop(), asyncio.current_task()
        assert this is not None
        with suppress(NotImplementedError, ValueError, RuntimeError):  # Unavailable in threads and on Windows.
            loop.add_signal_handler(signal.SIGTERM, this.cancel)
        telling = asyncio.create_task(self._tell())
        try:
            async with asyncio.timeout(patience):
                return await self._until_finished()
        except TimeoutError:
            up = ", ".join(sorted(pod.short for pod in self._pods.values()))
            self._reports.event("", f"not finished after {patience:g} s; still running: {up}")
            return _OVERDUE
        finally:
            telling.cancel()
            await self._stop([*self._pods, *self._deadlines])

    async def _tell(self) -> None:
        while self._reports.state is not None:
            self._reports.state([pod.short for pod in self._pods.values()], self._course.done)
            await asyncio.sleep(_BETWEEN_STATES)

    async def _until_finished(self) -> int:
        status = await self._obey(self._course.begin())
        while status is None:
            if not self._pods:
                self._reports.event(
                    "",
                    "nothing is running and nothing can start: a step waits for another that never becomes ready or complete",
                )
                return 1
            done, _ = await asyncio.wait([*self._pods, *self._deadlines], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                status = status if status is not None else await self._ended(task)
        return status

    async def _ended(self, task: asyncio.Task[Any]) -> int | None:
        if task in self._deadlines:
            step = self._deadlines.pop(task)
            return None if self._course.is_complete(step) else await self._obey(self._course.deadline_passed(step))
        pod = self._pods.pop(task, None)
        if pod is None:
            return None  # Stopped in the meantime.
        status: int = task.result()
        self._reports.event(pod.short, "done" if status == 0 else f"exited with status {status}")
        return await self._obey(self._course.pod_ended(pod, status))

    async def _obey(self, actions: list[Action]) -> int | None:
        """Carry out the actions; return the exit status if the job has ended."""
        for action in actions:
            if isinstance(action, Finish):
                self._reports.event("", f"{'succeeded' if action.status == 0 else 'failed'}: {action.why}")
                return action.status
            if isinstance(action, Stop):
                self._reports.event("", action.why)
                await self._stop([task for task, pod in self._pods.items() if not action.pods or pod in action.pods])
                if not action.pods:
                    await self._stop(self._deadlines)
            else:
                self._start(action)
        return None

    def _start(self, action: Start) -> None:
        pod = action.pod
        self._reports.event(pod.short, "restarts" if pod.name in self._started else "starts")
        step = next(step for step in self._plan.steps if step.name == pod.step)
        if step.deadline is not None and step not in self._deadlines.values():
            self._deadlines[asyncio.create_task(asyncio.sleep(step.deadline))] = step
        self._started.add(pod.name)
        self._pods[asyncio.create_task(self._pod(pod))] = pod

    async def _stop(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Stop pods, or cancel deadlines."""
        stopped = list(tasks)
        for task in stopped:
            self._pods.pop(task, None)
            self._deadlines.pop(task, None)
            task.cancel()
        await asyncio.gather(*stopped, return_exceptions=True)

    async def _pod(self, pod: Pod) -> int:
        """Run a pod; return 0, or the status of its first failed program."""
        sidecars: list[asyncio.Task[int]] = []
        try:
            for program in pod.programs:
                if program.kind == "sidecar":
                    sidecars.append(asyncio.create_task(self._program(pod, program)))
                elif program.kind == "init" and (status := await self._program(pod, program)):
                    return status
            main = [p for p in pod.programs if p.kind == "main"]
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._program(pod, program)) for program in main]
            return next((task.result() for task in tasks if task.result()), 0)
        finally:
            for task in sidecars:
                task.cancel()
            await asyncio.gather(*sidecars, return_exceptions=True)

    async def _program(self, pod: Pod, program: Program) -> int:
        """Run a program; return its status in the shell's convention."""
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *program.words,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env={**self._environ, **program.env},
                cwd=program.folder or None,
                start_new_session=True,
            )
        except OSError as error:
            os.close(reading)
            self._reports.output(pod, program, f"{program.words[0]}: {error.strerror}".encode())
            return _NOT_FOUND
        finally:
            os.close(writing)
        lines = asyncio.create_task(self._lines(pod, program, reading))
        try:
            status = await process.wait()
        finally:
            await _end(process)
            # A process that left the group may hold the pipe open: it is not waited for, but stopped when the run ends.
            with suppress(TimeoutError):
                await asyncio.wait_for(lines, 1)
        return status if status >= 0 else _SIGNALLED - status

    async def _lines(self, pod: Pod, program: Program, reading: int) -> None:
        reader = asyncio.StreamReader()
        pipe = os.fdopen(reading, "rb", 0)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        rest = b""
        try:
            while chunk := await reader.read(_CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._reports.output(pod, program, line)
        finally:
            if rest:
                self._reports.output(pod, program, rest)
            transport.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Stop a process group: SIGTERM first, then SIGKILL."""
    _signal(process.pid, signal.SIGTERM)
    if process.returncode is None:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
    _signal(process.pid, signal.SIGKILL)
    if process.returncode is None:
        await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def stop_strays(mark: str) -> int:
    """Stop processes that left their group, such as launchers' daemons; return how many there were. Linux only."""
    found = list(find_strays(mark))
    for number in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGKILL)
    return len(found)


def find_strays(mark: str) -> Iterator[int]:
    """The processes whose environment contains the mark of this run."""
    wanted = f"{MARK}={mark}".encode()
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        yield int(name)
