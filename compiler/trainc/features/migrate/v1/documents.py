"""The documents of a job: the TrainJob and the TrainingRuntime, with the pod templates of its replicated jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.findings import Finding
from trainc.api.kube import Json, names
from trainc.features.migrate.v1 import mpi
from trainc.features.migrate.v1.job import Role, changes, differs
from trainc.features.migrate.v1.labels import rewrite_selectors, variable
from trainc.features.migrate.v1.layout import NAME_VARIABLE, UNKNOWN_NAME, Group, Layout, Renaming
from trainc.features.migrate.v1.lifecycle import (
    group_annotations,
    group_policy,
    job_fields,
    jobset_fields,
    restart_policy,
    trainjob_fields,
)
from trainc.features.migrate.v1.variables import Launch, rewrite_addresses, variables, with_torchrun, words

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
            container["command"] = with_torchrun(words(container))
            container.pop("args", None)
        trainer |= {new: container.pop(old) for old, new in _TRAINER.items() if container.get(old)}
        container["image"] = trainer["image"]
    if launch.processes is not None:
        trainer["numProcPerNode"] = launch.processes
    policy: dict[str, Any] = {"numNodes": 1, **({"torch": {}} if launch.has_policy else {})}
    if layout.job.kind.is_mpi and mpi.has_policy(layout):
        own = mpi.settings(layout.job)
        trainer |= {"numNodes": len(layout.groups[1].pods) + own.launcher_works, "numProcPerNode": own.slots}
        policy = {"numNodes": trainer["numNodes"], "mpi": mpi.policy(layout.job)}
    job_set = {**jobset_fields(layout), "replicatedJobs": groups}
    annotations = group_annotations(layout.job)
    template = {**({"metadata": {"annotations": annotations}} if annotations else {}), "spec": job_set}
    runtime = _document("TrainingRuntime", layout, {})
    runtime["spec"] = {"mlPolicy": policy, **group_policy(layout.job), "template": template}
    job = _document("TrainJob", layout, layout.job.metadata)
    reference = {"kind": "TrainingRuntime", "name": layout.job.name}
    job["spec"] = {**trainjob_fields(layout.job), "runtimeRef": reference, "trainer": trainer}
    return job, runtime


def _document(kind: str, layout: Layout, metadata: Json) -> dict[str, Any]:
    namespace = {"namespace": layout.job.namespace} if layout.job.namespace else {}
    kept = {field: metadata[field] for field in ("labels", "annotations") if metadata.get(field)}
    named = {"name": layout.job.name, **namespace, **kept}
    return {"apiVersion": names.TRAINER_API, "kind": kind, "metadata": named}


def _replicated_job(layout: Layout, group: Group, rename: Renaming, launch: Launch) -> dict[str, Any]:
    given, count, waits, replicas = launch.given, {}, {}, {}
    has_mpi_policy = layout.job.kind.is_mpi and mpi.has_policy(layout)
    if layout.job.kind.is_mpi:
        waits = mpi.depends_on(layout, group)
        given = mpi.variables_of_policy(layout.job) if has_mpi_policy and group.role.name == "Launcher" else given
    if not group.is_trainer and not has_mpi_policy:
        # numNodes is the number of pods of the trainer, and under the MPI policy of the hosts.
        count = dict.fromkeys(("parallelism", "completions"), 1 if group.by_job else len(group.pods))
    if group.by_job:
        replicas = {"replicas": len(group.pods)}
    fields = job_fields(layout, group, main_name(layout, group))
    spec = {**count, **fields, "template": _pod_template(layout, group, rename, given)}
    labels = {"metadata": {"labels": {names.ANCESTOR_LABEL: names.TRAINER}}} if group.is_trainer else {}
    return {"name": group.name, **replicas, **waits, "template": {**labels, "spec": spec}}


def _pod_template(layout: Layout, group: Group, rename: Renaming, given: frozenset[str]) -> dict[str, Any]:
    """The pod template of a group; variables whose names are `given` come from a policy of the runtime."""
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
        _main(layout, group, _container(layout, group, container, rename, added), given)
        if index == main
        else _container(layout, group, container, rename, sidecars)
        for index, container in enumerate(spec["containers"])
    ]
    if spec.get("initContainers"):
        spec["initContainers"] = [_container(layout, group, each, rename, ()) for each in spec["initContainers"]]
    spec["restartPolicy"] = restart_policy(role)
    metadata = role.template.get("metadata") or {}
    kept = {field: metadata[field] for field in ("labels", "annotations") if metadata.get(field)}
    return {**({"metadata": kept} if kept else {}), "spec": spec}


def _container(
    layout: Layout, group: Group, container: Json, rename: Renaming, operator: Sequence[Json]
) -> dict[str, Any]:
    """A container with the new names of labels and addresses, and with the `operator`'s variables."""
    own = [variable(value, layout, group) for value in container.get("env") or ()]
    changed = rewrite_addresses({**container, "env": own} if own else container, rename, operator)
    if layout.job.name == UNKNOWN_NAME and UNKNOWN_NAME in str(changed):
        changed["env"] = [NAME_VARIABLE, *changed.get("env", ())]
    return changed


