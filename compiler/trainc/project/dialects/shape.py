"""Shapes: the fields of a dialect's own structs, checked before conversion.

Shapes only describe what a conversion moves or drops. Types of Kubernetes and Trainer are left to the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.findings import Finding, Fix, Hint, Path, remove, suggest
from trainc.findings.text import near_names
from trainc.kube import names
from trainc.kube.documents import JOBS, POD_SPEC, Json, mapping, pod_spec_of, value_at
from trainc.kube.quantity import whole_number
from trainc.project.dialects.dialect import Conversion, Move

ANY = "anything"
TEXT = "a string"
PROCESSES = "a string or a whole number"
SCALARS = "a mapping of names to values"
Shape: TypeAlias = Mapping[str, "Shape | str"]

# Fields of API drafts and other frameworks, and their names in these APIs.
_RENAMED_FIELDS = {
    "mlSpec": "mlPolicy",
    "torchSpec": "torch",
    "pytorch": "torch",
    "mpiSpec": "mpi",
    "podGroupSpec": "podGroupPolicy",
    "trainingRuntimeRef": "runtimeRef",
    "storageKey": "key",
    "datasetConfig": "datasets",
    "replicatedJobs": "template.spec.replicatedJobs",
}


def check_shape(
    value: Mapping[str, Any], shape: Shape, api: str, path: Path = ()
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the fields that fit `shape`, and an error for each other field; nulls count as absent."""
    fitting: dict[str, Any] = {}
    findings: list[Finding] = []
    for name, field in value.items():
        here = (*path, str(name))
        field_shape = shape.get(name)
        if field_shape is None:
            hint = next(_hints(str(name), shape), remove())
            findings.append(Finding("UnknownField", "error", f"{api} has no field {name} here", hint, here))
        elif field is None:
            continue
        elif isinstance(field_shape, Mapping) and isinstance(field, Mapping):
            fitting[name], problems = check_shape(field, field_shape, api, here)
            findings += problems
        elif isinstance(field_shape, str) and _TESTS[field_shape](field):
            fitting[name] = field
        else:
            findings.append(_wrong_type(field_shape, field, here))
    return fitting, findings


_TESTS: Mapping[str, Callable[[Any], bool]] = {
    ANY: lambda _value: True,
    TEXT: lambda value: isinstance(value, str),
    PROCESSES: lambda value: isinstance(value, str | int) and not isinstance(value, bool),
    SCALARS: lambda value: isinstance(value, Mapping) and all(isinstance(v, str | int | float) for v in value.values()),
}


def _wrong_type(shape: Shape | str, value: Any, path: Path) -> Finding:
    expected = shape if isinstance(shape, str) else "a mapping"
    text = value if isinstance(value, str | int | float) else {list: "a list"}.get(type(value), "a mapping")
    hint = (
        Hint("quote it", Fix("quote"))
        if shape == TEXT
        else ("write `key: value` lines, indented under it" if expected.startswith("a mapping") else "")
    )
    return Finding("WrongType", "error", f"expected {expected}, got {text!r}", hint, path)


def _hints(name: str, shape: Shape) -> Iterator[str]:
    new_name = _RENAMED_FIELDS.get(name, "")
    if new_name.partition(".")[0] in shape:
        yield suggest(name, [new_name], f"write {new_name}: the field was renamed")
    for field, inner in shape.items():
        if isinstance(inner, Mapping) and name in inner:
            yield f"indent {name} under {field}"
    for near in near_names(name, shape, 1, 0.6):
        yield suggest(name, [near])


# Converts the job `initializer` of older dialects to one job per init container.
#
# There, the steps are the init containers dataset-initializer and model-initializer of one job; Trainer uses a job
# for each.


_JOB = "initializer"


