"""What `trainc run` does."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from secrets import token_hex

from trainc.api.arguments import Arguments, Status, Streams, UsageError, command
from trainc.api.command import Paint, Part, compiled_job, report
from trainc.api.documents import Document, opening
from trainc.api.findings import Finding, counted, escape_line, has_errors
from trainc.api.git import git
from trainc.api.jobs import OneJob
from trainc.api.kube import Json
from trainc.api.plugins import Plugin, enabled
from trainc.features.authoring.run.model import Machine, Plan, Size, meeting_ports, requested_programs, scale_job
from trainc.features.authoring.run.plan import inherited_variables, plan_of
from trainc.features.authoring.run.processes import MARK, Printed, Reports, run_plan
from trainc.features.authoring.run.stand_ins import (
    MODULES_LOOKED_UP,
    PROGRAMS_LOOKED_UP,
    local_variables,
    uses_launcher,
)

_MOST_PODS = 64
_SILENT = 5.0
_PORTS = 64
_LONGEST_SHEBANG = 256
# Placeholder for values that differ between runs, so that a dry run always prints the same.
_EXAMPLE, _EXAMPLE_PORTS = "/tmp/trainc-run", range(29500, 29500 + _PORTS)  # noqa: S108 - nothing is written there
_COLOURS: tuple[Part, ...] = ("runtime", "trainjob", "plugin", "deviation", "value", "help")


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile, plan, and run or print."""
    changed: list[Finding] = []

    def smaller(job: Json) -> Json:
        job, findings = scale_job(job, Size(arguments.pods, arguments.procs))
        changed.extend(findings)
        return job

    result = compiled_job(arguments, streams, smaller)
    if result is None:
        return Status.DIAGNOSED
    job, settings = result
    with ExitStack() as stack:
        workdir = os.path.abspath(arguments.workdir or _EXAMPLE)
        if not (arguments.workdir or arguments.dry_run):
            workdir = stack.enter_context(command.temporary_folder("trainc-run-"))
        machine = _machine(arguments, workdir, job)
        plugins = enabled(settings.options.plugins)
        plan = plan_of([*job.config_maps, *job.compiled.manifests], machine, plugins)
        diagnostics = [*job.diagnostics]
        for kind, findings in (("TrainJob", changed), ("JobSet", plan.findings)):
            label = f"{kind} {job.compiled.namespace}/{job.compiled.name}".replace(" /", " ")
            diagnostics += [Document.of({}).diagnose(finding, label) for finding in findings]
        report(diagnostics, arguments, streams)
        if arguments.dry_run:
            streams.write(_format_plan(plan))
        if has_errors(diagnostics):
            return Status.DIAGNOSED
        if plan.pods > _MOST_PODS:
            raise UsageError(
                f"the job has {plan.pods:,} pods, and trainc run starts at most {_MOST_PODS}; use --pods 2"
            )
        if arguments.dry_run:
            return Status.DONE
        for port in sorted(meeting_ports(plan).keys() & _listening()):
            pod = meeting_ports(plan)[port]
            raise UsageError(
                f"another program on this machine listens on port {port}, at which {pod} waits for the others"
            )
        stack.enter_context(_alone_in(workdir))
        _make(plan)
        reports = _reports(arguments, streams, plan)
        stack.callback(streams.progress.clear)
        restarts = not arguments.no_restarts
        environ = _environ(machine, plugins)
        return Status(run_plan(plan, environ, reports, restarts=restarts, timeout=arguments.timeout))


@contextmanager
def _alone_in(workdir: str) -> Iterator[None]:
    """Hold the lock of the work folder. The process that stops the run if this one is killed holds it, too."""
    import fcntl

    os.makedirs(workdir, exist_ok=True)
    with open(os.path.join(workdir, ".lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"--workdir: another run uses {workdir}; choose another folder") from None
        yield


def _machine(arguments: Arguments, workdir: str, job: OneJob) -> Machine:
    local_folders = dict(arguments.map)
    requested = {*PROGRAMS_LOOKED_UP, *requested_programs(job.compiled.manifests, local_folders)}
    programs = {name: path for name in requested if (path := git.find_program(name, trusted=True))}
    python = os.path.abspath(arguments.python) if arguments.python else ""
    if python and not shutil.which(python):
        raise UsageError(f"--python: {arguments.python} is not an executable file")
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    ports = tuple(_EXAMPLE_PORTS) if arguments.dry_run else _free_ports(_PORTS)
    # A dry run starts no process, not even to inspect the interpreter.
    launches = not arguments.dry_run and uses_launcher(job.compiled.manifests)
    missing = _missing_modules(python or programs.get("python3", "")) if launches else frozenset()
    of_launchers = _shebang(programs.get("accelerate") or programs.get("torchrun", ""))
    return Machine(workdir, os.environ, programs, ports, local_folders, python, is_root, missing, of_launchers)


def _shebang(program: str) -> str:
    """The interpreter that a script names in its first line; empty without one."""
    try:
        with open(program, "rb") as file:
            first = file.readline(_LONGEST_SHEBANG).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return first[2:].strip() if first.startswith("#!/") and " " not in first[2:].strip() else ""


def _missing_modules(python: str) -> frozenset[str]:
    program = "import sys, importlib.util as u; print(*(m for m in sys.argv[1:] if not u.find_spec(m)))"
    if not python:
        return frozenset(MODULES_LOOKED_UP)
    command = [python, "-c", program, *MODULES_LOOKED_UP]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the user's interpreter
    return frozenset(done.stdout.split() if done.returncode == 0 else MODULES_LOOKED_UP)


def _free_ports(count: int) -> tuple[int, ...]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return tuple(listener.getsockname()[1] for listener in sockets)


def _listening() -> set[int]:
    """The TCP ports on which a program of this machine listens. Linux only (proc_pid_net(5))."""
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError), open(table, encoding="ascii") as lines:
            rows = [line.split() for line in lines][1:]
            ports |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}
    return ports