def _main(layout: Layout, group: Group, container: dict[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """The main container, less the variables that a policy gives it."""
    kind = layout.job.kind
    if given and container.get("env"):
        container["env"] = [variable for variable in container["env"] if variable["name"] not in given]
    if kind.port_name and f"'{kind.port_name}'" in str(_port_users(container)):
        # A probe names the port that v1 added.
        ports = list(container.get("ports") or ())
        named = any(port.get("name") == kind.port_name for port in ports)
        container["ports"] = ports if named else [*ports, {"name": kind.port_name, "containerPort": kind.port}]
    return {**container, "name": main_name(layout, group)}


def main_name(layout: Layout, group: Group) -> str:
    """The name of a group's main container."""
    if group.is_trainer or group.name == names.NODE:
        return names.NODE
    return str(group.role.containers[layout.job.main(group.role)]["name"])


def _port_users(container: Json) -> list[Any]:
    return [container.get(field) for field in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")]


def differences(layout: Layout, rename: Renaming) -> Iterator[Finding]:
    """What is renamed or counted elsewhere, and what v1 let pods have and JobSet does not."""
    for role in layout.roles:
        path = (*role.path, "template", "spec")
        for field in ("hostname", "subdomain"):
            if role.template["spec"].get(field):
                message = f"JobSet sets {field} of every pod; {role.template['spec'][field]!r} is removed"
                yield differs((*path, field), message, "use the pod's address in the JobSet instead")
        for name in rename.found_in(_texts(role)):
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


def _texts(role: Role) -> str:
    every = (*role.containers, *(role.template["spec"].get("initContainers") or ()))
    return " ".join(str([c.get("command"), c.get("args"), c.get("env"), *_port_users(c)]) for c in every)


def _numbers(layout: Layout) -> Iterator[Finding]:
    """Jobs whose numNodes is not the number of their pods, or not the only place that says it."""
    job = layout.job
    path = ("spec", job.kind.replicas)
    trainer = next(group for group in layout.groups if group.is_trainer)
    if len(layout.groups) > 1:
        others = " and ".join(group.name for group in layout.groups if group is not trainer)
        message = f"numNodes counts the pods of {trainer.name} alone, {len(trainer.pods)} of {job.size}"
        hint = f"the number of {others} is in the runtime; change it there, and in the variables that count pods"
        yield changes(path, message, hint)
    elif job.kind.name == "XGBoostJob":
        message = f"WORLD_SIZE and WORKER_ADDRS are written for {job.size} pods; numNodes does not change them"
        yield changes(path, message, "to change the number of pods, change all three")
