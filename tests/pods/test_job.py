"""Jobs: counts, indexes, restarts and policies."""

from __future__ import annotations

from typing import Any

import pytest
from pod_templates import found, in_job, template
from tables import cases


def failure(**rule: Any) -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": [{"action": "FailJob", **rule}]}}


def codes(*values: int, operator: str = "In", **fields: Any) -> dict[str, Any]:
    return failure(onExitCodes={"operator": operator, "values": list(values), **fields})


@cases("fields", "code", "place")
def test_it_refuses(fields: dict[str, Any], code: str, place: str) -> None:
    assert in_job(**fields) == [(code, place)]


@cases("fields")
def test_it_accepts(fields: dict[str, Any]) -> None:
    assert in_job(**fields) == []


def test_a_label_that_the_api_server_makes_up_is_left_to_it() -> None:
    assert found(template(labels={"job-name": "x"})) == [("NotAllowedHere", "template.metadata.labels.job-name")]
    by_hand = {"manualSelector": True, "selector": {"matchLabels": {"job-name": "x"}}}
    assert found(template(job=by_hand, labels={"job-name": "x"})) == []


RESTARTS = {"OnFailure": None, "Never": None, "Always": "InvalidRestartPolicy", "": "MissingRequired"}


@pytest.mark.parametrize(("policy", "code"), RESTARTS.items())
def test_the_pods_of_a_job_end(policy: str, code: str | None) -> None:
    expected = [(code, "restartPolicy")] if code else []
    assert found(template(pod={"restartPolicy": policy})) == expected


def test_pods_that_restart_in_place_have_no_failure_policy() -> None:
    refused = found(template(pod={"restartPolicy": "OnFailure"}, job=codes(1)))
    assert refused == [("PodFailurePolicyNeedsNever", "restartPolicy")]
