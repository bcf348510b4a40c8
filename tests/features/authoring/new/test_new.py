"""`trainc new`: a TrainJob from flags, which every runtime and release takes, or an error and no file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from commands import run
from tables import cases

from trainc.reading import catalog

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-h100, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: workers
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "example.com/base:1"}]}}}
"""
FLAGS = [
    "--nodes",
    "2",
    "--queue",
    "nlp",
    "--namespace",
    "nlp",
    "--mount",
    "datasets:/data",
    "--secret",
    "hf:token=HF_TOKEN",
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir()
    Path("runtimes").mkdir()
    Path("runtimes/torch-h100.yaml").write_text(RUNTIME, encoding="utf-8")
    Path("trainc.yaml").write_text('release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\n', encoding="utf-8")


def test_a_job_with_everything_checks_clean_and_says_what_was_asked_for() -> None:
    words = ["--gpus", "8", "--image", "example.com/train:1", "--", "torchrun", "train.py", "--epochs", "3"]
    result = run("new", "bert", "--runtime", "torch-h100", *FLAGS, *words)
    assert (result.status, result.stderr) == (0, "jobs/bert.yaml: created; compile it with `trainc build`\n")
    checked = run("check", "--strict")
    assert (checked.status, "1 TrainJob compiled" in checked.stderr) == (0, True), checked.stderr
    [jobset] = yaml.safe_load_all(run("build").stdout)
    assert (jobset["metadata"]["namespace"], jobset["metadata"]["name"]) == ("nlp", "bert")
    assert jobset["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "nlp"
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["command"] == ["torchrun", "train.py", "--epochs", "3"]
    assert container["volumeMounts"] == [{"name": "datasets", "mountPath": "/data"}]
    assert pod["volumes"] == [{"name": "datasets", "persistentVolumeClaim": {"claimName": "datasets"}}]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    secret = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}
    assert secret in container["env"]


def test_files_are_in_a_config_map_of_the_job_and_at_their_paths() -> None:
    Path("fsdp.yaml").write_text("num_processes: 16\n", encoding="utf-8")
    files = ["--file", "fsdp.yaml=/config/a.yaml", "--file", "trainc.yaml=/workspace/b.yaml", "--mount", "data:/data"]
    result = run("new", "bert", "--runtime", "torch-h100", *files, "--", "torchrun", "t.py", "/config/a.yaml")
    assert result.status == 0, result.stderr
    config_map, jobset = yaml.safe_load_all(run("build").stdout)
    assert config_map["data"]["a.yaml"] == "num_processes: 16\n"
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    mounted = {mount["mountPath"]: mount.get("subPath") for mount in pod["containers"][0]["volumeMounts"]}
    assert mounted == {"/data": None, "/config/a.yaml": "a.yaml", "/workspace/b.yaml": "b.yaml"}
    assert pod["volumes"][2]["configMap"]["name"] == config_map["metadata"]["name"]


@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_every_runtime_of_the_catalog_takes_the_flags(release: str) -> None:
    for name in catalog.names(release):
        if "with-cache" in name:
            continue
        # What these fine-tune is the matter of their own fields.
        flags = [] if name.startswith(("torchtune", "deepspeed", "mlx")) else FLAGS
        sources = ["--dataset", "hf://a/b", "--model", "hf://a/c"] if name.endswith("with-initializers") else []
        result = run("new", "job", "--runtime", name, "--release", release, "-o", "-", *flags, *sources)
        errors = [line for line in result.stderr.splitlines() if "error[" in line]
        assert errors == [], (name, result.stderr)
        assert yaml.safe_load(result.stdout)["spec"]["runtimeRef"] == {"name": name}


@cases("words", "status", "said")
def test_what_is_wrong_is_said_and_nothing_is_written(words: list[str], status: int, said: str) -> None:
    result = run("new", *words)
    assert (result.status, said in result.stderr) == (status, True), result.stderr
    assert list(Path("jobs").iterdir()) == []


def test_no_file_and_no_job_is_taken_over() -> None:
    assert run("new", "bert", "--runtime", "torch-h100").status == 0
    text = Path("jobs/bert.yaml").read_text(encoding="utf-8")
    assert "already exists" in run("new", "bert", "--runtime", "torch-h100", "--nodes", "4").stderr
    again = run("new", "bert", "--runtime", "torch-h100", "-o", "jobs/other.yaml")
    assert (again.status, "there is a TrainJob bert already" in again.stderr) == (1, True)
    assert [path.name for path in Path("jobs").iterdir()] == ["bert.yaml"]
    assert Path("jobs/bert.yaml").read_text(encoding="utf-8") == text


def test_without_settings_other_files_of_the_folder_do_not_matter() -> None:
    Path("trainc.yaml").unlink()
    Path("jobs/copy.yaml").write_text(RUNTIME, encoding="utf-8")
    Path("jobs/broken.yaml").write_text("kind: TrainJob\nspec: {", encoding="utf-8")
    result = run("new", "bert", "--runtime", "torch-distributed", "--release", "2.3")
    assert (result.status, result.stderr) == (
        0,
        "bert.yaml: created; compile it with `trainc build bert.yaml --release 2.3`\n",
    )
    assert run("build", "bert.yaml", "--release", "2.3").status == 0
    assert run("new", "b", "--runtime", "torch-h100", "--runtimes", "runtimes", "--release", "2.3").status == 0


OTHER = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: other, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: research}}
spec: {runtimeRef: {name: torch-h100}, trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}}
"""
QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: research, namespace: nlp}
spec: {clusterQueue: research}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: research}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 64}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: h100}
"""
IN_NLP = ["--namespace", "nlp", "--gpus", "8"]


