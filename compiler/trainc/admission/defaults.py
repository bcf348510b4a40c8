"""The defaults that JobSet's webhook sets on a new JobSet, included in the manifests.

The webhook runs on CREATE only. A manifest without these fields can be created, but the next client-side apply fails
with "field is immutable". The CRD's own defaults come from the schema stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainc.admission.versions import jobset_version
from trainc.kube.documents import mapping


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
