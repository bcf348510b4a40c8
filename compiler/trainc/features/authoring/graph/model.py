"""The data model of a picture of a job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

from trainc.api.findings import counted
from trainc.api.jobs import PLUGINS, Plugin
from trainc.api.kube import Json, Quantity, accelerator, mapping, names, pod_requests, value_at, whole_number
from trainc.api.records import dataclass, replace
from trainc.ir.commands.programs import Launch, program_name
from trainc.ir.commands.started import CommandLine, read_command
from trainc.plugins.registry import programs


@dataclass(frozen=True, slots=True)
class Dependency:
    """The named step must reach `status` (Ready or Complete) before this one starts."""

    step: str
    status: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of a step's pods; `source` is its kind and target, e.g. `secret hf-token`."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """A rendezvous address, and the variable or file that tells the pods about it."""

    address: str
    source: str


@dataclass(frozen=True, slots=True)
class Step:
    """A replicated job. `pods` counts the pods of one replica; `requests` are per pod, by resource name.

    `runs` describes the processes it starts. `role` is the ancestor step or the part in an MPI job, or empty. `hosts`
    is a pattern with ranges for the DNS names of all pods, empty if the pods have none. `gang` is the name of the gang
    that the pods join, if any.
    """

    name: str
    role: str
    image: str
    pods: int
    replicas: int
    requests: tuple[tuple[str, Quantity], ...]
    volumes: tuple[Volume, ...]
    depends_on: tuple[Dependency, ...]
    hosts: str
    rendezvous: tuple[Rendezvous, ...]
    gang: str
    runs: str = ""

    @property
    def all_pods(self) -> int:
        """Pods of all replicas."""
        return self.pods * self.replicas

    @property
    def gpus(self) -> dict[str, int]:
        """Compute devices per pod, by resource name."""
        return {name: amount.units for name, amount in self.requests if accelerator(name)}

    @property
    def accelerators(self) -> Counter[str]:
        """Compute devices per pod, by display name: GPU, TPU."""
        counts: Counter[str] = Counter()
        for name, amount in self.requests:
            if noun := accelerator(name):
                counts[noun] += amount.units
        return counts


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that a scheduler starts all together or not at all; `members` is how many it waits for."""

    name: str
    scheduler: str
    members: int


@dataclass(frozen=True, slots=True)
class Graph:
    """The steps of one JobSet in the order of its replicated jobs, and its gangs: at most one, or one per step."""

    namespace: str
    name: str
    steps: tuple[Step, ...]
    gangs: tuple[Gang, ...]
    suspended: bool

    @property
    def gang(self) -> Gang | None:
        """The job's only gang; None if it has none or several."""
        return self.gangs[0] if len(self.gangs) == 1 else None

    def members(self, gang: Gang) -> list[Step]:
        """The steps whose pods join a gang."""
        return [step for step in self.steps if step.gang == gang.name]

    @property
    def pods(self) -> int:
        """Pods of all steps."""
        return sum(step.all_pods for step in self.steps)

    @property
    def gpus(self) -> int:
        """Compute devices of all pods."""
        return sum(step.all_pods * count for step in self.steps for count in step.gpus.values())

    @property
    def accelerators(self) -> Counter[str]:
        """Compute devices of all pods, by display name."""
        counts: Counter[str] = Counter()
        for step in self.steps:
            counts.update({noun: count * step.all_pods for noun, count in step.accelerators.items()})
        return counts


# Phrases about a step that every output format shares.


_TIMES = " \N{MULTIPLICATION SIGN} "


def total(graph: Graph) -> str:
    """The pods and devices of the whole job, and whether it is suspended."""
    suspended = ["suspended"] if graph.suspended else []
    return ", ".join((counted(graph.pods, "pod"), *_devices(graph.accelerators), *suspended))


def size(step: Step) -> str:
    """Replicas if there are several, pods per replica, and devices per pod if there are any, as a product."""
    factors = [f"{step.replicas:,}"] if step.replicas != 1 else []
    factors.append(counted(step.pods, "pod"))
    if device_counts := _devices(step.accelerators):
        factors.append(" + ".join(device_counts))
    return _TIMES.join(factors)