def test_a_namespace_or_a_queue_that_no_other_job_has_is_mentioned() -> None:
    Path("jobs/other.yaml").write_text(OTHER, encoding="utf-8")
    wrong = run("new", "a", "--runtime", "torch-h100", "--gpus", "8", "--namespace", "nlpp", "--queue", "vision")
    assert wrong.stderr.splitlines() == [
        "namespace nlpp is new here; did you mean nlp?",
        "queue vision is new here; other jobs have research",
        "jobs/a.yaml: created; compile it with `trainc build`",
    ]
    right = run("new", "b", "--runtime", "torch-h100", *IN_NLP, "--queue", "research")
    assert right.stderr == "jobs/b.yaml: created; compile it with `trainc build`\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--queue", "vision"], "QueueInactive"), (["--queue", "research", "--nodes", "64"], "NeverFits")],
)
def test_a_job_that_the_known_cluster_never_admits_is_not_written(words: list[str], code: str) -> None:
    Path("cluster").mkdir()
    Path("cluster/queues.yaml").write_text(QUEUES, encoding="utf-8")
    with Path("trainc.yaml").open("a", encoding="utf-8") as settings:
        settings.write("cluster: cluster\n")
    result = run("new", "bert", "--runtime", "torch-h100", *IN_NLP, *words)
    assert (result.status, f"error[{code}]" in result.stderr) == (1, True), result.stderr
    assert list(Path("jobs").iterdir()) == []
    assert run("new", "bert", "--runtime", "torch-h100", *IN_NLP, "--queue", "research").status == 0


def test_what_trainc_yaml_allows_in_a_folder_holds_for_new_jobs() -> None:
    with Path("trainc.yaml").open("a", encoding="utf-8") as settings:
        settings.write('namespaces: {"jobs/**": [nlp]}\n')
    result = run("new", "bert", "--runtime", "torch-h100", "--namespace", "vision")
    assert (result.status, "error[ForeignNamespace]" in result.stderr) == (1, True), result.stderr
    assert list(Path("jobs").iterdir()) == []


def test_the_job_is_checked_in_each_environment_that_selects_it() -> None:
    with Path("trainc.yaml").open("a", encoding="utf-8") as settings:
        settings.write("environments:\n  a: {select: {namespaces: [nlp]}}\n  b: {select: {namespaces: [cv]}}\n")
    written = run("new", "bert", "--runtime", "torch-h100", "--namespace", "nlp")
    assert (written.status, written.stderr) == (0, "jobs/bert.yaml: created; compile it with `trainc build`\n")
    unselected = run("new", "tiny", "--runtime", "torch-h100", "--namespace", "speech")
    assert "jobs/tiny.yaml: created; no environment selects it\n" in unselected.stderr


def test_an_option_of_the_command_that_is_taken_for_one_of_ours_says_what_to_write(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("new", "bert", "--runtime", "torch-h100", "torchrun", "train.py", "--epochs", "3").status == 2
    assert "write `--` before the command" in capsys.readouterr().err
