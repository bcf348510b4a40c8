"""What refuses a JobSet: the rules of its webhook for creation, and what the cluster does not run although JobSet accepts it.

The CRD's schema is checked elsewhere. Source of the rules: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go (ValidateCreate,
validateFailurePolicy, validateVolumeClaimPolicies, validateCoordinator and validateCoordinatorLabelValue).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from trainc.findings import Finding, Fix, Hint, Path, Severity, choose, remove, suggest
from trainc.kube.documents import Json, items, mapping, objects
from trainc.kube.jobset import (
    DerivedName,
    JobSet,
    ReplicatedJob,
    claim_name,
    coordinator_label,
    job_name,
    longest_name,
    number,
    pod_name,
    pod_template_names,
    service_name,
    text,
)
from trainc.kube.names import (
    DNS_1035_FORM,
    DNS_1123_FORM,
    LABEL_LIMIT,
    SUBDOMAIN_LIMIT,
    is_dns1035_label,
    is_dns1123_subdomain,
    is_domain_prefixed_path,
    length,
)
from trainc.kube.releases import JOBSETS, Columns
from trainc.pods import validate_job
from trainc.pods.checks import containers_of
from trainc.reading.document import label_of
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import TYPE_CHECKING, Any

# Policies, feature gates and pod counts.


MOST_PODS = 2**31 - 1
RULE_NAME_LIMIT = 128
FAILURE_REASONS = tuple(
    "BackoffLimitExceeded DeadlineExceeded FailedIndexes MaxFailedIndexesExceeded PodFailurePolicy".split()
)
_RULE_NAME = pattern(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_RESTART_JOB = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


def check_policies(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """Yield errors for the JobSet's policies."""
    for job in jobset.jobs:
        if (pods := job.parallelism * job.replicas) > MOST_PODS:
            more = f"{pods - MOST_PODS} more than JobSet's limit of {MOST_PODS}"
            message = f"{job.name!r} has {job.replicas} replicas of {job.parallelism} pods, {more}"
            hint = "reduce replicas or parallelism"
            yield Finding("TooManyPods", "error", message, hint, (*job.path, "replicas"))
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
        for k, reason in enumerate(items(rule.get("onJobFailureReasons"))):
            if reason not in FAILURE_REASONS:
                message, hint = f"{reason!r} is not a failure reason of a Job", choose(str(reason), FAILURE_REASONS)
                yield Finding("UnknownFailureReason", "error", message, hint, (*path, "onJobFailureReasons", k))
    first: dict[str, int] = {}
    for i, rule in enumerate(rules):
        if (before := first.setdefault(name := text(rule.get("name")), i)) != i:
            message = f"rules {before} and {i} are both called {name!r}"
            hint = "give each rule a different name, or no name"
            yield Finding("DuplicateFailureRule", "error", message, hint, ("spec", "failurePolicy", "rules", i, "name"))


def _unknown_targets(jobset: JobSet, path: Path, targets: Any) -> Iterator[Finding]:
    for i, name in enumerate(items(targets)):
        if name not in jobset.job_names:
            hint = choose(name, jobset.job_names, "use one of the replicated jobs:")
            message = f"the policy refers to {name!r}, which is not a replicated job"
            yield Finding("UnknownTargetJob", "error", message, hint, (*path, i))


def _feature_gates(policy: Json, version: JobSetVersion) -> Iterator[Finding]:
    path: Path = ("spec", "failurePolicy")
    if version.has_in_place_restart and policy.get("restartStrategy") == "InPlaceRestart":
        yield _gate("InPlaceRestart", "restart strategy InPlaceRestart", version, (*path, "restartStrategy"))
    for i, rule in enumerate(items(policy.get("rules"))):
        if version.has_restart_job and (action := mapping(rule).get("action")) in _RESTART_JOB:
            yield _gate("RestartJob", f"action {action}", version, (*path, "rules", i, "action"))


def _gate(gate: str, feature: str, version: JobSetVersion, path: Path) -> Finding:
    message = f"{feature} needs JobSet's feature gate {gate}, which is off by default in {version.minor}"
    return Finding("FeatureGateOff", "error", message, "use a value that does not need a feature gate", path)


