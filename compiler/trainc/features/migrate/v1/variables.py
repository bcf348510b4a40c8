"""The variables that each v1 controller gives its pods, made of literals and of the indexes that a pod knows.

Source: kubeflow/training-operator pkg/controller.v1/{pytorch,tensorflow,xgboost,jax,paddlepaddle} (release-1.9).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeGuard

from trainc.features.migrate.v1.job import Job, Role
from trainc.features.migrate.v1.layout import Group, Layout, counted
from trainc.kube.documents import Json

_TASK_INDEX = "TF_TASK_INDEX"
_UNBUFFERED = {"name": "PYTHONUNBUFFERED", "value": "1"}


def variables(layout: Layout, group: Group) -> list[dict[str, Any]]:
    """What v1 gives each container of a group; TF_CONFIG is for the main container alone."""
    return [dict(variable) for variable in _OF_KIND[layout.job.kind.name](layout, group)]


def _set(name: str, value: object) -> Json:
    return {"name": name, "value": str(value)}


def _rank(group: Group) -> dict[str, Any]:
    """What makes a variable the rank of the pod among all pods, the master's first."""
    return counted(group, group.before)


def _pytorch(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    yield _UNBUFFERED
    master, processes = job.role("Master"), processes_per_node(job)
    if master is not None:
        port, address = job.port(master), layout.hosts["master", 0]
        yield from (_set("MASTER_PORT", port), _set("PET_MASTER_PORT", port))
        yield from (_set("MASTER_ADDR", address), _set("PET_MASTER_ADDR", address))
        yield _set("WORLD_SIZE", job.size * (int(processes) if is_number(processes) else 1))
        yield {"name": "RANK", **_rank(group)}
        yield {"name": "PET_NODE_RANK", **_rank(group)}
    if processes is not None:
        yield _set("PET_NPROC_PER_NODE", processes)
    elastic = job.spec.get("elasticPolicy")
    yield from [_set("PET_NNODES", job.size)] if elastic is None else _elastic(layout, elastic)


def is_number(text: str | None) -> TypeGuard[str]:
    """Whether v1 reads a number of processes as a number, as Go's strconv.Atoi does, and not as a word for torchrun."""
    digits = (text or "").removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdigit()


def processes_per_node(job: Job) -> str | None:
    """The text of nprocPerNode; None where the elastic policy has the number."""
    given = job.spec.get("nprocPerNode")
    if given is None and (job.spec.get("elasticPolicy") or {}).get("nProcPerNode") is None:
        return "auto"
    return given


def _elastic(layout: Layout, elastic: Json) -> Iterator[Json]:
    worker = layout.job.role("Worker")
    assert worker is not None
    least, most = node_range(worker, elastic)
    host = elastic.get("rdzvHost") or layout.hosts["worker", 0]
    port = elastic.get("rdzvPort")
    yield _set("PET_RDZV_ENDPOINT", f"{host}:{layout.job.port(worker) if port is None else port}")
    yield _set("PET_RDZV_BACKEND", elastic.get("rdzvBackend") or "c10d")
    yield _set("PET_NNODES", f"{least}:{most}")
    fields = (("PET_MAX_RESTARTS", "maxRestarts"), ("PET_NPROC_PER_NODE", "nProcPerNode"), ("PET_RDZV_ID", "rdzvId"))
    yield from (_set(name, elastic[field]) for name, field in fields if elastic.get(field) is not None)
    pairs = [f"{pair.get('key', '')}={pair.get('value', '')}" for pair in elastic.get("rdzvConf") or ()]
    if pairs:
        yield _set("PET_RDZV_CONF", ",".join(pairs))
    if elastic.get("standalone"):
        yield _set("PET_STANDALONE", "")


def node_range(worker: Role, elastic: Json) -> tuple[int, int]:
    """The least and the greatest number of nodes: one that is missing is as the other, both are the replicas."""
    least, most = elastic.get("minReplicas"), elastic.get("maxReplicas")
    first = next((bound for bound in (least, most) if bound is not None), worker.replicas)
    return (first if least is None else least, first if most is None else most)


def _tensorflow(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    if job.size == 1:
        return
    index = "0" if len(group.pods) == 1 else f"$({_TASK_INDEX})"
    if len(group.pods) > 1:
        yield {"name": _TASK_INDEX, **counted(group, 0)}
    cluster = _sparse(layout, group) if job.spec.get("enableDynamicWorker") else json.dumps(_cluster(layout), **_SHORT)
    config = f'{{"cluster":{cluster},"task":{{"type":"{group.role.lower}","index":{index}}}'
    yield _set("TF_CONFIG", config + ("}" if job.spec.get("enableDynamicWorker") else ',"environment":"cloud"}'))


_SHORT: dict[str, Any] = {"separators": (",", ":"), "sort_keys": True}


def _cluster(layout: Layout) -> dict[str, list[str]]:
    """Every address by role; a role of no pods has an empty list, as in v1."""
    return {
        role.lower: [f"{layout.hosts[role.lower, i]}:{layout.job.port(role)}" for i in range(role.replicas)]
        for role in layout.job.roles
    }


def _sparse(layout: Layout, group: Group) -> str:
    """The cluster under enableDynamicWorker: a worker knows itself and the servers, a server knows itself."""
    servers, workers = _cluster(layout).get("ps"), "{}"
    host = group.host(layout.job.name, 0)
    if len(group.pods) > 1:
        host = f"{host.removesuffix('0')}$({_TASK_INDEX})"
    own = f"{host}.{layout.job.name}:{layout.job.port(group.role)}"
    if group.role.lower == "worker":
        index = "0" if len(group.pods) == 1 else f"$({_TASK_INDEX})"
        workers = f'{{"{index}":"{own}"}}'
    else:
        servers = [own] if group.role.lower == "ps" else []
    return f'{{"worker":{workers},"ps":{json.dumps(servers, **_SHORT)}}}'


def _xgboost(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    master, worker = job.role("Master"), job.role("Worker")
    assert master is not None
    yield from (_set("MASTER_PORT", job.port(master)), _set("MASTER_ADDR", layout.hosts["master", 0]))
    yield from (_set("WORLD_SIZE", job.size), {"name": "RANK", **_rank(group)}, _UNBUFFERED)
    if worker is not None and worker.replicas:
        workers = (layout.hosts["worker", index] for index in range(worker.replicas))
        yield from (_set("WORKER_PORT", job.port(worker)), _set("WORKER_ADDRS", ",".join(workers)))


def _jax(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    yield from (_UNBUFFERED, _set("COORDINATOR_PORT", job.port(group.role)))
    yield _set("COORDINATOR_ADDRESS", layout.hosts["worker", 0])
    yield from (_set("NUM_PROCESSES", job.size), {"name": "PROCESS_ID", **_rank(group)})


def _paddle(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    yield from (_UNBUFFERED, _set("PADDLE_JOB_ID", job.name), _set("PADDLE_NNODES", job.size))
    serving = layout.groups[0]
    port = job.port(serving.role)
    if group is serving:
        yield {"name": "POD_IP_DUMMY", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        yield _set("PADDLE_MASTER", f"$(POD_IP_DUMMY):{port}")
    else:
        yield _set("PADDLE_MASTER", f"{layout.hosts[serving.pods[0]]}:{port}")
    if job.role("Master") is not None:
        yield _set("PADDLE_SERVER_NUM" if group.role.name == "Master" else "PADDLE_TRAINER_NUM", 1)


_OF_KIND = {
    "PyTorchJob": _pytorch,
    "TFJob": _tensorflow,
    "XGBoostJob": _xgboost,
    "JAXJob": _jax,
    "PaddleJob": _paddle,
}