def split_initializer(jobs: Sequence[Any]) -> tuple[list[Any], tuple[Move, ...], Finding] | None:
    """Split the job `initializer`; return the jobs, where each was, and a notice. None without such a job and its steps.

    The steps come first, because jobs of a JobSet can only depend on earlier ones. Every job that has no dependencies,
    or depends on `initializer`, depends on the last step afterwards.
    """
    at = next((i for i, job in enumerate(jobs) if isinstance(job, Mapping) and job.get("name") == _JOB), None)
    if at is None:
        return None
    pod = pod_spec_of(jobs[at])
    init_containers = pod.get("initContainers")
    steps = [
        (i, c)
        for i, c in enumerate(init_containers if isinstance(init_containers, list) else ())
        if isinstance(c, Mapping) and c.get("name") in names.INITIALIZERS
    ]
    if not steps:
        return None
    last = steps[-1][1]["name"]
    other_jobs = [(i, job) for i, job in enumerate(jobs) if i != at]
    split: list[Any] = [_step_job(jobs[at], pod, steps, position) for position in range(len(steps))]
    split += [_waiting(job, last) if isinstance(job, Mapping) else job for _, job in other_jobs]
    return split, _moves(at, steps, other_jobs), _notice(at, pod, last, len(steps))


def _step_job(job: Json, pod: Json, steps: Sequence[tuple[int, Json]], position: int) -> dict[str, Any]:
    """Return the job of one step: the old job with only the container of the step, after the step before it."""
    container = steps[position][1]
    preceding = [c for c in pod["initContainers"] if not any(c is step for _, step in steps)] if position == 0 else []
    spec = {key: value for key, value in pod.items() if key not in ("initContainers", "containers")}
    spec = {**spec, **({"initContainers": preceding} if preceding else {}), "containers": [container]}
    template = job["template"]
    job_spec = {**template["spec"], "template": {**template["spec"]["template"], "spec": spec}}
    metadata = mapping(template.get("metadata"))
    labels = {**mapping(metadata.get("labels")), names.ANCESTOR_LABEL: container["name"]}
    waits = [{"name": steps[position - 1][1]["name"], "status": "Complete"}] if position else job.get("dependsOn")
    return {
        **job,
        "name": container["name"],
        **({"dependsOn": waits} if waits else {}),
        "template": {**template, "metadata": {**metadata, "labels": labels}, "spec": job_spec},
    }


def _waiting(job: Json, last: str) -> Json:
    waits = job.get("dependsOn")
    if not waits:
        return {**job, "dependsOn": [{"name": last, "status": "Complete"}]}
    if not isinstance(waits, list):
        return job
    renamed = [{**w, "name": last} if isinstance(w, Mapping) and w.get("name") == _JOB else w for w in waits]
    return {**job, "dependsOn": renamed}


def _moves(at: int, steps: Sequence[tuple[int, Json]], other_jobs: Sequence[tuple[int, Any]]) -> tuple[Move, ...]:
    moves: list[Move] = []
    for position, (index, _) in enumerate(steps):
        moves.append(Move((*JOBS, position), (*JOBS, at)))
        moves.append(
            Move((*JOBS, position, *POD_SPEC, "containers", 0), (*JOBS, at, *POD_SPEC, "initContainers", index))
        )
    moves += [Move((*JOBS, len(steps) + i), (*JOBS, was)) for i, (was, _) in enumerate(other_jobs)]
    return tuple(moves)


def _notice(at: int, pod: Json, last: str, count: int) -> Finding:
    containers = pod.get("containers")
    dropped = [
        str(c.get("name")) for c in (containers if isinstance(containers, list) else ()) if isinstance(c, Mapping)
    ]
    jobs = "a replicated job" if count == 1 else "replicated jobs that run one after the other"
    message = f"the init containers of job {_JOB!r} become {jobs}; the other jobs wait for {last}"
    if dropped:
        message += f"; its container {', '.join(dropped)} is dropped"
    hint = "write them as replicated jobs with dependsOn, as in trainer.kubeflow.org/v1alpha1"
    return Finding("InitializerJobSplit", "warning", message, hint, (*JOBS, at))


# Conversions shared by the older dialects: runtimes, `spec.trainer`, `spec.runtimeRef` and the ML policy.


OBJECT: Shape = {"apiVersion": ANY, "kind": ANY, "metadata": ANY, "status": ANY}
ML_POLICY: Shape = {
    "numNodes": ANY,
    "torch": {
        "numProcPerNode": PROCESSES,
        "elasticPolicy": {"minNodes": ANY, "maxNodes": ANY, "maxRestarts": ANY, "metrics": ANY},
    },
    "mpi": {"numProcPerNode": ANY, "mpiImplementation": ANY, "sshAuthMountPath": ANY, "runLauncherAsNode": ANY},
}
VOLCANO: Shape = {"minMember": ANY, "queue": ANY, "priorityClassName": ANY}
RUNTIME_SPEC: Shape = {
    "mlPolicy": ML_POLICY,
    "podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": ANY}, "volcano": VOLCANO},
    "template": {"metadata": ANY, "spec": ANY},
}


