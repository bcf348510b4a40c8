"""Claims that outlive a JobSet keep the next one of its name from being created, whatever deletes and creates it."""

from __future__ import annotations

from typing import Any

import pytest
from comparing import bent, diff_of, jobset, manifests, trainer

from trainc.features.gitops.diff.delivery import ARGOCD_REPLACE, FLUX_FORCE, NAME_HASH, DeliveryMethod, lasting_claims

Json = dict[str, Any]
STORAGE: Json = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}}
AS_STORED: Json = {**STORAGE, "volumeMode": "Filesystem", "storageClassName": "fast", "volumeName": "pv-7"}
REPLACING = (FLUX_FORCE, ARGOCD_REPLACE)


def claiming(manifest: Json, retention: str = "Retain", name: str = "data", spec: Json = STORAGE) -> Json:
    policy = {"retentionPolicy": {"whenDeleted": retention}, "templates": [{"metadata": {"name": name}, "spec": spec}]}

    def edit(document: Json) -> None:
        document["spec"]["volumeClaimPolicies"] = [policy]
        trainer(document).setdefault("volumeMounts", []).append({"name": name, "mountPath": "/data"})

    return bent(manifest, edit) if manifest["kind"] == "JobSet" else manifest


def job(nodes: int, **claim: Any) -> list[Json]:
    return [claiming(manifest, **claim) for manifest in manifests(numNodes=nodes)]


@pytest.mark.parametrize("release", ["2.2", "2.3"])
@pytest.mark.parametrize("way", REPLACING)
def test_a_job_whose_claims_stay_is_deleted_and_then_refused(way: DeliveryMethod, release: str) -> None:
    (found,) = diff_of(job(2), job(4), way=way, everything=False, release=release).jobs
    assert found.outcomes[way.id] == "lost"
    (note,) = [note for note in found.notes if "Retain" in note]
    assert "The claim data stays" in note
    assert "--name-hash" in note


@pytest.mark.parametrize("way", REPLACING)
def test_a_job_whose_claims_go_with_it_comes_back_when_they_are_gone(way: DeliveryMethod) -> None:
    (found,) = diff_of(job(2, retention="Delete"), job(4, retention="Delete"), way=way, everything=False).jobs
    assert found.outcomes[way.id] == "re-created"
    assert any("last pod that uses it has ended" in note for note in found.notes)


def test_a_claim_of_another_name_is_not_in_the_way() -> None:
    (found,) = diff_of(job(2), job(2, name="other"), way=FLUX_FORCE, everything=False).jobs
    assert found.outcomes[FLUX_FORCE.id] == "re-created"


def test_a_job_of_another_name_has_claims_of_its_own() -> None:
    (found,) = diff_of(job(2), job(4), way=NAME_HASH, everything=False).jobs
    assert found.outcomes[NAME_HASH.id] == "re-created"
    assert not any("Retain" in note for note in found.notes)


def test_a_job_without_changes_that_is_replaced_with_others_is_named() -> None:
    same = [claiming(m) for m in manifests("kept")]
    found = diff_of([*same, *manifests("other")], [*same, *manifests("other", numNodes=4)], way=ARGOCD_REPLACE)
    assert any("kept cannot come back" in note for note in found.notes)


@pytest.mark.parametrize(
    ("before", "after", "stays"),
    [
        ({}, {}, True),
        ({"spec": AS_STORED}, {"spec": AS_STORED}, False),
        ({"spec": AS_STORED}, {"spec": {**AS_STORED, "volumeName": "pv-8"}}, True),
        ({"spec": AS_STORED}, {"spec": AS_STORED, "retention": "Delete"}, True),
        ({"retention": "Delete"}, {}, False),
        ({}, {"name": "other"}, False),
    ],
)
def test_a_claim_is_in_the_way_unless_its_template_is_what_the_cluster_has(
    before: Json, after: Json, stays: bool
) -> None:
    assert bool(lasting_claims(claiming(jobset(), **before), claiming(jobset(), **after))) == stays


def test_a_jobset_without_policies_has_no_claims() -> None:
    assert lasting_claims(jobset(), jobset()) == []
