"""Run pods as process groups: start them, read their output line by line, and stop them without leaving strays."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from trainc.api.findings import counted
from trainc.api.records import dataclass
from trainc.features.authoring.run.lifecycle import Action, Finish, Lifecycle, Start, Stop
from trainc.features.authoring.run.model import Plan, Pod, Program, Step
from trainc.features.authoring.run.printed import FirstFailure, Splitter, calls, rank_label
from trainc.features.authoring.run.stand_ins import RANK_LINE, RANK_PYTHON, RANKS

# Set in the environment of every process of a run, including those that leave their process group.
MARK = "TRAINC_RUN"
_GRACE_SECONDS = 5.0
# The same statuses as timeout(1) and the shell.
_OVERDUE, _NOT_FOUND, _SIGNALLED = 124, 127, 128
_NO_LIMIT = 2**31 - 1
_CHUNK = 65536
_BETWEEN_STATES = 0.25


@dataclass(frozen=True, slots=True)
class Reports:
    """The callbacks of a run: a line of program output, an event of a pod or the job, and the current state.

    `bar` receives what a program has printed so far of a line that it rewrites; `state` receives the short names of the
    running pods and the number of completed pods, several times a second.
    """

    output: Callable[[Printed, bytes], None]
    event: Callable[[str, str], None]
    bar: Callable[[Printed, bytes], None]
    state: Callable[[Sequence[str], int], None] | None = None


@dataclass(frozen=True, slots=True)
class Printed:
    """Who printed something: a program of a pod and, if it has an output of its own, its rank.

    `late` says that the pod was being stopped.
    """

    pod: Pod
    program: Program
    rank: str = ""
    late: bool = False


def run_plan(
    plan: Plan, environ: Mapping[str, str], reports: Reports, *, restarts: bool = True, timeout: float | None = None
) -> int:
    """Run the job to completion and return its exit status; 124 after `timeout` seconds, 143 after SIGTERM.

    Ctrl-C raises KeyboardInterrupt. In every case, all processes of the run are stopped before this returns, and the
    last event says how the job ended.
    """
    mark = environ[MARK]
    this = _Run(plan, environ, reports, restarts=restarts)
    guard = _guard(mark)
    try:
        return asyncio.run(this.run(timeout))
    except asyncio.CancelledError:
        return _SIGNALLED + signal.SIGTERM
    finally:
        stop_strays(mark)
        guard()
        reports.event("", this.verdict)


class _Run:
    """The state of a run: the tasks of the running pods, and the lifecycle that decides about them."""

    def __init__(self, plan: Plan, environ: Mapping[str, str], reports: Reports, *, restarts: bool) -> None:
        self._plan, self._environ, self._reports = plan, environ, reports
        self._course = Lifecycle(plan, restarts=restarts)
        self._pods: dict[asyncio.Task[Any], Pod] = {}
        self._deadlines: dict[asyncio.Task[Any], Step] = {}
        self._started: Counter[str] = Counter()
        self._first = FirstFailure()
        self._stopping: set[str] = set()
        # The lines of the stack that is being asked for.
        self._stack: list[bytes] | None = None
        self._verdict = "stopped"

    @property
    def verdict(self) -> str:
        """How the job ended, and which rank failed first."""
        failed = not self._verdict.startswith("succeeded") and self._first.text
        return f"{self._verdict}; first {self._first.text}" if failed else self._verdict

    async def run(self, patience: float | None) -> int:
        """Run until the lifecycle says that the job has ended."""
        loop, this = asyncio.get_running_loop(), asyncio.current_task()
        assert this is not None
        terminated = False

        def terminate() -> None:
            nonlocal terminated
            terminated = True
            this.cancel()

        with suppress(NotImplementedError, ValueError, RuntimeError):  # Unavailable in threads and on Windows.
            loop.add_signal_handler(signal.SIGTERM, terminate)
        telling = asyncio.create_task(self._tell())
        try:
            async with asyncio.timeout(patience):
                return await self._until_finished()
        except TimeoutError:
            self._verdict = f"not finished after {patience:g} s; still running: {self._running()}"
            await self._show_stacks()
            return _OVERDUE
        except asyncio.CancelledError:
            self._verdict = f"stopped; still running: {self._running()}"
            if not terminated:
                await self._show_stacks()
            raise
        finally:
            telling.cancel()
            await self._stop([*self._pods, *self._deadlines])

    def _running(self) -> str:
        return ", ".join(sorted(pod.short for pod in self._pods.values())) or "nothing"

    async def _show_stacks(self) -> None:
        """Say where each rank is. That ends it, which is what comes next anyway."""
        mark, pods = self._environ[MARK], {pod.name: pod.short for pod in self._pods.values()}
        for number in find_strays(mark):
            _send(number, signal.SIGSTOP)  # So that no rank reports the end of another.
        await asyncio.sleep(_BETWEEN_STATES / 5)
        for number, pod, rank in sorted(
            python_ranks(mark), key=lambda process: (process[1], len(process[2]), process[2])
        ):
            self._stack = []
            _send(number, signal.SIGABRT)
            _send(number, signal.SIGCONT)
            for _ in range(50):
                await asyncio.sleep(0.02)
                if not _is_alive(number):
                    break
            stack = calls([line.decode("utf-8", "replace") for line in self._stack])
            if stack and pod in pods:
                lines = "".join(f"\n    {call}" for call in stack)
                self._reports.event("", f"{rank_label(pods[pod], rank)} is here, innermost call last:{lines}")
        self._stack = None
        for number in find_strays(mark):
            _send(number, signal.SIGCONT)

    async def _tell(self) -> None:
        while self._reports.state is not None:
            self._reports.state([pod.short for pod in self._pods.values()], self._course.done)
            await asyncio.sleep(_BETWEEN_STATES)

    async def _until_finished(self) -> int:
        status = await self._obey(self._course.begin())
        while status is None:
            if not self._pods:
                self._verdict = "failed: nothing is running and nothing can start: a step waits for another that never becomes ready or complete"
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
                restarts = sum(self._started.values()) - len(self._started)
                after = f" after {counted(restarts, 'pod restart')}" if restarts and action.status else ""
                self._verdict = f"{'failed' if action.status else 'succeeded'}{after}: {action.why}"
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
        step = next(step for step in self._plan.steps if step.name == pod.step)
        again = self._started[pod.name]
        # A Job counts the failures of all its pods together.
        failed, limit = self._course.failures(pod), step.backoff_limit
        of = f" ({failed} of {limit} failures of all pods of {step.name})" if 0 < failed <= limit < _NO_LIMIT else ""
        self._reports.event(pod.short, f"restarts{of}" if again else "starts")
        if step.deadline is not None and step not in self._deadlines.values():
            self._deadlines[asyncio.create_task(asyncio.sleep(step.deadline))] = step
        self._started[pod.name] += 1
        self._stopping.discard(pod.name)
        self._pods[asyncio.create_task(self._pod(pod))] = pod

    async def _stop(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Stop pods, or cancel deadlines."""
        stopped = list(tasks)
        for task in stopped:
            if (pod := self._pods.pop(task, None)) is not None:
                self._stopping.add(pod.name)
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
        rank_pipes, folder = self._rank_outputs(pod, program)
        try:
            process = await asyncio.create_subprocess_exec(
                *program.command,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env={**self._environ, **folder, **program.env},
                cwd=program.folder or None,
                start_new_session=True,
            )
        except OSError as error:
            os.close(reading)
            self._reports.output(Printed(pod, program), f"{program.command[0]}: {error.strerror}".encode())
            return _NOT_FOUND
        finally:
            os.close(writing)
        output = self._read(pod, program, reading)
        ranks = [self._read(pod, program, pipe, by_rank=True) for pipe in rank_pipes]
        try:
            status = await process.wait()
        finally:
            await _end(process)
            # A process that left the group may hold the pipe open: it is not waited for, but stopped when the run ends.
            with suppress(TimeoutError):
                await asyncio.wait_for(output.ended.wait(), 1)
            for stream in (output, *ranks):
                stream.close()
        return status if status >= 0 else _SIGNALLED - status

    @property
    def _folder(self) -> str:
        """The work folder, which is in the mark after what tells its runs apart."""
        return self._environ[MARK].partition(":")[2]

    def _rank_outputs(self, pod: Pod, program: Program) -> tuple[list[int], dict[str, str]]:
        """Named pipes for the output of each rank of a launcher, and the variables by which ranks find them."""
        if not program.ranks:
            return [], {}
        folder = f"{self._folder}/ranks/{pod.name}/{program.name}"
        os.makedirs(folder, exist_ok=True)
        pipes = []
        for rank in range(program.ranks):
            with suppress(FileExistsError):
                os.mkfifo(f"{folder}/{rank}")
            # Open for writing as well, so that it does not end when a rank does: the launcher may start it again.
            pipes.append(os.open(f"{folder}/{rank}", os.O_RDWR | os.O_NONBLOCK))
        return pipes, {RANKS: folder, "PYTHON_EXEC": f"{self._folder}/bin/{RANK_PYTHON}"}

    def _read(self, pod: Pod, program: Program, file: int, *, by_rank: bool = False) -> _Stream:
        rank = [""]

        def printed() -> Printed:
            return Printed(pod, program, rank[0], pod.name in self._stopping)

        def line(text: bytes) -> None:
            if by_rank and text.startswith(RANK_LINE):
                rank[0] = text[len(RANK_LINE) :].decode("ascii", "replace")
                return
            if self._stack is not None:
                self._stack.append(text)
                return
            if pod.name in self._stopping and program.ranks and not by_rank:
                return  # A launcher's account of having been stopped.
            if pod.name not in self._stopping:
                self._first.line(pod.short, rank[0], text.decode("utf-8", "replace"))
            self._reports.output(printed(), text)

        return _Stream(file, Splitter(line, lambda text: self._reports.bar(printed(), text)))


