"""Volume claims of a JobSet that prevent creating its successor of the same name.

JobSet's webhook refuses a new JobSet while a claim of the same name exists, unless its policy says Retain and its spec
equals that of the claim in the cluster, to which the cluster has added the volume's mode, class and name.
Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go (validateVolumeClaimPolicies) v0.11.1 and v0.12.0.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.documents import Json, Manifest, mapping, objects

_BY_CLUSTER = frozenset(("volumeMode", "storageClassName", "volumeName"))


def lasting_claims(before: Manifest, after: Manifest) -> list[str]:
    """The names of templates whose claims outlive `before` and block the creation of `after`, of the same name."""
    kept = {name: spec for name, spec, policy in _templates(before) if policy == "Retain"}
    return [
        name
        for name, spec, policy in _templates(after)
        if name in kept and not (policy == "Retain" and spec == kept[name] and spec.keys() >= _BY_CLUSTER)
    ]


def claims_that_go(jobset: Manifest) -> list[str]:
    """The names of templates whose claims the cluster deletes with the JobSet."""
    return [name for name, _, policy in _templates(jobset) if policy == "Delete"]


def _templates(jobset: Manifest) -> Iterator[tuple[str, Json, str]]:
    """The name and spec of each claim template, and whether its claims are retained or deleted."""
    for policy in objects(mapping(jobset.get("spec")).get("volumeClaimPolicies")):
        when_deleted = str(mapping(policy.get("retentionPolicy")).get("whenDeleted", "Delete"))
        for template in objects(policy.get("templates")):
            yield str(mapping(template.get("metadata")).get("name")), mapping(template.get("spec")), when_deleted
