"""The kinds of Training Operator v1 and the MPI Operator, and which replicated job of a JobSet runs which of their pods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainc.api.findings import Finding, Path
from trainc.api.kube import Json, names
from trainc.api.records import dataclass, pattern, replace

LABELS = "training.kubeflow.org/"
# A v1 pod: its role in lower case, and its index within the role.
Pod = tuple[str, int]
V1 = "kubeflow.org/v1"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job. `container` is the required name of its main container; MPI uses the first container."""

    name: str
    api: str
    replicas: str
    roles: tuple[str, ...]
    container: str
    port_name: str
    port: int
    restart: str

    @property
    def is_mpi(self) -> bool:
        """Whether the MPI Operator runs it."""
        return self.name == "MPIJob"


_MASTER_WORKER = ("Master", "Worker")
_TF_ROLES = ("PS", "Worker", "Chief", "Master", "Evaluator")
KINDS = {
    (kind.api, kind.name): kind
    for kind in (
        Kind("PyTorchJob", V1, "pytorchReplicaSpecs", _MASTER_WORKER, "pytorch", "pytorchjob-port", 23456, "OnFailure"),
        Kind("TFJob", V1, "tfReplicaSpecs", _TF_ROLES, "tensorflow", "tfjob-port", 2222, "Never"),
        Kind("XGBoostJob", V1, "xgbReplicaSpecs", _MASTER_WORKER, "xgboost", "xgboostjob-port", 9999, "Never"),
        Kind("JAXJob", V1, "jaxReplicaSpecs", ("Worker",), "jax", "jaxjob-port", 6666, "Never"),
        Kind("PaddleJob", V1, "paddleReplicaSpecs", _MASTER_WORKER, "paddle", "master", 36543, "OnFailure"),
        Kind("MPIJob", "kubeflow.org/v2beta1", "mpiReplicaSpecs", ("Launcher", "Worker"), "", "", 0, ""),
    )
}
# Masters come first because they are rank 0. TF_CONFIG and MPI count each role separately, so any order would do.
_ORDER = ("Chief", "Master", "Launcher", "PS", "Worker", "Evaluator")
_MPI_RESTARTS = {"Launcher": "OnFailure", "Worker": "Never"}


def kind_of(document: Json) -> Kind | None:
    """The kind of a document that can be migrated; None for any other."""
    return KINDS.get((str(document.get("apiVersion")), str(document.get("kind"))))


@dataclass(frozen=True, slots=True)
class Role:
    """The pods of one replica spec. `path` is its position in the job."""

    name: str
    replicas: int
    restart: str
    template: Json
    path: Path

    @property
    def lower(self) -> str:
        """The name in pods, labels and TF_CONFIG."""
        return self.name.lower()

    @property
    def pods(self) -> tuple[Pod, ...]:
        """Its pods."""
        return tuple((self.lower, index) for index in range(self.replicas))

    @property
    def containers(self) -> list[dict[str, Any]]:
        """The containers of its pods."""
        containers: list[dict[str, Any]] = self.template["spec"]["containers"]
        return containers


@dataclass(frozen=True, slots=True)
class Job:
    """A job that v1 would run. `roles` are those in the job, in rank order.

    `name` stands in front of its pods' names. Where only the cluster knows it, as in a Katib trial, it is `$(JOBSET_NAME)`.
    """

    kind: Kind
    name: str
    namespace: str | None
    metadata: Json
    spec: Json
    roles: tuple[Role, ...]

    @property
    def policy(self) -> Json:
        """The run policy."""
        policy: Json = self.spec.get("runPolicy") or {}
        return policy

    @property
    def size(self) -> int:
        """The number of pods."""
        return sum(role.replicas for role in self.roles)

    def role(self, name: str) -> Role | None:
        """The role of that name."""
        return next((role for role in self.roles if role.name == name), None)

    def main(self, role: Role) -> int:
        """The position of the main container among those of a role; 0 where the MPI Operator takes the first one."""
        return next((i for i, c in enumerate(role.containers) if c.get("name") == self.kind.container), 0)

    def main_of(self, role: Role) -> dict[str, Any]:
        """The main container of a role."""
        return role.containers[self.main(role)]

    def port(self, role: Role) -> int:
        """Where the main container of a role listens."""
        ports = self.main_of(role).get("ports") or ()
        named = (p["containerPort"] for p in ports if p.get("name") == self.kind.port_name)
        return next(named, self.kind.port)