class _Stream:
    """Reads a pipe as it fills."""

    def __init__(self, file: int, splitter: Splitter) -> None:
        self._file, self._splitter = file, splitter
        self.ended = asyncio.Event()
        os.set_blocking(file, False)
        asyncio.get_running_loop().add_reader(file, self._read)

    def close(self) -> None:
        """Read what there is, and close the pipe."""
        asyncio.get_running_loop().remove_reader(self._file)
        while self._read():
            pass
        self._splitter.end()
        os.close(self._file)

    def _read(self) -> bool:
        try:
            chunk = os.read(self._file, _CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            self._splitter.feed(chunk)
        elif not self.ended.is_set():
            asyncio.get_running_loop().remove_reader(self._file)
            self.ended.set()
        return bool(chunk)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Stop a process group: SIGTERM first, then SIGKILL."""
    _send(-process.pid, signal.SIGTERM)
    if process.returncode is None:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
    _send(-process.pid, signal.SIGKILL)
    if process.returncode is None:
        await process.wait()


def _guard(mark: str) -> Callable[[], None]:
    """Start a process that stops the run if this one is killed; return how to end it. Elsewhere than on Linux, nothing."""
    if not os.path.isdir("/proc/self"):
        return lambda: None
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        try:
            os.setsid()
            os.close(writing)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            os.read(reading, 1)  # Ends when this pipe's last writer does, however that is.
            stop_strays(mark)
        finally:
            os._exit(0)
    os.close(reading)

    def end() -> None:
        os.close(writing)
        os.waitpid(child, 0)

    return end


def stop_strays(mark: str) -> int:
    """Stop processes that left their group, such as launchers' daemons; return how many there were. Linux only."""
    strays = list(find_strays(mark))
    for number in strays:
        _send(number, signal.SIGKILL)
    return len(strays)


def find_strays(mark: str) -> Iterator[int]:
    """The processes whose environment contains the mark of this run."""
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid() and _environ_of(int(name)).get(MARK) == mark:
                yield int(name)


def python_ranks(mark: str) -> Iterator[tuple[int, str, str]]:
    """The processes of a run that train in Python, each with the host name of its pod, and its rank if it has one.

    A launcher is none, nor are the processes that a rank starts to load its data. Linux only.
    """
    processes: dict[int, tuple[int, str, str]] = {}
    for number in find_strays(mark):
        with suppress(OSError, ValueError, IndexError):
            environ = _environ_of(number)
            if os.path.basename(os.readlink(f"/proc/{number}/exe")).startswith("python"):
                processes[number] = (int(_stat(number)[1]), environ.get("HOSTNAME", ""), environ.get("RANK", ""))
    with_ranks = {pod for _, pod, rank in processes.values() if rank}
    for number, (parent, pod, rank) in processes.items():
        above = processes.get(parent)
        if (rank and (above is None or above[2] != rank)) or (pod not in with_ranks and above is None):
            yield number, pod, rank


def _environ_of(number: int) -> dict[str, str]:
    with suppress(OSError), open(f"/proc/{number}/environ", "rb") as file:
        pairs = (variable.partition("=") for variable in file.read().decode("utf-8", "replace").split("\0"))
        return {name: value for name, _, value in pairs}
    return {}


def _stat(number: int) -> list[str]:
    """The state of a process, its parent and what follows (proc_pid_stat(5)); nothing if it has ended."""
    with suppress(OSError), open(f"/proc/{number}/stat", "rb") as file:
        return file.read().decode("utf-8", "replace").rpartition(")")[2].split()
    return []


def _is_alive(number: int) -> bool:
    """Return whether a process runs: one that has ended stays until its parent, which may be stopped, looks at it."""
    return _stat(number)[:1] not in ([], ["Z"], ["X"])


def _send(number: int, kind: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(number, kind)
