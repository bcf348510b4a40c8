"""A TrainJob as plugins see it, and its patches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set as AbstractSet

from trainc.findings import Finding, Path, remove
from trainc.ir.info import Info, Item, PodSet, controller_port_match, port_match
from trainc.ir.provenance import fields_only, with_deviation
from trainc.kube import names
from trainc.options import Semantics
from trainc.startup.records import dataclass, field
from trainc.startup.typing import Any


@dataclass(frozen=True, slots=True)
class PatchedJob:
    """The effect of one patch on one replicated job: a partial JobTemplateSpec at `path` in the TrainJob.

    `template` is None if the patch lists the job but changes nothing. `pod_path` is the path of the pod spec patch.
    """

    name: str
    template: Mapping[str, Any] | None
    path: Path
    pod_path: Path

    @property
    def pod_spec(self) -> Mapping[str, Any]:
        """The partial PodSpec, or empty if there is none."""
        pod_template = ((self.template or {}).get("spec") or {}).get("template") or {}
        spec: Mapping[str, Any] = pod_template.get("spec") or {}
        return spec


@dataclass(frozen=True, slots=True)
class Patch:
    """An item of runtimePatches, podTemplateOverrides or podSpecOverrides; only the first has a manager."""

    manager: str | None
    jobs: tuple[PatchedJob, ...]
    path: Path
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


EnvVariable = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trainer:
    """`spec.trainer`. None means "not set"; an empty tuple overrides the runtime's value with nothing."""

    image: str | None = None
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[EnvVariable, ...] = ()
    num_nodes: int | None = None
    num_proc_per_node: int | str | None = None
    resources_per_node: Mapping[str, Any] | None = None
    resource_claims: tuple[Item, ...] = ()


NO_TRAINER = Trainer()


@dataclass(frozen=True, slots=True)
class InitializerStep:
    """`spec.initializer.dataset` or `.model`."""

    storage_uri: str | None = None
    env: tuple[EnvVariable, ...] = ()
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class TrainJob:
    """A TrainJob after validation and defaulting. `namespace` is empty if the document has none.

    `labels` and `annotations` are from its metadata, `spec_labels` and `spec_annotations` from its spec (up to 2.1).
    `name_hash` is the suffix of `name` derived from the content, or empty without `--name-hash`. `new_keys` means that
    each such name gets its own key pairs, so that their Secrets have the suffix too.
    """

    name: str
    namespace: str
    runtime_name: str
    trainer: Trainer = NO_TRAINER
    dataset: InitializerStep | None = None
    model: InitializerStep | None = None
    suspend: bool | None = None
    managed_by: str = names.CONTROLLER_MANAGED_BY
    active_deadline_seconds: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec_labels: Mapping[str, str] = field(default_factory=dict)
    spec_annotations: Mapping[str, str] = field(default_factory=dict)
    patches: tuple[Patch, ...] = ()
    name_hash: str = ""
    new_keys: bool = False

    @property
    def has_trainer(self) -> bool:
        """Return whether the document has a trainer, which may be empty; some releases tell the two apart."""
        return self.trainer is not NO_TRAINER

    @property
    def rank_deviation(self) -> str:
        """The deviation that gives the pods of a job without a trainer their ranks; empty for other jobs."""
        return "" if self.has_trainer else "rank-environment-without-trainer"

    @property
    def plain_name(self) -> str:
        """The name as written, without the content hash; existing Secrets are named after it."""
        return fields_only(self.name.removesuffix(self.name_hash), self.name) if self.name_hash else self.name

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata that every generated object starts with: name and, if set, namespace."""
        return self.metadata_for(self.name)

    def metadata_for(self, name: str) -> dict[str, str]:
        """Return metadata for an object of this job with another name."""
        return {"name": name, "namespace": self.namespace} if self.namespace else {"name": name}

    def initializer(self, step: str) -> InitializerStep | None:
        """Return the initializer configuration of an ancestor step, or None for the trainer step."""
        return {names.DATASET_INITIALIZER: self.dataset, names.MODEL_INITIALIZER: self.model}.get(step)


# Annotations that kubectl, kustomize and kpt write for their own use.
_TOOL_PREFIXES = tuple(
    "kubectl.kubernetes.io/ config.kubernetes.io/ internal.config.kubernetes.io/ config.k8s.io/"
    " kustomize.config.k8s.io/".split()
)
_TOOL_KEYS = frozenset({"argocd.argoproj.io/tracking-id"})


def jobset_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the labels or annotations of a TrainJob that are copied to its JobSet."""
    return {k: v for k, v in metadata.items() if k not in _TOOL_KEYS and not k.startswith(_TOOL_PREFIXES)}


# Environment variables that plugins inject, variables of TrainJobs as the controller copies them, and rendezvous.


def literal(name: str, value: str | int) -> EnvVariable:
    """Return a variable with a fixed value."""
    return {"name": name, "value": str(value)}


