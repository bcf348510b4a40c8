"""The documents of a job: its TrainJob and TrainingRuntime, pod templates, and how failures and success end it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.findings import Finding, Path
from trainc.api.kube import Json, names
from trainc.features.migration.v1.v1 import mpi
from trainc.features.migration.v1.v1.job import (
    NAME_VARIABLE,
    UNKNOWN_NAME,
    Group,
    Job,
    Layout,
    Renaming,
    changes,
    differs,
    rewrite_selectors,
    variable,
)
from trainc.features.migration.v1.v1.variables import (
    PROBES,
    Launch,
    command_line,
    rewrite_addresses,
    variables,
    with_torchrun,
)

# The life of a job: its gang, restarts, retries, success, deadlines and clean-up, as Jobs and JobSets have them.
# Source: kubeflow/training-operator pkg/controller.v1/common and the controllers' status (release-1.9); JobSet v0.10.

# v1 retries indefinitely by default, while a Job stops after 6 failures. This is the largest limit that a Job accepts.
_FOR_EVER = 2_147_483_647
_RETRYABLE_FROM = 128
_POLICY: Path = ("spec", "runPolicy")
# A Job allows only Never and OnFailure.
_RESTARTS = {"Always": "OnFailure", "ExitCode": "Never"}


def _trainjob_fields(policy: Json) -> dict[str, Any]:
    fields: dict[str, Any] = {"suspend": True} if policy.get("suspend") else {}
    if policy.get("managedBy") == names.MULTIKUEUE_MANAGED_BY:
        fields["managedBy"] = names.MULTIKUEUE_MANAGED_BY
    if policy.get("activeDeadlineSeconds") is not None:
        fields["activeDeadlineSeconds"] = policy["activeDeadlineSeconds"]
    return fields


def _job_fields(layout: Layout, group: Group) -> dict[str, Any]:
    job, role, main = layout.job, group.role, main_name(layout, group)
    limit = job.policy.get("backoffLimit")
    # The launcher is a Job in v1 too, with a Job's defaults.
    if not (job.kind.is_mpi and role.name == "Launcher"):
        limit = _FOR_EVER if limit is None or job.kind.is_mpi else limit
        limit = 0 if role.restart == "Never" else limit
    fields: dict[str, Any] = {} if limit is None else {"backoffLimit": int(limit)}
    if role.restart == "ExitCode":
        codes = list(range(1, _RETRYABLE_FROM))
        rule = {"action": "FailJob", "onExitCodes": {"containerName": main, "operator": "In", "values": codes}}
        fields["podFailurePolicy"] = {"rules": [rule]}
    success = _success_rule(layout, group)
    if success is not None:
        fields["successPolicy"] = {"rules": [success]}
    return fields


def _success_rule(layout: Layout, group: Group) -> dict[str, Any] | None:
    """Which pods of a group end the job, if not all: the first one, or, of elastic workers, any."""
    job = layout.job
    if len(group.pods) == 1:
        return None
    roles = {role.name for role in job.roles}
    if job.kind.name == "PyTorchJob" and job.spec.get("elasticPolicy") is not None and "Master" not in roles:
        return {"succeededCount": 1}
    first_is_master = group.pods[0][0] == "master" and job.kind.name != "PaddleJob"
    workers_decide = (
        job.kind.name == "TFJob" and not roles & {"Chief", "Master"} and job.spec.get("successPolicy") != "AllWorkers"
    )
    if first_is_master or (workers_decide and group.role.name == "Worker"):
        return {"succeededIndexes": "0"}
    return None


def _decisive(layout: Layout) -> list[str]:
    """The replicated jobs whose end is that of the JobSet; empty if all of them decide."""
    masters = {"Master", "Launcher", "Chief"} & {role.name for role in layout.job.roles if role.replicas}
    if masters:
        decisive = [group.name for group in layout.groups if group.role.name in masters]
    elif layout.job.kind.name == "TFJob":
        decisive = [group.name for group in layout.groups if group.is_trainer]
    else:
        decisive = []
    return decisive if len(decisive) < len(layout.groups) else []


def lifecycle_differences(layout: Layout) -> Iterator[Finding]:
    """How a JobSet differs from v1 in failures, timing, termination and gangs."""
    job = layout.job
    for role in layout.roles:
        path = (*role.path, "restartPolicy")
        if role.restart == "Always":
            message = "restartPolicy Always also restarted containers that had succeeded; it becomes OnFailure"
            yield differs(path, message, "no action needed unless the program relies on being restarted")
        elif role.restart == "ExitCode":
            message = "restartPolicy ExitCode becomes Never with a pod failure policy: exit codes 1 to 127 fail the job"
            yield changes(path, message, "no action needed: other exit codes and evictions are retried, as before")
    limit, path = job.policy.get("backoffLimit"), (*_POLICY, "backoffLimit")
    if limit is not None and not job.kind.is_mpi:
        if all(group.role.restart == "Never" for group in layout.groups):
            message = f"backoffLimit {limit} had no effect in v1 with restartPolicy Never; it is removed"
            yield changes(path, message, "no action needed")
        elif job.size > 1:
            message = f"v1 counted container restarts of all pods together; now each Job has its own limit of {limit}"
            yield changes(path, message, "lower backoffLimit in the runtime if there must not be more retries in total")
    yield from _remaining_pods(layout)
    if job.policy.get("schedulingPolicy"):
        yield from _gang(job)


def _remaining_pods(layout: Layout) -> Iterator[Finding]:
    """Pods that v1 kept, or left running, after the job ended. Workers of an MPIJob only wait for the launcher by then."""
    job, path = layout.job, (*_POLICY, "cleanPodPolicy")
    policy = job.policy.get("cleanPodPolicy")
    if policy == "All":
        message = "cleanPodPolicy All has no counterpart: finished pods stay until the JobSet is deleted"
        yield changes(path, message, "set ttlSecondsAfterFinished in the runtime to delete the JobSet with its pods")
    elif policy == "Running":
        message = "cleanPodPolicy Running is what a JobSet does: it deletes the pods that are still running"
        yield changes(path, message, "no action needed")
    elif not job.kind.is_mpi and (_decisive(layout) or any(_success_rule(layout, group) for group in layout.groups)):
        message = "pods that are still running when the job ends are stopped; v1 let them finish (cleanPodPolicy None)"
        hint = "if they may still be writing data, remove successPolicy from the runtime: then the job ends with the last pod"
        yield changes(path, message, hint)


# Gang scheduling: a v1 job's scheduling policy, which applied if the operator ran with a gang scheduler.

_SCHEDULING: Path = (*_POLICY, "schedulingPolicy")
_QUEUE = "scheduling.volcano.sh/queue-name"
_COSCHEDULING = ("scheduler-plugins", "scheduler-plugins-scheduler")


def _scheduler(job: Job) -> str | None:
    schedulers = {role.template["spec"].get("schedulerName") for role in job.roles}
    if not job.policy.get("schedulingPolicy"):
        return None
    return "volcano" if "volcano" in schedulers else "coscheduling" if schedulers & set(_COSCHEDULING) else None


def _group_policy(job: Job) -> dict[str, Any]:
    """The runtime's pod group policy, if the job has a scheduling policy and names its scheduler."""
    scheduler = _scheduler(job)
    if scheduler is None:
        return {}
    timeout = job.policy["schedulingPolicy"].get("scheduleTimeoutSeconds")
    fields = {"scheduleTimeoutSeconds": timeout} if timeout and scheduler == "coscheduling" else {}
    return {"podGroupPolicy": {scheduler: fields}}


