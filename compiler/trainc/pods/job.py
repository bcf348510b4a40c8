"""Jobs and their pod templates: counts, indexes, restarts, policies for failure and success; host names, DNS and other fields.

Source: kubernetes pkg/apis/batch/validation/validation.go, validateJobSpec, validatePodFailurePolicy and
validateSuccessPolicy, at 1.36, after pkg/apis/batch/v1/defaults.go; pkg/apis/core/validation/validation.go,
ValidatePodTemplateSpec, ValidatePodSpec, validatePodDNSConfig and ValidateHostAliases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from trainc.findings import Finding, Path, remove, suggest, write
from trainc.kube.documents import Json, items, mapping, objects
from trainc.kube.names import is_domain_prefixed_path, is_subdomain, length
from trainc.pods import errors
from trainc.pods.checks import (
    LARGEST_INT32,
    Check,
    address,
    check_metadata,
    containers_of,
    dns_label,
    dns_subdomain,
    duplicates,
    exactly_one,
    label_selector,
    labels,
    list_of,
    number,
    one_of,
    qualified_name,
    struct,
)
from trainc.pods.containers import Pod, check_containers
from trainc.pods.resources import check_overhead, check_pod_resources
from trainc.startup.typing import Any

_COUNTS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
# The labels that the API server generates for the selector. Source: pkg/registry/batch/job/strategy.go,
# generateSelector.
_GENERATED_LABELS = tuple(
    f"{prefix}{name}" for prefix in ("", "batch.kubernetes.io/") for name in ("controller-uid", "job-name")
)
_RESTARTS = ("OnFailure", "Never")
_MOST_INDEXED = 100_000
_MOST_OF_MANY = 10_000
_LONGEST_MANAGER = 63
_MOST_RULES = 20
_MOST_EXIT_CODES = 255
_LONGEST_INDEXES = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


_FIELDS = struct({**dict.fromkeys(_COUNTS, number(0)), "completionMode": one_of("Indexed", "NonIndexed")})


def validate_job(job: Json, path: Path = ()) -> list[Finding]:
    """Return why the API server would reject Jobs with a template `{"metadata": ..., "spec": ...}` from a JobSet.

    The template must include the defaults of JobSet's webhook; those of batch/v1 are implied. Paths start with `path`.
    All findings are errors. Values of the wrong type are ignored, because the schema stage reports them.
    """
    return list(_findings(job, path))


def _findings(job: Json, path: Path) -> Iterator[Finding]:
    spec, spec_path = mapping(job.get("spec")), (*path, "spec")
    template = mapping(spec.get("template"))
    yield from check_metadata(mapping(job.get("metadata")), (*path, "metadata"))
    yield from _FIELDS(spec, spec_path)
    yield from _indexes(spec, spec_path)
    yield from _rare_fields(spec, template, spec_path)
    yield from _restart_policy(spec, template, spec_path)
    yield from check_template(template, (*spec_path, "template"))


def _indexes(spec: Json, path: Path) -> Iterator[Finding]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failed = spec.get("maxFailedIndexes")
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        yield errors.missing((*path, "backoffLimitPerIndex"), "maxFailedIndexes needs it")
    if spec.get("completionMode") != "Indexed":
        yield from _without_indexes(spec, path)
        return
    if completions is None and parallelism is not None:
        message, hint = "an Indexed Job sets parallelism, but not completions", "set completions to the same number"
        source_path = (*path, "parallelism")
        yield Finding("CompletionsMissing", "error", message, hint, (*path, "completions"), source_path=source_path)
    if isinstance(parallelism, int) and parallelism > _MOST_INDEXED:
        yield errors.out_of_range((*path, "parallelism"), parallelism, 0, _MOST_INDEXED)
    if isinstance(failed, int):
        most = min(completions, _MOST_INDEXED) if isinstance(completions, int) else _MOST_INDEXED
        if failed > max(most, 0):
            yield errors.out_of_range((*path, "maxFailedIndexes"), failed, 0, max(most, 0))
    if isinstance(completions, int) and completions > _MOST_INDEXED and spec.get("backoffLimitPerIndex") is not None:
        if failed is None:
            yield errors.missing((*path, "maxFailedIndexes"), f"more than {_MOST_INDEXED} completions need it")
        for name in ("parallelism", "maxFailedIndexes"):
            yield from number(0, _MOST_OF_MANY)(spec.get(name), (*path, name))


def _without_indexes(spec: Json, path: Path) -> Iterator[Finding]:
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(name) is not None:
            message = f"{name} counts per index, but the pods of this Job have no index"
            hint = write("Indexed", field="completionMode", verb="set")
            yield Finding("BackoffLimitPerIndexNeedsIndexed", "error", message, hint, (*path, name))
    if spec.get("successPolicy") is not None:
        message = "a success policy counts indexes, but the pods of this Job have no index"
        yield errors.bad_policy((*path, "successPolicy"), message, write("Indexed", field="completionMode", verb="set"))


def _rare_fields(spec: Json, template: Json, path: Path) -> Iterator[Finding]:
    manager = spec.get("managedBy")
    if isinstance(manager, str):
        yield from _check_manager(manager, (*path, "managedBy"))
    if any(spec.get(name) is not None for name in ("podFailurePolicy", "successPolicy", "podReplacementPolicy")):
        yield from _policies(spec, template, path)
    if spec.get("selector") is not None or spec.get("manualSelector") is True:
        yield from _check_selector(spec, path)
    for key in mapping(mapping(template.get("metadata")).get("labels")):
        if key in _GENERATED_LABELS and spec.get("manualSelector") is not True:
            label_path = (*path, "template", "metadata", "labels", key)
            yield errors.misplaced(label_path, f"the label {key} is set by the API server", remove())


def _check_manager(value: str, path: Path) -> Iterator[Finding]:
    if not is_domain_prefixed_path(value):
        message = f"{value!r} is not the name of a controller"
        hint = "write <domain>/<name>, such as kueue.x-k8s.io/multikueue"
        yield Finding("InvalidManagedBy", "error", message, hint, path)
    elif length(value) > _LONGEST_MANAGER:
        yield errors.too_long(path, length(value), _LONGEST_MANAGER)


def _check_selector(spec: Json, path: Path) -> Iterator[Finding]:
    """Check the selector: the API server generates one, unless manualSelector is set."""
    selector = mapping(spec.get("selector"))
    if spec.get("manualSelector") is True:
        if spec.get("selector") is None:
            yield errors.missing((*path, "selector"), "manualSelector: true needs it; or remove manualSelector")
        else:
            yield from _matches_template(spec, path)
    elif selector.get("matchLabels") or selector.get("matchExpressions"):
        message, hint = "the selector of a Job is set by the API server", remove("remove selector")
        yield errors.misplaced((*path, "selector"), message, hint)


def _matches_template(spec: Json, path: Path) -> Iterator[Finding]:
    selector, selector_path = spec["selector"], (*path, "selector")
    yield from label_selector(selector, selector_path)
    labels = mapping(mapping(mapping(spec.get("template")).get("metadata")).get("labels"))
    for key, value in mapping(mapping(selector).get("matchLabels")).items():
        # JobSet adds its own labels to the pods.
        if labels.get(key) != value and not str(key).startswith("jobset.sigs.k8s.io/"):
            message = f"the pods of the Job do not have the label {key}: {value}"
            hint = "add it to the labels of the template, or remove selector and manualSelector"
            yield errors.bad_selector((*selector_path, "matchLabels", key), message, hint)


def _restart_policy(spec: Json, template: Json, path: Path) -> Iterator[Finding]:
    policy = mapping(template.get("spec")).get("restartPolicy")
    policy_path = (*path, "template", "spec", "restartPolicy")
    if policy in (None, ""):
        yield errors.missing(policy_path, "the pods of a Job need OnFailure or Never")
    elif isinstance(policy, str) and policy not in _RESTARTS:
        message = f"a Job's pods cannot have restartPolicy {policy!r}"
        hint = suggest(policy, ("Never", "OnFailure"), "use restartPolicy: Never or OnFailure")
        yield Finding("InvalidRestartPolicy", "error", message, hint, policy_path)
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        message = f"podFailurePolicy needs restartPolicy Never, but it is {policy!r}"
        hint = "set restartPolicy: Never in the pod template"
        yield Finding("PodFailurePolicyNeedsNever", "error", message, hint, policy_path)


def _policies(spec: Json, template: Json, path: Path) -> Iterator[Finding]:
    failure, success = spec.get("podFailurePolicy"), spec.get("successPolicy")
    replacement = spec.get("podReplacementPolicy")
    if isinstance(replacement, str):
        allowed = ("Failed",) if failure is not None else ("Failed", "TerminatingOrFailed")
        yield from one_of(*allowed)(replacement, (*path, "podReplacementPolicy"))
    if isinstance(failure, dict):
        yield from _failure_policy(failure, spec, template, (*path, "podFailurePolicy", "rules"))
    if isinstance(success, dict) and spec.get("completionMode") == "Indexed":
        yield from _success_policy(success, spec.get("completions"), (*path, "successPolicy", "rules"))


def _failure_policy(policy: Json, spec: Json, template: Json, path: Path) -> Iterator[Finding]:
    rules = items(policy.get("rules"))
    names = [str(container.get("name")) for _, container in containers_of(mapping(template.get("spec")), path)]
    if len(rules) > _MOST_RULES:
        yield errors.too_many(path, len(rules), _MOST_RULES)
    for i, rule in enumerate(map(mapping, rules)):
        rule_path = (*path, i)
        yield from _action(rule, spec, (*rule_path, "action"))
        codes, conditions = rule.get("onExitCodes"), items(rule.get("onPodConditions"))
        if isinstance(codes, dict):
            yield from _exit_codes(codes, (*rule_path, "onExitCodes"), names)
        if len(conditions) > _MOST_RULES:
            yield errors.too_many((*rule_path, "onPodConditions"), len(conditions), _MOST_RULES)
        for k, condition in enumerate(conditions):
            yield from _CONDITION(condition, (*rule_path, "onPodConditions", k))
        if codes is not None and conditions:
            yield errors.bad_policy(
                rule_path, "a rule has both onExitCodes and onPodConditions", "split it into two rules"
            )
        elif codes is None and not conditions:
            yield errors.bad_policy(rule_path, "a rule has no condition", "add onExitCodes or onPodConditions")


_CONDITION = struct({"type": qualified_name, "status": one_of("", "True", "False", "Unknown")}, needs=("type",))


def _action(rule: Json, spec: Json, path: Path) -> Iterator[Finding]:
    action = rule.get("action")
    if not action:
        yield errors.missing(path)
    elif action not in _ACTIONS:
        yield errors.unsupported(path, action, _ACTIONS)
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        message = "FailIndex needs retries that are counted per index"
        yield errors.bad_policy(path, message, "set backoffLimitPerIndex, or use FailJob")


def _exit_codes(codes: Json, path: Path, containers: Collection[str]) -> Iterator[Finding]:
    operator, name, values = codes.get("operator"), codes.get("containerName"), items(codes.get("values"))
    if operator not in ("In", "NotIn"):
        yield errors.unsupported((*path, "operator"), operator, ("In", "NotIn"))
    if name is not None and name not in containers:
        yield errors.not_in_pod((*path, "containerName"), "container", str(name), containers)
    values_path = (*path, "values")
    if not values:
        yield errors.missing(values_path)
    elif len(values) > _MOST_EXIT_CODES:
        yield errors.too_many(values_path, len(values), _MOST_EXIT_CODES)
    seen: set[str] = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            yield errors.bad_policy((*values_path, i), "exit code 0 means success", remove())
        if str(value) in seen:
            yield errors.duplicate((*values_path, i), value)
        seen.add(str(value))
    integers = [value for value in values if isinstance(value, int)]
    if integers != sorted(integers):
        yield errors.bad_policy(values_path, "the exit codes are not in ascending order", write(sorted(set(integers))))


def _success_policy(policy: Json, completions: object, path: Path) -> Iterator[Finding]:
    rules = items(policy.get("rules"))
    if not rules:
        yield errors.missing(path, "a success policy has at least one")
    elif len(rules) > _MOST_RULES:
        yield errors.too_many(path, len(rules), _MOST_RULES)
    most = completions if isinstance(completions, int) else 1
    for i, rule in enumerate(map(mapping, rules)):
        yield from _success_rule(rule, most, (*path, i))


def _success_rule(rule: Json, completions: int, path: Path) -> Iterator[Finding]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        yield errors.missing_choice(path, ("succeededCount", "succeededIndexes"), "a rule of a success policy")
    indexed = completions
    if isinstance(indexes, str):
        indexes_path = (*path, "succeededIndexes")
        if len(indexes) > _LONGEST_INDEXES:
            yield errors.too_long(indexes_path, len(indexes), _LONGEST_INDEXES)
        try:
            indexed = _count_indexes(indexes, completions)
        except ValueError as error:
            indexed = 0
            hint = 'write indexes in ascending order, as in "0,2-4"'
            yield errors.bad_policy(indexes_path, f"{indexes!r}: {error}", hint)
    if isinstance(count, int) and not 0 <= count <= min(completions, indexed):
        yield errors.out_of_range((*path, "succeededCount"), count, 0, max(0, min(completions, indexed)))


def _count_indexes(text: str, completions: int) -> int:
    """Count the indexes in "0,2-4". Raises ValueError unless they are ascending and below `completions`."""
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        limits = [_index(limit, completions) for limit in interval.split("-")]
        first, end = limits[0], limits[-1]
        if len(limits) > 2 or (len(limits) == 2 and first >= end) or first <= last:
            raise ValueError(f"{interval!r} is out of order")
        total, last = total + end - first + 1, end
    return total


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise ValueError(f"{text!r} is not an index")
    if int(text) >= completions:
        raise ValueError(f"the Job has {completions} indexes, so the last one is {completions - 1}")
    return int(text)


_GRACE_PERIOD = 30


def check_template(template: Json, path: Path) -> Iterator[Finding]:
    """Check a pod template."""
    metadata, spec = mapping(template.get("metadata")), mapping(template.get("spec"))
    if metadata:
        yield from check_metadata(metadata, (*path, "metadata"))
    yield from _check_spec(spec, (*path, "spec"))


def _check_spec(spec: Json, path: Path) -> Iterator[Finding]:
    yield from check_containers(spec, path, _pod(spec))
    for field, value in spec.items():
        if field in _POD_FIELDS and value is not None and (value != "" or field in _EMPTY_IS_WRONG):
            yield from _POD_FIELDS[field](value, (*path, field))
    if not _HOST_NAMES.isdisjoint(spec):
        yield from _host_names(spec, path)
    if spec.get("resources") is not None:
        yield from check_pod_resources(spec, path)
    holders = (spec, *(container for _, container in containers_of(spec, path)))
    if not _SECURITY.isdisjoint(spec) or any("securityContext" in holder for holder in holders):
        from trainc.pods.security import check_pod_security

        yield from check_pod_security(spec, path)


def _pod(spec: Json) -> Pod:
    volumes = {str(v["name"]): v for v in objects(spec.get("volumes")) if v.get("name")}
    claims = [str(c["name"]) for c in objects(spec.get("resourceClaims")) if c.get("name")]
    grace = spec.get("terminationGracePeriodSeconds")
    grace_period = _GRACE_PERIOD if grace is None else grace if isinstance(grace, int) else None
    return Pod(volumes, claims, spec.get("restartPolicy"), grace_period, spec.get("hostUsers") is not False)


_CLAIM_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
_CLAIM = struct(
    {"name": dns_label, **dict.fromkeys(_CLAIM_SOURCES, dns_subdomain)},
    ("name",),
    exactly_one(_CLAIM_SOURCES, "a resource claim"),
)


def _claims(value: Any, path: Path) -> Iterator[Finding]:
    yield from duplicates(value, "name", path)
    yield from list_of(_CLAIM)(value, path)


def _ephemeral_containers(value: Any, path: Path) -> Iterator[Finding]:
    if value:
        hint = remove("remove them: `kubectl debug` adds them to a running pod")
        yield errors.misplaced(path, "a template has no ephemeral containers", hint)


# These modules are only imported if a pod has one of their fields.
def _volumes(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.volumes import check_volumes

    yield from check_volumes(value, path)


def _scheduling(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.scheduling import FIELDS

    yield from FIELDS[str(path[-1])](value, path)


# Host names and DNS.

_MOST = {"nameservers": 3, "searches": 32}
_LONGEST_SEARCHES = 2048
_LONGEST_HOSTNAME = 64
_SEARCH_FORM = "lowercase letters, digits, '-', '_' and '.', with a letter or digit first and last in every part"
_HOST_NAMES = frozenset(("dnsPolicy", "hostNetwork", "hostnameOverride"))


def _amounts(value: Any, path: Path) -> Iterator[Finding]:
    for name, most in _MOST.items():
        if (count := len(items(value.get(name)))) > most:
            yield errors.too_many((*path, name), count, most)
    if (size := length(" ".join(map(str, items(value.get("searches")))))) > _LONGEST_SEARCHES:
        yield errors.too_long((*path, "searches"), size, _LONGEST_SEARCHES)


def _search(value: Any, path: Path) -> Iterator[Finding]:
    # Underscores count as letters; a trailing dot marks an absolute name.
    if isinstance(value, str) and value != "." and not is_subdomain(value.removesuffix(".").replace("_", "0")):
        yield errors.malformed(path, value, _SEARCH_FORM)


def _alias(value: Any, path: Path) -> Iterator[Finding]:
    yield from address(value.get("ip") or "", (*path, "ip"))


def _host_names(spec: Json, path: Path) -> Iterator[Finding]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None" and not items(mapping(config).get("nameservers")):
        config_path = (*path, "dnsConfig") if config is None else (*path, "dnsConfig", "nameservers")
        source = (*path, "dnsPolicy") if config is None else None
        message = "with dnsPolicy None, the pod has no name server"
        hint = "add dnsConfig: {nameservers: [10.0.0.10]}, or use dnsPolicy: ClusterFirst"
        yield Finding("MissingRequired", "error", message, hint, config_path, source_path=source)
    if spec.get("hostNetwork") is True:
        yield from _host_ports(spec, path)
    name, override_path = spec.get("hostnameOverride"), (*path, "hostnameOverride")
    if name in (None, ""):
        return
    yield from dns_subdomain(name, override_path)
    if isinstance(name, str) and len(name) > _LONGEST_HOSTNAME:
        yield errors.too_long(override_path, len(name), _LONGEST_HOSTNAME)
    for other in ("hostNetwork", "setHostnameAsFQDN"):
        if spec.get(other) is True:
            yield errors.conflict(override_path, f"hostnameOverride and {other} cannot be used together")


def _host_ports(spec: Json, path: Path) -> Iterator[Finding]:
    """Check that host ports equal container ports, as pods on the host network need."""
    for i, container in enumerate(objects(spec.get("containers"))):
        for k, port in enumerate(objects(container.get("ports"))):
            if port.get("hostPort") and port["hostPort"] != port.get("containerPort"):
                message = f"with hostNetwork, hostPort {port['hostPort']} and containerPort {port.get('containerPort')} must be equal"
                port_path = (*path, "containers", i, "ports", k, "hostPort")
                yield errors.conflict(port_path, message, remove("remove hostPort, or make them equal"))


# Empty strings count as absent, except in fields that are pointers in Go.
_EMPTY_IS_WRONG = ("preemptionPolicy", "runtimeClassName")
_SECURITY = frozenset(("hostUsers", "os", "shareProcessNamespace"))
_POD_FIELDS: dict[str, Check] = {
    "activeDeadlineSeconds": number(1, LARGEST_INT32),
    "affinity": _scheduling,
    "dnsConfig": struct(
        {
            "nameservers": list_of(address),
            "searches": list_of(_search),
            "options": list_of(struct({}, needs=("name",))),
        },
        also=_amounts,
    ),
    "dnsPolicy": one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    "ephemeralContainers": _ephemeral_containers,
    "hostAliases": list_of(struct({"hostnames": list_of(dns_subdomain)}, also=_alias)),
    "hostname": dns_label,
    "nodeName": dns_subdomain,
    "nodeSelector": labels,
    "overhead": check_overhead,
    "preemptionPolicy": one_of("PreemptLowerPriority", "Never"),
    "priorityClassName": dns_subdomain,
    "readinessGates": list_of(struct({"conditionType": qualified_name})),
    "resourceClaims": _claims,
    "runtimeClassName": dns_subdomain,
    "schedulingGates": _scheduling,
    "serviceAccount": dns_subdomain,
    "serviceAccountName": dns_subdomain,
    "subdomain": dns_label,
    "tolerations": _scheduling,
    "topologySpreadConstraints": _scheduling,
    "volumes": _volumes,
}