def _devices(counts: Counter[str]) -> list[str]:
    return [counted(count, noun) for noun, count in counts.items() if count]


def devices(step: Step) -> str:
    """`8 nvidia.com/gpu, 1 rdma/hca` for one pod."""
    return ", ".join(f"{amount} {name}" for name, amount in step.requests if name not in _HOST)


def cpu_and_memory(step: Step) -> str:
    """`96 CPUs, 1Ti memory` for one pod."""
    return ", ".join(f"{amount} {_HOST[name]}" for name, amount in step.requests if name in _HOST)


def per_pod(step: Step) -> str:
    """All requests of one pod."""
    return ", ".join(filter(None, (devices(step), cpu_and_memory(step))))


_HOST = {"cpu": "CPU", "memory": "memory", "ephemeral-storage": "disk"}


def gang(group: Gang) -> str:
    """`gang llm: 4 pods together (coscheduling)`."""
    return f"gang {group.name}: {counted(group.members, 'pod')} together ({group.scheduler})"


# Assign the steps to layers: each after all of its dependencies, and close to them within its layer.


def layers(graph: Graph) -> list[list[Step]]:
    """Steps without dependencies, then their dependents, and so on; steps in a cycle form a single layer."""
    steps = {step.name: step for step in graph.steps}
    sorter = TopologicalSorter({s.name: [d.step for d in s.depends_on if d.step in steps] for s in graph.steps})
    try:
        sorter.prepare()
    except CycleError:
        return [list(graph.steps)]
    result: list[list[Step]] = []
    positions: dict[str, int] = {}

    def height(step: Step) -> float:
        """The mean position of a step's dependencies, used to reduce line crossings."""
        heights = [positions[d.step] for d in step.depends_on if d.step in positions]
        return sum(heights) / len(heights) if heights else 0.0

    while sorter.is_active():
        ready = sorter.get_ready()
        layer = sorted((step for step in graph.steps if step.name in ready), key=height)
        positions |= {step.name: i for i, step in enumerate(layer)}
        result.append(layer)
        sorter.done(*ready)
    return result


# The processes in a step's pods: the launcher, its workers and their ranks, read from the manifests alone.


# The environment variable that identifies each framework, and its policy.
_FRAMEWORKS = {
    "PET_NNODES": "torch",
    "OMPI_MCA_orte_set_default_slots": "mpi",
    "JAX_NUM_PROCESSES": "jax",
    "DMLC_NUM_WORKER": "xgboost",
}


class Launched(NamedTuple):
    """What a container of a known framework runs, with its variables."""

    line: CommandLine
    policy: str
    env: Mapping[str, str | None]

    @property
    def launch(self) -> Launch | None:
        """The last launcher, which starts the training."""
        return self.line.launches[-1] if self.line.launches else None


def launched_in(pod: Json) -> Launched | None:
    """Return what the first container with variables of a framework runs, or None."""
    for container in pod.get("containers", ()):
        env = {str(v["name"]): v.get("value") for v in container.get("env", ())}
        policy = next((policy for variable, policy in _FRAMEWORKS.items() if variable in env), None)
        words = tuple(map(str, (*container.get("command", ()), *container.get("args", ()))))
        if policy is not None and words:
            return Launched(read_command(words, programs(policy)), policy, env)
    return None


def process_text(pod: Json, pods: int, devices: int) -> str:
    """`torchrun, 8 processes per pod, 32 ranks`; empty if the step uses no known framework."""
    launched = launched_in(pod)
    if launched is None:
        return ""
    program = "the image's own command"
    if launched.launch is not None:
        program = launched.launch.launcher.name
    elif starts := launched.line.starts_of("python", "code", "unknown"):
        program = program_name(starts[-1].argv[starts[-1].program.index])
    per_pod, ranks = process_counts(launched, pods, devices)
    counts = [f"{per_pod:,} process{'' if per_pod == 1 else 'es'} per pod"] if per_pod else []
    counts += [counted(ranks, "rank")] if ranks else []
    return ", ".join([program, *counts])


