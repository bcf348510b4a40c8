"""Lints about a job's life between git and the cluster."""

from __future__ import annotations

from typing import Any

import pytest
from builders import codes, compiled, job, runtime, trainjob

from trainc import Compilation, Options
from trainc.functions import compile_documents
from trainc.reading.document import Document

TTL = runtime(ttlSecondsAfterFinished=300)


@pytest.mark.parametrize(("delivery", "warned"), [("argocd", True), ("flux", True), ("kubectl", False)])
def test_a_ttl_runs_the_job_again_where_a_tool_watches(delivery: str, warned: bool) -> None:
    result = compiled(trainjob(), TTL, delivery=delivery)
    assert ("TTLRerun" in codes(result)) is warned


def test_the_ttl_of_a_hook_and_no_ttl_at_all_are_fine() -> None:
    document = trainjob()
    document["metadata"]["annotations"] = {"argocd.argoproj.io/hook": "Sync"}
    assert "TTLRerun" not in codes(compiled(document, TTL))
    of_the_runtime = runtime(ttlSecondsAfterFinished=300)
    of_the_runtime["spec"]["template"]["metadata"] = {"annotations": {"argocd.argoproj.io/hook": "Sync"}}
    assert "TTLRerun" not in codes(compiled(trainjob(), of_the_runtime))
    assert "TTLRerun" not in codes(compiled(trainjob(), runtime()))
    assert "TTLRerun" not in codes(compiled(trainjob(), TTL, semantics="controller"))


def test_a_ttl_of_zero_counts() -> None:
    assert "TTLRerun" in codes(compiled(trainjob(), runtime(ttlSecondsAfterFinished=0)))


def several(*documents: dict[str, Any], **options: Any) -> Compilation:
    return compile_documents([Document.of(d) for d in documents], (), Options(release="2.3", **options))


def in_namespace(document: dict[str, Any], namespace: str) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], "namespace": namespace}}


RING = runtime(network={"subdomain": "ring"})


def test_two_jobs_behind_one_service_are_reported_once() -> None:
    result = several(RING, trainjob(name="one"), trainjob(name="two"))
    (diagnostics_of,) = [d for d in result.diagnostics if d.code == "DuplicateSubdomain"]
    assert (diagnostics_of.object, diagnostics_of.severity) == ("JobSet team-a/two", "warning")
    assert "JobSet team-a/one" in diagnostics_of.message


def test_a_service_that_is_called_as_another_job_is_reported() -> None:
    result = several(RING, runtime(name="plain"), trainjob(name="ring", runtime="plain"), trainjob(name="two"))
    assert [d.object for d in result.diagnostics if d.code == "DuplicateSubdomain"] == ["JobSet team-a/two"]


def test_runs_of_one_job_that_meet_behind_one_service_are_reported() -> None:
    (diagnostics_of,) = [
        d for d in compiled(trainjob(), RING, name_hash=True).diagnostics if d.code == "DuplicateSubdomain"
    ]
    assert (diagnostics_of.object, diagnostics_of.path) == (
        "ClusterTrainingRuntime rt",
        "spec.template.spec.network.subdomain",
    )
    assert "DuplicateSubdomain" not in codes(compiled(trainjob(), RING))
    assert "DuplicateSubdomain" not in codes(compiled(trainjob(), runtime(), name_hash=True))


def test_services_of_other_namespaces_and_jobs_without_one_are_fine() -> None:
    assert "DuplicateSubdomain" not in codes(several(RING, trainjob(), in_namespace(trainjob(), "team-b")))
    no_names = runtime(network={"subdomain": "ring", "enableDNSHostnames": False})
    assert "DuplicateSubdomain" not in codes(several(no_names, trainjob(name="one"), trainjob(name="two")))


@pytest.mark.parametrize("delivery", ["argocd", "kubectl"])
def test_a_job_that_deletes_itself_among_others_is_run_again_by_jobset(delivery: Any) -> None:
    loading = job("loader", None, spec={"ttlSecondsAfterFinished": 60})
    found = compiled(trainjob(), runtime(job(), loading), delivery=delivery).diagnostics
    assert [d.path for d in found if d.code == "TTLRerun"] == [
        "spec.template.spec.replicatedJobs[1].template.spec.ttlSecondsAfterFinished"
    ]


def test_a_lone_job_that_deletes_itself_has_finished_its_jobset() -> None:
    assert "TTLRerun" not in codes(compiled(trainjob(), runtime(job(spec={"ttlSecondsAfterFinished": 60}))))
