"""The kinds of Training Operator v1 and of the MPI Operator, each as one row of what its controller knows of it.

Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1 (release-1.9), kubeflow/mpi-operator
pkg/apis/kubeflow/v2beta1 (v0.8.0).
"""

from __future__ import annotations

from trainc.kube.documents import Json
from trainc.startup.records import dataclass

LABELS = "training.kubeflow.org/"
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
    def operator(self) -> str:
        """The value of the label operator-name on its pods."""
        return "mpi-operator" if self.is_mpi else f"{self.name.lower()}-controller"

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


def kind_of(document: Json) -> Kind | None:
    """The kind of a document that can be migrated; None for any other."""
    return KINDS.get((str(document.get("apiVersion")), str(document.get("kind"))))
