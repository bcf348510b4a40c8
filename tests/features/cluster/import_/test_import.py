"""`trainc import`: one clean file for each job of a dump, and rendered files that restart nothing."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Result, run
from repositories import commit, git, read, write
from steps import SIZES, assert_linear, steps
from tables import cases

from trainc.admission.updates import refusals
from trainc.features.cluster.import_.command import with_adopted
from trainc.features.cluster.import_.reading import Reader, as_applied, clean, literal_secrets, with_references
from trainc.features.gitops.diff.changes import strip_server_fields
from trainc.features.gitops.diff.delivery import submit
from trainc.kube.releases import RELEASES
from trainc.options import Limits
from trainc.reading.cluster import Dump

Json = dict[str, Any]
SETTINGS = 'release: "2.3"\nsources: [jobs]\noutput: rendered\nrebuild: changed-jobs\nadopted: ["rendered/**"]\n'
SERVER = {"uid": "1", "resourceVersion": "7", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"}
POD = {"containers": [{"name": "node", "image": "example.com/train:1", "resources": {}}]}
STEP = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
RUNTIME: Json = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "ours", **SERVER},
    "spec": {
        "mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}},
        "template": {
            "metadata": {},
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "groupName": "default",
                        "replicas": 1,
                        "template": {**STEP, "spec": {"template": {"metadata": {}, "spec": POD}}},
                    }
                ]
            },
        },
    },
}


def trainjob(name: str = "llm", **spec: Any) -> Json:
    """A TrainJob as the API server prints it."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "nlp", **SERVER, "finalizers": ["x/y"], "labels": {"team": "nlp"}},
        "spec": {
            "managedBy": "trainer.kubeflow.org/trainjob-controller",
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "ours"},
            "suspend": False,
            "trainer": {"numNodes": 2, "env": [{"name": "LR", "value": "0.1"}]},
            **spec,
        },
        "status": {"conditions": []},
    }


def jobset(name: str = "llm", **spec: Any) -> Json:
    """The JobSet that Trainer's controller made, as the API server prints it."""
    owner = {"kind": "TrainJob", "name": name, "controller": True, "uid": "1", "apiVersion": "x"}
    pods = {"metadata": {}, "spec": {**POD, "restartPolicy": "OnFailure"}}
    template = {**STEP, "spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": pods}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "nlp", **SERVER, "ownerReferences": [owner]},
        "spec": {
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
            "successPolicy": {"operator": "All"},
            "replicatedJobs": [{"name": "node", "groupName": "default", "replicas": 1, "template": template}],
            "suspend": False,
            **spec,
        },
        "status": {"conditions": []},
    }


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("trainc.yaml", SETTINGS)


def bring(objects: list[Json], *words: str) -> Result:
    write("live.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return run("import", "live.json", *words)


def document(path: str) -> Json:
    found: Json = yaml.safe_load(read(path))
    return found


def test_a_job_becomes_the_file_that_its_author_would_write() -> None:
    result = bring([trainjob(), RUNTIME], "-o", "jobs")
    assert (result.status, result.stderr) == (0, "")
    assert document("jobs/nlp/llm.yaml") == {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "llm", "namespace": "nlp", "labels": {"team": "nlp"}},
        "spec": {"runtimeRef": {"name": "ours"}, "trainer": {"numNodes": 2, "env": [{"name": "LR", "value": "0.1"}]}},
    }
    runtime = document("jobs/runtimes/ours.yaml")
    assert runtime["spec"]["mlPolicy"] == {"numNodes": 1, "torch": {}}
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    assert set(job) == {"name", "template"}
    assert job["template"]["spec"]["template"] == {
        "spec": {"containers": [{"name": "node", "image": "example.com/train:1"}]}
    }
    assert "nlp/llm  running  ours     jobs/nlp/llm.yaml" in result.stdout
    assert run("check").status == 0