def _rule_name(name: str, path: Path) -> Iterator[Finding]:
    excess = length(name) - RULE_NAME_LIMIT
    if excess > 0:
        message = f"the rule's name has {length(name)} characters; at most {RULE_NAME_LIMIT} are allowed"
        yield Finding("InvalidFailureRuleName", "error", message, f"shorten it by at least {excess} characters", path)
    if not _RULE_NAME.fullmatch(name):
        hint = "use letters, digits, '_', ',' and ':', with a letter first and no ',' or ':' last"
        yield Finding("InvalidFailureRuleName", "error", f"the rule's name {name!r} is malformed", hint, path)


# Dependencies of the first job, and on jobs that are not earlier in the list.
#
# The CRD's schema limits the number of dependencies, their status and uniqueness, and excludes `startupPolicy: InOrder`.


def check_depends_on(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """Yield the webhook's errors for `dependsOn`."""
    for job in jobset.jobs:
        if job.depends_on is None:
            continue
        path = (*job.path, "dependsOn")
        if job.index == 0:
            message = f"the first replicated job, {job.name!r}, cannot depend on another job: no job comes before it"
            hint = "put the job after those it depends on, or remove dependsOn"
            yield Finding("DependsOnFirstJob", "error", message, hint, path)
        elif not job.depends_on and version.crashes_on_empty_depends_on:
            message = f"JobSet {version.minor} crashes on an empty dependsOn"
            yield Finding("DependsOnEmpty", "error", message, remove("remove dependsOn"), path)
        for i, name in enumerate(dependency.step for dependency in job.depends_on):
            if name in jobset.job_names[: job.index + 1]:
                continue
            where, hint = "comes later in replicatedJobs", Hint(f"put {name!r} before {job.name!r}")
            if name not in jobset.job_names:
                other_jobs = [other for other in jobset.job_names if other != job.name]
                where = "is not in replicatedJobs"
                hint = suggest(name, other_jobs, f"the jobs are {', '.join(jobset.job_names)}")
            message = f"{job.name!r} depends on {name!r}, which {where}"
            yield Finding("DependsOnUnknown", "error", message, hint, (*path, i, "name"))


# A subdomain that is not a valid Service name, and a malformed `managedBy`.


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
    yield Finding("InvalidSubdomain", "error", message, hint, service.path)


def check_managed_by(jobset: JobSet) -> Iterator[Finding]:
    """Yield errors for `managedBy`, the name of the controller that manages the JobSet."""
    manager = jobset.spec.get("managedBy")
    if not isinstance(manager, str):
        return
    path = ("spec", "managedBy")
    if not is_domain_prefixed_path(manager):
        message = f"managedBy {manager!r} is not a domain with a path"
        hint = "write <domain>/<path>, such as kueue.x-k8s.io/multikueue"
        yield Finding("InvalidManagedBy", "error", message, hint, path)
    if (excess := length(manager) - MANAGED_BY_LIMIT) > 0:
        message = f"managedBy has {length(manager)} characters; at most {MANAGED_BY_LIMIT} are allowed"
        yield Finding("InvalidManagedBy", "error", message, f"shorten it by at least {excess} characters", path)


def check_creation(jobset: JobSet, version: JobSetVersion) -> list[Finding]:
    """Return the reasons why this JobSet minor would refuse `jobset`; empty if it would accept it.

    `jobset` must have the webhook's defaults. What the CRD's schema refuses (types, enums, list keys, bounds, CEL rules)
    is reported by the schema stage.
    """
    return [
        *check_names(jobset, version),
        *check_depends_on(jobset, version),
        *check_network(jobset),
        *check_managed_by(jobset),
        *check_policies(jobset, version),
        *check_coordinator(jobset, version),
        *(check_volume_claims(jobset) if version.has_volume_claims else ()),
    ]


# Names of Jobs and pods that would be too long or malformed, and group names.


def check_names(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """Yield errors for the names of a JobSet's Jobs, pods and groups."""
    # If there is no generateName either, the schema stage reports the missing name.
    if not jobset.name and jobset.generates_name:
        message = "the API server generates the name on creation, so the names of Jobs and pods are not known yet"
        hint = "set metadata.name: an object with only generateName cannot be applied from git either"
        yield Finding("MissingJobSetName", "error", message, hint, ("metadata", "generateName"))
    for job in jobset.jobs if jobset.name else ():
        excess = length(job.group) - LABEL_LIMIT
        if version.has_groups and (excess > 0 or not is_dns1035_label(job.group)):
            limit = f"has {length(job.group)} characters; at most {LABEL_LIMIT} are allowed"
            why = limit if excess > 0 else "is malformed"
            hint = f"use at most {LABEL_LIMIT} characters: {DNS_1035_FORM}"
            message = f"group name {job.group!r} {why}"
            yield Finding("InvalidGroupName", "error", message, hint, (*job.path, "groupName"))
        yield from _job_and_pod(jobset, job)


def _job_and_pod(jobset: JobSet, job: ReplicatedJob) -> Iterator[Finding]:
    name = job_name(jobset, job)
    if not is_dns1035_label(name.value):
        message = f"the Job would be called {name.value!r}, which is not a valid name for a Job of a JobSet"
        hint = f"for the names of the JobSet and of {job.name!r}, use {DNS_1035_FORM}"
        yield Finding("InvalidJobName", "error", message, hint, name.path)
    # One name is to be shortened, so one finding: about the pods where those have indexes, as they are longer.
    longest = pod_name(jobset, job) or name
    if longest.spare < 0:
        yield too_long(jobset, longest, "JobNameTooLong", "error")


def too_long(jobset: JobSet, name: DerivedName, code: str, severity: Severity) -> Finding:
    """Return a finding about a derived name: the JobSet's name is to be shortened, unless no name is short enough."""
    longest, source_path = longest_name(jobset), name.path
    if not name.repeats:
        hint = f"shorten it by at least {-name.spare} characters"
    elif longest < 1:
        hint = "shorten the names of the replicated jobs, claims or volumes: shortening the name of the JobSet is not enough"
    else:
        source_path = ("metadata", "name")
        hint = f"shorten the name of the job to at most {longest} characters; it has {length(jobset.name)}"
    return Finding(code, severity, str(name), hint, name.path, source_path=source_path)


# Volume claim templates that clash, that nothing mounts, or whose claims are misnamed.
#
# JobSet also compares each template with an existing claim in the cluster, which is unknown offline. The CRD's schema
# ensures that a template has no namespace.


def check_volume_claims(jobset: JobSet) -> Iterator[Finding]:
    """Yield the webhook's errors for `volumeClaimPolicies` (JobSet 0.11 and later)."""
    seen: set[str] = set()
    for path, template in jobset.claims:
        name = text(mapping(template.get("metadata")).get("name"))
        name_path = (*path, "metadata", "name")
        if name in seen:
            message = f"another claim template is called {name!r}"
            yield Finding("DuplicateVolumeClaim", "error", message, "give each template a different name", name_path)
        seen.add(name)
        if not is_dns1123_subdomain(name) or length(name) > SUBDOMAIN_LIMIT:
            message = f"{name!r} is not a valid name for a claim template"
            yield Finding("InvalidVolumeClaimName", "error", message, f"use {DNS_1123_FORM}", name_path)
        if (claim := claim_name(jobset, path, template)).spare < 0:
            yield too_long(jobset, claim, "VolumeClaimNameTooLong", "error")
        yield from _claim_volumes(jobset, name, name_path)


def _claim_volumes(jobset: JobSet, name: str, path: Path) -> Iterator[Finding]:
    for job in jobset.jobs:
        for i, volume in enumerate(items(job.pod_spec.get("volumes"))):
            if mapping(volume).get("name") == name:
                message = f"the pods of {job.name!r} already have a volume {name!r}, the name of the volume that JobSet adds for the claim"
                hint = "remove the volume, or rename it together with its mounts"
                yield Finding("VolumeClaimShadowsVolume", "error", message, hint, (*job.pod_path, "volumes", i, "name"))
    containers = (container for job in jobset.jobs for _, container in containers_of(job.pod_spec, ()))
    mounts = (mount for container in containers for mount in objects(container.get("volumeMounts")))
    if all(mount.get("name") != name for mount in mounts):
        message = f"no container mounts the volume {name!r}, so the claim would not be used"
        hint = f"add to a container: volumeMounts: [{{name: {name}, mountPath: /data}}]"
        yield Finding("VolumeClaimNotMounted", "error", message, hint, path)


# A coordinator pod that does not exist, or whose address is not a valid label value.


_PATH = ("spec", "coordinator")


def check_coordinator(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """Yield errors for the coordinator, if there is one."""
    if isinstance(jobset.spec.get("coordinator"), dict):
        yield from _coordinator_pod(jobset)
        if version.checks_coordinator_label:
            yield from coordinator_label_problem(jobset, "error")


def _coordinator_pod(jobset: JobSet) -> Iterator[Finding]:
    coordinator = jobset.spec["coordinator"]
    name = text(coordinator.get("replicatedJob"))
    job = next((job for job in jobset.jobs if job.name == name), None)
    if job is None:
        hint = choose(name, jobset.job_names, "use one of the replicated jobs:")
        message = f"the coordinator is in {name!r}, which is not a replicated job"
        yield Finding("UnknownTargetJob", "error", message, hint, (*_PATH, "replicatedJob"))
        return
    replica, pod = number(coordinator.get("jobIndex"), 0), number(coordinator.get("podIndex"), 0)
    if not 0 <= replica < job.replicas:
        yield _index("jobIndex", replica, f"{name!r} has {job.replicas} replicas")
    if not job.indexed or job.completions is None:
        message = f"the coordinator's job {name!r} must be Indexed and set completions"
        hint = "set completionMode: Indexed and completions in its template"
        yield Finding("CoordinatorNotIndexed", "error", message, hint, (*_PATH, "replicatedJob"))
    elif not 0 <= pod < job.completions:
        yield _index("podIndex", pod, f"a Job of {name!r} has {job.completions} completions")


def _index(field: str, value: int, have: str) -> Finding:
    message = f"{field} {value} is out of range: {have}, and indexes start at 0"
    hint = Hint(f"set {field} to 0", Fix("set", "0", field))
    return Finding("InvalidCoordinatorIndex", "error", message, hint, (*_PATH, field))


def coordinator_label_problem(jobset: JobSet, severity: Severity) -> Iterator[Finding]:
    """Yield a finding if the coordinator's address is too long for its label. Before JobSet 0.11 nothing refuses it."""
    label = coordinator_label(jobset)
    # Only the length can be wrong: the address consists of names that are checked separately.
    if label is not None and label.spare < 0:
        yield too_long(jobset, label, "InvalidCoordinatorLabel", severity)


if TYPE_CHECKING:
    from trainc.pods.admission_plugins import ClusterObjects


def post_admission_checks(jobset: JobSet, version: JobSetVersion, severity: Severity) -> list[Finding]:
    """Return what a JobSet that has its defaults fails on after this JobSet minor has accepted it."""
    findings = list(_jobset(jobset, version, severity))
    for job in jobset.jobs:
        names = [name for name in pod_template_names(jobset, job) if name.spare < 0]
        findings += [too_long(jobset, name, "DerivedNameTooLong", severity) for name in names]
        reported = {name.path for name in names}
        refused = validate_job(_child_job(jobset, job), (*job.path, "template"))
        for finding in refused:
            if finding.path not in reported:
                findings.append(finding if severity == "error" else replace(finding, severity=severity))
    return findings


def _jobset(jobset: JobSet, version: JobSetVersion, severity: Severity) -> Iterator[Finding]:
    if not version.checks_coordinator_label:
        yield from coordinator_label_problem(jobset, severity)
    if version.has_message_patterns:
        yield from _message_patterns(jobset, severity)
    for job in jobset.jobs:
        for i, dependency in enumerate(job.depends_on or ()):
            if dependency.step == job.name and job.index > 0:
                message = f"{job.name!r} depends on itself and never starts"
                hint = "remove the dependency, or use the name of another job"
                yield Finding("DependsOnSelf", severity, message, hint, (*job.path, "dependsOn", i, "name"))


def _message_patterns(jobset: JobSet, severity: Severity) -> Iterator[Finding]:
    rules = items(mapping(jobset.spec.get("failurePolicy")).get("rules"))
    if not rules:
        return
    from trainc.kube.re2 import re2_error

    for i, rule in enumerate(rules):
        for k, expression in enumerate(items(mapping(rule).get("onJobFailureMessagePatterns"))):
            if isinstance(expression, str) and (error := re2_error(expression)):
                path = ("spec", "failurePolicy", "rules", i, "onJobFailureMessagePatterns", k)
                message = f"pattern {expression!r} is not a valid regular expression, so JobSet ignores it: {error}"
                yield Finding("InvalidMessagePattern", severity, message, "use Go's RE2 syntax", path)


def _child_job(jobset: JobSet, job: ReplicatedJob) -> Json:
    """Return a Job's template with JobSet's changes to its pods: volumes of claims, and the subdomain.

    Source: kubernetes-sigs/jobset pkg/controllers/jobset_controller.go, constructJob.
    """
    volume_names = {text(mapping(volume).get("name")) for volume in items(job.pod_spec.get("volumes"))}
    claims = {text(mapping(template.get("metadata")).get("name")) for _, template in jobset.claims} - volume_names
    has_hostnames = mapping(jobset.spec.get("network")).get("enableDNSHostnames") is not False
    if not claims and not (has_hostnames and "subdomain" in job.pod_spec):
        return job.template
    pod_spec = dict(job.pod_spec)
    if claims:
        added = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in sorted(claims)]
        pod_spec["volumes"] = [*items(pod_spec.get("volumes")), *added]
    if has_hostnames:
        pod_spec["subdomain"] = ""
    pod = {**job.pod_template, "spec": pod_spec}
    return {**job.template, "spec": {**job.job_spec, "template": pod}}


# Pods that the API server refuses although it takes their JobSet and their Jobs.
#
# Then nothing ever runs: the Job controller tries to create the pods again and again, and only an event says why.


# What a pod must have to be refused whatever the cluster holds.
_SUSPECT = frozenset(("overhead", "priority", "preemptionPolicy", "nodeName"))


def objects_for_pods(documents: Iterable[Json]) -> ClusterObjects:
    """Return the objects of a cluster among `documents` that decide whether it admits pods."""
    manifests = list(documents)
    if not manifests:  # As in most inputs.
        return {}
    from trainc.pods.admission_plugins import cluster_objects

    return cluster_objects(manifests)


def pod_refusals(manifests: Sequence[Json], cluster: ClusterObjects, severity: Severity) -> Iterator[Finding]:
    """Yield why the API server would refuse pods of the JobSets in `manifests`."""
    for jobset in JobSet.among(manifests):
        if not (cluster or any(_is_suspect(job.pod_spec) for job in jobset.jobs)):
            continue
        from trainc.pods.admission_plugins import count_refusals, in_namespace, refusals_of_pods

        findings = list[Finding]()
        if "ResourceQuota" in cluster:
            created = {"count/jobsets.jobset.x-k8s.io": 1, "count/jobs.batch": sum(job.replicas for job in jobset.jobs)}
            quotas = in_namespace(cluster, "ResourceQuota", jobset.namespace)
            findings += count_refusals(created, ("spec", "replicatedJobs"), quotas)
        for job in jobset.jobs:
            findings += refusals_of_pods(job.pod_spec, job.pod_path, jobset.namespace, cluster)
        for finding in findings:
            lowered = finding.severity if severity == "error" else severity
            yield replace(finding, about=label_of(jobset.document), severity=lowered)


def _is_suspect(pod: Json) -> bool:
    """Return whether a pod may be refused whatever the cluster holds."""
    return not _SUSPECT.isdisjoint(pod) or any("image" in volume for volume in objects(pod.get("volumes")))


# What differs between the admission rules of JobSet minors, and the defaults that their webhook sets on a new JobSet.
#
# The webhook runs on CREATE only. A manifest without these fields can be created, but the next client-side apply fails
# with "field is immutable". The CRD's own defaults come from the schema stage.


@dataclass(frozen=True, slots=True)
class JobSetVersion:
    """The admission behavior of one JobSet minor, with its feature gates at their defaults.

    Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go at v0.8.2, v0.10.1, v0.11.1 and v0.12.0.
    """

    minor: str
    has_groups: bool
    has_message_patterns: bool
    has_volume_claims: bool
    has_in_place_restart: bool
    has_restart_job: bool
    checks_coordinator_label: bool
    crashes_on_empty_depends_on: bool
    answers_invalid: bool


# fmt: off
_FACTS = Columns(JOBSETS, {
    #                               0.8    0.10   0.11   0.12
    "has_groups":                  (False, True,  True,  True),
    "has_message_patterns":        (False, True,  True,  True),
    "has_volume_claims":           (False, False, True,  True),
    "has_in_place_restart":        (False, False, True,  True),
    "has_restart_job":             (False, False, False, True),
    "checks_coordinator_label":    (False, False, True,  True),
    "crashes_on_empty_depends_on": (True,  False, False, False),
    # The webhook responds with 422, like the API server itself; older ones with 403 (jobset pull request 1207).
    "answers_invalid":             (False, False, False, True),
})
# fmt: on


@cache
def jobset_version(minor: str) -> JobSetVersion:
    """Return the facts of a JobSet minor. Raises KeyError if no Trainer release uses it (`ir.release`)."""
    return JobSetVersion(minor=minor, **_FACTS.at(minor))


def bake_defaults(jobset: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return `jobset` with the defaults of this JobSet minor's CREATE webhook. Unchanged parts are shared with the input.

    Values of the wrong type are kept; the schema stage reports them.

    Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go.
    """
    spec = jobset.get("spec")
    if spec is not None and not isinstance(spec, dict):
        return dict(jobset)
    baked = _with_defaults(
        spec or {}, successPolicy={"operator": "All"}, startupPolicy={"startupPolicyOrder": "AnyOrder"}, network={}
    )
    if isinstance(network := baked["network"], dict):
        baked["network"] = _with_defaults(network, enableDNSHostnames=True, publishNotReadyAddresses=True)
    _replace_items(baked, "replicatedJobs", _replicated_job)
    if isinstance(policy := baked.get("failurePolicy"), dict):
        baked["failurePolicy"] = policy = dict(policy)
        _replace_items(policy, "rules", _failure_rule)
    if jobset_version(version).has_volume_claims:
        retention = {"whenDeleted": "Delete"}
        _replace_items(
            baked,
            "volumeClaimPolicies",
            lambda _, claim_policy: _with_defaults(claim_policy, retentionPolicy=retention),
        )
    return {**jobset, "spec": baked}


def _replicated_job(_: int, job: dict[str, Any]) -> dict[str, Any]:
    if not _is_template(job.get("template")):
        return job
    # Go creates the nested structs even if the manifest omits them; the schema stage then reports missing containers.
    template = job["template"]
    job_spec = _with_defaults(mapping(template.get("spec")), completionMode="Indexed")
    pod = mapping(job_spec.get("template"))
    pod_spec = mapping(pod.get("spec"))
    if not pod_spec.get("restartPolicy"):
        job_spec["template"] = {**pod, "spec": {**pod_spec, "restartPolicy": "OnFailure"}}
    return {**job, "template": {**template, "spec": job_spec}}


def _is_template(template: Any) -> bool:
    """Return whether each nested object that is present is a mapping, so that a wrong type is not hidden."""
    job_spec = template.get("spec", {}) if isinstance(template, dict) else None
    pod = job_spec.get("template", {}) if isinstance(job_spec, dict) else None
    return isinstance(pod, dict) and isinstance(pod.get("spec", {}), dict)


def _failure_rule(index: int, rule: dict[str, Any]) -> dict[str, Any]:
    return rule if rule.get("name") not in (None, "") else {**rule, "name": f"failurePolicyRule{index}"}


def _with_defaults(fields: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return `fields` with defaults for those that are absent or null, between which Go does not distinguish."""
    return {**fields, **{name: value for name, value in defaults.items() if fields.get(name) is None}}


def _replace_items(owner: dict[str, Any], field: str, change: Callable[[int, dict[str, Any]], dict[str, Any]]) -> None:
    """Replace a list of `owner`, which is modified, by a new one with `change(index, item)` applied to each mapping."""
    if isinstance(values := owner.get(field), list):
        owner[field] = [change(i, v) if isinstance(v, dict) else v for i, v in enumerate(values)]
