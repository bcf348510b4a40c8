"""Run pods as process groups: start them, read their output line by line, and stop them without leaving strays."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from trainc.run.lifecycle import Action, Finish, Lifecycle, Start, Stop
from trainc.run.model import Plan, Pod, Program, Step
from trainc.startup.records import dataclass

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