def completion_index(name: str) -> EnvVariable:
    """Return a variable with the pod's completion index, which is its rank. Requires an Indexed job."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": names.COMPLETION_INDEX}}}


def trainer_env(job: TrainJob, semantics: Semantics) -> tuple[EnvVariable, ...]:
    """Return the variables of `spec.trainer.env` as they end up in a container."""
    return carry_over(job.trainer.env, semantics)


def carry_over(variables: Iterable[EnvVariable], semantics: Semantics) -> tuple[EnvVariable, ...]:
    """Return variables of a TrainJob as they end up in a container.

    The controller copies only the sources that it knows, so `fieldRef.apiVersion` and `fileKeyRef` are lost and
    resource divisors become explicit (kubeflow/trainer pkg/apply/apply.go EnvVar, all releases). `gitops` keeps them.
    """
    return tuple(_copy_variable(v, semantics == "gitops") for v in variables)


_KNOWN_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
_ALL_SOURCES = (*_KNOWN_SOURCES, "fileKeyRef")


def _copy_variable(variable: EnvVariable, complete: bool) -> EnvVariable:
    source = variable.get("valueFrom")
    if source is None:
        return {"name": variable["name"], "value": variable.get("value", "")}
    sources = _ALL_SOURCES if complete else _KNOWN_SOURCES
    copies = {kind: _copy_reference(kind, source[kind], complete) for kind in sources if kind in source}
    return {"name": variable["name"], "valueFrom": copies}


def _copy_reference(kind: str, reference: EnvVariable, complete: bool) -> EnvVariable:
    if kind == "fieldRef" and not complete:
        return {"fieldPath": reference["fieldPath"]}
    if kind == "resourceFieldRef":
        return {"containerName": "", "divisor": "0", **reference}
    return reference


# Rendezvous: the address and port of rank 0.


PORT: Item = {"containerPort": names.TRAINER_PORT}


def subdomain(job: TrainJob, info: Info) -> str:
    """Return the headless Service in the pods' DNS names: `network.subdomain`, or else the name of the job."""
    network = info.template.get("network") or {}
    return str(network.get("subdomain") or job.name)


def master_host(job: TrainJob, info: Info, port: int | None = None) -> str:
    """Return the DNS name of rank 0, and the port if there is one.

    The controller always uses `<job>-node-0-0.<job>`, even if the replicated job or subdomain has another name
    (kubeflow/trainer torch.go, jax.go, xgboost.go). `gitops` uses the name of the actual pod.
    """
    trainer, ending = info.trainer, "" if port is None else f":{port}"
    if info.gitops and trainer is not None:
        domain = subdomain(job, info)
        differs = trainer.name != names.NODE or domain != job.name
        host = names.first_host(job.name, trainer.name, domain) + ending
        return info.made(host, job.name, domain, trainer.name, deviation="real-master-address" if differs else "")
    return info.made(names.first_host(job.name, names.NODE, job.name) + ending, job.name)


def endpoints(pod_set: PodSet, job: TrainJob, info: Info) -> Iterator[str]:
    """Yield the DNS name of every pod of a pod set. Up to 2.2, the controller only knows the first replica."""
    domain = subdomain(job, info)
    for replica in range(_replicas(pod_set, info)):
        for index in range(pod_set.count):
            yield f"{names.pod_host(job.name, pod_set.name, replica, index)}.{domain}"


def endpoint_count(pod_set: PodSet, info: Info) -> int:
    """Return the number of endpoints, without listing them."""
    return _replicas(pod_set, info) * max(pod_set.count, 0)


def _replicas(pod_set: PodSet, info: Info) -> int:
    return pod_set.replicas if info.release.hostfile_counts_replicas or info.gitops else 1


def with_rendezvous(info: Info, env: Iterable[EnvVariable], deviation: str = "") -> Info:
    """Add the rendezvous variables and port to the trainer container; `deviation` says why, if the controller does not.

    The controller treats any two unnamed ports as the same port, and so overwrites the first one; `gitops` keeps both.
    """
    same = port_match if info.gitops else controller_port_match
    ports: Iterable[Item] = ({**PORT},)
    if info.traced and deviation:
        env, ports = with_deviation([*env], deviation), with_deviation(ports, deviation)
    return info.with_trainer_container(lambda container: container.with_env(env).with_ports(ports, same))


def reserved_env(trainer: Trainer, reserved: AbstractSet[str], purpose: str) -> Iterator[Finding]:
    """Report each variable of `spec.trainer.env` whose name is in `reserved`."""
    for index, variable in enumerate(trainer.env):
        if variable["name"] in reserved:
            message = f"{variable['name']} is reserved: Trainer sets it for {purpose}"
            hint = remove(
                "remove the variable; its value comes from numNodes, numProcPerNode and the runtime's mlPolicy"
            )
            yield Finding("ReservedEnv", "error", message, hint, ("spec", "trainer", "env", index))