def job_of(kind: Kind, document: Json) -> Job:
    """A document that has no problems, read."""
    metadata, spec = document["metadata"], document["spec"]
    # TFJob alone takes roles in any case, and any other word as it is.
    names = {name.lower(): name for name in kind.roles}
    roles = []
    for written, value in spec[kind.replicas].items():
        name = names.get(written.lower(), written)
        restart = value.get("restartPolicy") or kind.restart or _MPI_RESTARTS[name]
        roles.append(Role(name, value.get("replicas", 1), restart, value["template"], ("spec", kind.replicas, written)))
    roles.sort(key=lambda role: (_ORDER.index(role.name) if role.name in _ORDER else len(_ORDER), role.name))
    return Job(kind, metadata["name"], metadata.get("namespace"), metadata, spec, tuple(roles))


def stuck(path: Path, message: str, hint: str) -> Finding:
    """Why a job cannot be migrated."""
    return Finding("CannotMigrate", "error", message, hint, path)


def changes(path: Path, message: str, hint: str) -> Finding:
    """An info about something that is expressed differently from v1, or had no effect there."""
    return Finding("MigrationChanges", "info", message, hint, path)


def differs(path: Path, message: str, hint: str) -> Finding:
    """A warning about something that v1 did and a JobSet does not, which requires a decision."""
    return Finding("MigrationDiffers", "warning", message, hint, path)


# The layout: which replicated job of a JobSet runs which v1 pods, so that every pod can compute its own rank.
#
# A pod knows its completion index, the index of its Job within the replicated job, and that within the JobSet. If the
# templates are equal, a master and its workers form one job, whose completion index is the rank. Otherwise the
# workers are Jobs of one pod each, and the index within the JobSet is the rank.


COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
_GLOBAL_INDEX = "jobset.sigs.k8s.io/job-global-index"


@dataclass(frozen=True, slots=True)
class Group:
    """One replicated job: pods of one template, in order.

    `before` counts the Jobs of the groups before it. `by_job` says that each pod is a Job of its own.
    """

    name: str
    role: Role
    pods: tuple[Pod, ...]
    before: int = 0
    is_trainer: bool = False
    by_job: bool = False

    @property
    def index_label(self) -> str:
        """The label that distinguishes its pods."""
        return JOB_INDEX if self.by_job else COMPLETION_INDEX

    def host(self, job: str, position: int) -> str:
        """The host name of one of its pods."""
        return names.pod_host(job, self.name, *((position, 0) if self.by_job else (0, position)))


@dataclass(frozen=True, slots=True)
class Layout:
    """All groups of a job."""

    job: Job
    groups: tuple[Group, ...]

    @property
    def is_single(self) -> bool:
        """Whether one replicated job holds all pods, so that the TrainJob itself can specify what they run."""
        return len(self.groups) == 1 and not self.job.kind.is_mpi

    @property
    def roles(self) -> list[Role]:
        """The roles whose templates the pods use; the first one of identical roles."""
        return list({group.role.name: group.role for group in self.groups}.values())

    def hosts(self) -> dict[Pod, str]:
        """The address of every pod, valid throughout its namespace, by its v1 identity."""
        job, placed = self.job.name, ((group, pod) for group in self.groups for pod in enumerate(group.pods))
        return {pod: f"{group.host(job, index)}.{job}" for group, (index, pod) in placed}

    def host(self, role: str) -> str:
        """The address of the first pod that v1 had in a role."""
        return self.hosts()[role, 0]


def counted(group: Group, first: int) -> dict[str, Any]:
    """An environment variable source for `first` plus the position of the pod in its group."""
    if len(group.pods) == 1:
        return {"value": str(first)}
    assert first == 0 or (group.by_job and first == group.before)
    label = _GLOBAL_INDEX if first else JOB_INDEX
    path = f"metadata.labels['{label}']" if group.by_job else names.COMPLETION_INDEX
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def layout_of(job: Job) -> Layout:
    """The groups of a job, according to its kind, with shortened names if pod names would be too long."""
    layout = Layout(job, tuple(_groups(job)))
    if excess(layout) <= 0 or job.kind.is_mpi:
        return layout
    # `node` is n, `worker` is w, `worker-rest` is r.
    return Layout(job, tuple(replace(group, name=group.name.rpartition("-")[2][0]) for group in layout.groups))


