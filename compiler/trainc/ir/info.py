"""Info, what plugins pass on: the pods of each step, their resources, and the gang they form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from trainc.findings import Path
from trainc.ir.provenance import T, derived_from
from trainc.ir.release import Release
from trainc.kube import names
from trainc.kube.documents import Json, pod_spec_of
from trainc.kube.quantity import ResourceList, add_resources, format_resources
from trainc.kube.releases import DEFAULT_KUBERNETES
from trainc.options import Semantics
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import Any, Literal, TypeAlias

# Pod sets (the pods of one replicated job) and their containers, with the edits that plugins make.


@dataclass(frozen=True, slots=True)
class Container:
    """A container. `fields` is a core/v1 Container as a plain mapping that must not be modified."""

    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the container."""
        return str(self.fields.get("name", ""))

    @property
    def env(self) -> Sequence[Item]:
        """The environment variables, in order."""
        env: Sequence[Item] = self.fields.get("env", ())
        return env

    @property
    def ports(self) -> Sequence[Item]:
        """The container ports, in order."""
        ports: Sequence[Item] = self.fields.get("ports", ())
        return ports

    @property
    def mounts(self) -> Sequence[Item]:
        """The volume mounts, in order."""
        mounts: Sequence[Item] = self.fields.get("volumeMounts", ())
        return mounts

    @property
    def command(self) -> tuple[str, ...]:
        """The entrypoint, or empty if the image's is used."""
        return tuple(self.fields.get("command", ()))

    @property
    def resources(self) -> Mapping[str, Any]:
        """`limits`, `requests` and `claims`, with canonical quantities."""
        resources: Mapping[str, Any] = self.fields.get("resources", {})
        return resources

    def with_fields(self, **fields: Any) -> Container:
        """Return a copy with `fields` set; None removes a field."""
        merged = {**self.fields, **fields}
        return Container({name: value for name, value in merged.items() if value is not None})

    def with_env(self, variables: Iterable[Item]) -> Container:
        """Return a copy with variables added; existing ones with the same name are replaced in place."""
        env = upsert(self.env, variables, "name")
        return Container({**self.fields, "env": env}) if env else self

    def with_mounts(self, mounts: Iterable[Item]) -> Container:
        """Return a copy with mounts added; existing ones with the same path are replaced in place."""
        return Container({**self.fields, "volumeMounts": upsert(self.mounts, mounts, "mountPath")})

    def with_ports(self, ports: Iterable[Item], same: Same) -> Container:
        """Return a copy with ports added; existing ones that `same` considers equal are replaced in place."""
        result = upsert_where(self.ports, ports, same)
        return Container({**self.fields, "ports": result}) if result else self


Edit = Callable[[Container], Container]


@dataclass(frozen=True, slots=True)
class PodSet:
    """The pods of the replicated job `name`.

    - `count`: pods per replica (parallelism and completions).
    - `ancestor`: the ancestor step in the label of its job template.
    - `role`: "launcher" or "node" in MPI and Flux jobs, otherwise empty.
    - `main`: the container that gets the step's settings.
    - `requests`: the requests of one pod, as the scheduler counts them.
    - `amounts`: for `explain`, the amounts behind each of them.
    - `min_count`: pods per replica that a gang waits for, if fewer than `count`.
    - `labels`, `annotations`: what schedulers add to the pods.
    - `pod_fields`: fields that plugins set in the pod spec.
    """

    name: str
    ancestor: str | None
    count: int
    replicas: int
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    volumes: tuple[Item, ...]
    requests: ResourceList
    role: str = ""
    main: str = names.NODE
    min_count: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    pod_fields: Mapping[str, Any] = field(default_factory=dict)
    amounts: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def pods(self) -> int:
        """The number of pods of all replicas."""
        return self.count * self.replicas

    @property
    def main_container(self) -> Container | None:
        """The container `main`, if the pods have it."""
        # A loop, because each job asks several times, and a generator costs more.
        for container in self.containers:
            if container.name == self.main:
                return container
        return None

    def container(self, name: str) -> Container | None:
        """Return the container `name`; regular containers take precedence over init containers."""
        return next((c for c in (*self.containers, *self.init_containers) if c.name == name), None)

    def with_count(self, count: int) -> PodSet:
        """Return a copy with `count` pods per replica."""
        return replace(self, count=count)

    def with_container(self, name: str, edit: Edit) -> PodSet:
        """Return a copy with the container `name` edited; regular containers take precedence over init containers."""
        if any(c.name == name for c in self.containers):
            return replace(self, containers=_edit_container(self.containers, name, edit))
        return replace(self, init_containers=_edit_container(self.init_containers, name, edit))

    def with_main(self, edit: Edit) -> PodSet:
        """Return a copy with the main container edited; unchanged if there is none."""
        return replace(self, containers=_edit_container(self.containers, self.main, edit))

    def with_pod_labels(self, labels: Mapping[str, str]) -> PodSet:
        """Return a copy with labels added to its pods."""
        return replace(self, labels={**self.labels, **labels})

    def with_pod_annotations(self, annotations: Mapping[str, str]) -> PodSet:
        """Return a copy with annotations added to its pods."""
        return replace(self, annotations={**self.annotations, **annotations})

    def with_pod_fields(self, **fields: Any) -> PodSet:
        """Return a copy with pod spec fields that override the template's."""
        return replace(self, pod_fields={**self.pod_fields, **fields})

    def with_volumes(self, volumes: Iterable[Mapping[str, Any]]) -> PodSet:
        """Return a copy with volumes added; existing ones with the same name are replaced in place."""
        return replace(self, volumes=tuple(upsert(self.volumes, volumes, "name")))


