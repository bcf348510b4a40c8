"""Creation rules for policies, feature gates, pod counts, dependencies, the subdomain and `managedBy`.

These are the rules J1 to J7 and J11 to J14.
Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, ValidateCreate and validateFailurePolicy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from trainc.admission.jobset import JobSet, service_name, text
from trainc.admission.versions import JobSetVersion
from trainc.findings import Finding, Path, choose, remove, suggest
from trainc.kube.documents import Json, items, mapping, objects
from trainc.kube.names import DNS_1035_FORM, LABEL_LIMIT, is_dns1035_label, is_domain_prefixed_path, length
from trainc.startup.patterns import pattern

MOST_PODS = 2**31 - 1
RULE_NAME_LIMIT = 128
FAILURE_REASONS = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
_RULE_NAME = pattern(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_RESTART_JOB = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


def check_policies(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """Yield errors for the JobSet's policies."""
    yield from _too_many_pods(jobset)
    targets = mapping(jobset.spec.get("successPolicy")).get("targetReplicatedJobs")
    yield from _unknown_targets(jobset, ("spec", "successPolicy", "targetReplicatedJobs"), targets)
    if not isinstance(policy := jobset.spec.get("failurePolicy"), dict):
        return
    yield from _feature_gates(policy, version)
    rules = objects(policy.get("rules"))
    for i, rule in enumerate(rules):
        path = ("spec", "failurePolicy", "rules", i)
        yield from _rule_name(text(rule.get("name")), (*path, "name"))
        yield from _unknown_targets(jobset, (*path, "targetReplicatedJobs"), rule.get("targetReplicatedJobs"))
        yield from _reasons(rule, (*path, "onJobFailureReasons"))
    yield from _repeated_names(rules)


def _too_many_pods(jobset: JobSet) -> Iterator[Finding]:
    for job in jobset.jobs:
        if (pods := job.parallelism * job.replicas) > MOST_PODS:
            yield Finding(
                "TooManyPods",
                "error",
                f"{job.name!r} has {job.replicas} replicas of {job.parallelism} pods, {pods - MOST_PODS} more "
                f"than JobSet's limit of {MOST_PODS}",
                hint="reduce replicas or parallelism",
                path=(*job.path, "replicas"),
            )


def _unknown_targets(jobset: JobSet, path: Path, targets: Any) -> Iterator[Finding]:
    for i, name in enumerate(items(targets)):
        if name not in jobset.job_names:
            hint = choose(name, jobset.job_names, "use one of the replicated jobs:")
            message = f"the policy refers to {name!r}, which is not a replicated job"
            yield Finding("UnknownTargetJob", "error", message, hint=hint, path=(*path, i))


def _feature_gates(policy: Json, version: JobSetVersion) -> Iterator[Finding]:
    path: Path = ("spec", "failurePolicy")
    if version.has_in_place_restart and policy.get("restartStrategy") == "InPlaceRestart":
        yield _gate("InPlaceRestart", "restart strategy InPlaceRestart", version, (*path, "restartStrategy"))
    for i, rule in enumerate(items(policy.get("rules"))):
        if version.has_restart_job and (action := mapping(rule).get("action")) in _RESTART_JOB:
            yield _gate("RestartJob", f"action {action}", version, (*path, "rules", i, "action"))


def _gate(gate: str, what: str, version: JobSetVersion, path: Path) -> Finding:
    message = f"{what} needs JobSet's feature gate {gate}, which is off by default in {version.minor}"
    return Finding("FeatureGateOff", "error", message, hint="use a value that does not need a feature gate", path=path)


def _rule_name(name: str, path: Path) -> Iterator[Finding]:
    excess = length(name) - RULE_NAME_LIMIT
    if excess > 0:
        message = f"the rule's name has {length(name)} characters; at most {RULE_NAME_LIMIT} are allowed"
        yield Finding(
            "InvalidFailureRuleName", "error", message, hint=f"shorten it by at least {excess} characters", path=path
        )
    if not _RULE_NAME.fullmatch(name):
        hint = "use letters, digits, '_', ',' and ':', with a letter first and no ',' or ':' last"
        yield Finding("InvalidFailureRuleName", "error", f"the rule's name {name!r} is malformed", hint=hint, path=path)