def _gang(job: Job) -> Iterator[Finding]:
    """Parts of the scheduling policy that are lost, or that depend on the operator's flags."""
    policy: Json = job.policy["schedulingPolicy"]
    scheduler, least, queue = _scheduler(job), policy.get("minAvailable"), policy.get("queue")
    if scheduler is None:
        message = "schedulingPolicy was for v1 with a gang scheduler, and the job does not say which one that was"
        hint = "if there was one, add podGroupPolicy: {volcano: {}} or podGroupPolicy: {coscheduling: {}} to the runtime's spec"
        yield differs(_SCHEDULING, message, hint)
        if queue:
            hint = f"with Volcano, add the annotation {_QUEUE}: {queue} to the runtime's template"
            yield differs((*_SCHEDULING, "queue"), f"the queue {queue!r} is not kept", hint)
    if least is not None and least != job.size:
        message = f"v1 started the job once {least} of its {job.size} pods could be scheduled; Trainer's pod group waits for all"
        hint = "reduce replicas to the pods that must run together, or accept the longer wait"
        yield differs((*_SCHEDULING, "minAvailable"), message, hint)
    if policy.get("minResources"):
        hint = "no action needed if it was the sum of their requests"
        yield changes((*_SCHEDULING, "minResources"), "minResources is computed from the pods", hint)
    if policy.get("priorityClass"):
        message = f"the pod group's priority class {policy['priorityClass']!r} has no counterpart"
        hint = "set priorityClassName in the runtime's pod templates (this sets the priority of the pods, too)"
        yield differs((*_SCHEDULING, "priorityClass"), message, hint)
    if policy.get("scheduleTimeoutSeconds") and scheduler == "volcano":
        hint = "no action needed: v1 used it with scheduler-plugins only"
        yield changes((*_SCHEDULING, "scheduleTimeoutSeconds"), "Volcano has no timeout for a pod group", hint)


