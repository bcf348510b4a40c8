"""A whole comparison: what is shown, what the objects of one job do to each other, and what a reader is told."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from comparing import bent, diff_of, jobset, manifests, pod_template, trainer

from trainc.features.gitops.diff.delivery import ARGOCD_REPLACE, FLUX, KUBECTL, NAME_HASH
from trainc.features.gitops.diff.model import JobDiff

Json = dict[str, Any]


def in_jobset(objects: list[Json], edit: Any) -> list[Json]:
    return [bent(m, edit) if m["kind"] == "JobSet" else m for m in objects]


def only(diff: Any) -> JobDiff:
    (job,) = diff.jobs
    assert isinstance(job, JobDiff)
    return job


def test_nothing_differs_from_itself() -> None:
    diff = diff_of(manifests(), copy.deepcopy(manifests()))
    assert (diff.jobs, diff.unchanged, diff.has_changes, diff.notes) == ((), 1, False, ())


def test_neither_side_is_changed() -> None:
    before, after = manifests(), manifests(numNodes=4)
    kept = copy.deepcopy([before, after])
    diff_of(before, after)
    assert [before, after] == kept


def test_added_and_removed_jobs_are_told_apart() -> None:
    diff = diff_of(manifests("old"), manifests("new"))
    assert [(job.label, job.status) for job in diff.jobs] == [("team-a/new", "added"), ("team-a/old", "removed")]
    assert diff.jobs[1].outcomes[KUBECTL.id] == "nothing"
    assert any("until you delete it" in note for note in diff.jobs[1].notes)


def test_a_refused_job_keeps_its_other_objects_from_flux_and_from_flux_alone() -> None:
    job = only(diff_of(manifests(), manifests(numNodes=4)))
    gang, jobset_diff = job.objects
    assert (gang.key.kind, jobset_diff.key.kind) == ("PodGroup", "JobSet")
    outcomes = {way: verdict.outcome for way, verdict in gang.verdicts.items()}
    assert outcomes[FLUX.id] == "nothing"
    assert outcomes[KUBECTL.id] == outcomes["flux-force"] == "in-place"
    assert set(gang.verdicts[FLUX.id].per_change) == {"in-place"}


def test_a_gang_that_changes_without_its_pods_is_pointed_out() -> None:
    (first, *_) = only(diff_of(manifests(), manifests(numNodes=4))).notes
    assert "requires 4 pods instead of 2" in first


def test_under_a_content_hash_the_whole_job_is_new() -> None:
    job = only(diff_of(manifests(), manifests(numNodes=4)))
    assert {o.verdicts[NAME_HASH.id].outcome for o in job.objects} == {"re-created"}


def test_what_the_hash_leaves_out_stays_in_place_under_it() -> None:
    after = in_jobset(manifests(), lambda m: m["metadata"].update(labels={"a": "b"}))
    assert only(diff_of(manifests(), after)).outcomes[NAME_HASH.id] == "in-place"
    both = in_jobset(after, lambda m: trainer(m).update(image="b"))
    (found,) = only(diff_of(manifests(), both)).objects
    alone = {change.path[-1]: found.outcomes(n)[NAME_HASH.id] for n, change in enumerate(found.changes)}
    assert alone == {"labels": "in-place", "image": "re-created"}


def test_another_order_of_variables_is_not_a_change_but_is_pointed_out_where_it_is_refused() -> None:
    diff = diff_of(manifests(), in_jobset(manifests(), lambda m: trainer(m)["env"].reverse()))
    job = only(diff)
    assert not diff.has_changes
    assert (job.status, job.outcomes[KUBECTL.id]) == ("unchanged", "immutable")
    assert any("in a different order" in note and "refuses" in note for note in job.notes)


def test_an_amount_written_differently_is_not_worth_a_word() -> None:
    after = in_jobset(manifests(), lambda m: trainer(m)["resources"]["requests"].update(memory="1024Mi"))
    assert diff_of(manifests(), after).jobs == ()


def test_unchanged_jobs_are_in_danger_too() -> None:
    def bare(manifest: Json) -> None:
        del pod_template(manifest)["spec"]["restartPolicy"]

    bystander = in_jobset(manifests("by"), bare)
    diff = diff_of([*manifests(), *bystander], [*manifests(numNodes=4), *bystander])
    assert diff.notes[0].startswith(f"{ARGOCD_REPLACE.label} also re-creates 1 job without changes")
    assert "(by) leave out fields" in diff.notes[1]
    assert diff_of(bystander, bystander).notes == ()
    applied = {"annotations": {"argocd.argoproj.io/sync-options": "ServerSideApply=true"}}
    bystander = [{**one, "metadata": {**one["metadata"], **applied}} for one in bystander]
    diff = diff_of([*manifests(), *bystander], [*manifests(numNodes=4), *bystander], everything=False)
    assert "leave out fields" not in "".join(diff.notes)


NOTES = {
    "suspension": (lambda m: m["spec"].update(suspend=True), "Suspending the job deletes its running pods"),
    "a time to live": (lambda m: m["spec"].update(ttlSecondsAfterFinished=60), "training runs a second time"),
    "Kueue's queue": (
        lambda m: m["metadata"].update(labels={"kueue.x-k8s.io/queue-name": "q"}),
        "Kueue moves a job to another queue only while the job is suspended",
    ),
    "an invalid manifest": (
        lambda m: m["spec"].update(startupPolicy={"startupPolicyOrder": "InOrder"}),
        "ends the training and cannot start the new one",
    ),
    "defaults left to the webhook": (
        lambda m: m["spec"]["replicatedJobs"][0]["template"]["spec"].pop("completionMode"),
        "write the defaults into the manifest",
    ),
}


@pytest.mark.parametrize(("edit", "expected"), NOTES.values(), ids=NOTES)
def test_a_consequence_is_noted(edit: Any, expected: str) -> None:
    job = only(diff_of([jobset()], [bent(jobset(), edit)]))
    assert any(expected in note for note in job.notes), job.notes


def test_a_changed_file_is_noted() -> None:
    def with_file(text: str) -> list[Json]:
        mounted = bent(
            jobset(),
            lambda m: pod_template(m)["spec"].update(volumes=[{"name": "f", "configMap": {"name": "files"}}]),
        )
        metadata = {"name": "files", "namespace": "team-a"}
        return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": text}}, mounted]

    job = only(diff_of(with_file("1"), with_file("2")))
    assert job.label == "team-a/llm"
    assert any("new contents of files" in note for note in job.notes)


def test_a_job_under_another_name_is_noted_on_both() -> None:
    new, old = diff_of([*manifests("old"), *manifests("kept")], [*manifests("new"), *manifests("kept")]).jobs
    assert (old.status, new.status) == ("removed", "added")
    assert "team-a/new has the same content" in old.notes[0]
    assert "team-a/old had the same content" in new.notes[0]


def test_other_content_under_another_name_is_another_job() -> None:
    jobs = diff_of(manifests("old"), manifests("new", numNodes=4)).jobs
    assert not any("same content" in note for job in jobs for note in job.notes)


def test_two_jobs_of_one_content_are_not_told_apart() -> None:
    jobs = diff_of([*manifests("old"), *manifests("older")], manifests("new")).jobs
    assert not any("same content" in note for job in jobs for note in job.notes)
