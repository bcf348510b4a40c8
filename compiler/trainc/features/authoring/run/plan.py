"""Plan the local processes that stand in for the pods of a job's manifests, as data."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from trainc.api.findings import Finding, Path, Severity
from trainc.api.jobs import JobSet, ReplicatedJob
from trainc.api.kube import Json, identity_of, mapping, names, parse_quantity
from trainc.api.plugins import Plugin
from trainc.api.records import dataclass
from trainc.features.authoring.run import model, stand_ins
from trainc.features.authoring.run.model import Folders, Hosts, Machine, Plan, Pod, Program, Step

# The machine has folders of its own at these paths, where programs expect them.
_LEFT_ALONE = ("/dev/shm", "/dev", "/proc", "/sys", "/tmp")  # noqa: S108 - mount paths of pods
# Volumes shared by all pods that name them: the kind of volume, and the field with the name.
_SHARED = {"persistentVolumeClaim": "claimName", "secret": "secretName", "hostPath": "path", "nfs": "path"}


# The texts of each ConfigMap, by its name.
ConfigMaps: TypeAlias = Mapping[str, Mapping[str, str]]


def _data(config_map: Json) -> dict[str, str]:
    """The data of a ConfigMap, whose keys become names of files: those that no API server takes are left out."""
    return {key: str(value) for key, value in mapping(config_map.get("data")).items() if names.is_file_name(key)}


class Volumes:
    """The folders and files of a plan, collected as pods are planned."""

    def __init__(
        self, workdir: str, config_maps: ConfigMaps, text: Callable[[str], str], plugins: Sequence[Plugin]
    ) -> None:
        """`text` replaces pod host names in a text by local addresses."""
        self.folders: set[str] = set()
        self.files: dict[str, str] = {}
        self._root, self._config_maps, self._text = f"{workdir}/volumes", config_maps, text
        # Host lists are left unchanged: they are for launchers, whose ssh resolves pod names.
        self._host_lists = {file.key for plugin in plugins for file in plugin.files if not file.port}

    def local_folders(self, container: Json, spec: Json, pod: str) -> dict[str, str]:
        """Map the container's mount paths to local paths; record the folder or ConfigMap files that each one needs."""
        volumes = {volume["name"]: volume for volume in spec.get("volumes", ())}
        local_paths: dict[str, str] = {}
        for mount in container.get("volumeMounts", ()):
            if mount["mountPath"].rstrip("/") in _LEFT_ALONE:
                continue
            folder = self._folder(volumes.get(mount["name"], {"name": mount["name"]}), pod)
            if mount.get("subPath"):
                folder = f"{folder}/{mount['subPath']}"
            if folder not in self.files:
                self.folders.add(folder)
            local_paths[mount["mountPath"]] = folder
        return local_paths

    def _folder(self, volume: Json, pod: str) -> str:
        kind, source = next(((k, v or {}) for k, v in volume.items() if k != "name"), ("", {}))
        if kind == "configMap":
            return self._config_map(source)
        if kind in _SHARED:
            name = str(source.get(_SHARED[kind], volume["name"])).strip("/").replace("/", "_").lstrip(".")
            return f"{self._root}/{name}"
        return f"{self._root}/{pod}/{volume['name']}"

    def _config_map(self, source: Json) -> str:
        folder = f"{self._root}/{source.get('name', '')}"
        data = self._config_maps.get(source.get("name", ""), {})
        items = source.get("items") or [{"key": key, "path": key} for key in data]
        for item in items:
            if item["key"] in data:
                text = data[item["key"]]
                self.files[f"{folder}/{item['path']}"] = text if item["key"] in self._host_lists else self._text(text)
        return folder