def _edit_container(containers: tuple[Container, ...], name: str, edit: Edit) -> tuple[Container, ...]:
    at = next((i for i, c in enumerate(containers) if c.name == name), None)
    return containers if at is None else (*containers[:at], edit(containers[at]), *containers[at + 1 :])


# Lists with item identities: replace items with the same identity in place, append others. Go's counterpart is
# `Upsert*` in kubeflow/trainer pkg/apply/apply.go.


Item: TypeAlias = Mapping[str, Any]
Same: TypeAlias = Callable[[Item, Item], bool]


def upsert(items: Sequence[Item], updates: Iterable[Item], key: str) -> list[Item]:
    """Return `items` with each update replacing the item with the same `key`, or appended."""
    result = list(items)
    index: dict[Any, int] = {}
    for i, item in enumerate(items):
        index.setdefault(item.get(key), i)
    for update in updates:
        identity = update.get(key)
        if identity in index:
            result[index[identity]] = update
        else:
            index[identity] = len(result)
            result.append(update)
    return result


def upsert_where(items: Sequence[Item], updates: Iterable[Item], same: Same) -> list[Item]:
    """Like `upsert`, but items match if `same` returns True."""
    result = list(items)
    for update in updates:
        for i, item in enumerate(result):
            if same(item, update):
                result[i] = update
                break
        else:
            result.append(update)
    return result


def controller_port_match(left: Item, right: Item) -> bool:
    """Return whether the controller considers two ports the same: equal number or name; unnamed ports have equal names."""
    return left.get("containerPort") == right.get("containerPort") or left.get("name") == right.get("name")


def port_match(left: Item, right: Item) -> bool:
    """Return whether two ports are the same by the API's list keys: number and protocol."""
    return (left.get("containerPort"), left.get("protocol", "TCP")) == (
        right.get("containerPort"),
        right.get("protocol", "TCP"),
    )


About = Literal["trainjob", "runtime"]


@dataclass(frozen=True, slots=True)
class Size:
    """numNodes or numProcPerNode of a job: the TrainJob's or else the mlPolicy's, and the field that sets it.

    `value` is None and `path` empty if neither document sets it. numProcPerNode may be a word, such as "auto".
    """

    value: Any = None
    path: Path = ()
    about: About = "runtime"

    @property
    def requested(self) -> Any:
        """The value, if the TrainJob sets it; else None."""
        return self.value if self.about == "trainjob" else None


