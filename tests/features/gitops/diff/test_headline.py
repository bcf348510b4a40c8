"""The first line, what only the configured delivery does, and where data goes with a job."""

from __future__ import annotations

from typing import Any

import pytest
from comparing import bent, diff_markdown, diff_of, manifests, pod_template

from trainc.features.gitops.diff.delivery import ARGOCD, ARGOCD_REPLACE, FLUX, FLUX_FORCE, KUBECTL, DeliveryMethod
from trainc.features.gitops.diff.text import diff_text, headline

Json = dict[str, Any]


def plain(_: str, text: str) -> str:
    return text


def many(count: int, **trainer: Any) -> list[Json]:
    return [manifest for number in range(count) for manifest in manifests(f"job-{number}", **trainer)]


def test_the_headline_counts_jobs_and_the_gpus_that_they_hold() -> None:
    before = [*many(3), *manifests("old")]
    after = [*many(1, numNodes=4), *many(3)[len(manifests()) :], *manifests("new", numNodes=1)]
    found = diff_of(before, after, way=FLUX_FORCE)
    assert headline(found) == "1 of 5 jobs restarts, 8 GPUs; 1 ends, 8 GPUs; 1 is new, 4 GPUs"
    assert diff_text(found, plain).splitlines()[1] == headline(found)
    assert diff_markdown(found).splitlines()[2] == f"**{headline(found)}**"


@pytest.mark.parametrize(
    ("way", "first"),
    [
        (ARGOCD, "2 of 2 jobs are refused, 16 GPUs"),
        (FLUX, "2 of 2 jobs are refused, 16 GPUs"),
        (FLUX_FORCE, "2 of 2 jobs restart, 16 GPUs"),
        (ARGOCD_REPLACE, "2 of 2 jobs restart, 16 GPUs"),
    ],
)
def test_the_headline_is_what_the_configured_delivery_does(way: DeliveryMethod, first: str) -> None:
    assert headline(diff_of(many(2), many(2, numNodes=4), way=way)) == first


def test_there_is_no_headline_without_changes() -> None:
    assert headline(diff_of(many(2), many(2))) == ""


def test_other_deliveries_are_shown_when_asked_for() -> None:
    before, after = many(2), [*manifests("job-0", numNodes=4), *manifests("job-1")]
    all_of_them = diff_text(diff_of(before, after), plain)
    assert "Flux, force; name hash" in all_of_them
    assert "Force+Replace also re-creates 1 job" in all_of_them
    mine = diff_text(diff_of(before, after, everything=False), plain)
    assert "--all-deliveries" in mine
    for other in ("Flux", "Force+Replace", "name hash"):
        assert other not in mine.partition("requires")[0]
        assert other not in diff_markdown(diff_of(before, after, everything=False)).partition("requires")[0]


def owning(manifest: Json, retention: str | None) -> Json:
    policy: Json = {"templates": [{"metadata": {"name": "output"}, "spec": {}}]}
    if retention:
        policy["retentionPolicy"] = {"whenDeleted": retention}

    def edit(jobset: Json) -> None:
        jobset["spec"]["volumeClaimPolicies"] = [policy]

    return bent(manifest, edit) if manifest["kind"] == "JobSet" else manifest


@pytest.mark.parametrize(("retention", "goes"), [("Delete", True), (None, True), ("Retain", False)])
@pytest.mark.parametrize("way", [FLUX_FORCE, ARGOCD_REPLACE])
def test_claims_that_the_jobset_owns_go_with_it(way: DeliveryMethod, retention: str | None, goes: bool) -> None:
    before = [owning(manifest, retention) for manifest in manifests()]
    for after in ([owning(manifest, retention) for manifest in manifests(numNodes=4)], []):
        (found,) = diff_of(before, after, way=way, everything=False).jobs
        assert any("it owns the claim output" in note for note in found.notes) == goes


@pytest.mark.parametrize("way", [ARGOCD, FLUX, KUBECTL])
def test_data_stays_where_the_change_is_refused(way: DeliveryMethod) -> None:
    before, after = ([owning(m, "Delete") for m in manifests(numNodes=nodes)] for nodes in (2, 4))
    (found,) = diff_of(before, after, way=way, everything=False).jobs
    assert not any("Data goes" in note for note in found.notes)


def test_ephemeral_volumes_go_with_the_pods() -> None:
    def edit(jobset: Json) -> None:
        pod_template(jobset)["spec"]["volumes"] = [
            {"name": "scratch", "ephemeral": {}},
            {"name": "tmp", "emptyDir": {}},
        ]

    before = [bent(m, edit) if m["kind"] == "JobSet" else m for m in manifests()]
    (found,) = diff_of(before, [], everything=False).jobs
    assert "Data is lost with the old pods: that of the ephemeral volume scratch." in found.notes
