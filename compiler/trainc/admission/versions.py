"""What differs between the admission rules of JobSet minors, and the defaults that their webhook sets on a new JobSet.

The webhook runs on CREATE only. A manifest without these fields can be created, but the next client-side apply fails
with "field is immutable". The CRD's own defaults come from the schema stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from trainc.kube.documents import mapping
from trainc.kube.releases import JOBSETS, Columns
from trainc.startup.records import dataclass
from trainc.startup.typing import Any


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
