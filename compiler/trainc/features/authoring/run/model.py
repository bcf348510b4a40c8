"""The data model of a local run: steps of pods, pods of programs, and the policies that decide how the job ends."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from trainc.api.findings import Finding, Path
from trainc.api.jobs import JobSet
from trainc.api.kube import Json, devices, documents, value_at
from trainc.api.plugins import Plugin
from trainc.api.records import dataclass

ProgramKind = Literal["init", "sidecar", "main"]


@dataclass(frozen=True, slots=True)
class Program:
    """A container as a local process: its command, and the variables it has in addition to the inherited ones.

    `folder` is its working directory, empty for the current one. With `ranks`, so many processes of its launcher have an
    output of their own. An `init` program must end before the next one starts;
    a `sidecar` runs until the main programs have ended.
    """

    name: str
    kind: ProgramKind
    command: tuple[str, ...]
    env: Mapping[str, str]
    folder: str = ""
    ranks: int = 0


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
        """Return whether a Job succeeds once these indexes have succeeded."""
        if self.indexes is None:
            return self.count is not None and len(succeeded) >= self.count
        matched = succeeded & self.indexes
        return bool(matched) and len(matched) >= (len(self.indexes) if self.count is None else self.count)


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

    `programs` maps the requested names found on the PATH to their paths; `ports` are free ports; `local_folders` maps folders
    of the image to local folders; `python` is the requested interpreter, and `missing` are the requested modules that
    it lacks. `launchers_python` is the interpreter of accelerate or torchrun on the PATH.
    """

    workdir: str
    environ: Mapping[str, str]
    programs: Mapping[str, str]
    ports: tuple[int, ...]
    local_folders: Mapping[str, str]
    python: str = ""
    is_root: bool = False
    missing: frozenset[str] = frozenset()
    launchers_python: str = ""


LOOPBACK = "127.0.0.1"
_TOKEN = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand_variables(text: str, values: Mapping[str, str]) -> str:
    """Expand `$(NAME)` in `text` as the kubelet does: `$$` is a literal dollar sign, unknown names are left unchanged.

    Source: kubernetes third_party/forked/golang/expansion/expand.go.
    """
    return _TOKEN.sub(lambda match: "$" if match[1] else values.get(match[2], match[0]), text)


class Hosts:
    """The DNS names of a JobSet's pods, and the ports on which other pods reach them."""

    def __init__(self, jobset: JobSet, cluster_domain: str = "cluster.local") -> None:
        steps = "|".join(map(re.escape, jobset.job_names))
        namespace = re.escape(jobset.namespace) or "[a-z0-9-]+"
        # The names under the JobSet's headless Service: fully qualified, or shortened as the pod's search domains allow.
        self.pattern = (
            rf"{re.escape(jobset.name)}-(?:{steps})-\d+-\d+\.{re.escape(jobset.service)}"
            rf"(?:\.{namespace}(?:\.svc(?:\.{re.escape(cluster_domain)})?)?)?"
        )
        self._host = re.compile(rf"(?<![\w.-])({self.pattern})\.?(?![\w.-]*\w)(?::(\d+))?")

    def addresses(self, text: str) -> list[tuple[str, str]]:
        """The (host, port) pairs in `text`, in order."""
        return [(_short(host), port) for host, port in self._host.findall(text) if port]

    def is_host(self, text: str) -> bool:
        """Return whether `text` is exactly the name of a pod."""
        return self._host.fullmatch(text) is not None

    def localized(self, text: str, ports: Mapping[tuple[str, str], int]) -> str:
        """`text` with every pod replaced by loopback, and every port by its entry in `ports`."""

        def here(match: re.Match[str]) -> str:
            if match[2] is None:
                return LOOPBACK
            return f"{LOOPBACK}:{ports.get((_short(match[1]), match[2]), match[2])}"

        return self._host.sub(here, text)


