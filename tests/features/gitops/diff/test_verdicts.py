"""What each way of delivery does about each kind of change: immutability, Argo CD's and Flux's choices, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from comparing import bent, diff_of, jobset, pod_template, trainer
from tables import cases

from trainc.features.gitops.diff.delivery import DELIVERY_METHODS, LABELS, Outcome, worst

Json = dict[str, Any]
ALL = ("2.0", "2.1", "2.2", "2.3")
QUEUE = "kueue.x-k8s.io/queue-name"
ARGO = "argocd.argoproj.io/sync-options"
FLUX = "kustomize.toolkit.fluxcd.io"


def outcomes(before: Json | None, after: Json | None, release: str = "2.3") -> list[Outcome]:
    """The outcome for one object, in the order of the ways."""
    diff = diff_of([before] if before else [], [after] if after else [], release=release)
    if not diff.jobs:
        return ["nothing"] * len(DELIVERY_METHODS)
    (found,) = diff.jobs[0].objects
    return [found.verdicts[way.id].outcome for way in DELIVERY_METHODS]


def row(text: str) -> list[str]:
    """`i` in-place, `s` needs suspend, `r` refused as immutable, `n` re-created, `-` nothing, as one row of the table."""
    words = {"i": "in-place", "s": "needs-suspend", "r": "immutable", "n": "re-created", "-": "nothing"}
    return [words[letter] for letter in text.replace(" ", "")]


def set_spec(**fields: Any) -> Any:
    return lambda manifest: manifest["spec"].update(fields)


def set_trainer(**fields: Any) -> Any:
    return lambda manifest: trainer(manifest).update(fields)


def set_metadata(**fields: Any) -> Any:
    return lambda manifest: manifest["metadata"].update(fields)


def set_pod(part: str, **fields: Any) -> Any:
    return lambda manifest: pod_template(manifest).setdefault(part, {}).update(fields)


#                                     kubectl, Argo CD, server-side, Force+Replace, Flux, force, name hash
TABLE: dict[str, tuple[Any, str]] = {
    "an image": (set_trainer(image="other"), "r rr n r n n"),
    "a command": (set_trainer(command=["other"]), "r rr n r n n"),
    "an environment variable": (set_trainer(env=[{"name": "LEVEL", "value": "9"}]), "r rr n r n n"),
    "resources": (set_trainer(resources={"limits": {"cpu": "9"}}), "r rr n r n n"),
    "replicas": (lambda m: m["spec"]["replicatedJobs"][1].update(replicas=2), "r rr n r n n"),
    "parallelism": (lambda m: m["spec"]["replicatedJobs"][1]["template"]["spec"].update(parallelism=9), "r rr n r n n"),
    "a step that is new": (
        lambda m: m["spec"]["replicatedJobs"].append({**m["spec"]["replicatedJobs"][0], "name": "aux"}),
        "r rr n r n n",
    ),
    "a step that is gone": (lambda m: m["spec"]["replicatedJobs"].pop(1), "r rr n r n n"),
    "a dependency": (
        lambda m: m["spec"]["replicatedJobs"][1].update(dependsOn=[{"name": "prepare", "status": "Ready"}]),
        "r rr n r n n",
    ),
    "the subdomain": (lambda m: m["spec"]["network"].update(subdomain="other"), "r rr n r n n"),
    "the success policy": (set_spec(successPolicy={"operator": "Any"}), "r rr n r n n"),
    "who manages it": (set_spec(managedBy="kueue.x-k8s.io/multikueue"), "r rr n r n n"),
    "a failure policy that is new": (set_spec(failurePolicy={"maxRestarts": 3}), "i ii n i i n"),
    "a label of the pods": (set_pod("metadata", labels={"a": "b"}), "s ss n s n n"),
    "an annotation of the pods": (set_pod("metadata", annotations={"a": "b"}), "s ss n s n n"),
    "the node selector": (set_pod("spec", nodeSelector={"pool": "b"}), "s ss n s n n"),
    "tolerations": (set_pod("spec", tolerations=[{"operator": "Exists"}]), "s ss n s n n"),
    "scheduling gates": (set_pod("spec", schedulingGates=[{"name": "a.io/b"}]), "s ss n s n n"),
    "the priority class of the pods": (set_pod("spec", priorityClassName="high"), "r rr n r n n"),
    "suspension": (set_spec(suspend=True), "i ii n i i i"),
    "the time to live": (set_spec(ttlSecondsAfterFinished=60), "i ii n i i i"),
    "the coordinator": (set_spec(coordinator={"replicatedJob": "node"}), "i ii n i i n"),
    "a label of the JobSet": (set_metadata(labels={"a": "b"}), "i ii n i i i"),
    "an annotation of the JobSet": (
        lambda m: m["metadata"].setdefault("annotations", {}).update(a="b"),
        "i ii n i i i",
    ),
    "Kueue's queue": (set_metadata(labels={QUEUE: "q"}), "s ss n s n s"),
}


@pytest.mark.parametrize("release", ALL)
@pytest.mark.parametrize(("edit", "expected"), TABLE.values(), ids=TABLE)
def test_a_change_has_its_class_in_every_way(edit: Any, expected: str, release: str) -> None:
    old = jobset(release)
    assert outcomes(old, bent(old, edit), release) == row(expected)


FREE = ["a label of the pods", "an annotation of the pods", "the node selector", "tolerations", "scheduling gates"]


@pytest.mark.parametrize("release", ALL)
@pytest.mark.parametrize("name", FREE)
def test_what_may_change_while_suspended_is_in_place_where_git_suspends(name: str, release: str) -> None:
    old = jobset(release)
    edit, _ = TABLE[name]
    suspended = bent(old, set_spec(suspend=True))
    assert outcomes(suspended, bent(suspended, edit), release) == row("i ii n i i n")
    assert outcomes(old, bent(bent(old, edit), set_spec(suspend=True)), release) == row("i ii n i i n")


def test_kueue_moves_a_suspended_job_to_another_queue() -> None:
    old = bent(bent(jobset(), set_spec(suspend=True)), set_metadata(labels={QUEUE: "a"}))
    assert outcomes(old, bent(old, set_metadata(labels={QUEUE: "b"}))) == row("i ii n i i i")


KUEUE = {
    "a time limit": ({}, {"kueue.x-k8s.io/max-exec-time-seconds": "60"}, "needs-suspend"),
    "a first priority": ({}, {"kueue.x-k8s.io/priority-class": "high"}, "needs-suspend"),
    "another priority": (
        {"kueue.x-k8s.io/priority-class": "low"},
        {"kueue.x-k8s.io/priority-class": "high"},
        "in-place",
    ),
    "no priority any more": ({"kueue.x-k8s.io/priority-class": "low"}, {}, "immutable"),
}


@pytest.mark.parametrize(("before", "after", "expected"), KUEUE.values(), ids=KUEUE)
def test_kueue_has_rules_of_its_own_for_jobs_in_its_queues(before: Json, after: Json, expected: str) -> None:
    queued = {QUEUE: "q"}
    old, new = (bent(jobset(), set_metadata(labels={**queued, **labels})) for labels in (before, after))
    assert outcomes(old, new)[0] == expected
    old, new = (bent(jobset(), set_metadata(labels=labels)) for labels in (before, after))
    assert outcomes(old, new)[0] == "in-place"


def without_defaults(manifest: Json) -> None:
    """A manifest that leaves to the webhook what the webhook fills in."""
    for job in manifest["spec"]["replicatedJobs"]:
        del job["template"]["spec"]["completionMode"]
        del job["template"]["spec"]["template"]["spec"]["restartPolicy"]


def test_a_client_side_apply_takes_away_what_the_webhook_filled_in_and_a_server_side_apply_does_not() -> None:
    bare = bent(jobset(), without_defaults)
    assert outcomes(bare, bent(bare, set_metadata(labels={"a": "b"}))) == row("r ri n i i i")


def test_writing_out_a_default_is_not_a_change_to_the_cluster() -> None:
    bare = bent(jobset(), without_defaults)
    found = diff_of([bare], [jobset()]).jobs[0].objects[0]
    assert {verdict.outcome for way, verdict in found.verdicts.items() if way in {"kubectl", "flux"}} == {"nothing"}
    assert set(found.verdicts["kubectl"].per_change) == {"nothing"}


def test_removing_a_field_that_was_a_default_leaves_it_to_nobody() -> None:
    old = jobset()
    assert outcomes(old, bent(old, without_defaults)) == row("r rr n r n n")


def test_removing_a_policy_is_seen_by_no_rule() -> None:
    old = bent(jobset(), set_spec(failurePolicy={"maxRestarts": 3, "restartStrategy": "Recreate"}))
    assert outcomes(old, bent(old, lambda m: m["spec"].pop("failurePolicy"))) == row("i ii n i i n")


def test_a_change_is_judged_by_itself_next_to_one_that_is_refused() -> None:
    old = jobset()
    new = bent(bent(old, set_trainer(image="other")), set_metadata(labels={"a": "b"}))
    (found,) = diff_of([old], [new]).jobs[0].objects
    alone = {change.path[-1]: found.outcomes(number) for number, change in enumerate(found.changes)}
    assert alone["image"] == {way.id: o for way, o in zip(DELIVERY_METHODS, row("r rr n r n n"), strict=True)}
    assert alone["labels"] == {way.id: o for way, o in zip(DELIVERY_METHODS, row("i ii n i i i"), strict=True)}


def test_an_object_that_is_new_is_created_and_one_that_left_git_is_deleted_where_the_tool_prunes() -> None:
    assert outcomes(None, jobset()) == ["created"] * len(DELIVERY_METHODS)
    assert outcomes(jobset(), None) == ["nothing"] + ["deleted"] * (len(DELIVERY_METHODS) - 1)


INVALID = set_spec(startupPolicy={"startupPolicyOrder": "InOrder"})


@pytest.mark.parametrize("release", ALL)
def test_what_deletes_before_it_creates_loses_the_job_to_an_invalid_manifest(release: str) -> None:
    old = jobset(release)
    found = outcomes(old, bent(old, INVALID), release)
    assert found == ["invalid", "invalid", "invalid", "lost", "invalid", "lost", "invalid"]
    assert outcomes(None, bent(old, INVALID), release) == ["invalid"] * len(DELIVERY_METHODS)


def reported(annotation: str, value: str) -> Any:
    return lambda manifest: manifest["metadata"].setdefault("annotations", {}).update({annotation: value})


OWN: dict[str, tuple[str, str, Any, str]] = {
    "Replace=true is a PUT, which is refused too": (ARGO, "Replace=true", set_trainer(image="x"), "r rr n r n n"),
    "Force=true,Replace=true re-creates": (ARGO, "Force=true,Replace=true", set_trainer(image="x"), "r nn n r n n"),
    "Force=true and Replace=true with a space": (
        ARGO,
        "Force=true, Replace=true",
        set_trainer(image="x"),
        "r nn n r n n",
    ),
    "Flux's force": (f"{FLUX}/force", "enabled", set_trainer(image="x"), "r rr n n n n"),
    "Flux's force is a word": (f"{FLUX}/force", "yes", set_trainer(image="x"), "r rr n r n n"),
    "Flux applies it once": (f"{FLUX}/ssa", "IfNotPresent", set_trainer(image="x"), "r rr n - - n"),
    "Flux ignores it": (f"{FLUX}/ssa", "Ignore", set_trainer(image="x"), "r rr n - - n"),
    "Flux is told to leave it": (f"{FLUX}/reconcile", "disabled", set_trainer(image="x"), "r rr n - - n"),
}


@pytest.mark.parametrize(("annotation", "value", "edit", "expected"), OWN.values(), ids=OWN)
def test_an_objects_own_annotations_win(annotation: str, value: str, edit: Any, expected: str) -> None:
    old = bent(jobset(), reported(annotation, value))
    assert outcomes(old, bent(old, edit)) == row(expected)


@pytest.mark.parametrize(("release", "argocd"), [("2.0", "r"), ("2.1", "r"), ("2.2", "r"), ("2.3", "n")])
def test_force_alone_re_creates_only_what_is_answered_with_invalid(release: str, argocd: str) -> None:
    old = bent(jobset(release), reported(ARGO, "Force=true"))
    assert outcomes(old, bent(old, set_trainer(image="x")), release) == row(f"r {argocd}r n r n n")
    by_crd = bent(old, set_spec(successPolicy={"operator": "Any"}))
    assert outcomes(old, by_crd, release) == row("r nr n r n n")


def test_server_side_apply_may_be_a_wish_of_the_object_and_may_be_refused_by_it() -> None:
    bare = bent(jobset(), without_defaults)
    for value, expected in (("ServerSideApply=true", "r ii n i i i"), ("ServerSideApply=false", "r rr n i i i")):
        old = bent(bare, reported(ARGO, value))
        assert outcomes(old, bent(old, set_metadata(labels={"a": "b"}))) == row(expected)


@pytest.mark.parametrize(
    ("annotation", "value", "kept_by"),
    [
        (ARGO, "Prune=false", "argocd"),
        (ARGO, "Delete=false,Prune=confirm", "argocd"),
        (f"{FLUX}/prune", "disabled", "flux"),
    ],
)
def test_what_must_not_be_pruned_stays(annotation: str, value: str, kept_by: str) -> None:
    found = outcomes(bent(jobset(), reported(annotation, value)), None)
    assert found == ["nothing" if way.tool in {kept_by, "kubectl"} else "deleted" for way in DELIVERY_METHODS]


@cases("before", "after", "expected")
def test_other_objects_are_judged_by_their_kind(before: Json, after: Json, expected: Sequence[str]) -> None:
    rest = {"apiVersion": "v1", "metadata": {"name": "x", "namespace": "team-a"}}
    assert outcomes({**rest, **before}, {**rest, **after}) == expected


def test_the_worst_outcome_stands_for_several() -> None:
    assert worst([]) == "nothing"
    assert worst(["in-place", "nothing"]) == "in-place"
    assert worst(["immutable", "lost", "re-created"]) == "lost"
    assert list(LABELS)[-1] == "lost"
