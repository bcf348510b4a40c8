"""Derived names against their limits, at the limit and one beyond, for names and counts of any length."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from trainc.admission.admit import creation_refusals
from trainc.admission.creation import bake_defaults
from trainc.findings import Finding
from trainc.kube.jobset import JobSet, derived_names, longest_name

VERSION = "0.12"
COUNTS = st.sampled_from([1, 9, 10, 11, 99, 100, 101, 1000, 1001, 100_000])
JOB_NAMES = st.sampled_from(["node", "launcher", "model-initializer", "dataset-initializer", "n"])
LENGTH_CODES = {"JobNameTooLong", "InvalidCoordinatorLabel", "VolumeClaimNameTooLong"}


def jobset(name: Any, job: str = "node", replicas: int = 1, completions: int = 1, **spec: Any) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "c", "volumeMounts": [{"name": "claim", "mountPath": "/c"}]}]}}
    template = {"spec": {"completions": completions, "parallelism": 1, "template": pod}}
    jobs = [{"name": job, "replicas": replicas, "template": template}]
    return bake_defaults({"metadata": {"name": name}, "spec": {"replicatedJobs": jobs, **spec}}, VERSION)


def too_long(document: dict[str, Any]) -> list[Finding]:
    return [f for f in creation_refusals(document, VERSION) if f.code in LENGTH_CODES]


EXTRAS = st.sampled_from(
    [
        {},
        {"coordinator": {"replicatedJob": "node"}},
        {"coordinator": {"replicatedJob": "node"}, "network": {"subdomain": "sub"}},
        {"volumeClaimPolicies": [{"templates": [{"metadata": {"name": "claim"}}]}]},
    ]
)


@given(job=JOB_NAMES, replicas=COUNTS, completions=COUNTS, extras=EXTRAS)
def test_the_longest_name_is_admitted_and_one_character_more_is_not(
    job: str, replicas: int, completions: int, extras: dict[str, Any]
) -> None:
    if "coordinator" in extras:
        job = "node"
    longest = longest_name(JobSet.read(jobset("j", job, replicas, completions, **extras)))
    assert too_long(jobset("j" * longest, job, replicas, completions, **extras)) == []
    assert too_long(jobset("j" * (longest + 1), job, replicas, completions, **extras)) != []


@given(length=st.integers(1, 80), job=JOB_NAMES, replicas=COUNTS, completions=COUNTS)
def test_the_longest_name_does_not_depend_on_the_present_one(
    length: int, job: str, replicas: int, completions: int
) -> None:
    assert longest_name(JobSet.read(jobset("j" * length, job, replicas, completions))) == longest_name(
        JobSet.read(jobset("j", job, replicas, completions))
    )


@given(length=st.integers(1, 70), job=JOB_NAMES, replicas=COUNTS, completions=COUNTS)
def test_a_name_is_refused_exactly_if_it_has_no_character_to_spare(
    length: int, job: str, replicas: int, completions: int
) -> None:
    document = jobset("j" * length, job, replicas, completions)
    assert bool(too_long(document)) == (min(name.spare for name in derived_names(JobSet.read(document))) < 0)


@pytest.mark.parametrize(
    ("job", "completions", "longest"),
    [
        ("node", 10, 48),
        ("node", 11, 47),
        ("node", 101, 46),
        ("launcher", 1, 44),
        ("model-initializer", 1, 35),
        ("dataset-initializer", 1, 33),
    ],
)
def test_the_usual_jobs_leave_a_train_job_this_many_characters(job: str, completions: int, longest: int) -> None:
    assert longest_name(JobSet.read(jobset("x", job, 1, completions))) == longest


def test_a_coordinator_in_the_default_subdomain_leaves_26() -> None:
    assert longest_name(JobSet.read(jobset("x", coordinator={"replicatedJob": "node"}))) == 26


def test_the_name_occurs_in_every_kind_of_derived_name_and_each_says_what_is_to_spare() -> None:
    document = jobset(
        "llm",
        coordinator={"replicatedJob": "node", "podIndex": 0},
        volumeClaimPolicies=[{"templates": [{"metadata": {"name": "claim"}}]}],
    )
    pod = document["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    pod["metadata"] = {"labels": {"scheduling.x-k8s.io/pod-group": "llm"}}
    pod["spec"]["volumes"] = [
        {"name": "llm-flux-entrypoint", "configMap": {"name": "llm-mpi-hostfile"}},
        {"name": "ssh", "secret": {"secretName": "llm-mpi-ssh-auth"}},
    ]
    assert [str(name) for name in derived_names(JobSet.read(document))] == [
        "label 'llm' has 3 characters; at most 63 are allowed (60 to spare)",
        "headless Service 'llm' has 3 characters; at most 63 are allowed (60 to spare)",
        "Job 'llm-node-0' has 10 characters; at most 63 are allowed (53 to spare)",
        "pod 'llm-node-0-0-abcde' has 18 characters; at most 63 are allowed (45 to spare)",
        "pod hostname 'llm-node-0-0' has 12 characters; at most 63 are allowed (51 to spare)",
        "label 'llm' has 3 characters; at most 63 are allowed (60 to spare)",
        "volume 'llm-flux-entrypoint' has 19 characters; at most 63 are allowed (44 to spare)",
        "ConfigMap 'llm-mpi-hostfile' has 16 characters; at most 253 are allowed (237 to spare)",
        "volume 'ssh' has 3 characters; at most 63 are allowed (60 to spare)",
        "Secret 'llm-mpi-ssh-auth' has 16 characters; at most 253 are allowed (237 to spare)",
        "coordinator label 'llm-node-0-0.llm' has 16 characters; at most 63 are allowed (47 to spare)",
        "PersistentVolumeClaim 'claim-llm' has 9 characters; at most 63 are allowed (54 to spare)",
    ]


def test_the_message_says_the_derived_name_the_limit_and_the_excess() -> None:
    (finding,) = too_long(jobset("j" * 34, "dataset-initializer"))
    assert (
        finding.message
        == f"pod '{'j' * 34}-dataset-initializer-0-0-abcde' has 64 characters; at most 63 are allowed (1 too many)"
    )
    assert finding.hint == "shorten the name of the job to at most 33 characters; it has 34"


def test_where_no_name_is_short_enough_the_hint_says_so() -> None:
    finding = too_long(jobset("j", "n" * 60))[0]
    assert finding.hint.startswith("shorten the names of the replicated jobs")


def test_limits_count_bytes() -> None:
    name = next(iter(derived_names(JobSet.read(jobset("jö")))))
    assert name.spare == 60