_INDEX = "batch.kubernetes.io/job-completion-index"
_JOBSET = "jobset.sigs.k8s.io"


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A pod by its host name, and the values that its fields expose: those of its JobSet and of its step, too."""

    name: str
    jobset: JobSet
    job: ReplicatedJob
    replica: int
    index: int

    def field(self, path: str) -> str | None:
        """The value of a fieldRef; None if only a cluster knows it."""
        name, bracket, key = path.partition("['")
        if bracket:
            generated: dict[str, str] = {
                _INDEX: str(self.index) if self.job.indexed else "",
                f"{_JOBSET}/jobset-name": self.jobset.name,
                f"{_JOBSET}/replicatedjob-name": self.job.name,
                f"{_JOBSET}/replicatedjob-replicas": str(self.job.replicas),
                f"{_JOBSET}/job-index": str(self.replica),
                f"{_JOBSET}/restart-attempt": "0",
            }
            of_template: Json = self.job.pod_metadata.get("labels" if name == "metadata.labels" else "annotations", {})
            return {**generated, **{k: str(v) for k, v in of_template.items()}}.get(key.removesuffix("']"), "")
        fields: dict[str, str] = {
            "metadata.name": self.name,
            "metadata.namespace": self.jobset.namespace or "default",
            "spec.nodeName": "localhost",
            "spec.serviceAccountName": "default",
            **dict.fromkeys(("status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs"), model.LOOPBACK),
        }
        return fields.get(path)


def variables(
    container: Json, facts: PodFacts, config_maps: ConfigMaps, environ: Mapping[str, str], path: Path
) -> tuple[dict[str, str], list[Finding]]:
    """The container's variables with `$(NAME)` expanded, and a warning for each one without a local value.

    `environ` is the local environment; its variables stand in for Secret values of the same name.
    """
    env: dict[str, str] = {"HOSTNAME": facts.name}
    if facts.job.indexed:
        env["JOB_COMPLETION_INDEX"] = str(facts.index)
    from_sources, findings = _whole_sources(container, config_maps, path)
    env |= from_sources
    for index, variable in enumerate(container.get("env", ())):
        name = variable["name"]
        if "valueFrom" not in variable:
            env[name] = model.expand_variables(str(variable.get("value", "")), env)
            continue
        value = _from(variable["valueFrom"], container, facts, config_maps)
        if value is None and name in environ:
            value = environ[name]
        if value is not None:
            env[name] = value
        elif not any(source.get("optional") for source in variable["valueFrom"].values()):
            findings.append(_missing_source(_source_label(variable["valueFrom"]), name, (*path, "env", index)))
    return env, findings


def _whole_sources(container: Json, config_maps: ConfigMaps, path: Path) -> tuple[dict[str, str], list[Finding]]:
    env: dict[str, str] = {}
    findings: list[Finding] = []
    for index, source in enumerate(container.get("envFrom", ())):
        source_path = (*path, "envFrom", index)
        for kind in ("configMapRef", "secretRef"):
            reference = source.get(kind)
            if reference and kind == "configMapRef" and reference["name"] in config_maps:
                prefix = source.get("prefix", "")
                env |= {f"{prefix}{k}": v for k, v in config_maps[reference["name"]].items()}
            elif reference and not reference.get("optional"):
                findings.append(_missing_source(f"the variables of {kind[:-3]} {reference['name']}", "", source_path))
    return env, findings


def _from(source: Json, container: Json, facts: PodFacts, config_maps: ConfigMaps) -> str | None:
    if "fieldRef" in source:
        return facts.field(source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        reference = source["resourceFieldRef"]
        kind, _, name = reference["resource"].partition(".")
        amount = (container.get("resources", {}).get(kind) or {}).get(name)
        divisor = parse_quantity(str(reference.get("divisor") or "1")).nanos or parse_quantity("1").nanos
        return None if amount is None else str(-(-parse_quantity(str(amount)).nanos // divisor))  # Rounded up.
    key = source.get("configMapKeyRef")
    return config_maps.get(key["name"], {}).get(key["key"]) if key else None


def _source_label(source: Json) -> str:
    for kind, reference in source.items():
        if kind in ("secretKeyRef", "configMapKeyRef"):
            return f"key {reference['key']} of {kind[:-6]} {reference['name']}"
        return str(reference.get("fieldPath") or reference.get("resource") or kind)
    return "its value"


def _missing_source(label: str, name: str, path: Path) -> Finding:
    unset = f"{name} is not set" if name else "they are not set"
    general_hint = "set the variables that the program needs, then start `trainc run`"
    hint = f"set it yourself: {name}=... trainc run ..." if name else general_hint
    return Finding("ValueNotHere", "warning", f"{label} exists only in the cluster; {unset}", hint, path)


def inherited_variables(environ: Mapping[str, str], ours: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The local variables that a pod inherits, without those in which another launcher describes its own ranks."""
    for name, value in environ.items():
        if name not in ours and not name.startswith(("PET_", "OMPI_", "PRTE_", "PMIX_", "SLURM_")):
            yield name, value


# The API server's default: kubernetes pkg/apis/batch/v1/defaults.go.
_BACKOFF_LIMIT, _NO_LIMIT = 6, 2**31 - 1
_PROCESSES, _MOST_RANKS = "PET_NPROC_PER_NODE", 16
_JOBS: Path = ("spec", "replicatedJobs")


def plan_of(manifests: Sequence[Json], machine: Machine, plugins: Sequence[Plugin]) -> Plan:
    """Plan the only JobSet among a job's manifests. Whatever cannot run locally is an error among the findings."""
    return _Planner(manifests, machine, plugins).plan()


