"""Rename the jobs and containers of a dialect's runtime to the names that Trainer's controller expects."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.findings import Finding, Path
from trainc.kube import names
from trainc.kube.documents import Json, value_at, with_value
from trainc.pipeline.patches import Role, infer_roles
from trainc.project.dialects.dialect import NamingConvention
from trainc.startup.records import dataclass

_CONTAINERS: Path = ("template", "spec", "template", "spec", "containers")


@dataclass(frozen=True, slots=True)
class NewNames:
    """The new name of a runtime's replicated job, and the container that becomes `node`."""

    job: str
    main: str


def with_standard_names(runtime: Json, naming: NamingConvention) -> tuple[Json, list[Finding], Mapping[str, NewNames]]:
    """A converted runtime with explicit ancestor labels and standard names for its main jobs and containers.

    The controller supports only the jobs `node` and `launcher` with a container `node`. The last result maps the old
    name of each renamed job to its new names.
    """
    spec = runtime.get("spec") or {}
    template = spec.get("template") or {}
    if not isinstance(template.get("spec"), Mapping):
        return runtime, [], {}
    inferred, doubts = infer_roles(template["spec"], spec.get("mlPolicy"), naming)
    if any(doubt.severity == "error" for doubt in doubts):
        return runtime, [doubt for doubt in doubts if doubt.severity == "error"], {}
    renamed = {job: NewNames(_job_name(role), role.main) for job, role in inferred.roles.items()}
    new_names = {old: new.job for old, new in renamed.items()}
    jobs = [_renamed(job, inferred.roles.get(job["name"]), new_names) for job in inferred.spec["replicatedJobs"]]
    job_set = _with_references({**inferred.spec, "replicatedJobs": jobs}, new_names)
    changed = {**runtime, "spec": {**spec, "template": {**template, "spec": job_set}}}
    return changed, [_name_finding(old, new) for old, new in new_names.items() if old != new], renamed


def with_renamed_target(target: Json, renamed: Mapping[str, NewNames]) -> Json:
    """A patch of one replicated job, retargeted to the new names of the job and its main container."""
    new = renamed.get(target["name"])
    if new is None:
        return target
    containers = value_at(target, _CONTAINERS)
    if isinstance(containers, list):
        called = [{**c, "name": names.NODE} if c.get("name") == new.main else c for c in containers]
        target = with_value(target, _CONTAINERS, called)
    return {**target, "name": new.job}


def _job_name(role: Role) -> str:
    return role.role or names.NODE


def _renamed(job: Json, role: Role | None, new_names: Mapping[str, str]) -> Json:
    depends_on = [{**d, "name": new_names.get(d["name"], d["name"])} for d in job.get("dependsOn", ())]
    job = {**job, "dependsOn": depends_on} if depends_on else job
    if role is None:
        return job
    template, job_spec = job["template"], job["template"]["spec"]
    pod = job_spec["template"]["spec"]
    containers = [{**c, "name": names.NODE} if c["name"] == role.main else c for c in pod["containers"]]
    pod_template = {**job_spec["template"], "spec": {**pod, "containers": containers}}
    return {
        **job,
        "name": new_names[job["name"]],
        "template": {**template, "spec": {**job_spec, "template": pod_template}},
    }


def _with_references(job_set: Json, new_names: Mapping[str, str]) -> Json:
    """The JobSetSpec with the references of its policies to renamed jobs updated."""
    changed = dict(job_set)
    if "successPolicy" in changed:
        changed["successPolicy"] = _retargeted(changed["successPolicy"], new_names)
    failure = changed.get("failurePolicy") or {}
    if "rules" in failure:
        changed["failurePolicy"] = {**failure, "rules": [_retargeted(rule, new_names) for rule in failure["rules"]]}
    return changed


def _retargeted(policy: Json, new_names: Mapping[str, str]) -> Json:
    targets = policy.get("targetReplicatedJobs")
    return {**policy, "targetReplicatedJobs": [new_names.get(t, t) for t in targets]} if targets else policy


def _name_finding(old: str, new: str) -> Finding:
    return Finding(
        "JobRenamed",
        "info",
        f"job {old!r} becomes {new!r}, the name that Trainer's controller expects; pod names and addresses change with it",
        hint="update what refers to the pods by name, such as dashboards and log queries",
        path=("spec", "template", "spec", "replicatedJobs"),
    )