# JobSet gives the first two; v1 overwrote the third with the policy of the role.
_OVERWRITTEN = ("hostname", "subdomain", "restartPolicy")
# What a TrainJob says of its trainer itself, by the field of a container that it is there.
_TRAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resources": "resourcesPerNode"}


def documents_of(layout: Layout, rename: Renaming, launch: Launch) -> tuple[dict[str, Any], dict[str, Any]]:
    """A job as TrainJob and runtime. With one replicated job the TrainJob says what runs; else the runtime does."""
    # What another job waits for stands before it.
    in_order = sorted(layout.groups, key=lambda group: bool(mpi.depends_on(layout, group)))
    groups = [_replicated_job(layout, group, rename, launch) for group in in_order]
    trainer: dict[str, Any] = {"numNodes": next(len(group.pods) for group in layout.groups if group.is_trainer)}
    if layout.is_single:
        containers = groups[0]["template"]["spec"]["template"]["spec"]["containers"]
        container = next(container for container in containers if container["name"] == names.NODE)
        if launch.replaces_python:
            container["command"] = with_torchrun(command_line(container))
            container.pop("args", None)
        trainer |= {new: container.pop(old) for old, new in _TRAINER.items() if container.get(old)}
        container["image"] = trainer["image"]
    if launch.processes is not None:
        trainer["numProcPerNode"] = launch.processes
    policy: dict[str, Any] = {"numNodes": 1, **({"torch": {}} if launch.has_policy else {})}
    if layout.job.kind.is_mpi and mpi.has_policy(layout):
        settings = mpi.settings(layout.job)
        nodes = len(layout.groups[1].pods) + settings.launcher_works
        trainer |= {"numNodes": nodes, "numProcPerNode": settings.slots}
        policy = {"numNodes": trainer["numNodes"], "mpi": mpi.policy(layout.job)}
    job_set: dict[str, Any] = {}
    if (seconds := layout.job.policy.get("ttlSecondsAfterFinished")) is not None:
        job_set["ttlSecondsAfterFinished"] = seconds
    if decisive := _decisive(layout):
        job_set["successPolicy"] = {"operator": "All", "targetReplicatedJobs": decisive}
    queue = _scheduler(layout.job) == "volcano" and layout.job.policy["schedulingPolicy"].get("queue")
    metadata = {"metadata": {"annotations": {_QUEUE: queue}}} if queue else {}
    template = {**metadata, "spec": {**job_set, "replicatedJobs": groups}}
    runtime = _document("TrainingRuntime", layout, {})
    runtime["spec"] = {"mlPolicy": policy, **_group_policy(layout.job), "template": template}
    job = _document("TrainJob", layout, layout.job.metadata)
    reference = {"kind": "TrainingRuntime", "name": layout.job.name}
    job["spec"] = {**_trainjob_fields(layout.job.policy), "runtimeRef": reference, "trainer": trainer}
    return job, runtime