class _Planner:
    """A single pass over the manifests, with the state that its parts share."""

    def __init__(self, manifests: Sequence[Json], machine: Machine, plugins: Sequence[Plugin]) -> None:
        self._jobset = next(JobSet.among(manifests))
        self._config_maps = {identity_of(m)[1]: _data(m) for m in manifests if m["kind"] == "ConfigMap"}
        self._machine, self._plugins = machine, plugins
        self._hosts = Hosts(self._jobset)
        all_containers = [container for job in self._jobset.jobs for _, container in job.containers]
        pairs = model.rendezvous_ports(self._hosts, all_containers, plugins)
        self._ports = dict(zip(pairs, machine.ports, strict=False))
        named = sorted({str(v["name"]) for container in all_containers for v in container.get("env", ())})
        self._stand_ins = stand_ins.stand_ins(machine, self._hosts.pattern, named)
        self._volumes = Volumes(machine.workdir, self._config_maps, self._text, plugins)
        self._findings: list[Finding] = []

    def plan(self) -> Plan:
        """Build the plan, step by step."""
        self._findings += _containers_only(self._config_maps, self._plugins)
        steps = list(map(self._step, self._jobset.jobs))
        here = f"{self._machine.workdir}/bin"
        programs = {f"{here}/{name}": text for name, text in self._stand_ins.items()}
        return Plan(
            self._jobset.name,
            tuple(step for step in steps if step.pods),
            _outcome(self._jobset.spec),
            tuple(sorted({here, *self._volumes.folders})),
            {**self._volumes.files, **programs},
            frozenset(programs),
            tuple(dict.fromkeys(self._findings)),
        )

    def _text(self, text: str) -> str:
        return self._hosts.localized(text, self._ports)

    def _step(self, job: ReplicatedJob) -> Step:
        spec = job.job_spec
        replicas = range(0 if self._is_skipped(job) else job.replicas)
        return Step(
            job.name,
            tuple(self._pod(job, replica, number) for replica in replicas for number in range(job.indexes)),
            tuple((need.step, need.status) for need in self._jobset.awaits(job)),
            job.parallelism,
            spec.get("backoffLimit", _BACKOFF_LIMIT if "backoffLimitPerIndex" not in spec else _NO_LIMIT),
            tuple(_exit_rules(spec.get("podFailurePolicy") or {})),
            spec.get("activeDeadlineSeconds"),
            spec.get("backoffLimitPerIndex"),
            spec.get("maxFailedIndexes"),
            tuple(_success_rules(spec.get("successPolicy") or {})),
        )

    def _is_skipped(self, job: ReplicatedJob) -> bool:
        """Return whether the step has to be skipped because its command is in its image only. Records a finding if so."""
        bare = [path for path, container in job.containers if not container.get("command")]
        if not bare:
            return False
        initializes = job.ancestor.endswith("-initializer")
        message = f"{job.name} has no command, and trainc does not know what its image runs"
        severity: Severity = "error"
        hint = "set `command` in its container"
        if initializes:
            message, severity = f"{message}; it is treated as complete", "warning"
            hint = "put the data that it would download into its volume under --workdir"
        self._findings.append(Finding("NothingToStart", severity, message, hint, bare[0]))
        return True

    def _pod(self, job: ReplicatedJob, replica: int, number: int) -> Pod:
        short = f"{job.name}-{replica}-{number}"
        facts = PodFacts(f"{self._jobset.name}-{short}", self._jobset, job, replica, number)
        programs = tuple(self._program(container, facts, path) for path, container in job.containers)
        return Pod(facts.name, short, job.name, replica, programs, number)

    def _program(self, container: Json, facts: PodFacts, path: Path) -> Program:
        env, findings = variables(container, facts, self._config_maps, self._machine.environ, path)
        mounted = self._volumes.local_folders(container, facts.job.pod_spec, facts.name)
        folders = Folders({**mounted, **self._machine.local_folders})
        mapped = {name: str(port) for name, port in self._mapped_ports(env)}
        env = {**{name: folders.localized(self._text(value)) for name, value in env.items()}, **mapped}
        command = [
            model.expand_variables(str(w), env) for w in (*container.get("command", ()), *container.get("args", ()))
        ]
        command = [folders.localized(self._text(word)) for word in command]
        lacking = list(stand_ins.missing_launchers(command, self._machine))
        if command and not lacking:
            command[0] = self._local_program(command[0], path, findings)
        for launcher, package in lacking:
            message = f"{stand_ins.interpreter(self._machine)} has no {package}, which {launcher} needs"
            hint = "pass the interpreter that has it, as in --python .venv/bin/python, or install it"
            findings.append(Finding("ProgramNotHere", "error", message, hint, (*path, "command")))
        self._findings += findings
        folder = folders.localized(container.get("workingDir", ""))
        return Program(
            container["name"],
            _kind(path, container),
            tuple(command),
            env,
            folder if folder != container.get("workingDir", "") else "",
            self._ranks(env) if "containers" in path else 0,
        )

    def _ranks(self, env: Mapping[str, str]) -> int:
        """How many ranks of a container get an output of their own: those of torchrun, if its interpreter is known."""
        if stand_ins.RANK_PYTHON not in self._stand_ins or _PROCESSES not in env:
            return 0
        return int(env[_PROCESSES]) if env[_PROCESSES].isdecimal() else _MOST_RANKS

    def _mapped_ports(self, env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
        """Ports in a variable of their own, separate from the one with the host."""
        for address in (address for plugin in self._plugins for address in plugin.addresses if address.port):
            host, port = env.get(address.variable, ""), env.get(address.port, "")
            local = self._ports.get((host.partition(".")[0], port))
            if local is not None:
                yield address.port, local

    def _local_program(self, program: str, path: Path, findings: list[Finding]) -> str:
        """The local program: a stand-in, or the one on the PATH if the image's path does not exist here."""
        name = os.path.basename(program)
        available = name in self._stand_ins or name in self._machine.programs
        is_path = "/" in program
        if stand_ins.stands_in_for_recipe(name, self._stand_ins, self._machine):
            message = "torchtune is not installed on this machine: the ranks only connect to each other, and nothing is trained"
            hint = "install torchtune, or pass the interpreter that has it with --python"
            findings.append(Finding("RecipeReplaced", "warning", message, hint, (*path, "command", 0)))
        if name in stand_ins.ALWAYS or (is_path and available and program not in self._machine.programs):
            if is_path and name not in stand_ins.ALWAYS:
                message = f"{program} does not exist on this machine; this machine's {name} is run instead"
                findings.append(Finding("CommandReplaced", "info", message, path=(*path, "command", 0)))
            return name
        if not available and program not in self._machine.programs:
            message = f"{program} does not exist on this machine"
            hint = "install it, pass the interpreter that has it with --python, or replace the image's folder with --map PATH=DIR"
            findings.append(Finding("ProgramNotHere", "error", message, hint, (*path, "command", 0)))
        return program


def _kind(path: Path, container: Json) -> model.ProgramKind:
    if "containers" in path:
        return "main"
    return "sidecar" if container.get("restartPolicy") == "Always" else "init"


def _containers_only(config_maps: ConfigMaps, plugins: Sequence[Plugin]) -> Iterator[Finding]:
    for plugin in plugins:
        if plugin.contained and any(name.endswith(file.suffix) for name in config_maps for file in plugin.files):
            hint = "use `trainc check` and `trainc graph`, which start nothing"
            message = f"a {plugin.name} job cannot run on this machine: {plugin.contained}"
            yield Finding("ContainersOnly", "error", message, hint, _JOBS)


def _exit_rules(policy: Json) -> Iterator[model.ExitRule]:
    for rule in policy.get("rules", ()):
        codes = rule.get("onExitCodes")
        if codes:
            yield model.ExitRule(rule["action"], codes["operator"] == "In", frozenset(codes["values"]))


def _success_rules(policy: Json) -> Iterator[model.SuccessRule]:
    for rule in policy.get("rules", ()):
        text = rule.get("succeededIndexes")
        # Each part is an index, such as `3`, or the first and the last of several: `2-5`.
        ends = [part.partition("-") for part in text.split(",")] if text is not None else []
        indexes = frozenset(index for first, _, last in ends for index in range(int(first), int(last or first) + 1))
        yield model.SuccessRule(None if text is None else indexes, rule.get("succeededCount"))


def _outcome(spec: Json) -> model.Outcome:
    success, failure = spec.get("successPolicy") or {}, spec.get("failurePolicy") or {}
    rules = tuple(
        model.FailureRule(
            rule["action"], tuple(rule.get("targetReplicatedJobs", ())), tuple(rule.get("onJobFailureReasons", ()))
        )
        for rule in failure.get("rules", ())
        # The message of a failed Job is not known here.
        if not rule.get("onJobFailureMessagePatterns")
    )
    return model.Outcome(
        success.get("operator", "All"),
        tuple(success.get("targetReplicatedJobs", ())),
        failure.get("maxRestarts", 0),
        rules,
    )