def test_what_is_imported_compiles_to_what_the_live_documents_compile_to() -> None:
    objects = [trainjob(), RUNTIME]
    bring(objects, "-o", "jobs")
    imported = run("build", "jobs", "--format", "json").stdout
    for each in objects:
        each["metadata"] = {
            key: each["metadata"][key] for key in ("name", "namespace", "labels") if key in each["metadata"]
        }
        each.pop("status", None)
    write("live/both.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert run("build", "live", "--format", "json").stdout == imported


def test_states_are_in_the_table_and_finished_jobs_are_named() -> None:
    done = trainjob("done")
    done["status"]["conditions"] = [{"type": "Complete", "status": "True", "reason": "AllJobsCompleted"}]
    failed = trainjob("failed")
    failed["status"]["conditions"] = [{"type": "Failed", "status": "True"}]
    waits = trainjob("waits", suspend=True)
    text = bring([trainjob(), done, failed, waits, RUNTIME], "-o", "jobs").stdout
    assert "4 jobs: 1 running, 1 suspended, 2 finished\n" in text
    assert "a sync would run each of them again: nlp/done, nlp/failed" in text
    assert document("jobs/nlp/waits.yaml")["spec"]["suspend"] is True


def test_what_kueue_and_tools_set_is_left_out() -> None:
    live = trainjob(suspend=True)
    live["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "a"
    live["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] = "x"
    live["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "x", "note": "mine"}
    own = {"manager": "ours", "time": "2026-01-01T00:00:00Z", "trainingRuntimeSpec": {}}
    live["spec"]["runtimePatches"] = [own, {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {}}]
    bring([live, RUNTIME], "-o", "jobs")
    found = document("jobs/nlp/llm.yaml")
    assert found["metadata"]["labels"] == {"team": "nlp", "kueue.x-k8s.io/queue-name": "a"}
    assert found["metadata"]["annotations"] == {"note": "mine"}
    assert "suspend" not in found["spec"]
    assert [(patch["manager"], "time" in patch) for patch in found["spec"]["runtimePatches"]] == [("ours", False)]


def test_overrides_of_kueue_before_patches_are_left_out() -> None:
    live = trainjob(podTemplateOverrides=[{"targetJobs": [{"name": "node"}]}, {"targetJobs": [{"name": "x"}]}])
    live["metadata"]["annotations"] = {"kueue.x-k8s.io/override-idx": "1"}
    cleaned = clean(live, "2.1")
    assert cleaned["spec"]["podTemplateOverrides"] == [{"targetJobs": [{"name": "node"}]}]
    assert "annotations" not in cleaned["metadata"]


@pytest.mark.parametrize("name", ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "CLIENT_SECRET", "wandbApiKey"])
def test_a_literal_that_looks_like_a_token_becomes_a_reference(name: str) -> None:
    live = trainjob(trainer={"env": [{"name": name, "value": "hunter2"}]})
    runtime = copy.deepcopy(RUNTIME)
    pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["env"] = [{"name": name, "value": "hunter2"}]
    result = bring([live, runtime], "-o", "jobs")
    texts = [path.read_text(encoding="utf-8") for path in Path("jobs").rglob("*.yaml")]
    assert len(texts) == 2
    assert not any("hunter2" in text for text in (*texts, result.stdout, result.stderr))
    (variable,) = document("jobs/nlp/llm.yaml")["spec"]["trainer"]["env"]
    assert variable == {"name": name, "valueFrom": {"secretKeyRef": {"name": "llm-env", "key": name}}}
    assert f"kubectl create secret generic llm-env -n nlp --from-literal={name}=VALUE" in read("jobs/nlp/llm.yaml")
    assert f"the value of {name} was not written" in result.stdout
    assert run("check").status == 0


@pytest.mark.parametrize(
    "variable",
    [
        {"name": "TOKENIZER", "value": "t5"},
        {"name": "HF_TOKEN", "value": ""},
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "t"}}},
        {"name": "KEYS", "value": "a,b"},
    ],
)
def test_other_variables_stay_as_they_are(variable: Json) -> None:
    document = {"env": [variable]}
    assert (literal_secrets(document), with_references(document, "x")) == ([], document)