def _document(kind: str, layout: Layout, metadata: Json) -> dict[str, Any]:
    namespace = {"namespace": layout.job.namespace} if layout.job.namespace else {}
    kept_metadata = {field: metadata[field] for field in ("labels", "annotations") if metadata.get(field)}
    new_metadata = {"name": layout.job.name, **namespace, **kept_metadata}
    return {"apiVersion": names.TRAINER_API, "kind": kind, "metadata": new_metadata}


def _replicated_job(layout: Layout, group: Group, rename: Renaming, launch: Launch) -> dict[str, Any]:
    policy_variables, count, waits, replicas = launch.policy_variables, {}, {}, {}
    has_mpi_policy = layout.job.kind.is_mpi and mpi.has_policy(layout)
    if layout.job.kind.is_mpi:
        waits = mpi.depends_on(layout, group)
        if has_mpi_policy and group.role.name == "Launcher":
            policy_variables = mpi.variables_of_policy(layout.job)
    if not group.is_trainer and not has_mpi_policy:
        # numNodes is the number of pods of the trainer, and under the MPI policy of the hosts.
        count = dict.fromkeys(("parallelism", "completions"), 1 if group.by_job else len(group.pods))
    if group.by_job:
        replicas = {"replicas": len(group.pods)}
    spec = {**count, **_job_fields(layout, group), "template": _pod_template(layout, group, rename, policy_variables)}
    labels = {"metadata": {"labels": {names.ANCESTOR_LABEL: names.TRAINER}}} if group.is_trainer else {}
    return {"name": group.name, **replicas, **waits, "template": {**labels, "spec": spec}}


def _pod_template(layout: Layout, group: Group, rename: Renaming, policy_variables: frozenset[str]) -> dict[str, Any]:
    """The pod template of a group; `policy_variables` are the names that a policy of the runtime sets."""
    job, role = layout.job, group.role
    spec = {name: value for name, value in role.template["spec"].items() if name not in _OVERWRITTEN}
    for field in ("affinity", "topologySpreadConstraints", "volumes"):
        if field in spec:
            spec[field] = rewrite_selectors(spec[field], layout)
    if job.kind.is_mpi:
        spec = mpi.pod_spec(layout, group, spec)
    # The operators of TFJobs and MPIJobs give variables to the main container alone, and none to init containers.
    added = mpi.variables(layout, group) if job.kind.is_mpi else variables(layout, group)
    sidecars = () if job.kind.is_mpi or job.kind.name == "TFJob" else added
    main = job.main(role)
    spec["containers"] = [
        _main(layout, group, _container(layout, group, container, rename, added), policy_variables)
        if index == main
        else _container(layout, group, container, rename, sidecars)
        for index, container in enumerate(spec["containers"])
    ]
    if spec.get("initContainers"):
        spec["initContainers"] = [_container(layout, group, c, rename, ()) for c in spec["initContainers"]]
    spec["restartPolicy"] = _RESTARTS.get(role.restart, role.restart)
    metadata = role.template.get("metadata") or {}
    kept_metadata = {field: metadata[field] for field in ("labels", "annotations") if metadata.get(field)}
    return {**({"metadata": kept_metadata} if kept_metadata else {}), "spec": spec}


