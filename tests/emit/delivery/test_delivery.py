"""Delivery: order and options for Argo CD, exemptions for Flux CD, nothing for kubectl."""

from __future__ import annotations

from typing import Any

import pytest
from builders import codes, compiled, job, one, runtime, trainjob
from hypothesis import given, strategies as st
from tables import cases

WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"
SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
MPI = runtime(job("launcher"), job("node", None), policy={"mpi": {}}, gang={"coscheduling": {}})


def annotations_by_kind(result: Any) -> dict[str, dict[str, str]]:
    return {m["kind"]: m["metadata"].get("annotations", {}) for m in result.manifests}


def test_what_pods_need_comes_in_earlier_waves_than_the_jobset() -> None:
    result = compiled(trainjob(), MPI, secrets="external-secrets")
    waves = {kind: found[WAVE] for kind, found in annotations_by_kind(result).items()}
    assert waves == {"SSHKey": "-3", "ExternalSecret": "-2", "ConfigMap": "-2", "PodGroup": "-1", "JobSet": "0"}


def test_objects_are_written_in_the_order_of_their_waves() -> None:
    for secrets in ("existing", "external-secrets", "presync-job"):
        result = compiled(trainjob(), MPI, secrets=secrets, keygen_image="x")
        waves = [int(m["metadata"]["annotations"][WAVE]) for m in result.manifests]
        assert waves == sorted(waves)


@given(st.integers(-100, 100))
def test_a_wave_of_the_trainjob_moves_all_objects_together(wave: int) -> None:
    document = trainjob()
    document["metadata"]["annotations"] = {WAVE: str(wave)}
    waves = {kind: int(found[WAVE]) for kind, found in annotations_by_kind(compiled(document, MPI)).items()}
    assert waves == {"ConfigMap": wave - 2, "PodGroup": wave - 1, "JobSet": wave}


def test_sync_options_share_one_annotation_and_reach_what_they_are_about() -> None:
    found = annotations_by_kind(compiled(trainjob(), MPI, sync_options=("Replace", "Prune=false")))
    assert found["JobSet"][OPTIONS] == "Replace=true,Prune=false"
    assert found["ConfigMap"][OPTIONS] == found["PodGroup"][OPTIONS] == "Prune=false"


def test_what_the_author_says_of_an_option_stands() -> None:
    document = trainjob()
    document["metadata"]["annotations"] = {OPTIONS: "Prune=confirm, Validate=false"}
    found = annotations_by_kind(compiled(document, MPI, sync_options=("Prune=false", "Delete=false")))
    assert found["JobSet"][OPTIONS] == "Prune=confirm,Validate=false,Delete=false"


def test_an_option_of_another_annotation_goes_there() -> None:
    found = annotations_by_kind(compiled(trainjob(), MPI, sync_options=("IgnoreExtraneous", "Prune=false")))
    assert found["JobSet"]["argocd.argoproj.io/compare-options"] == "IgnoreExtraneous"


def test_hooks_take_no_sync_options() -> None:
    result = compiled(trainjob(), MPI, secrets="presync-job", keygen_image="x", sync_options=("Prune=false",))
    assert OPTIONS not in annotations_by_kind(result)["Job"]


def test_kubectl_gets_no_annotations() -> None:
    assert all(found == {} for found in annotations_by_kind(compiled(trainjob(), MPI, delivery="kubectl")).values())


def test_the_controller_adds_none() -> None:
    result = compiled(trainjob(), MPI, semantics="controller")
    assert all(found == {} for found in annotations_by_kind(result).values())


def test_options_that_the_controller_does_not_know_are_named() -> None:
    result = compiled(trainjob(), MPI, semantics="controller", delivery="flux", name_hash=True)
    (diagnostic,) = [d for d in result.diagnostics if d.code == "OptionWithoutEffect"]
    assert diagnostic.message.startswith("name_hash, delivery:")


@pytest.mark.parametrize(
    ("word", "exempt"),
    [
        ("${RANK}", True),
        ("${RANK:-0}", True),
        ("a ${A} b", True),
        ("$${RANK}", False),
        ("$RANK", False),
        ("$(RANK)", False),
        ("${}", False),
    ],
)
def test_flux_leaves_variables_of_the_shell_alone(word: str, exempt: bool) -> None:
    result = compiled(trainjob({"command": ["echo", word]}), runtime(), delivery="flux")
    assert (annotations_by_kind(result)["JobSet"].get(SUBSTITUTE) == "disabled") is exempt
    assert [d.severity for d in result.diagnostics if d.code == "FluxSubstitution"] == (["info"] if exempt else [])


def test_the_first_three_variables_are_named_with_their_object() -> None:
    document = trainjob({"command": ["echo", "${A} ${B} ${C}"]})
    (three,) = [d for d in compiled(document, runtime(), delivery="flux").diagnostics if d.code == "FluxSubstitution"]
    assert "${A}, ${B}, ${C}, so" in three.message
    document = trainjob({"command": ["echo", "${A} ${B} ${C} ${D}"]})
    del document["metadata"]["namespace"]
    (four,) = [d for d in compiled(document, runtime(), delivery="flux").diagnostics if d.code == "FluxSubstitution"]
    assert "${A}, ${B}, ${C} and 1 more, so" in four.message
    assert (three.object, four.object) == ("JobSet team-a/llm", "JobSet llm")


def test_only_objects_with_variables_are_exempt() -> None:
    result = compiled(trainjob({"numNodes": 2}), runtime(policy={"flux": {}}), delivery="flux")
    found = annotations_by_kind(result)
    assert SUBSTITUTE not in found["JobSet"]
    assert found["ConfigMap"].get(SUBSTITUTE) == ("disabled" if "${" in str(one(result, "ConfigMap")["data"]) else None)


def test_an_author_who_wants_substitution_is_warned() -> None:
    document = trainjob({"command": ["echo", "${RANK}"]})
    document["metadata"]["annotations"] = {SUBSTITUTE: "enabled"}
    result = compiled(document, runtime(), delivery="flux")
    assert annotations_by_kind(result)["JobSet"][SUBSTITUTE] == "enabled"
    assert [d.severity for d in result.diagnostics if d.code == "FluxSubstitution"] == ["warning"]


def test_other_tools_substitute_nothing() -> None:
    for delivery in ("argocd", "kubectl"):
        assert "FluxSubstitution" not in codes(
            compiled(trainjob({"command": ["${RANK}"]}), runtime(), delivery=delivery)
        )


def test_flux_options_are_annotations_of_their_own() -> None:
    result = compiled(trainjob(), MPI, delivery="flux", sync_options=("force=enabled", "prune=disabled"))
    found = annotations_by_kind(result)
    prefix = "kustomize.toolkit.fluxcd.io/"
    assert found["JobSet"] == {f"{prefix}force": "enabled", f"{prefix}prune": "disabled"}
    assert found["PodGroup"] == {f"{prefix}prune": "disabled"}


@cases("case", "labels", "own", "options")
def test_a_queued_jobset_keeps_what_kueue_adds_to_its_pods(
    case: str, labels: dict[str, str], own: dict[str, str], options: str | None
) -> None:
    document = trainjob({})
    document["metadata"] |= {"labels": labels, "annotations": own}
    jobset = one(compiled(document, runtime(job())), "JobSet")
    assert jobset["metadata"]["annotations"].get("argocd.argoproj.io/sync-options") == options, case