def test_a_runtime_of_the_catalog_is_not_written() -> None:
    live = trainjob(runtimeRef={"name": "torch-distributed"})
    assert "torch-distributed (catalog)" in bring([live], "-o", "jobs").stdout
    assert sorted(path.name for path in Path("jobs").rglob("*.yaml")) == ["llm.yaml"]


def test_a_runtime_with_the_name_of_a_catalog_one_is_written_if_it_differs() -> None:
    live = trainjob(runtimeRef={"name": "torch-distributed"})
    other = {**RUNTIME, "metadata": {"name": "torch-distributed"}}
    bring([live, other], "-o", "jobs")
    assert document("jobs/runtimes/torch-distributed.yaml")["spec"]["mlPolicy"]["numNodes"] == 1


def test_a_runtime_that_the_dump_lacks_comes_from_the_snapshot_of_its_job_or_is_named() -> None:
    result = bring([trainjob()], "-o", "jobs")
    assert (result.status, "ClusterTrainingRuntime ours is not in the dump" in result.stdout) == (1, True)
    snapshot = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "llm-runtime-snapshot", "namespace": "nlp"},
        "data": {"runtime": yaml.safe_dump(RUNTIME)},
    }
    assert bring([trainjob(), snapshot], "-o", "again").status == 0
    assert document("again/runtimes/ours.yaml")["spec"]["mlPolicy"] == {"numNodes": 1, "torch": {}}
    changed = copy.deepcopy(RUNTIME)
    changed["spec"]["mlPolicy"]["numNodes"] = 4
    assert (
        "ClusterTrainingRuntime ours has changed since nlp/llm started" in bring([trainjob(), snapshot, changed]).stderr
    )
    assert "has changed" not in bring([trainjob(), snapshot, RUNTIME]).stderr


def test_runtimes_go_where_trainc_yaml_has_them() -> None:
    write("trainc.yaml", SETTINGS + "runtimes: [runtimes]\n")
    bring([trainjob(), RUNTIME], "-o", "jobs")
    assert document("runtimes/ours.yaml")["metadata"] == {"name": "ours"}
    assert not Path("jobs/runtimes").exists()


def test_a_file_that_is_there_is_not_overwritten() -> None:
    assert bring([trainjob(), RUNTIME], "-o", "jobs").status == 0
    assert bring([trainjob(), RUNTIME], "-o", "jobs").status == 0
    result = bring([trainjob(trainer={"numNodes": 9}), RUNTIME], "-o", "jobs")
    assert (result.status, "jobs/nlp/llm.yaml is there already" in result.stdout) == (1, True)
    assert document("jobs/nlp/llm.yaml")["spec"]["trainer"]["numNodes"] == 2


def test_without_a_folder_the_documents_go_to_stdout() -> None:
    result = run("import", "-", stdin=json.dumps({"kind": "List", "items": [trainjob(), RUNTIME]}).encode())
    assert [each["kind"] for each in yaml.safe_load_all(result.stdout)] == ["ClusterTrainingRuntime", "TrainJob"]
    assert "1 job: 1 running" in result.stderr


def test_a_v1_job_is_migrated() -> None:
    replica = {"replicas": 2, "template": {"spec": {"containers": [{"name": "pytorch", "image": "x:1"}]}}}
    live = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "old", "namespace": "nlp", **SERVER},
        "spec": {"pytorchReplicaSpecs": {"Worker": replica}},
        "status": {"conditions": [{"type": "Succeeded", "status": "True"}]},
    }
    result = bring([live], "-o", "jobs")
    assert (result.status, "nlp/old  finished" in result.stdout) == (0, True)
    kinds = [each["kind"] for each in yaml.safe_load_all(read("jobs/nlp/old.yaml"))]
    assert kinds == ["TrainJob", "TrainingRuntime"]
    assert run("check").status == 0


def test_a_job_of_another_controller_stays_out() -> None:
    trial = trainjob("trial")
    trial["metadata"]["ownerReferences"] = [{"kind": "OptimizationJob", "name": "x", "controller": True}]
    result = bring([trial, trainjob(), RUNTIME], "-o", "jobs")
    assert "1 TrainJob of another controller" in result.stdout
    assert not Path("jobs/nlp/trial.yaml").exists()