def _reasons(rule: Json, path: Path) -> Iterator[Finding]:
    for i, reason in enumerate(items(rule.get("onJobFailureReasons"))):
        if reason not in FAILURE_REASONS:
            message, hint = f"{reason!r} is not a failure reason of a Job", choose(str(reason), FAILURE_REASONS)
            yield Finding("UnknownFailureReason", "error", message, hint=hint, path=(*path, i))


def _repeated_names(rules: list[Json]) -> Iterator[Finding]:
    indexes = defaultdict(list)
    for i, rule in enumerate(rules):
        indexes[text(rule.get("name"))].append(i)
    for name, (first, *repeats) in indexes.items():
        for i in repeats:
            message = f"rules {first} and {i} are both called {name!r}"
            yield Finding(
                "DuplicateFailureRule",
                "error",
                message,
                hint="give each rule a different name, or no name",
                path=("spec", "failurePolicy", "rules", i, "name"),
            )


# Refused on creation: dependencies of the first job, and dependencies on jobs that are not earlier in the list (J1, J2).
#
# The CRD's schema limits the number of dependencies, their status and uniqueness (J3), and excludes `startupPolicy:
# InOrder` with them (J4). Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, ValidateCreate.


def check_depends_on(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """Yield the webhook's errors for `dependsOn`."""
    for job in jobset.jobs:
        if job.depends_on is None:
            continue
        path = (*job.path, "dependsOn")
        if job.index == 0:
            yield Finding(
                "DependsOnFirstJob",
                "error",
                f"the first replicated job, {job.name!r}, cannot depend on another job: no job comes before it",
                hint="put the job after those it depends on, or remove dependsOn",
                path=path,
            )
        elif not job.depends_on and version.crashes_on_empty_depends_on:
            message = f"JobSet {version.minor} crashes on an empty dependsOn"
            yield Finding("DependsOnEmpty", "error", message, hint=remove("remove dependsOn"), path=path)
        before = jobset.job_names[: job.index + 1]
        for i, name in enumerate(job.depends_on):
            if name not in before:
                yield _unknown(jobset, job.name, name, (*path, i, "name"))


def _unknown(jobset: JobSet, job: str, name: str, path: tuple[str | int, ...]) -> Finding:
    known = name in jobset.job_names
    where = "comes later in replicatedJobs" if known else "is not in replicatedJobs"
    others = [other for other in jobset.job_names if other != job]
    hint = suggest(name, others, f"the jobs are {', '.join(jobset.job_names)}")
    if known:
        hint = f"put {name!r} before {job!r}"
    return Finding("DependsOnUnknown", "error", f"{job!r} depends on {name!r}, which {where}", hint=hint, path=path)


# Refused on creation: a subdomain that is not a valid Service name, and a malformed `managedBy` (J5, J6).
#
# Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, ValidateCreate.


MANAGED_BY_LIMIT = 63


def check_network(jobset: JobSet) -> Iterator[Finding]:
    """Yield errors for the subdomain, which becomes the name of the headless Service."""
    if not jobset.subdomain:
        return
    service = service_name(jobset)
    if service.spare >= 0 and is_dns1035_label(jobset.subdomain):
        return
    message = str(service) if service.spare < 0 else f"{jobset.subdomain!r} is not a valid name for a Service"
    hint = f"use at most {LABEL_LIMIT} characters: {DNS_1035_FORM}"
    yield Finding("InvalidSubdomain", "error", message, hint=hint, path=service.path)


def check_managed_by(jobset: JobSet) -> Iterator[Finding]:
    """Yield errors for `managedBy`, the name of the controller that manages the JobSet."""
    manager = jobset.spec.get("managedBy")
    if not isinstance(manager, str):
        return
    path = ("spec", "managedBy")
    if not is_domain_prefixed_path(manager):
        message = f"managedBy {manager!r} is not a domain with a path"
        yield Finding(
            "InvalidManagedBy",
            "error",
            message,
            hint="write <domain>/<path>, such as kueue.x-k8s.io/multikueue",
            path=path,
        )
    if (excess := length(manager) - MANAGED_BY_LIMIT) > 0:
        message = f"managedBy has {length(manager)} characters; at most {MANAGED_BY_LIMIT} are allowed"
        yield Finding(
            "InvalidManagedBy", "error", message, hint=f"shorten it by at least {excess} characters", path=path
        )
