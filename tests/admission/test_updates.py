"""Which updates of a JobSet are refused, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tables import cases

from trainc.admission.creation import bake_defaults
from trainc.admission.updates import Submitted, update_refusals
from trainc.findings import Finding

Bend = Callable[..., dict[str, Any]]
Refusals = Callable[..., list[Finding]]

ALL = ("0.8", "0.10", "0.11", "0.12")
NODE = "spec.replicatedJobs[1]"
JOB = f"{NODE}.template.spec"
POD = f"{JOB}.template"
CONTAINER = f"{POD}.spec.containers[0]"
SUSPEND = {"spec.suspend": True}
CLAIMS = [{"templates": [], "retentionPolicy": {"whenDeleted": "Delete"}}]


def submitted(jobset: dict[str, Any]) -> Submitted:
    return Submitted(jobset, jobset)


@pytest.fixture
def refusals(bend: Bend) -> Refusals:
    """Refusals of an update from the stored base, bent by `before`, to the same bent further by `after`."""

    def refusals(before: Any, after: Any, version: str = "0.12", name: Any = "job") -> list[Finding]:
        old = bake_defaults(bend(before), version)
        new = bake_defaults(bend({**before, **after}, name=name), version)
        return update_refusals(submitted(old), submitted(new), version)

    return refusals


def dotted(path: Any) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize("suspended", [False, True])
@cases("before", "after", "path")
def test_it_is_frozen(refusals: Refusals, before: Any, after: Any, path: Any, suspended: bool, version: str) -> None:
    found = refusals(before, {**after, **(SUSPEND if suspended else {})}, version)
    free_while_suspended = suspended and path.startswith(f"{POD}.metadata")
    assert [(f.code, dotted(f.path)) for f in found] == ([] if free_while_suspended else [("FieldImmutable", path)])


MUTABLE = {
    "suspend": {"spec.suspend": True},
    "the time to live": {"spec.ttlSecondsAfterFinished": 60},
    "the coordinator": {"spec.coordinator": {"replicatedJob": "node"}},
    "labels and annotations of the JobSet": {"metadata.labels": {"a": "b"}, "metadata.annotations": {"a": "b"}},
    "a failure policy that was not there": {"spec.failurePolicy": {"maxRestarts": 1}},
    "nothing": {},
}


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize("after", MUTABLE.values(), ids=MUTABLE)
def test_it_may_change(refusals: Refusals, after: Any, version: str) -> None:
    assert refusals({}, after, version) == []


def test_a_policy_that_is_removed_is_not_compared(refusals: Refusals) -> None:
    assert refusals({"spec.failurePolicy": {"maxRestarts": 1}}, {"spec.failurePolicy": None}) == []


FREE_WHILE_SUSPENDED = {
    "labels": {f"{POD}.metadata.labels": {"app": "x", "new": "1"}},
    "annotations": {f"{POD}.metadata.annotations": {"new": "1"}},
    "the node selector": {f"{POD}.spec.nodeSelector": {"pool": "b"}},
    "tolerations": {f"{POD}.spec.tolerations": [{"operator": "Exists"}]},
    "scheduling gates": {f"{POD}.spec.schedulingGates": [{"name": "a.io/b"}]},
}


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize(("before", "after"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("edits", FREE_WHILE_SUSPENDED.values(), ids=FREE_WHILE_SUSPENDED)
def test_what_kueue_sets_in_pods_may_change_while_suspended_before_or_after(
    refusals: Refusals, edits: dict[str, Any], before: Any, after: Any, version: str
) -> None:
    found = refusals({"spec.suspend": before}, {**edits, "spec.suspend": after}, version)
    assert [f.code for f in found] == ([] if before or after else ["FieldImmutable"])


def test_the_hint_tells_what_suspending_would_allow(refusals: Refusals) -> None:
    (finding,) = refusals({}, {f"{POD}.spec.nodeSelector": {"pool": "b"}})
    assert finding.hint.startswith("suspend the JobSet first")


@pytest.mark.parametrize(("version", "refused"), [("0.8", False), ("0.10", False), ("0.11", True), ("0.12", True)])
def test_volume_claims_are_frozen_where_the_version_has_them(refusals: Refusals, version: str, refused: bool) -> None:
    found = refusals({"spec.volumeClaimPolicies": CLAIMS}, {"spec.volumeClaimPolicies": [*CLAIMS, *CLAIMS]}, version)
    assert [f.code for f in found] == (["FieldImmutable"] if refused else [])


def test_quantities_that_are_written_differently_are_equal_in_pods_but_not_in_claims(refusals: Refusals) -> None:
    before = {
        f"{CONTAINER}.resources": {"limits": {"memory": "1Gi"}},
        "spec.volumeClaimPolicies": [{"templates": [{"spec": {"resources": {"requests": {"storage": "1Gi"}}}}]}],
    }
    assert refusals(before, {f"{CONTAINER}.resources": {"limits": {"memory": "1024Mi"}}}) == []
    claims = [{"templates": [{"spec": {"resources": {"requests": {"storage": "1024Mi"}}}}]}]
    assert [f.path for f in refusals(before, {"spec.volumeClaimPolicies": claims})] == [("spec", "volumeClaimPolicies")]


@pytest.mark.parametrize("field", ["name", "namespace"])
def test_another_object_is_no_update(bend: Bend, field: str) -> None:
    old, new = bend(), bend({f"metadata.{field}": "other"})
    (finding,) = update_refusals(submitted(old), submitted(new), "0.12")
    assert (finding.code, finding.path) == ("ObjectRenamed", ("metadata", field))


def test_a_manifest_without_the_webhooks_defaults_is_refused_and_told_why(bend: Bend) -> None:
    old, new = bake_defaults(bend(), "0.12"), bend({"spec.network": {"enableDNSHostnames": True}})
    found = update_refusals(submitted(old), submitted(new), "0.12")
    assert {f.code for f in found} == {"WebhookDefaultMissing"}
    assert {dotted(f.path) for f in found} == {"spec.network"} | {
        f"spec.replicatedJobs[{i}].template.spec.{field}"
        for i in (0, 1)
        for field in ("completionMode", "template.spec.restartPolicy")
    }


def test_long_values_are_cut_short_in_the_message(refusals: Refusals) -> None:
    (finding,) = refusals({}, {f"{CONTAINER}.image": "x" * 500})
    assert len(finding.message) < 150
