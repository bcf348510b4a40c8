"""The environment of a container: the user's variables, then those that each v1 controller adds, and how torchrun starts.

v1 appends its variables, and of two with one name the kubelet takes the last. A TrainJob may name each only once, so
that the earlier ones are left out, and what referred to their values before they were replaced gets these values.
Source: kubeflow/training-operator pkg/controller.v1/{pytorch,tensorflow,xgboost,jax,paddlepaddle} (release-1.9),
kubernetes third_party/forked/golang/expansion/expand.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeGuard

from trainc.api.kube import Json
from trainc.api.records import dataclass, pattern
from trainc.features.migration.v1.v1.job import Group, Job, Layout, Renaming, index_source

# The fields in which the kubelet expands `$(NAME)`, and others that spell out a pod's address.
_EXPANDED = ("command", "args")
PROBES = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_TOKEN = pattern(r"\$(?:\$|\((?P<name>[^)]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    """`text` with each reference `$(NAME)` to one of `values` replaced; escaped or unknown references are kept."""
    return str(_TOKEN.sub(lambda match: values.get(match["name"] or "", match[0]), text))


def references(texts: Iterable[str]) -> set[str]:
    """The names of the variables that `texts` refer to."""
    return {match["name"] for text in texts for match in _TOKEN.finditer(text) if match["name"]}


def merge_variables(user: Sequence[Json], operator: Sequence[Json]) -> list[dict[str, Any]]:
    """The merged variables, as the kubelet would resolve them."""
    all_variables = [*user, *operator]
    last = {variable["name"]: index for index, variable in enumerate(all_variables)}
    replaced: dict[str, str] = {}
    merged: list[dict[str, Any]] = []
    for index, variable in enumerate(all_variables):
        name, value = variable["name"], variable.get("value")
        filled = expand(value, replaced) if value else value
        if last[name] == index:
            replaced.pop(name, None)
            merged.append({**variable, "value": filled} if filled != value else dict(variable))
        elif "valueFrom" not in variable:
            replaced[name] = filled or ""
    return merged


def literals(variables: Sequence[Json]) -> dict[str, str]:
    """The variables whose values are known before the pod runs."""
    values: dict[str, str] = {}
    for variable in variables:
        if "valueFrom" not in variable:
            values[variable["name"]] = expand(variable.get("value") or "", values)
    return values


def rewrite_addresses(container: Json, rename: Renaming, operator: Sequence[Json]) -> dict[str, Any]:
    """A container with new names in its commands, arguments, probes and variables; then the `operator`'s variables.

    A name that is put together from variables, as in `$(JOB)-master-0`, is written out.
    """
    user = list(container.get("env") or ())
    environment = merge_variables(list(_variables(user, rename)), operator)
    old, new = literals(merge_variables(user, operator)), literals(environment)
    changed = dict(container)
    for field in (*_EXPANDED, *PROBES):
        if field in container:
            values = (old, new) if field in _EXPANDED else ({}, {})
            changed[field] = _rename(container[field], rename, *values)
    return {**changed, "env": environment} if environment else changed


def _variables(variables: Sequence[Json], rename: Renaming) -> Iterator[Json]:
    """Variables with new names; each may refer to those before it."""
    old: dict[str, str] = {}
    new: dict[str, str] = {}
    for variable in variables:
        name, value = variable["name"], variable.get("value") or ""
        if "valueFrom" in variable:
            old.pop(name, None)
            new.pop(name, None)
            yield variable
            continue
        renamed = _rename(value, rename, old, new)
        yield {**variable, "value": renamed} if renamed != value else variable
        old[name], new[name] = expand(value, old), expand(renamed, new)


def _rename(value: Any, rename: Renaming, old: Mapping[str, str], new: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _rename(inner, rename, old, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rename(inner, rename, old, new) for inner in value]
    if not isinstance(value, str):
        return value
    renamed, expected = rename(value), rename(expand(value, old))
    return renamed if expand(renamed, new) == expected else expected


# What v1 gives each container.

_TASK_INDEX = "TF_TASK_INDEX"
_UNBUFFERED = {"name": "PYTHONUNBUFFERED", "value": "1"}


def _variable(name: str, value: object) -> Json:
    return {"name": name, "value": str(value)}


def _rank(name: str, group: Group) -> Json:
    return {"name": name, **index_source(group, group.before)}


def _pytorch(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    yield _UNBUFFERED
    master, processes = job.role("Master"), processes_per_node(job)
    if master is not None:
        port, address = job.port(master), layout.host("master")
        yield from (_variable("MASTER_PORT", port), _variable("PET_MASTER_PORT", port))
        yield from (_variable("MASTER_ADDR", address), _variable("PET_MASTER_ADDR", address))
        yield _variable("WORLD_SIZE", job.size * (int(processes) if is_number(processes) else 1))
        yield from (_rank("RANK", group), _rank("PET_NODE_RANK", group))
    if processes is not None:
        yield _variable("PET_NPROC_PER_NODE", processes)
    elastic = job.spec.get("elasticPolicy")
    yield from [_variable("PET_NNODES", job.size)] if elastic is None else _elastic(layout, elastic)


def is_number(text: str | None) -> TypeGuard[str]:
    """Return whether v1 reads a number of processes as a number, as Go's strconv.Atoi does, and not as a word for torchrun."""
    digits = (text or "").removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdigit()