@dataclass(frozen=True, slots=True)
class Info:
    """The runtime, patched and lowered for one TrainJob.

    `template` is the runtime's JobSetSpec with all patches applied. `pod_sets` mirrors its replicatedJobs, in order,
    and is what passes edit. `command` and `args` are the trainer's entrypoint, or None to use the template's. `nodes`
    and `processes` are the sizes that were requested, of the job and of each node.
    `ml_policy` is None if the runtime has none, which differs from an empty one. `runtime_jobs` maps the jobs that the
    runtime had before patching to their containers. `plugins` are the active plugins from other distributions.
    `kubernetes` is the minor version of the cluster, and `kueue` the step of kube.kueue_versions for its Kueue, if that is known.
    `feature_gates` are the gates of Trainer's controller that are on, and `software` the packages of images (options.py).
    `traced` means that values know what they were made from (ir.provenance).
    """

    release: Release
    semantics: Semantics
    cluster_domain: str
    template: Json
    pod_sets: tuple[PodSet, ...]
    runtime_jobs: Mapping[str, tuple[str, ...]]
    ml_policy: Json | None = None
    pod_group_policy: Json | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    nodes: Size = Size()
    processes: Size = Size()
    plugins: tuple[str, ...] = ()
    kubernetes: str = DEFAULT_KUBERNETES
    kueue: str = ""
    feature_gates: tuple[str, ...] = ()
    software: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    traced: bool = False

    @property
    def gitops(self) -> bool:
        """Return whether `gitops` deviations apply."""
        return self.semantics == "gitops"

    @property
    def trainer(self) -> PodSet | None:
        """The first pod set labeled as the trainer step."""
        for pod_set in self.pod_sets:
            if pod_set.ancestor == names.TRAINER:
                return pod_set
        return None

    @property
    def trainer_container(self) -> Container | None:
        """The main container of the trainer's pod set, which the settings of `spec.trainer` apply to."""
        trainer = self.trainer
        return None if trainer is None else trainer.main_container

    def made(self, value: T, *read: object, rule: str = "", deviation: str = "") -> T:
        """Return a value that was made from others, or by a rule where no document decides: for `explain`."""
        return derived_from(value, read, rule, deviation) if self.traced else value

    def policy(self, name: str) -> Json | None:
        """Return `mlPolicy.<name>`, the policy of an ML plugin, or None if the runtime does not select it."""
        return (self.ml_policy or {}).get(name)

    def gang(self, name: str) -> Json | None:
        """Return `podGroupPolicy.<name>`, the policy of a gang scheduler, or None if the runtime does not select it."""
        return (self.pod_group_policy or {}).get(name)

    def pod_set(self, name: str) -> PodSet | None:
        """Return the pod set of the replicated job `name`."""
        return next((p for p in self.pod_sets if p.name == name), None)

    def pod_spec(self, name: str) -> Json:
        """Return the template's pod spec of the replicated job `name`, before any pass."""
        for job in self.template.get("replicatedJobs", ()):
            if job["name"] == name:
                return pod_spec_of(job)
        return {}

    def pod_set_in_role(self, role: str) -> PodSet | None:
        """Return the pod set with a role in an MPI or Flux job: names.LAUNCHER or names.NODE."""
        return next((p for p in self.pod_sets if p.role == role), None)

    @property
    def mpi_hosts(self) -> list[PodSet]:
        """The pod sets in whose pods mpirun starts processes: the launcher is one if it is a node, or if there is no other."""
        alone = launcher_is_node(self.ml_policy) or self.pod_set_in_role(names.NODE) is None
        roles = (names.NODE, names.LAUNCHER) if alone else (names.NODE,)
        return [pod_set for pod_set in self.pod_sets if pod_set.role in roles]

    def with_pod_set(self, changed: PodSet) -> Info:
        """Return a copy with the pod set of the same name replaced."""
        return replace(self, pod_sets=tuple([changed if p.name == changed.name else p for p in self.pod_sets]))

    def sized_by_job(self) -> Info:
        """Return a copy with the TrainJob's numNodes as the trainer's pods; unchanged if it sets none."""
        trainer, count = self.trainer, self.nodes.requested
        return self if trainer is None or count is None else self.with_pod_set(trainer.with_count(count))

    def with_trainer_container(self, edit: Callable[[Container], Container]) -> Info:
        """Return a copy with the trainer container edited; unchanged if there is none."""
        trainer = self.trainer
        return self if trainer is None or trainer.main_container is None else self.with_pod_set(trainer.with_main(edit))


# The gang: the pods that must be scheduled together, and their total requests.
#
# Source: kubeflow/trainer plugins coscheduling and volcano (Build).


def members(info: Info) -> tuple[PodSet, ...]:
    """Return the pod sets of the gang.

    The controller includes every job. With `gitops`, jobs that another one awaits with `dependsOn: Complete` are
    excluded: they finish before the others start, so a gang that included them could never be complete.
    """
    if not info.gitops:
        return info.pod_sets
    awaited = awaited_pod_sets(info)
    return tuple(pod_set for pod_set in info.pod_sets if pod_set.name not in awaited)


def awaited_pod_sets(info: Info) -> frozenset[str]:
    """Return the names of replicated jobs that must complete before another one starts."""
    return frozenset(
        dependency["name"]
        for job in info.template.get("replicatedJobs", ())
        for dependency in job.get("dependsOn", ())
        if dependency.get("status") == "Complete"
    )