def process_counts(launched: Launched, pods: int, devices: int) -> tuple[int, int]:
    """Processes per pod and per step; 0 if unspecified."""
    launch, policy, env = launched.launch, launched.policy, launched.env
    if policy == "xgboost":
        return 0, whole_number(env.get("DMLC_NUM_WORKER")) or 0
    if policy == "mpi":
        return 0, (_given_number(launch, launch.launcher.total) if launch else None) or 0
    if policy == "jax" or launch is None:
        return 1, pods if policy == "jax" else 0
    per_node = _given_number(launch, launch.launcher.per_node)
    if not per_node:  # The variable may have a word that stands for the devices of the pod.
        variable = whole_number(env.get("PET_NPROC_PER_NODE"))
        per_node = devices if variable is None else variable
    return per_node, per_node * pods


def _given_number(launch: Launch, names: frozenset[str]) -> int | None:
    option = launch.find_option(names)
    return whole_number(option.value) if option else None


def summary_of(manifests: Sequence[Json]) -> str:
    """Return what the pods of a job run, in a line; nothing if no step is known to train."""
    return summary(read_graph(manifests).steps)


def headline_of(manifests: Sequence[Json]) -> str:
    """Return what the pods of a job run, or else how many there are, in a line."""
    graph = read_graph(manifests)
    return summary(graph.steps) or total(graph)


def summary(steps: Sequence[Step]) -> str:
    """Describe the training step: `4 pods x 8 GPUs, torchrun, 8 processes per pod, 32 ranks, rendezvous at ...`."""
    step = next((step for step in steps if step.runs), None)
    if step is None:
        return ""
    meeting = [f"rendezvous at {step.rendezvous[0].address}"] if step.rendezvous else []
    return ", ".join([size(step).replace("\N{MULTIPLICATION SIGN}", "x"), step.runs, *meeting])


# Build a graph from the manifests that will be applied, so that the picture always matches them.


_KINDS = {"persistentVolumeClaim": "PVC"}
_REFERENCES = ("name", "secretName", "claimName", "path")