def rendezvous_ports(hosts: Hosts, containers: Iterable[Json], plugins: Sequence[Plugin]) -> list[tuple[str, str]]:
    """The addresses that need a distinct local port, in order: rendezvous addresses, and ports used by several pods.

    Other ports belong to programs whose address is not passed to any other program, so they stay the same.
    """
    addresses: list[tuple[str, str]] = []
    pairs: list[tuple[str, str]] = []
    for container in containers:
        env = {v["name"]: str(v.get("value", "")) for v in container.get("env", ())}
        words = (*container.get("command", ()), *container.get("args", ()))
        pairs += [pair for text in (*env.values(), *words) for pair in hosts.addresses(text)]
        for address in (address for plugin in plugins for address in plugin.addresses):
            host, port = env.get(address.variable, ""), env.get(address.port, "")
            addresses += [(_short(host), port)] if port and hosts.is_host(host) else hosts.addresses(host)
        arguments = tuple(argument for plugin in plugins for argument in plugin.address_arguments)
        addresses += [
            pair for word in words if arguments and word.startswith(arguments) for pair in hosts.addresses(word)
        ]
    served_by: dict[str, set[str]] = {}
    for host, port in pairs:
        served_by.setdefault(port, set()).add(host)
    return list(dict.fromkeys([*addresses, *(pair for pair in pairs if len(served_by[pair[1]]) > 1)]))


class Folders:
    """The image folders that have a different path on this machine."""

    def __init__(self, local_folders: Mapping[str, str]) -> None:
        """`local_folders` maps absolute image paths to local paths; the longest match wins."""
        self._local_folders = {path.rstrip("/"): folder for path, folder in local_folders.items() if path.rstrip("/")}
        paths = "|".join(re.escape(path) for path in sorted(self._local_folders, key=len, reverse=True))
        self._path = re.compile(rf"(?<![\w.~/-])({paths})(?![\w.-])") if paths else None

    def localized(self, text: str) -> str:
        """`text` with each such path, and each path below one, replaced by the local path."""
        return self._path.sub(lambda match: self._local_folders[match[1]], text) if self._path else text


_MEETING = re.compile(
    r"(?<![\w.-])(?:localhost|127\.0\.0\.1):(\d{1,5})\b|--(?:master|main[-_]process)[-_]port[= ]+(\d{1,5})\b"
)


def meeting_ports(plan: Plan) -> dict[int, str]:
    """The ports at which the ranks of a command meet on this machine, each with the pod that listens there."""
    ports: dict[int, str] = {}
    for pod in (pod for step in plan.steps for pod in step.pods):
        for program in pod.programs:
            for pair in _MEETING.findall(" ".join(program.command)):
                ports.setdefault(int("".join(pair)), pod.short)
    return ports


def _short(host: str) -> str:
    return host.partition(".")[0]


_TRAINER: Path = ("spec", "trainer")


@dataclass(frozen=True, slots=True)
class Size:
    """The trainer's number of nodes and processes per node; None keeps the job's own value."""

    pods: int | None = None
    procs: int | None = None


def scale_job(job: Json, size: Size) -> tuple[Json, list[Finding]]:
    """Scale a TrainJob of Trainer's own API; return it with an info for each changed field.

    The job is then compiled at that size, so that all counts, ranks and addresses are consistent.
    """
    findings: list[Finding] = []
    for path, value in _changes(job, size):
        old = value_at(job, path)
        if str(old) != str(value):
            before = "the runtime's value" if old is None else str(old)
            flag = f"--pods {size.pods}" if path[-1] == "numNodes" else f"--procs {size.procs}"
            message = f"{flag}: this run uses {value} instead of {before}"
            findings.append(Finding("ScaledForRun", "info", message, path=path))
            job = documents.with_value(job, path, value)
    return job, findings


def _changes(job: Json, size: Size) -> Iterator[tuple[Path, Any]]:
    if size.pods is not None:
        yield (*_TRAINER, "numNodes"), size.pods
    if size.procs is not None:
        yield (*_TRAINER, "numProcPerNode"), size.procs
        for kind in ("limits", "requests"):
            amounts = value_at(job, (*_TRAINER, "resourcesPerNode", kind)) or {}
            for name in amounts:
                if devices.accelerator(name) == "GPU":
                    yield (*_TRAINER, "resourcesPerNode", kind, name), size.procs


def requested_programs(manifests: Sequence[Json], local_folders: Mapping[str, str]) -> set[str]:
    """The first word of every command, as in the image and as a local path, and the programs that may replace it."""
    folders = Folders(local_folders)
    jobs = (job for jobset in JobSet.among(manifests) for job in jobset.jobs)
    words = [str(c["command"][0]) for job in jobs for _, c in job.containers if c.get("command")]
    return {form for word in words for form in (word, folders.localized(word), os.path.basename(word))}
