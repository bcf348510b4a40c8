"""What git has beside a dump of the cluster: drift, states, what waits and why, and what a sync would do."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusters import flavor, local, namespace, queue
from commands import Result, run
from comparing import manifests
from repositories import commit, git
from steps import assert_linear, steps
from tables import cases

from trainc.features.gitops.diff.delivery import ARGOCD
from trainc.features.gitops.diff.live import InGit, compare_live
from trainc.reading.cluster import Dump

Json = dict[str, Any]
SETTINGS = 'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\noutput: rendered\ndelivery: argocd\nnameHash: true\n'
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: ours}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: example.com/train:1
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}, namespace: nlp, labels: {{kueue.x-k8s.io/queue-name: a}}}}
spec:
  runtimeRef: {{name: ours}}
  trainer:
    command: [torchrun, train.py]
    env: [{{name: LR, value: "0.1"}}]
    resourcesPerNode:
      limits: {{nvidia.com/gpu: 8}}
"""


def condition(kind: str, reason: str = "", holds: str = "True", message: str = "") -> Json:
    return {"type": kind, "status": holds, "reason": reason, "message": message}


COMPLETED = condition("Completed", "AllJobsCompleted")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Json]]:
    """Build a repository with jobs of these names; return what a cluster has after a sync."""
    monkeypatch.chdir(tmp_path)

    def make(*names: str, settings: str = SETTINGS) -> list[Json]:
        for path, text in {
            "trainc.yaml": settings,
            "runtimes/ours.yaml": RUNTIME,
            **{f"jobs/{name}.yaml": JOB.format(name=name) for name in names},
        }.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
        assert run("build").status == 0
        built = json.loads(run("build", "jobs", "--format", "json").stdout)
        return [stored(manifest) for manifest in built["items"]]

    return make


