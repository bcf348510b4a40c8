"""The CREATE webhook's defaults, as they are baked into manifests."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from trainc.admission.creation import bake_defaults

Bend = Callable[..., dict[str, Any]]

JOB = {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{"name": "node"}]}}}}}


def baked(spec: Any, version: str = "0.12") -> Any:
    return bake_defaults({"metadata": {"name": "job"}, "spec": spec}, version)["spec"]


def test_a_bare_jobset_gets_policies_a_network_indexed_jobs_and_pods_that_restart() -> None:
    assert baked({"replicatedJobs": [JOB]}) == {
        "successPolicy": {"operator": "All"},
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "replicatedJobs": [
            {
                "name": "node",
                "template": {
                    "spec": {
                        "completionMode": "Indexed",
                        "template": {"spec": {"containers": [{"name": "node"}], "restartPolicy": "OnFailure"}},
                    }
                },
            }
        ],
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("successPolicy", {"operator": "Any"}),
        ("startupPolicy", {"startupPolicyOrder": "InOrder"}),
        ("network", {"enableDNSHostnames": False, "publishNotReadyAddresses": False, "subdomain": "s"}),
        ("failurePolicy", {"maxRestarts": 1}),
    ],
)
def test_what_is_written_stays(field: str, value: Any) -> None:
    assert baked({field: value})[field] == value


def test_false_is_written_and_null_is_not() -> None:
    assert baked({"network": {"enableDNSHostnames": False, "publishNotReadyAddresses": None}})["network"] == {
        "enableDNSHostnames": False,
        "publishNotReadyAddresses": True,
    }


def test_unnamed_failure_rules_are_called_by_their_index() -> None:
    rules = [{"action": "FailJobSet"}, {"name": "mine"}, {"name": ""}]
    names = [rule["name"] for rule in baked({"failurePolicy": {"rules": rules}})["failurePolicy"]["rules"]]
    assert names == ["failurePolicyRule0", "mine", "failurePolicyRule2"]


@pytest.mark.parametrize(("version", "has_policy"), [("0.8", False), ("0.10", False), ("0.11", True), ("0.12", True)])
def test_claims_are_deleted_with_their_jobset_where_the_version_knows_claims(version: str, has_policy: bool) -> None:
    policy = baked({"volumeClaimPolicies": [{"templates": []}]}, version)["volumeClaimPolicies"][0]
    assert policy == {"templates": [], **({"retentionPolicy": {"whenDeleted": "Delete"}} if has_policy else {})}


def test_a_template_without_pod_spec_still_lacks_its_containers() -> None:
    assert baked({"replicatedJobs": [{"name": "node", "template": {}}]})["replicatedJobs"] == [
        {
            "name": "node",
            "template": {"spec": {"completionMode": "Indexed", "template": {"spec": {"restartPolicy": "OnFailure"}}}},
        }
    ]


def test_baking_twice_changes_nothing_more(bend: Bend) -> None:
    once = bake_defaults(bend(), "0.12")
    assert bake_defaults(once, "0.12") == once


def test_the_input_is_left_alone(bend: Bend) -> None:
    jobset = bend({"spec.failurePolicy": {"rules": [{"action": "FailJobSet"}]}, "spec.network": {}})
    before = copy.deepcopy(jobset)
    bake_defaults(jobset, "0.12")
    assert jobset == before


@pytest.mark.parametrize(
    "spec",
    [
        "text",
        {"replicatedJobs": 1},
        {"replicatedJobs": [{"template": {"spec": []}}, {"template": {"spec": {"template": {"spec": 1}}}}, 2]},
        {"network": [], "failurePolicy": {"rules": ["text"]}},
    ],
)
def test_values_of_the_wrong_type_stay_for_the_schema_to_report(spec: Any) -> None:
    result = baked(spec)
    assert result == spec if isinstance(spec, str) else all(result[field] == value for field, value in spec.items())