def _environ(machine: Machine, plugins: Sequence[Plugin]) -> dict[str, str]:
    """The local environment without variables from an outer launcher, plus those needed to run on one machine."""
    reserved = {"RANK", "LOCAL_RANK", "WORLD_SIZE"}
    for plugin in plugins:
        reserved |= {*plugin.reserved, *plugin.shell_names, *plugin.shell_names.values()}
    environ = {
        **dict(inherited_variables(machine.environ, sorted(reserved))),
        **local_variables(machine),
        MARK: f"{token_hex(8)}:{machine.workdir}",
    }
    return {**environ, "PATH": f"{machine.workdir}/bin{os.pathsep}{environ.get('PATH', os.defpath)}"}


def _make(plan: Plan) -> None:
    for folder in plan.folders:
        os.makedirs(folder, exist_ok=True)
    for path, text in plan.files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        opening.write_file(path, text)
        if path in plan.executable:
            os.chmod(path, 0o700)


def _reports(arguments: Arguments, streams: Streams, plan: Plan) -> Reports:
    line, names = streams.progress, [pod.short for step in plan.steps for pod in step.pods]
    width = max(map(len, names), default=0)
    colours = {name: _COLOURS[index % len(_COLOURS)] for index, name in enumerate(names)}
    out_paint, err_paint = Paint(arguments.color, streams.out), Paint(arguments.color, streams.err)
    last = [time.monotonic()]
    bars: dict[str, str] = {}

    def label(printed: Printed) -> str:
        pod, program = printed.pod, printed.program
        containers = sum(program.kind == "main" for program in pod.programs)
        name = pod.short if program.kind == "main" and containers == 1 else f"{pod.short}/{program.name}"
        return f"{name} rank {printed.rank}" if printed.rank else name

    def output(printed: Printed, text: bytes) -> None:
        line.clear()
        last[0] = time.monotonic()
        bars.pop(label(printed), None)
        prefix = f"{label(printed):{width}} | "
        if printed.late and arguments.color:
            faint = out_paint("faint", prefix + text.decode("utf-8", "surrogateescape"))
            colored = faint.encode("utf-8", "surrogateescape")
        else:
            colored = out_paint(colours[printed.pod.short], prefix).encode() + text
        streams.out.write(colored + b"\n")
        streams.out.flush()

    def bar(printed: Printed, text: bytes) -> None:
        last[0] = time.monotonic()
        bars[label(printed)] = text.decode("utf-8", "replace")

    def event(pod: str, message: str) -> None:
        line.clear()
        if not arguments.quiet or not pod:
            streams.err.write(err_paint("faint", f"trainc run: {pod + ': ' if pod else ''}{message}") + "\n")
            streams.err.flush()

    def state(running: Sequence[str], done: int) -> None:
        line.show(lambda: _state(running, done, plan.pods, time.monotonic() - last[0], bars))

    event(plan.name, f"{counted(plan.pods, 'pod')} as processes on this machine; images are not used")
    return Reports(output, event, bar, state)


def _state(running: Sequence[str], done: int, pods: int, silent: float, bars: Mapping[str, str]) -> str:
    """The state of a run on one line: `2 of 4 pods running, 1 done, no output for 12 s: node-0-1, node-0-2`.

    A program's progress bar takes the place of the names.
    """
    if bars:
        progress = "; ".join(f"{label} {text}" for label, text in bars.items())
        return escape_line(f"{len(running)} of {pods} pods running, {done} done: {progress}")
    quiet = f", no output for {silent:.0f} s" if silent >= _SILENT else ""
    return f"{len(running)} of {pods} pods running, {done} done{quiet}: {', '.join(running)}"


def _format_plan(plan: Plan) -> str:
    """The plan as shell commands: the environment and the programs of each pod."""
    import shlex

    lines: list[str] = []
    for step in plan.steps:
        after = ", ".join(f"{name} is {status}" for name, status in step.after)
        lines.append(f"# step {step.name}{f', when {after}' if after else ''}")
        for pod in step.pods:
            for program in pod.programs:
                kind = "" if program.kind == "main" else f" ({program.kind})"
                lines.append(f"# pod {pod.short}, {program.name}{kind}")
                variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in program.env.items())
                lines.append(f"{variables} {shlex.join(program.command)}".strip())
    return "\n".join([*lines, ""])