def stored(manifest: Json) -> Json:
    """A manifest as Argo CD applied it and the API server prints it."""
    live = copy.deepcopy(manifest)
    live["metadata"] |= {"uid": "1", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    live["metadata"]["managedFields"] = [
        {
            "manager": "argocd-controller",
            "operation": "Apply",
            "fieldsV1": owned(manifest),
            "time": "2026-01-01T00:00:00Z",
        }
    ]
    live["metadata"].setdefault("annotations", {})["argocd.argoproj.io/tracking-id"] = "train:x"
    live["status"] = {"conditions": []}
    return live


def owned(value: Any) -> Json:
    """The managedFields of somebody who set all of `value`."""
    if isinstance(value, dict):
        return {f"f:{key}": owned(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
        return {f"k:{json.dumps({'name': item['name']})}": {".": {}, **owned(item)} for item in value}
    return {}


def touch(live: Json, by: str, path: list[str | int], value: Any, fields: Json) -> None:
    """Let a manager set a field."""
    target: Any = live
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    live["metadata"]["managedFields"].append(
        {"manager": by, "operation": "Update", "fieldsV1": fields, "time": "2026-02-01T00:00:00Z"}
    )


POD: list[str | int] = ["spec", "replicatedJobs", 0, "template", "spec", "template", "spec"]


def below_pod(fields: Json) -> Json:
    for step in ("f:spec", "f:template", "f:spec", "f:template", 'k:{"name":"node"}', "f:replicatedJobs", "f:spec"):
        fields = {step: fields}
    return fields


def compare(objects: list[Json], *words: str) -> Result:
    Path("live.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    return run("diff", *words, "--live", "live.json")


def found(objects: list[Json], *words: str) -> Json:
    result = compare(objects, "--format", "json", *words)
    assert result.stdout, result.stderr
    answer: Json = json.loads(result.stdout)
    return answer


def job(objects: list[Json]) -> Json:
    (one,) = [each for each in objects if each["kind"] == "JobSet"]
    return one


def test_a_job_that_runs_as_git_says_is_only_counted(cluster: Callable[..., list[Json]]) -> None:
    result = compare(cluster("llm"), "--exit-code")
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.splitlines()[1:] == ["1 object: 1 same", "1 job in the cluster: 1 running"]


def test_what_is_rendered_needs_no_values_of_the_templates_it_was_compiled_from(
    cluster: Callable[..., list[Json]],
) -> None:
    objects = cluster("llm")
    text = Path("runtimes/ours.yaml").read_text()
    Path("runtimes/ours.yaml.j2").write_text(text.replace("train:1", "train:{{ version }}"))
    Path("runtimes/ours.yaml").unlink()
    assert compare(objects, "--exit-code").status == 0


def test_a_field_that_somebody_changed_is_shown_with_its_manager_and_without_its_value(
    cluster: Callable[..., list[Json]],
) -> None:
    objects = cluster("llm")
    fields = below_pod({"f:containers": {'k:{"name":"node"}': {"f:image": {}}}})
    touch(job(objects), "kubectl-edit", [*POD, "containers", 0, "image"], "example.com/own:2", fields)
    result = compare(objects, "--exit-code")
    assert result.status == 1
    assert "containers[node].image: example.com/train:1 → (17 characters)  by kubectl-edit" in result.stdout
    assert "own:2" not in result.stdout
    assert "refused as immutable" in result.stdout
    assert "example.com/own:2" in compare(objects, "--show-values").stdout
    (one,) = found(objects)["live"]
    assert one["object"] == "drifted"
    (drift,) = one["drift"]
    assert (drift["by"], drift["live"]) == ("kubectl-edit", "(17 characters)")
    assert "own:2" not in json.dumps(found(objects))


def test_what_kueue_and_admission_set_is_no_drift(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm")
    live = job(objects)
    touch(live, "kueue", [*POD, "nodeSelector"], {"pool": "h100"}, below_pod({"f:nodeSelector": {}}))
    live["spec"]["suspend"] = True
    live["metadata"]["labels"]["corp.test/team"] = "42"  # Nobody sent it: a webhook did it.
    (one,) = found(objects)["live"]
    assert (one["object"], one["state"]) == ("same", "suspended")
    assert [(drift["by"], drift["expected"]) for drift in one["drift"]] == [(None, True), ("kueue", True), (None, True)]
    assert found(objects)["liveDrifted"] is False


def test_the_same_without_managed_fields_knows_kueue_and_cannot_excuse_a_label(
    cluster: Callable[..., list[Json]],
) -> None:
    objects = cluster("llm")
    live = job(objects)
    live["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "h100"}
    del live["metadata"]["managedFields"]
    (one,) = found(objects)["live"]
    assert (one["object"], one["drift"][0]["by"]) == ("same", "kueue")
    live["metadata"]["labels"]["corp.test/team"] = "42"
    assert found(objects)["live"][0]["object"] == "drifted"


def test_a_node_selector_by_a_person_is_drift_even_in_a_queue(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm")
    touch(job(objects), "kubectl-edit", [*POD, "nodeSelector"], {"pool": "h100"}, below_pod({"f:nodeSelector": {}}))
    assert found(objects)["live"][0]["object"] == "drifted"


def test_finished_jobs_that_would_run_again_are_the_headline(cluster: Callable[..., list[Json]]) -> None:
    """A runtime has changed and all jobs are built again: the cluster has their earlier versions."""
    objects = cluster("llm", "bert", "rank")
    for each in objects:
        if each["metadata"]["name"].startswith(("llm", "bert")):
            each["status"]["conditions"] = [COMPLETED]
    Path("runtimes/ours.yaml").write_text(RUNTIME.replace("train:1", "train:2"), encoding="utf-8")
    assert run("build").status == 0
    result = compare(objects)
    assert "starts 3 jobs from the beginning. 2 of the 3 have finished and would run AGAIN: nlp/bert-" in " ".join(
        result.stdout.split()
    )
    answer = found(objects)
    assert {one["object"]: one["sync"] for one in answer["live"]} == {"missing": "created", "extra": "re-created"}
    assert all(one["successor"] for one in answer["live"] if one["object"] == "extra")


def test_the_comment_of_a_pull_request_has_the_change_and_the_cluster(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm", "bert")
    git("init", "-q")
    commit()
    objects[0]["status"]["conditions"] = [COMPLETED]
    Path("runtimes/ours.yaml").write_text(RUNTIME.replace("train:1", "train:2"), encoding="utf-8")
    assert run("build").status == 0
    result = compare(objects, "git:HEAD", "--format", "markdown")
    assert result.status == 0
    section, change = result.stdout.split("### `git:HEAD` → `working tree`")
    assert "1 of the 2 has finished and would run **again**" in section
    assert "**2 of 2 jobs restart, 16 GPUs**" in change
    assert "git rm jobs/bert.yaml" in section


def test_finished_jobs_are_retired_by_a_command(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm", "bert")
    for each in objects:
        each["status"]["conditions"] = [COMPLETED]
    assert "  git rm jobs/bert.yaml jobs/llm.yaml\n  trainc build\n" in compare(objects).stdout
    objects[0]["status"]["conditions"] = []
    assert "  git rm jobs/llm.yaml\n" in compare(objects).stdout


def test_of_a_file_with_a_job_that_runs_only_the_finished_one_is_removed(cluster: Callable[..., list[Json]]) -> None:
    cluster("llm")
    Path("jobs/llm.yaml").write_text(f"{JOB.format(name='llm')}---\n{JOB.format(name='bert')}", encoding="utf-8")
    objects = cluster()
    objects[0]["status"]["conditions"] = [COMPLETED]
    assert found(objects)["retire"] == [f"# remove nlp/{objects[0]['metadata']['name']} from jobs/llm.yaml"]


@pytest.mark.parametrize(
    ("ttl", "sentence"),
    [
        ("", "never applied, or deleted. A sync starts it"),
        ("  ttlSecondsAfterFinished: 60\n", "may have finished: ttlSecondsAfterFinished removes it"),
    ],
)
def test_a_missing_job_may_have_finished(cluster: Callable[..., list[Json]], ttl: str, sentence: str) -> None:
    objects = cluster("llm", "bert")
    for file in Path("rendered/nlp").iterdir():
        file.write_text(file.read_text(encoding="utf-8").replace("\nspec:\n", f"\nspec:\n{ttl}"), encoding="utf-8")
    if ttl:
        for each in objects:
            each["spec"]["ttlSecondsAfterFinished"] = 60
    result = compare(objects[:1])
    assert sentence in " ".join(result.stdout.split())


QUOTA = "couldn't assign flavors to pod set node: insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed"


def test_a_job_that_waits_says_why_and_where_git_could_change_it(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm")
    live = job(objects)
    live["spec"]["suspend"] = True
    live["status"]["conditions"] = [condition("Suspended", "SuspendedJobs")]
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {
            "name": "jobset-llm-1",
            "namespace": "nlp",
            "ownerReferences": [{"kind": "JobSet", "name": live["metadata"]["name"], "controller": True}],
        },
        "status": {"conditions": [condition("QuotaReserved", "Pending", "False", QUOTA)]},
    }
    (one,) = found([*objects, workload])["live"]
    (wait,) = one["waits"]
    assert (wait["object"], wait["cause"]) == ("Workload nlp/jobset-llm-1", f"Kueue cannot admit it now: {QUOTA}")
    assert "trainc fits --now" in wait["hint"]
    file, _, line = wait["place"].partition(":")
    assert "nvidia.com/gpu" in Path(file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
    assert file == "rendered/nlp/llm.yaml"
    (in_sources,) = found([*objects, workload], "jobs")["live"][0]["waits"]
    assert in_sources["place"] == "jobs/llm.yaml:10"


def test_a_job_that_no_queue_can_ever_admit_has_the_code_of_fits(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm")
    live = job(objects)
    live["spec"]["suspend"] = True
    queues = [namespace(), flavor(), queue("a", 4), local("a")]
    for each in queues:
        if "namespace" in each["metadata"]:
            each["metadata"]["namespace"] = "nlp"
        elif each["kind"] == "Namespace":
            each["metadata"]["name"] = "nlp"
    waits = found([*objects, *queues])["live"][0]["waits"]
    assert [wait["cause"].partition(":")[0] for wait in waits if wait["object"] == "trainc fits"] == ["NeverFits"]
    assert "rendered/nlp/llm.yaml:" in waits[-1]["place"]
    queues[2] = queue("a", 8)
    assert not [wait for wait in found([*objects, *queues])["live"][0]["waits"] if wait["object"] == "trainc fits"]


@cases("status", "cause", "path")
def test_pods_say_why_they_do_not_run(cluster: Callable[..., list[Json]], status: Json, cause: str, path: str) -> None:
    objects = cluster("llm")
    labels = {
        "jobset.sigs.k8s.io/jobset-name": job(objects)["metadata"]["name"],
        "jobset.sigs.k8s.io/replicatedjob-name": "node",
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "nlp", "labels": labels}}
    twin = {**pod, "metadata": {**pod["metadata"], "name": "q"}, "status": status}  # type: ignore[dict-item]
    (wait,) = found([*objects, {**pod, "status": status}, twin])["live"][0]["waits"]
    assert wait["cause"] == cause
    assert wait["path"].endswith(f".{path}")
    quiet = {**pod, "status": {"containerStatuses": [{"name": "node", "state": {"running": {}}}]}}
    assert found([*objects, quiet])["live"][0]["waits"] == []


def test_an_event_about_a_job_of_the_jobset_is_a_reason(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm")
    name = job(objects)["metadata"]["name"]
    metadata = {"name": f"{name}-node-0", "namespace": "nlp", "labels": {"jobset.sigs.k8s.io/jobset-name": name}}
    child = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "type": "Warning",
        "metadata": {"name": "e", "namespace": "nlp"},
        "involvedObject": {"kind": "Job", "name": f"{name}-node-0", "namespace": "nlp"},
        "reason": "FailedCreate",
        "message": "exceeded quota",
    }
    (wait,) = found([*objects, child, event])["live"][0]["waits"]
    assert wait["object"] == "Event nlp/e"
    assert wait["cause"].startswith(f"Job {name}-node-0: a ResourceQuota of the namespace refuses its pods")
    assert found([*objects, child, {**event, "type": "Normal"}])["live"][0]["waits"] == []


def test_a_dump_may_be_larger_than_other_documents(cluster: Callable[..., list[Json]]) -> None:
    other = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": "nlp"},
        "data": {"a": "b" * 50_000},
    }
    objects = [*cluster("llm"), other]
    size = len(json.dumps(objects))
    assert compare(objects, "--max-document-bytes", str(size // 4)).status == 0
    assert "TooLarge" in compare(objects, "--max-document-bytes", str(size // 6)).stderr


def test_a_dump_of_one_namespace_says_nothing_about_others(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm")
    for each in objects:
        each["metadata"]["namespace"] = "ads"
    answer = found(objects)
    assert [one["object"] for one in answer["live"]] == ["extra"]
    assert answer["liveUnknown"] == ["the dump is of namespace ads, so nothing is known about nlp"]


def test_secrets_are_not_read(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "ssh", "namespace": "nlp"},
        "data": {"k": "Zm9v"},
    }
    Path("rendered/nlp/ssh.yaml").write_text(json.dumps(secret), encoding="utf-8")
    assert found(objects)["liveUnknown"] == ["the dump has no Secret, so nothing is known about those in git"]
    changed = {**secret, "data": {"k": "YmFy"}}
    answer = found([*objects, changed])
    assert [(one["object"], one["drift"]) for one in answer["live"]] == [("same", []), ("same", [])]
    assert "YmFy" not in json.dumps(answer)


def test_what_a_tool_applied_is_pruned_and_what_nobody_applied_stays(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm")
    other = copy.deepcopy(job(objects))
    other["metadata"]["name"] = "other"
    by_hand = copy.deepcopy(other)
    by_hand["metadata"] |= {"name": "mine", "annotations": {}}
    answer = found([*objects, other, by_hand])
    assert {one["name"]: one["sync"] for one in answer["live"] if one["object"] == "extra"} == {
        "JobSet nlp/other": "deleted",
        "JobSet nlp/mine": "nothing",
    }
    assert compare([*objects, by_hand], "--exit-code").status == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--live", "live.json", "--releases", "2.2..2.3"),
        ("-", "--live", "-"),
    ],
)
def test_a_cluster_is_not_compared_with_two_things_at_once(
    cluster: Callable[..., list[Json]], words: tuple[str, ...]
) -> None:
    cluster("llm")
    assert run("diff", *words).status == 2


def test_the_dump_may_come_from_stdin(cluster: Callable[..., list[Json]]) -> None:
    dump = json.dumps({"apiVersion": "v1", "kind": "List", "items": cluster("llm")}).encode()
    assert "1 object: 1 same" in run("diff", "--live", "-", stdin=dump).stdout


@cases("bent")
def test_an_object_of_a_strange_shape_is_compared_all_the_same(cluster: Callable[..., list[Json]], bent: Json) -> None:
    objects = cluster("llm")
    live = job(objects)
    for field, value in bent.items():
        live[field] = (
            {**live[field], **value} if isinstance(value, dict) and isinstance(live.get(field), dict) else value
        )
    for form in ("text", "json", "markdown"):
        result = compare(objects, "--format", form)
        assert (result.status, result.stderr) == (0, "")
        assert live["metadata"]["name"] in result.stdout or "1 same" in result.stdout


@pytest.mark.parametrize("text", ["", "[1, 2]", "kind: List\nitems: 3\n", "kind: JobSet\nmetadata: [x]\n", "a: [\n"])
def test_a_dump_of_a_strange_shape_is_said_or_ignored(cluster: Callable[..., list[Json]], text: str) -> None:
    cluster("llm")
    Path("live.yaml").write_text(text, encoding="utf-8")
    assert run("diff", "--live", "live.yaml").status in (0, 1)


def many(kind: str, size: int) -> tuple[list[Json], list[Json]]:
    """What git and the cluster have, `size` of one kind."""
    (jobset,) = [each for each in manifests() if each["kind"] == "JobSet"]
    jobset = {**jobset, "metadata": {**jobset["metadata"], "namespace": "nlp"}}
    live = stored(jobset)
    name = jobset["metadata"]["name"]
    if kind.startswith("jobs"):
        found = []
        for i in range(size):
            space, suffix = (f"n{i}" if "namespaces" in kind else "nlp"), "-bbbbbb" if "hash" in kind else ""
            git, other = copy.deepcopy(jobset), copy.deepcopy(live)
            git["metadata"] |= {"name": f"{name}-{i}{suffix}", "namespace": space}
            other["metadata"] |= {"name": f"{name}-{i}{suffix.replace('b', 'c')}", "namespace": space}
            found.append((git, other))
        return [git for git, _ in found], [other for _, other in found]
    labels = {"jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/replicatedjob-name": "node"}
    if kind == "pods":
        waiting = {"containerStatuses": [{"name": "node", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}
        pods = [
            {"kind": "Pod", "metadata": {"name": f"p{i}", "namespace": "nlp", "labels": labels}, "status": waiting}
            for i in range(size)
        ]
        return [jobset], [live, *pods]
    pod = live["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["env"] = [{"name": f"V{i}", "value": "x"} for i in range(size)]
    if kind == "changed variables with managers":
        live["metadata"]["managedFields"][0]["fieldsV1"] = owned({"spec": live["spec"]})
    if kind == "labels":
        live["metadata"]["labels"] = {f"l{i}": "x" for i in range(size)}
    return [jobset], [live]


KINDS = (
    "jobs",
    "jobs in many namespaces",
    "jobs with another hash",
    "jobs with another hash in many namespaces",
    "pods",
    "changed variables",
    "changed variables with managers",
    "labels",
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_comparison_takes_steps_in_proportion(kind: str) -> None:
    def compared(size: int) -> int:
        git, live = many(kind, size)
        side = InGit(git, {}, lambda *_: "")
        return steps(lambda: compare_live(side, side, Dump.of_objects(live), ARGOCD, "2.3"))

    compared(3)
    assert_linear([compared(size) for size in (40, 80, 160)])


# A job that Kueue has admitted, applied again as it is. Kueue 0.19 and JobSet 0.12 refused these on a live API server.

KUBECTL = SETTINGS.replace("argocd", "kubectl").replace("nameHash: true\n", "")
FLUX = SETTINGS.replace("argocd", "flux").replace("nameHash: true\n", "")
OWN_TOLERATIONS = RUNTIME.replace(
    "              spec:\n                containers",
    "              spec:\n                tolerations: [{key: mine, operator: Exists}]\n                containers",
)


def admitted(live: Json, **placed: Any) -> Json:
    """A queued JobSet after Kueue's admission."""
    live["spec"]["suspend"] = False
    pods = live["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    pods.setdefault("metadata", {}).setdefault("labels", {})["kueue.x-k8s.io/podset"] = "node"
    pods["spec"] |= placed
    live["metadata"]["managedFields"] = []
    return live


TAINTED = {"tolerations": [{"key": "mine", "operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("settings", "runtime", "placed", "state", "sync"),
    [
        (KUBECTL, RUNTIME, {}, {}, "refused"),
        (KUBECTL, RUNTIME, {}, COMPLETED, "refused"),
        (FLUX, RUNTIME, {"nodeSelector": {"pool": "a100"}}, {}, "nothing"),
        (FLUX, RUNTIME, {"tolerations": TAINTED["tolerations"][1:]}, {}, "nothing"),
        (FLUX, OWN_TOLERATIONS, TAINTED, {}, "refused"),
        (SETTINGS.replace("nameHash: true\n", ""), OWN_TOLERATIONS, TAINTED, {}, "refused"),
        (SETTINGS.replace("nameHash: true\n", ""), RUNTIME, {"nodeSelector": {"pool": "a100"}}, {}, "nothing"),
    ],
)
def test_a_job_that_kueue_has_admitted_is_applied_again(
    settings: str,
    runtime: str,
    placed: Json,
    state: Json,
    sync: str,
    cluster: Callable[..., list[Json]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(globals(), "RUNTIME", runtime)
    objects = cluster("llm", settings=settings)
    admitted(job(objects), **placed)["status"] = {"conditions": [state] if state else []}
    (only,) = found(objects)["live"]
    assert (only["object"], only["sync"]) == ("same", sync)
    result = compare(objects, "--exit-code")
    assert result.status == 0, result.stdout
    assert ("cannot be applied again" in result.stdout) is (sync != "nothing")


def test_a_job_that_still_waits_may_be_applied_again(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm", settings=KUBECTL)
    job(objects)["spec"]["suspend"] = True
    (only,) = found(objects)["live"]
    assert (only["object"], only["sync"]) == ("same", "nothing")


def test_what_volcanos_crd_fills_in_is_nobodys_drift() -> None:
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "llm", "namespace": "nlp"},
        "spec": {"minMember": 2},
    }
    live = stored(group)
    # A client-side apply: the manager that creates the object is booked with what the CRD fills in.
    live["spec"]["queue"] = "default"
    live["metadata"]["managedFields"][0] |= {"operation": "Update", "fieldsV1": owned({"spec": live["spec"]})}
    git = InGit((group,), {}, lambda *_: "")
    (only,) = compare_live(git, git, Dump.of_objects([live]), ARGOCD, "2.3").objects
    assert (only.object, only.sync) == ("same", "nothing")
    live["spec"]["queue"] = "gold"
    (only,) = compare_live(git, git, Dump.of_objects([live]), ARGOCD, "2.3").objects
    assert only.object == "drifted"


def test_a_job_that_is_being_deleted_comes_back(cluster: Callable[..., list[Json]]) -> None:
    objects = cluster("llm")
    metadata = {"deletionTimestamp": "2026-02-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}
    job(objects)["metadata"] |= metadata
    (only,) = found(objects)["live"]
    assert (only["object"], only["sync"]) == ("drifted", "re-created")
    assert [drift["path"] for drift in only["drift"] if not drift.get("expected")] == ["metadata.deletionTimestamp"]
    assert compare(objects, "--exit-code").status == 1


@pytest.mark.parametrize(("settings", "sync"), [(FLUX, "re-created"), (KUBECTL, "in-place")])
def test_a_ttl_for_a_job_that_has_finished_runs_it_again(
    settings: str, sync: str, cluster: Callable[..., list[Json]]
) -> None:
    settings = settings.replace("sources", "rules: {TTLRerun: ignore}\nsources")
    objects = cluster("llm", settings=settings)
    job(objects)["status"] = {"conditions": [COMPLETED]}
    git("init", "-q")
    commit("as it was")
    runtime = Path("runtimes/ours.yaml")
    spec = "    spec:\n      ttlSecondsAfterFinished: 60\n      replicatedJobs"
    runtime.write_text(RUNTIME.replace("    spec:\n      replicatedJobs", spec), encoding="utf-8")
    (only,) = found(objects, "git:HEAD")["live"]
    assert only["sync"] == sync
    assert ("run AGAIN" in compare(objects, "git:HEAD").stdout) is (sync == "re-created")


def test_a_suspended_job_that_git_moves_into_a_queue_is_refused(
    cluster: Callable[..., list[Json]], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue_label = ", labels: {{kueue.x-k8s.io/queue-name: a}}"
    monkeypatch.setitem(globals(), "JOB", JOB.replace(queue_label, "").replace("spec:\n", "spec:\n  suspend: true\n"))
    objects = cluster("llm", settings=FLUX)
    assert job(objects)["spec"]["suspend"] is True
    job(objects)["status"] = {"conditions": [condition("Suspended")]}
    git("init", "-q")
    commit("as it was")
    text = Path("jobs/llm.yaml").read_text(encoding="utf-8")
    text = text.replace("namespace: nlp", f"namespace: nlp{queue_label.format()}").replace("  suspend: true\n", "")
    Path("jobs/llm.yaml").write_text(text, encoding="utf-8")
    (only,) = found(objects, "git:HEAD")["live"]
    assert only["sync"] == "needs-suspend"