# Adoption.


def adopt(objects: list[Json]) -> Result:
    return bring(objects, "-o", "jobs", "--adopt")


def test_an_adopted_job_is_kept_as_built_and_granted_by_the_base() -> None:
    git("init", "-q", "-b", "main")
    write("jobs/.gitkeep", "")
    commit("settings")
    git("checkout", "-qb", "adopt")
    result = adopt([trainjob(), jobset(), RUNTIME])
    assert (result.status, result.stderr) == (0, "")
    assert "kubectl delete trainjobs.trainer.kubeflow.org -n nlp --cascade=orphan llm" in result.stdout
    assert "first merge" not in result.stdout
    before = read("rendered/nlp/llm.yaml")
    assert before.startswith(
        "# Compiled by trainc from jobs/nlp/llm.yaml. Edit that file instead.\n# Built from TrainJob "
    )
    assert run("build").status == 0
    assert read("rendered/nlp/llm.yaml") == before
    commit("adopt")
    assert run("build", "--check", "--base", "main").status == 0
    write("trainc.yaml", SETTINGS.replace('adopted: ["rendered/**"]\n', ""))
    git("checkout", "-q", "main")
    write("trainc.yaml", SETTINGS.replace('adopted: ["rendered/**"]\n', ""))
    commit("no grant")
    git("checkout", "-q", "adopt")
    git("rebase", "-q", "main")
    assert run("build", "--check", "--base", "main").status == 1


def test_the_grant_is_asked_for_if_it_is_not_there() -> None:
    write("trainc.yaml", SETTINGS.replace('adopted: ["rendered/**"]\n', ""))
    asked = "which now has `adopted: [rendered/nlp/*.yaml]`"
    assert asked in adopt([trainjob(), jobset(), RUNTIME]).stdout
    assert document("trainc.yaml")["adopted"] == ["rendered/nlp/*.yaml"]
    assert asked not in adopt([trainjob(), jobset(), RUNTIME]).stdout


def test_a_grant_that_cannot_be_added_is_left_to_the_reader() -> None:
    settings = SETTINGS.replace('adopted: ["rendered/**"]\n', "") + "exclude: [a,b]\n"
    write("trainc.yaml", settings)
    assert "first merge `adopted: [rendered/nlp/*.yaml]` in" in adopt([trainjob(), jobset(), RUNTIME]).stdout
    assert read("trainc.yaml") == settings


ADDED = {
    "sources: [a] # why\n": "sources: [a] # why\nadopted:\n- x/*\n",
    "# top\nsources:\n  - a\n\n# b\noutput: 'c'\n": "# top\nsources:\n  - a\n\n# b\noutput: 'c'\nadopted:\n  - x/*\n",
    "adopted:\n- a\nrelease: '2.3'\n": "adopted:\n- a\n- x/*\nrelease: '2.3'\n",
    "environments:\n    a:\n        output: b\n": "environments:\n    a:\n        output: b\nadopted:\n-   x/*\n",
    "sources: &a [a]\nexclude: *a\n": "sources: &a [a]\nexclude: *a\nadopted:\n- x/*\n",
}


@pytest.mark.parametrize("text", ADDED)
def test_settings_get_a_grant_and_keep_every_line(text: str) -> None:
    assert with_adopted(text, ["x/*"]) == ADDED[text]


@pytest.mark.parametrize(
    "text", ["adopted:\n", "sources: [a,b]\n", "sources:   [a]\n", "sources: [a]\r\n", "sources: [a]"]
)
def test_settings_that_would_change_elsewhere_stay_as_they_are(text: str) -> None:
    assert with_adopted(text, ["x/*"]) is None