def _container(
    layout: Layout, group: Group, container: Json, rename: Renaming, operator: Sequence[Json]
) -> dict[str, Any]:
    """A container with the new names of labels and addresses, and with the `operator`'s variables."""
    environment = [variable(value, layout, group) for value in container.get("env") or ()]
    changed = rewrite_addresses({**container, "env": environment} if environment else container, rename, operator)
    if layout.job.name == UNKNOWN_NAME and UNKNOWN_NAME in str(changed):
        changed["env"] = [NAME_VARIABLE, *changed.get("env", ())]
    return changed


def _main(layout: Layout, group: Group, container: dict[str, Any], policy_variables: frozenset[str]) -> dict[str, Any]:
    kind = layout.job.kind
    if policy_variables and container.get("env"):
        container["env"] = [variable for variable in container["env"] if variable["name"] not in policy_variables]
    if kind.port_name and f"'{kind.port_name}'" in str([container.get(field) for field in PROBES]):
        # A probe names the port that v1 added.
        ports = list(container.get("ports") or ())
        has_port = any(port.get("name") == kind.port_name for port in ports)
        container["ports"] = ports if has_port else [*ports, {"name": kind.port_name, "containerPort": kind.port}]
    return {**container, "name": main_name(layout, group)}


def main_name(layout: Layout, group: Group) -> str:
    """The name of a group's main container."""
    if group.is_trainer or group.name == names.NODE:
        return names.NODE
    return str(group.role.containers[layout.job.main(group.role)]["name"])


def differences(layout: Layout, rename: Renaming) -> Iterator[Finding]:
    """What is renamed or counted elsewhere, and what v1 let pods have and JobSet does not."""
    for role in layout.roles:
        path = (*role.path, "template", "spec")
        for field in ("hostname", "subdomain"):
            if role.template["spec"].get(field):
                message = f"JobSet sets {field} of every pod; {role.template['spec'][field]!r} is removed"
                yield differs((*path, field), message, "use the pod's address in the JobSet instead")
        containers = (*role.containers, *(role.template["spec"].get("initContainers") or ()))
        texts = ([c.get(field) for field in ("command", "args", "env", *PROBES)] for c in containers)
        for name in rename.found_in(" ".join(map(str, texts))):
            message = f"pod {name} is now called {rename.new[name]}; its name is replaced in commands and environment variables"
            hint = "replace it yourself where trainc cannot: in scripts, images and ConfigMaps"
            yield changes((*role.path, "template"), message, hint)
    for group in layout.groups if layout.job.kind.is_mpi else ():
        # That of the five other kinds has the same name in every job.
        at = layout.job.main(group.role)
        old, new = group.role.containers[at].get("name"), main_name(layout, group)
        if old != new:
            at_name = (*group.role.path, "template", "spec", "containers", at, "name")
            hint = "update what names it, such as `kubectl logs -c` and dashboards"
            yield changes(at_name, f"the container {old} is now called {new}", hint)
    if not layout.job.kind.is_mpi and layout.job.size > 1:
        yield from _numbers(layout)


def _numbers(layout: Layout) -> Iterator[Finding]:
    """Jobs whose numNodes is not the number of their pods, or not the only place that says it."""
    job = layout.job
    path = ("spec", job.kind.replicas)
    trainer = next(group for group in layout.groups if group.is_trainer)
    if len(layout.groups) > 1:
        other_groups = " and ".join(group.name for group in layout.groups if group is not trainer)
        message = f"numNodes counts the pods of {trainer.name} alone, {len(trainer.pods)} of {job.size}"
        hint = f"the number of {other_groups} is in the runtime; change it there, and in the variables that count pods"
        yield changes(path, message, hint)
    elif job.kind.name == "XGBoostJob":
        message = f"WORLD_SIZE and WORKER_ADDRS are written for {job.size} pods; numNodes does not change them"
        yield changes(path, message, "to change the number of pods, change all three")