def processes_per_node(job: Job) -> str | None:
    """The text of nprocPerNode; None where the elastic policy has the number."""
    processes = job.spec.get("nprocPerNode")
    if processes is None and (job.spec.get("elasticPolicy") or {}).get("nProcPerNode") is None:
        return "auto"
    return processes


def _elastic(layout: Layout, elastic: Json) -> Iterator[Json]:
    worker = layout.job.role("Worker")
    assert worker is not None
    # One bound that is missing is as the other; without both, the replicas are meant.
    bounds = [elastic[field] for field in ("minReplicas", "maxReplicas") if elastic.get(field) is not None]
    bounds = bounds or [worker.replicas]
    host = elastic.get("rdzvHost") or layout.host("worker")
    port = elastic.get("rdzvPort")
    yield _variable("PET_RDZV_ENDPOINT", f"{host}:{layout.job.port(worker) if port is None else port}")
    yield _variable("PET_RDZV_BACKEND", elastic.get("rdzvBackend") or "c10d")
    yield _variable("PET_NNODES", f"{bounds[0]}:{bounds[-1]}")
    fields = (("PET_MAX_RESTARTS", "maxRestarts"), ("PET_NPROC_PER_NODE", "nProcPerNode"), ("PET_RDZV_ID", "rdzvId"))
    yield from (_variable(name, elastic[field]) for name, field in fields if elastic.get(field) is not None)
    pairs = [f"{pair.get('key', '')}={pair.get('value', '')}" for pair in elastic.get("rdzvConf") or ()]
    if pairs:
        yield _variable("PET_RDZV_CONF", ",".join(pairs))
    if elastic.get("standalone"):
        yield _variable("PET_STANDALONE", "")