def test_applying_an_adopted_file_changes_nothing_in_the_cluster() -> None:
    objects = [trainjob(), jobset(), RUNTIME]
    adopt(objects)
    git("init", "-q")
    found = json.loads(run("diff", "--live", "live.json", "--format", "json").stdout)
    (one,) = [each for each in found["live"] if each["name"] == "JobSet nlp/llm"]
    assert (one["sync"], [drift["path"] for drift in one["drift"] if not drift["expected"]]) == (
        "nothing",
        ["metadata.ownerReferences"],
    )


@pytest.mark.parametrize("apply", ["client", "server"])
@pytest.mark.parametrize(
    "live",
    [
        jobset(),
        jobset(suspend=True),
        jobset(failurePolicy={"maxRestarts": 0}, ttlSecondsAfterFinished=60),
        {**jobset(), "metadata": {**jobset()["metadata"], "labels": {"a": "b"}, "annotations": {"note": "x"}}},
    ],
)
def test_a_merge_of_an_adopted_file_gives_what_is_live(live: Json, apply: Any) -> None:
    adopted = as_applied(live)
    assert refusals(live, adopted) == []
    stripped = strip_server_fields(live)
    assert submit(apply, stripped, {}, strip_server_fields(adopted)) == stripped


@pytest.mark.conformance
def test_recorded_jobs_are_imported_and_adopted_without_a_restart(vectors: Path) -> None:
    """The clusters that were recorded with a TrainJob of Trainer 2.3."""
    with gzip.open(vectors / "live.jsonl.gz", "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    cases = [case for case in cases if any(each["kind"] == "TrainJob" for each in case["managed"]["items"])]
    assert len(cases) >= 5
    for number, case in enumerate(cases):
        write("trainc.yaml", SETTINGS.replace("[jobs]", f"[jobs{number}]").replace("rendered", f"rendered{number}"))
        items = case["managed"]["items"]
        result = bring(items, "-o", f"jobs{number}", "--adopt")
        assert (result.status, result.stderr) == (0, ""), case["id"]
        live = [each for each in items if each["kind"] == "JobSet"]
        assert [refusals(each, as_applied(each)) for each in live] == [[] for _ in live]
        assert run("build").status == 0
        answer = json.loads(run("diff", "--live", "live.json", "--format", "json").stdout)["live"]
        assert {each["sync"] for each in answer if each["object"] != "extra"} == {"nothing"}, case["id"]


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        ([trainjob(), RUNTIME], "there is no JobSet of it in the dump to adopt"),
        (
            [trainjob(), RUNTIME, jobset(replicatedJobs=[{"name": "x", "env": [{"name": "A_TOKEN", "value": "s"}]}])],
            "its JobSet has the value of A_TOKEN",
        ),
    ],
)
def test_a_job_that_cannot_be_adopted_is_named(objects: list[Json], problem: str) -> None:
    result = adopt(objects)
    assert (result.status, problem in result.stderr) == (1, True)
    assert not Path("rendered").exists()


@pytest.mark.parametrize("version", [None, {}, "jobset.x-k8s.io/v1"])
def test_a_jobset_of_another_version_is_not_adopted(version: Any) -> None:
    result = adopt([trainjob(), {**jobset(), "apiVersion": version}, RUNTIME])
    assert (result.status, "trainc adopts JobSets of" in result.stderr) == (1, True)


