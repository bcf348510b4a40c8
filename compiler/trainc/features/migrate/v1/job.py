"""The kinds of Training Operator v1 and of the MPI Operator, and a job as its controller sees it.

Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1 (release-1.9), kubeflow/mpi-operator
pkg/apis/kubeflow/v2beta1 (v0.8.0).
"""

from __future__ import annotations

from typing import Any

from trainc.api.findings import Finding, Path
from trainc.api.kube import Json
from trainc.api.records import dataclass

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
        """The name as used for pods, labels and TF_CONFIG."""
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
    given = {names.get(name.lower(), name): (name, value) for name, value in spec[kind.replicas].items()}
    ordered = sorted(given, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    roles = tuple(_role(kind, name, given[name][1], ("spec", kind.replicas, given[name][0])) for name in ordered)
    return Job(kind, metadata["name"], metadata.get("namespace"), metadata, spec, roles)


def _role(kind: Kind, name: str, value: Json, path: Path) -> Role:
    restart = value.get("restartPolicy") or kind.restart or _MPI_RESTARTS[name]
    replicas = value.get("replicas")
    return Role(name, 1 if replicas is None else replicas, restart, value["template"], path)


def stuck(path: Path, message: str, hint: str) -> Finding:
    """Why a job cannot be migrated."""
    return Finding("CannotMigrate", "error", message, hint, path)


def changes(path: Path, message: str, hint: str) -> Finding:
    """An info about something that is expressed differently from v1, or had no effect there."""
    return Finding("MigrationChanges", "info", message, hint, path)


def differs(path: Path, message: str, hint: str) -> Finding:
    """A warning about something that v1 did and a JobSet does not, which requires a decision."""
    return Finding("MigrationDiffers", "warning", message, hint, path)
