"""Jobs of Training Operator v1, in few words."""

from __future__ import annotations

from typing import Any

Job = dict[str, Any]
ONE = {"replicas": 1}


def v1(kind: str = "PyTorchJob", policy: Job | None = None, name: str = "llm", **roles: Job) -> Job:
    """A job with these roles, each given as fields of its replica spec and of its container."""
    field, main = {
        "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
        "TFJob": ("tfReplicaSpecs", "tensorflow"),
        "JAXJob": ("jaxReplicaSpecs", "jax"),
        "PaddleJob": ("paddleReplicaSpecs", "paddle"),
        "XGBoostJob": ("xgbReplicaSpecs", "xgboost"),
        "MPIJob": ("mpiReplicaSpecs", "mpi"),
    }[kind]
    specs = {role: _role(main, dict(given)) for role, given in roles.items()}
    version = "v2beta1" if kind == "MPIJob" else "v1"
    spec = {**({"runPolicy": policy} if policy else {}), field: specs}
    return {"apiVersion": f"kubeflow.org/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _role(main: str, given: Job) -> Job:
    own: Job = {field: given.pop(field) for field in ("replicas", "restartPolicy") if field in given}
    pod = given.pop("pod", {})
    container = {"name": main, "image": "example.com/t:1", **given}
    return {**own, "template": {"spec": {"containers": [container], **pod}}}