def delayed_members(info: Info) -> frozenset[str]:
    """Return the names of members that are only created once other members run."""
    names = [pod_set.name for pod_set in members(info)]
    if (info.template.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder":
        return frozenset(names[1:])
    awaits = {
        job["name"]: {dependency["name"] for dependency in job.get("dependsOn") or ()}
        for job in info.template.get("replicatedJobs", ())
    }
    waiting: set[str] = set()
    # In a JobSet, a job can only depend on earlier ones.
    for name, awaited_by_it in awaits.items():
        if awaited_by_it & (waiting | set(names)):
            waiting.add(name)
    return frozenset(waiting & set(names))


def min_member(info: Info) -> int:
    """Return the number of pods that the gang needs before any of them may start."""
    return gang_size(members(info), info)


def gang_size(pod_sets: Iterable[PodSet], info: Info, deviation: str = "") -> int:
    """Return the number of pods that a gang of these pod sets waits for."""
    pod_sets = tuple(pod_sets)
    size = sum(pods(pod_set, info) for pod_set in pod_sets)
    if not info.traced:
        return size
    read = [amount for pod_set in pod_sets for amount in _counted(pod_set, info)]
    return info.made(size, *read, deviation=_gang_deviation(info) or deviation)


def min_resources(info: Info, at_most: int | None = None) -> dict[str, str]:
    """Return the total requests of the gang by resource name, or only of its first `at_most` pods.

    Empty if no container has requests.
    """
    total: ResourceList = {}
    left = at_most
    for pod_set in members(info):
        count = pods(pod_set, info)
        if left is not None:
            count = min(count, left)
            left -= count
        total = add_resources(total, {name: amount * count for name, amount in pod_set.requests.items()})
    formatted = format_resources(total)
    if not info.traced:
        return formatted
    made = {name: _amount_made(name, text, at_most, info) for name, text in formatted.items()}
    return made or info.made(made, rule="no container of the gang has resource requests")


def _amount_made(name: str, text: str, at_most: int | None, info: Info) -> str:
    read: list[object] = [at_most]
    for pod_set in members(info):
        if name in pod_set.requests:
            read += _counted(pod_set, info) if pod_set.requests[name].nanos else ()
            read += pod_set.amounts.get(name, ()) if pod_set.count else ()
    only_limits = info.gitops and any(
        name in container.resources.get("limits", {}) and name not in container.resources.get("requests", {})
        for pod_set in members(info)
        for container in pod_set.containers
    )
    deviation = _gang_deviation(info) or ("gang-counts-limits" if only_limits else "")
    return info.made(text, *read, deviation=deviation)


def _counted(pod_set: PodSet, info: Info) -> tuple[object, ...]:
    count = pod_set.count if pod_set.min_count is None else pod_set.min_count
    return (count, pod_set.replicas) if info.gitops else (count,)


def _gang_deviation(info: Info) -> str:
    if not info.gitops:
        return ""
    if awaited_pod_sets(info):
        return "gang-of-pods-that-run-together"
    return "gang-counts-replicas" if any(pod_set.replicas > 1 for pod_set in info.pod_sets) else ""


def pods(pod_set: PodSet, info: Info) -> int:
    """Return how many pods of a set the gang waits for; the controller ignores replicas."""
    count = pod_set.count if pod_set.min_count is None else pod_set.min_count
    return count * pod_set.replicas if info.gitops else count


# Secrets that pods mount and that someone must provide; trainc names them but never creates their content.


@dataclass(frozen=True, slots=True)
class ProvidedSecret:
    """What pods expect of a Secret, and how to create it manually.

    `files` pairs each key of the Secret with the file that `make`, a shell command, creates for it. `key_pair` means
    that it is an SSH key pair, which some secrets modes can generate in the cluster.
    """

    name: str
    type: str
    purpose: str
    files: tuple[tuple[str, str], ...]
    make: str
    key_pair: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that the Secret must have."""
        return tuple(key for key, _ in self.files)

    def create(self, namespace: str) -> str:
        """Return the kubectl command that creates the Secret from the files, in `namespace` unless that is empty."""
        flag = f" --namespace {namespace}" if namespace else ""
        sources = "".join(f" --from-file {key}={file}" for key, file in self.files)
        return f"kubectl create secret generic {self.name}{flag} --type {self.type}{sources}"


def launcher_is_node(ml_policy: Json | None) -> bool:
    """Return whether an mlPolicy makes MPI's launcher one of the nodes."""
    return bool(((ml_policy or {}).get("mpi") or {}).get("runLauncherAsNode"))