def _tensorflow(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    if job.size == 1:
        return
    index = "0" if len(group.pods) == 1 else f"$({_TASK_INDEX})"
    if len(group.pods) > 1:
        yield {"name": _TASK_INDEX, **index_source(group, 0)}
    cluster, environment = json.dumps(_cluster(layout), **_SHORT), ',"environment":"cloud"'
    if job.spec.get("enableDynamicWorker"):
        cluster, environment = _sparse(layout, group, index), ""
    task = f'{{"type":"{group.role.lower}","index":{index}}}'
    yield _variable("TF_CONFIG", f'{{"cluster":{cluster},"task":{task}{environment}}}')


_SHORT: dict[str, Any] = {"separators": (",", ":"), "sort_keys": True}


def _cluster(layout: Layout) -> dict[str, list[str]]:
    """Every address by role; a role of no pods has an empty list, as in v1."""
    hosts = layout.hosts()
    return {r.lower: [f"{hosts[pod]}:{layout.job.port(r)}" for pod in r.pods] for r in layout.job.roles}


def _sparse(layout: Layout, group: Group, index: str) -> str:
    """The cluster under enableDynamicWorker: a worker knows itself and the servers, a server knows itself."""
    servers, workers = _cluster(layout).get("ps"), "{}"
    host = group.host(layout.job.name, 0)
    if len(group.pods) > 1:
        host = f"{host.removesuffix('0')}$({_TASK_INDEX})"
    address = f"{host}.{layout.job.name}:{layout.job.port(group.role)}"
    if group.role.lower == "worker":
        workers = f'{{"{index}":"{address}"}}'
    else:
        servers = [address] if group.role.lower == "ps" else []
    return f'{{"worker":{workers},"ps":{json.dumps(servers, **_SHORT)}}}'


def _xgboost(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    master, worker = job.role("Master"), job.role("Worker")
    assert master is not None
    yield from (_variable("MASTER_PORT", job.port(master)), _variable("MASTER_ADDR", layout.host("master")))
    yield from (_variable("WORLD_SIZE", job.size), _rank("RANK", group), _UNBUFFERED)
    if worker is not None and worker.replicas:
        hosts = layout.hosts()
        yield _variable("WORKER_PORT", job.port(worker))
        yield _variable("WORKER_ADDRS", ",".join(hosts[pod] for pod in worker.pods))


def _jax(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    yield from (_UNBUFFERED, _variable("COORDINATOR_PORT", job.port(group.role)))
    yield _variable("COORDINATOR_ADDRESS", layout.host("worker"))
    yield from (_variable("NUM_PROCESSES", job.size), _rank("PROCESS_ID", group))


def _paddle(layout: Layout, group: Group) -> Iterator[Json]:
    job = layout.job
    yield from (_UNBUFFERED, _variable("PADDLE_JOB_ID", job.name), _variable("PADDLE_NNODES", job.size))
    serving = layout.groups[0]
    port = job.port(serving.role)
    if group is serving:
        yield {"name": "POD_IP_DUMMY", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        yield _variable("PADDLE_MASTER", f"$(POD_IP_DUMMY):{port}")
    else:
        yield _variable("PADDLE_MASTER", f"{layout.host(serving.role.lower)}:{port}")
    if job.role("Master") is not None:
        yield _variable("PADDLE_SERVER_NUM" if group.role.name == "Master" else "PADDLE_TRAINER_NUM", 1)


_OF_KIND = {"PyTorchJob": _pytorch, "TFJob": _tensorflow, "XGBoostJob": _xgboost, "JAXJob": _jax, "PaddleJob": _paddle}


def variables(layout: Layout, group: Group) -> list[dict[str, Any]]:
    """What v1 gives each container of a group; TF_CONFIG is for the main container alone."""
    return [dict(variable) for variable in _OF_KIND[layout.job.kind.name](layout, group)]


Variables: TypeAlias = Literal["keep", "torchrun", "auto"]

_LAUNCHER = pattern(r"\btorchrun\b|torch\.distributed\.(?:run|launch)\b")
_PYTHON = pattern(r"(?:.*/)?python3?")
# What the torch policy gives the container `node`.
_GIVEN = frozenset(f"PET_{name}" for name in ("NNODES", "NPROC_PER_NODE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"))
# What torchrun gives the processes that it starts.
_OF_PROCESSES = frozenset(("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


@dataclass(frozen=True, slots=True)
class Launch:
    """How the main container starts. `replaces_python` says that torchrun does; a policy sets `policy_variables`."""

    has_policy: bool = False
    processes: int | None = None
    policy_variables: frozenset[str] = frozenset()
    replaces_python: bool = False


def launch_of(layout: Layout, choice: Variables) -> Launch:
    """How a job starts: by torchrun with Trainer's torch policy where that is equal, else as v1 started it."""
    job = layout.job
    if job.kind.name != "PyTorchJob" or not layout.is_single or job.spec.get("elasticPolicy") is not None:
        return Launch()
    container = job.main_of(layout.groups[0].role)
    argv, processes = command_line(container), processes_per_node(job)
    if _LAUNCHER.search(" ".join(argv)):
        if is_number(processes):
            return Launch(True, int(processes), _GIVEN)
        limits = (container.get("resources") or {}).get("limits") or {}
        # Without GPUs `auto` is the number of the node's processors to torchrun, and that of the limit to Trainer.
        has_gpus = sum("gpu" in name for name in limits) == 1
        return Launch(True, None, _GIVEN) if has_gpus and processes in ("auto", "gpu") else Launch()
    # What the kubelet fills in is v1's; torchrun tells its processes only.
    takes_ranks = with_torchrun(argv) is not None and not references(argv) & _OF_PROCESSES
    if choice == "torchrun" and job.role("Master") is not None and takes_ranks:
        return Launch(True, 1, _GIVEN | _OF_PROCESSES, replaces_python=True)
    return Launch()


def command_line(container: Json) -> list[str]:
    """What a container runs, word by word."""
    return [*map(str, container.get("command") or ()), *map(str, container.get("args") or ())]


def with_torchrun(argv: list[str]) -> list[str] | None:
    """`python x` as `torchrun x`; None where something else starts, or Python with options of its own."""
    if len(argv) < 2 or not _PYTHON.fullmatch(argv[0]):
        return None
    program = argv[2:] if argv[1] == "-u" else argv[1:]
    starts_module = len(program) > 1 and program[0] == "-m"
    return ["torchrun", *program] if program and (starts_module or not program[0].startswith("-")) else None