# The name of a job that only the cluster knows; its pods read it from their label.
UNKNOWN_NAME = "$(JOBSET_NAME)"
NAME_VARIABLE = {
    "name": "JOBSET_NAME",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}},
}


def excess(layout: Layout) -> int:
    """The number of characters by which the longest pod name, with its five random characters, is too long."""
    longest = max(len(group.host(layout.job.name, len(group.pods) - 1)) for group in layout.groups)
    return longest + len("-abcde") - names.LABEL_LIMIT


def _groups(job: Job) -> Iterator[Group]:
    roles = [role for role in job.roles if role.replicas]
    if job.kind.is_mpi:
        yield from _mpi(job, roles)
    elif job.kind.name == "PaddleJob":
        yield from _paddle(roles)
    elif len(roles) == 1 or (job.kind.name in ("PyTorchJob", "XGBoostJob") and _alike(roles)):
        yield Group(names.NODE, roles[0], tuple(pod for role in roles for pod in role.pods), is_trainer=True)
    elif job.kind.name == "TFJob":
        # The end of the chief or master, or else of the workers, is that of the job.
        deciding = min(roles, key=lambda role: (role.name not in ("Chief", "Master"), role.name != "Worker"))
        yield from (Group(role.lower, role, role.pods, is_trainer=role is deciding) for role in roles)
    else:
        master, worker = roles
        yield Group(master.lower, master, master.pods, is_trainer=True)
        yield Group(worker.lower, worker, worker.pods, before=1, by_job=True)


def _alike(roles: Iterable[Role]) -> bool:
    """Whether the pods of these roles differ only by index."""
    first, *rest = roles
    fields = str(first.template).replace("\\'", "'")
    tells_apart = any(f"labels['{LABELS}{name}']" in fields for name in ("replica-type", "replica-index", "job-role"))
    return not tells_apart and all((o.template, o.restart) == (first.template, first.restart) for o in rest)


def _paddle(roles: list[Role]) -> Iterator[Group]:
    """The launcher serves the rendezvous only where PADDLE_MASTER is its own IP: rank 0 stands in a job of its own."""
    first, *rest = roles
    if first.replicas == 1:
        yield Group(first.lower if rest else names.NODE, first, first.pods, is_trainer=True)
    else:
        yield Group(first.lower, first, first.pods[:1], is_trainer=True)
        yield Group(f"{first.lower}-rest", first, first.pods[1:], before=1, by_job=True)
    number = 1 if first.replicas == 1 else 2
    yield from (Group(role.lower, role, role.pods, number) for role in rest)


def _mpi(job: Job, roles: list[Role]) -> Iterator[Group]:
    """The launcher, and the hosts under the name that Trainer has for them.

    Where the launcher works too, the index label of workers began at 1: who reads it reads the index in the JobSet.
    """
    for number, role in enumerate(roles):
        launches = role.name == "Launcher"
        reads_index = bool(job.spec.get("runLauncherAsWorker")) and f"{LABELS}replica-index" in str(role.template)
        name = names.LAUNCHER if launches else names.NODE
        yield Group(name, role, role.pods, number, is_trainer=launches, by_job=reads_index and not launches)


# A name of a host, and what follows its first label.
_HOST = pattern(r"(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_-]+)(?P<behind>\.[A-Za-z0-9_-]+)?")


@dataclass(frozen=True, slots=True)
class Renaming:
    """The names of a job's pods, old and new; `subdomain` may stand behind an old name, and is part of the new."""

    new: Mapping[str, str]
    subdomain: str

    def __call__(self, text: str) -> str:
        """`text` with old names replaced by new ones."""
        return _HOST.sub(self._renamed, text)

    def found_in(self, text: str) -> list[str]:
        """The old names in `text`, sorted."""
        return sorted({match["name"] for match in _HOST.finditer(text)} & set(self.new))

    def _renamed(self, match: re.Match[str]) -> str:
        new, behind = self.new.get(match["name"]), match["behind"] or ""
        return match[0] if new is None else new if behind == self.subdomain else new + behind


def renaming(layout: Layout) -> Renaming:
    """The new addresses of a job's pods."""
    job = layout.job.name
    new = {f"{job}-{role}-{index}": host for (role, index), host in layout.hosts().items()}
    if layout.job.kind.is_mpi:
        # Pods of an MPIJob share one Service of the job's name; those of others have one each.
        return Renaming({**new, f"{job}-launcher": new[f"{job}-launcher-0"]}, f".{job}")
    return Renaming(new, "")