def read_graph(manifests: Sequence[Json], plugins: Sequence[Plugin] = PLUGINS) -> Graph:
    """Read the graph of the only JobSet among a job's manifests; `plugins` supply the rendezvous addresses."""
    jobset = next(manifest for manifest in manifests if manifest["kind"] == "JobSet")
    spec, metadata = jobset["spec"], jobset["metadata"]
    claims: dict[str, str] = dict(_claims(spec))
    steps = [_step(job, jobset, manifests, claims, plugins) for job in spec.get("replicatedJobs", ())]
    if (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder":
        # Each step depends on the previous one if it does not depend on any.
        for i, (before, step) in enumerate(pairwise(steps), start=1):
            steps[i] = step if step.depends_on else replace(step, depends_on=(Dependency(before.name, "Ready"),))
    schedulers = {p.gang.api_group: (p.policy, p.gang.size) for p in plugins if p.gang is not None}
    gangs = []
    for manifest in (manifest for manifest in manifests if manifest["kind"] == "PodGroup"):
        group = manifest["apiVersion"].partition("/")[0]
        scheduler, size = schedulers.get(group, (group, None))
        gangs.append(Gang(manifest["metadata"]["name"], scheduler, (size and value_at(manifest, size)) or 0))
    suspended = spec.get("suspend") is True
    return Graph(metadata.get("namespace", ""), metadata["name"], tuple(steps), tuple(gangs), suspended)


def _step(
    job: Json, jobset: Json, manifests: Sequence[Json], claims: Mapping[str, str], plugins: Sequence[Plugin]
) -> Step:
    job_spec = job["template"].get("spec", {})
    template = job_spec.get("template", {})
    pod: Json = template.get("spec", {})
    containers = pod.get("containers", ())
    label = (job["template"].get("metadata") or {}).get("labels", {}).get(names.ANCESTOR_LABEL, "")
    pods, replicas = job_spec.get("parallelism", 1), job.get("replicas", 1)
    amounts = pod_requests(pod, limits_count=True)
    # Compute devices first, then other devices, then CPU and memory.
    in_order = sorted(amounts, key=lambda name: (not accelerator(name), "/" not in name, name))
    requests = tuple((name, amounts[name]) for name in in_order)
    gangs = (plugin.gang for plugin in plugins if plugin.gang is not None)
    return Step(
        name=job["name"],
        role=label,
        image=containers[0].get("image", "") if containers else "",
        pods=pods,
        replicas=replicas,
        requests=requests,
        volumes=tuple(_volumes(pod, claims)),
        depends_on=tuple(Dependency(d["name"], d["status"]) for d in job.get("dependsOn", ())),
        hosts=_hosts(jobset, job["name"], replicas, pods),
        rendezvous=tuple(_rendezvous(pod, manifests, _hosts(jobset, job["name"], 1, 1), plugins)),
        runs=process_text(pod, pods * replicas, sum(amount.units for name, amount in requests if accelerator(name))),
        gang=next((str(name) for gang in gangs if (name := value_at(template, gang.joins))), ""),
    )


def _volumes(pod: Json, claims: Mapping[str, str]) -> Iterator[Volume]:
    for volume in pod.get("volumes", ()):
        nothing: tuple[str, Json] = ("", {})
        kind, source = next(((k, v) for k, v in volume.items() if k != "name"), nothing)
        refers_to = next((source[field] for field in _REFERENCES if field in source), "") if source else ""
        yield Volume(volume["name"], f"{_KINDS.get(kind, kind)} {refers_to}".strip())
    mounted = {m["name"] for c in pod.get("containers", ()) for m in c.get("volumeMounts", ())}
    for name in sorted(mounted & set(claims)):
        yield Volume(name, claims[name])


def _claims(spec: Json) -> Iterator[tuple[str, str]]:
    """The claims that JobSet creates for its pods, which mount them by name."""
    for policy in spec.get("volumeClaimPolicies", ()):
        for template in policy.get("templates", ()):
            size = template.get("spec", {}).get("resources", {}).get("requests", {}).get("storage", "")
            yield template["metadata"]["name"], f"PVC {size}".strip()


def _hosts(jobset: Json, job: str, replicas: int, pods: int) -> str:
    network = jobset["spec"].get("network") or {}
    if network.get("enableDNSHostnames") is False or not pods * replicas:
        return ""
    name = jobset["metadata"]["name"]
    return f"{name}-{job}-{_range(replicas)}-{_range(pods)}.{network.get('subdomain') or name}"


def _range(count: int) -> str:
    return "0" if count == 1 else f"[0-{count - 1}]"


def _rendezvous(
    pod: Json, manifests: Sequence[Json], first_host: str, plugins: Sequence[Plugin]
) -> Iterator[Rendezvous]:
    for container in pod.get("containers", ()):
        env = {variable["name"]: str(variable.get("value", "")) for variable in container.get("env", ())}
        for address in (address for plugin in plugins for address in plugin.addresses):
            host, port = env.get(address.variable), env.get(address.port)
            if host:
                yield Rendezvous(host if port is None else f"{host}:{port}", address.variable)
        for argument in (argument for plugin in plugins for argument in plugin.address_arguments):
            for word in container.get("command", ()):
                if word.startswith(argument):
                    yield Rendezvous(word.removeprefix(argument), argument.rstrip("="))
    mounted = {(volume.get("configMap") or {}).get("name") for volume in pod.get("volumes", ())}
    for manifest in manifests:
        if manifest["kind"] == "ConfigMap" and manifest["metadata"]["name"] in mounted:
            for file in (file for plugin in plugins for file in plugin.files):
                source = f"{file.called or file.key} in {manifest['metadata']['name']}"
                yield from _by_file(mapping(manifest.get("data")).get(file.key), file.port, source, first_host)


def _by_file(text: str | None, pattern: str, source: str, first_host: str) -> Iterator[Rendezvous]:
    """What programs read from a file: all hosts, or the port of rank 0."""
    if text is not None and not pattern:
        yield Rendezvous(counted(text.count("\n"), "host"), source)
    port = re.search(pattern, text or "") if pattern else None
    if port is not None and first_host:
        yield Rendezvous(f"{first_host}:{port[1]}", source)