def convert_runtime(document: Json, kind: str, api: str, shape: Shape) -> Conversion:
    """Convert a runtime to Trainer's API; dialect-specific fields in `shape` stay in `spec` for the caller."""
    fitting, findings = check_shape(document, shape, api)
    data = {**fitting, "apiVersion": names.TRAINER_API, "kind": kind}
    spec = dict(fitting.get("spec") or {})
    if "mlPolicy" in spec:
        spec["mlPolicy"], problems = convert_policy(spec["mlPolicy"])
        findings += problems
    jobs = value_at(spec, JOBS[1:])
    moves: tuple[Move, ...] = ()
    if isinstance(jobs, list) and (split := split_initializer(jobs)) is not None:
        jobs, moves, notice = split
        template = spec["template"]
        spec["template"] = {**template, "spec": {**template["spec"], JOBS[-1]: jobs}}
        findings.append(notice)
    if "spec" in fitting:
        data["spec"] = spec
    return Conversion(data, moves, tuple(findings))


TRAINER: Shape = {
    **dict.fromkeys(("image", "command", "args", "env", "numNodes", "resourcesPerNode"), ANY),
    "numProcPerNode": PROCESSES,
}
RUNTIME_REF: Shape = dict.fromkeys(("name", "apiGroup", "kind"), ANY)


def convert_trainer(trainer: Json) -> tuple[Json, list[Finding]]:
    """Convert the process count of `spec.trainer` to a number if possible; "auto" is the default and is removed."""
    if "numProcPerNode" not in trainer:
        return trainer, []
    processes, findings = convert_processes(trainer["numProcPerNode"], ("spec", "trainer", "numProcPerNode"))
    others = {name: value for name, value in trainer.items() if name != "numProcPerNode"}
    return (others if processes == "auto" else {**others, "numProcPerNode": processes}), findings


def convert_runtime_ref(reference: Json, own_group: str) -> Json:
    """Replace the dialect's own API group with Trainer's; other groups are rejected when the reference is resolved."""
    return {**reference, "apiGroup": names.TRAINER_GROUP} if reference.get("apiGroup") == own_group else reference


# The ML policy of the older dialects, where process counts are strings, and numNodes can be set along with
# elasticPolicy.


_POLICY: Path = ("spec", "mlPolicy")


def convert_policy(policy: Json) -> tuple[dict[str, Any], list[Finding]]:
    """Convert the process count of `spec.mlPolicy` to a number if possible; returns the policy and findings."""
    findings: list[Finding] = []
    result = dict(policy)
    torch = policy.get("torch") or {}
    if "numProcPerNode" in torch:
        processes, problems = convert_processes(torch["numProcPerNode"], (*_POLICY, "torch", "numProcPerNode"))
        result["torch"] = {**torch, "numProcPerNode": processes}
        findings += problems
    nodes = policy.get("numNodes")
    if isinstance(nodes, int) and nodes < 1:
        message = f"numNodes is {nodes}; a job needs at least one node"
        findings.append(Finding("OutOfRange", "error", message, "set it to 1 or more", (*_POLICY, "numNodes")))
    elif nodes is not None and "elasticPolicy" in torch:
        message = f"numNodes is set together with torch.elasticPolicy; the job starts with {nodes} nodes and stays in the policy's range"
        hint = remove("remove numNodes to start with minNodes nodes")
        findings.append(Finding("ElasticWithNumNodes", "warning", message, hint, (*_POLICY, "numNodes")))
    return result, findings


def convert_processes(value: int | str, path: Path) -> tuple[int | str, list[Finding]]:
    """Convert a process count to a number or a word ("auto"); an unquoted number gets a warning."""
    if isinstance(value, str):
        number = whole_number(value)
        return (value if number is None else number), []
    message = f"numProcPerNode is a string in this API, and {value} is a number; it is compiled as {str(value)!r}"
    hint = Hint(f'quote it: "{value}"', Fix("quote"))
    warning = Finding("CoercedType", "warning", message, hint, path)
    return value, [warning]