def test_a_job_in_a_queue_is_adopted_with_a_word_about_its_quota() -> None:
    live = trainjob()
    live["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "a"
    assert "runs outside the quota" in adopt([live, jobset(), RUNTIME]).stdout
    assert "quota" not in adopt([trainjob("other"), jobset("other"), RUNTIME]).stdout


@pytest.mark.parametrize("settings", ['release: "2.3"\nsources: [jobs]\n', SETTINGS.replace("changed-jobs", "all")])
def test_adoption_needs_files_that_stay_as_built(settings: str) -> None:
    write("trainc.yaml", settings)
    assert adopt([trainjob(), jobset(), RUNTIME]).status == 2
    assert bring([trainjob()], "--adopt").status == 2


def test_a_folder_that_trainc_yaml_does_not_read_adopts_nothing() -> None:
    write("jobs/.gitkeep", "")
    result = bring([trainjob(), jobset(), RUNTIME], "-o", "elsewhere", "--adopt")
    assert "choose -o below `sources`" in result.stderr


# Input that no API server prints.


@pytest.mark.parametrize("name", ["../../etc/x", "a/b", "A", "", "a\nb"])
def test_a_name_never_leads_out_of_the_folder(name: str) -> None:
    for field in ("name", "namespace"):
        live = trainjob()
        live["metadata"][field] = name
        bring([live, RUNTIME], "-o", "jobs")
    runtime = {**RUNTIME, "metadata": {"name": name}}
    bring([trainjob(runtimeRef={"name": name}), runtime], "-o", "jobs")
    files = [str(path) for path in Path().parent.rglob("*") if path.is_file()]
    assert set(files) <= {"trainc.yaml", "live.json", "jobs/nlp/llm.yaml", "jobs/runtimes/ours.yaml"}


@cases("bent")
def test_a_document_of_a_strange_shape_is_brought_or_named(bent: Json) -> None:
    result = bring([{**trainjob(), **bent}, jobset(), RUNTIME], "-o", "jobs")
    assert result.status in (0, 1)
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("text", ["", "[1]", "kind: List\nitems: 3\n", "a: [\n"])
def test_a_dump_of_a_strange_shape_is_no_traceback(text: str) -> None:
    write("live.yaml", text)
    assert run("import", "live.yaml").status in (0, 1)


@pytest.mark.parametrize("release", RELEASES)
def test_cleaning_what_is_clean_changes_nothing(release: str) -> None:
    for each in (trainjob(), RUNTIME):
        once = clean(each, release)
        assert clean(once, release) == once


@pytest.mark.parametrize("kind", ["jobs", "variables", "runtimes"])
def test_an_import_takes_steps_in_proportion(kind: str) -> None:
    def objects(size: int) -> list[Json]:
        if kind == "variables":
            return [trainjob(trainer={"env": [{"name": f"V{i}_KEY", "value": "x"} for i in range(size)]}), RUNTIME]
        runtimes = [{**RUNTIME, "metadata": {"name": f"r{i}"}} for i in range(size if kind == "runtimes" else 0)]
        jobs = [trainjob(f"j{i}", runtimeRef={"name": f"r{i}" if runtimes else "ours"}) for i in range(size)]
        return [RUNTIME, *runtimes, *jobs]

    def counted(size: int) -> int:
        dump = Dump.of_objects(objects(size))
        return steps(lambda: Reader(dump, "2.3", Limits()).read())

    counted(3)
    assert_linear([counted(size) for size in ((40, 80, 160) if kind == "runtimes" else SIZES)])


def test_a_jobset_without_a_trainjob_becomes_a_source(tmp_path: Path) -> None:
    head = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "raw", "namespace": "nlp"}}
    live = {**head, "spec": {"suspend": True, "replicatedJobs": []}, "status": {"restarts": 0}}
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump(live), encoding="utf-8")
    result = run("import", str(tmp_path / "dump.yaml"), "-o", str(tmp_path / "jobs"))
    assert "note: nlp/raw is a JobSet without a TrainJob: `trainc build` writes it as it is" in result.stdout
    written = yaml.safe_load((tmp_path / "jobs/nlp/raw.yaml").read_text(encoding="utf-8"))
    assert written == {**head, "spec": {"replicatedJobs": []}}


def test_a_token_in_a_jobset_without_a_trainjob_does_not_reach_git(tmp_path: Path) -> None:
    head = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "raw", "namespace": "nlp"}}
    pod = {"containers": [{"name": "node", "env": [{"name": "HF_TOKEN", "value": "hf_0123456789"}]}]}
    spec = {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]}
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump({**head, "spec": spec}), encoding="utf-8")
    result = run("import", str(tmp_path / "dump.yaml"), "-o", str(tmp_path / "jobs"))
    assert (result.status, (tmp_path / "jobs").exists()) == (1, False)
    assert "JobSet nlp/raw: it has the value of HF_TOKEN, which must not reach git" in result.stdout
