"""Jobs: counts, indexes, restarts and policies."""

from __future__ import annotations

from typing import Any

import pytest
from pod_templates import found, in_job, template


def failure(**rule: Any) -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": [{"action": "FailJob", **rule}]}}


def codes(*values: int, operator: str = "In", **fields: Any) -> dict[str, Any]:
    return failure(onExitCodes={"operator": operator, "values": list(values), **fields})


def success(**rule: Any) -> dict[str, Any]:
    return {"successPolicy": {"rules": [rule]}}


RULE = "podFailurePolicy.rules[0]"
SUCCESS = "successPolicy.rules[0]"
NOT_INDEXED = {"completionMode": "NonIndexed"}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "fewer retries than none": ({"backoffLimit": -1}, "OutOfRange", "backoffLimit"),
    "an unknown mode": ({"completionMode": "indexed"}, "UnsupportedValue", "completionMode"),
    "parallelism without completions": ({"completions": None}, "CompletionsMissing", "completions"),
    "more than 100000 at once": ({"parallelism": 100_001}, "OutOfRange", "parallelism"),
    "failed indexes without a limit per index": (
        {"maxFailedIndexes": 1},
        "MissingRequired",
        "backoffLimitPerIndex",
    ),
    "more failed indexes than there are": (
        {"maxFailedIndexes": 3, "backoffLimitPerIndex": 1},
        "OutOfRange",
        "maxFailedIndexes",
    ),
    "a limit per index without indexes": (
        {**NOT_INDEXED, "backoffLimitPerIndex": 1},
        "BackoffLimitPerIndexNeedsIndexed",
        "backoffLimitPerIndex",
    ),
    "a success policy without indexes": (
        {**NOT_INDEXED, **success(succeededCount=1)},
        "InvalidJobPolicy",
        "successPolicy",
    ),
    "a manager that names nobody": ({"managedBy": "kueue"}, "InvalidManagedBy", "managedBy"),
    "a manager of 64 characters": ({"managedBy": f"a.b/{'c' * 60}"}, "TooLong", "managedBy"),
    "a selector by hand that is not there": ({"manualSelector": True}, "MissingRequired", "selector"),
    "a selector that nobody asked for": ({"selector": {"matchLabels": {"a": "b"}}}, "NotAllowedHere", "selector"),
    "a selector that selects other pods": (
        {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}},
        "InvalidSelector",
        "selector.matchLabels.a",
    ),
    "an unknown replacement policy": ({"podReplacementPolicy": "failed"}, "UnsupportedValue", "podReplacementPolicy"),
    "a replacement before the end": (
        {**codes(1), "podReplacementPolicy": "TerminatingOrFailed"},
        "UnsupportedValue",
        "podReplacementPolicy",
    ),
    "an unknown action": (
        {"podFailurePolicy": {"rules": [{"action": "Retry", "onPodConditions": [{"type": "A"}]}]}},
        "UnsupportedValue",
        f"{RULE}.action",
    ),
    "a rule about nothing": (failure(), "InvalidJobPolicy", RULE),
    "a rule about two things": (
        failure(onPodConditions=[{"type": "A"}], onExitCodes={"operator": "In", "values": [1]}),
        "InvalidJobPolicy",
        RULE,
    ),
    "an index that fails without a limit": (
        {"podFailurePolicy": {"rules": [{"action": "FailIndex", "onPodConditions": [{"type": "A"}]}]}},
        "InvalidJobPolicy",
        f"{RULE}.action",
    ),
    "codes of no container": (codes(1, containerName="nope"), "NotInPod", f"{RULE}.onExitCodes.containerName"),
    "no codes": (codes(), "MissingRequired", f"{RULE}.onExitCodes.values"),
    "code 0": (codes(0), "InvalidJobPolicy", f"{RULE}.onExitCodes.values[0]"),
    "a code twice": (codes(1, 1), "DuplicateItem", f"{RULE}.onExitCodes.values[1]"),
    "codes out of order": (codes(2, 1), "InvalidJobPolicy", f"{RULE}.onExitCodes.values"),
    "no success rules": ({"successPolicy": {"rules": []}}, "MissingRequired", "successPolicy.rules"),
    "an empty success rule": (success(), "MissingRequired", SUCCESS),
    "an index that is not there": (success(succeededIndexes="0-9"), "InvalidJobPolicy", f"{SUCCESS}.succeededIndexes"),
    "indexes out of order": (success(succeededIndexes="1-0"), "InvalidJobPolicy", f"{SUCCESS}.succeededIndexes"),
    "more successes than indexes": (success(succeededCount=9), "OutOfRange", f"{SUCCESS}.succeededCount"),
    "more successes than named": (
        success(succeededCount=2, succeededIndexes="0"),
        "OutOfRange",
        f"{SUCCESS}.succeededCount",
    ),
}


@pytest.mark.parametrize(("fields", "code", "place"), REFUSED.values(), ids=REFUSED)
def test_it_refuses(fields: dict[str, Any], code: str, place: str) -> None:
    assert in_job(**fields) == [(code, place)]


ACCEPTED: dict[str, dict[str, Any]] = {
    "nothing to do": {"completions": 0, "parallelism": 0},
    "neither parallelism nor completions": {"completions": None, "parallelism": None},
    "a queue without indexes": {"completions": None, "completionMode": "NonIndexed"},
    "an empty selector": {"selector": {}},
    "a selector of JobSet's labels": {
        "manualSelector": True,
        "selector": {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": "llm"}},
    },
    "an empty failure policy": {"podFailurePolicy": {"rules": []}},
    "code 0 among those that are not": codes(0, operator="NotIn"),
    "a condition without a status, which is True": failure(onPodConditions=[{"type": "DisruptionTarget"}]),
    "indexes and how many of them": success(succeededIndexes="0,1", succeededCount=1),
    "no index at all": success(succeededIndexes=""),
    "many completions, limited": {
        "completions": 200_000,
        "parallelism": 10_000,
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": 10_000,
    },
}


@pytest.mark.parametrize("fields", ACCEPTED.values(), ids=ACCEPTED)
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
