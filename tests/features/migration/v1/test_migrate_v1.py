"""`migrate`, `build` and `check` with jobs of Training Operator v1 in the input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from commands import run

SHAPES = Path(__file__).parent / "v1" / "shapes"
TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: new}
spec: {runtimeRef: {name: torch-distributed}, trainer: {command: [torchrun, t.py]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old.yaml").write_bytes((SHAPES / "pytorch-gloo-cpu.yaml").read_bytes())
    return tmp_path


@pytest.mark.parametrize("command", ["build", "check"])
def test_v1_jobs_alone_are_an_error_that_names_migrate(command: str, folder: Path) -> None:
    result = run(command, str(folder))
    assert result.status == 1
    assert result.stdout == ""
    assert "error[LegacyTrainingJob]" in result.stderr
    assert f"trainc migrate {folder / 'old.yaml'}" in result.stderr


@pytest.mark.parametrize("command", ["build", "check"])
def test_v1_jobs_with_trainjobs_are_a_warning(command: str, folder: Path) -> None:
    (folder / "new.yaml").write_text(TRAINJOB, encoding="utf-8")
    result = run(command, str(folder))
    assert result.status == 0
    assert "warning[LegacyTrainingJob]" in result.stderr


def test_a_trainjob_of_kubeflow_v1_is_not_said_to_be_of_an_api_that_never_was(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(TRAINJOB.replace("trainer.kubeflow.org/v1alpha1", "kubeflow.org/v1"), encoding="utf-8")
    assert "never existed" not in run("check", str(path)).stderr


def test_check_and_diff_write_nothing(folder: Path) -> None:
    before = (folder / "old.yaml").read_bytes()
    assert run("migrate", "--check", str(folder)).status == 1
    assert "+kind: TrainJob" in run("migrate", "--diff", str(folder)).stdout
    assert run("migrate", "--report", str(folder)).status == 0
    assert (folder / "old.yaml").read_bytes() == before


def test_jobs_of_equal_pods_share_a_runtime_across_files(folder: Path) -> None:
    text = (folder / "old.yaml").read_text(encoding="utf-8")
    (folder / "z.yaml").write_text(text.replace("name: digits\n", "name: letters\n"), encoding="utf-8")
    assert run("migrate", str(folder)).status == 0
    assert "name: digits\n  trainer" in (folder / "z.yaml").read_text(encoding="utf-8")
    assert "kind: TrainingRuntime\nmetadata" not in (folder / "z.yaml").read_text(encoding="utf-8")
    assert run("check", str(folder)).status == 0


def test_json_stays_json(tmp_path: Path) -> None:
    container = {"name": "jax", "image": "example.com/jax:1", "command": ["python3", "t.py"]}
    roles = {"Worker": {"replicas": 2, "template": {"spec": {"containers": [container]}}}}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": {"name": "j"},
        "spec": {"jaxReplicaSpecs": roles},
    }
    path = tmp_path / "job.json"
    path.write_text(json.dumps(job, indent=4), encoding="utf-8")
    assert run("migrate", str(path)).status == 0
    text = path.read_text(encoding="utf-8")
    first, end = json.JSONDecoder().raw_decode(text)
    second, _ = json.JSONDecoder().raw_decode(text[end:].lstrip())
    assert [first["kind"], second["kind"]] == ["TrainJob", "TrainingRuntime"]
    assert run("check", str(path)).status == 0
    assert run("migrate", "--check", str(path)).status == 0


def test_into_catalog_writes_no_runtime_where_one_fits(folder: Path) -> None:
    (folder / "old.yaml").write_bytes((SHAPES / "pytorch-torchrun-gpus.yaml").read_bytes())
    result = run("migrate", "--into", "catalog", str(folder))
    assert result.status == 0
    text = (folder / "old.yaml").read_text(encoding="utf-8")
    assert "runtimeRef:\n    name: torch-distributed\n" in text
    assert "nodeSelector" in text
    assert "TrainingRuntime" not in text
    assert run("check", str(folder)).status == 0


OURS = """\
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
            backoffLimit: 2147483647
            template:
              spec:
                restartPolicy: OnFailure
                containers: [{name: node, image: example.com/base:1}]
"""
PYTORCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j, namespace: nlp}
spec:
  nprocPerNode: "8"
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: example.com/train:1
            command: [torchrun, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
"""
# What is different in the job or the runtime, and what is said; empty if the job goes onto the runtime.
ONTO: dict[str, tuple[str, str, str]] = {
    "the same pods": ("", "", ""),
    "a node selector, which a patch says": (
        "        spec:\n          con",
        "        spec:\n          nodeSelector: {a: b}\n          con",
        "",
    ),
    "a label, which a patch says": ("      template:\n", "      template:\n        metadata: {labels: {a: b}}\n", ""),
    "another restart policy": ("OnFailure\n      template", "Never\n      template", "restartPolicy"),
    "a field that no patch has": (
        "            command",
        "            lifecycle: {preStop: {exec: {command: [sync]}}}\n            command",
        "lifecycle",
    ),
    "a variable of the runtime's own": (
        "image: example.com/base:1",
        "image: x, env: [{name: NCCL_DEBUG, value: INFO}]",
        "NCCL_DEBUG",
    ),
    "a sidecar of the runtime's own": ("containers: [", "containers: [{name: log, image: x}, ", "containers.log"),
    "a runtime that retries less": ("backoffLimit: 2147483647", "backoffLimit: 3", "backoffLimit"),
    "a runtime without the torch policy": (", torch: {}", "", "containers.node."),
    "a runtime of another namespace": (
        "ClusterTrainingRuntime\nmetadata: {",
        "TrainingRuntime\nmetadata: {namespace: ads, ",
        "namespace ads",
    ),
    "a runtime that does not compile": ("image: example.com/base:1", "imag: x", "what it compiles to"),
}


@pytest.mark.parametrize("case", ONTO)
def test_a_job_goes_onto_a_runtime_that_gives_the_same_pods(case: str, folder: Path) -> None:
    old, new, said = ONTO[case]
    assert old in PYTORCH + OURS
    job, ours = PYTORCH.replace(old, new) if old else PYTORCH, OURS.replace(old, new) if old not in PYTORCH else OURS
    folder /= "many"
    folder.mkdir()
    (folder / "ours.yaml").write_text(ours, encoding="utf-8")
    paths = []
    for name in ("a", "b"):
        paths.append(folder / f"{name}.yaml")
        paths[-1].write_text(job.replace("name: j,", f"name: {name},"), encoding="utf-8")
    result = run("migrate", "--into", "ours", str(folder))
    assert result.status == 0, result.stderr
    for path in paths:
        documents = [*yaml.safe_load_all(path.read_text(encoding="utf-8"))]
        is_ours = documents[0]["spec"]["runtimeRef"] == {"name": "ours"}
        assert is_ours is (said == ""), result.stderr
        assert len(documents) == 1 or said
    assert said in result.stderr
    assert ("on the runtime ours other pods would run" in result.stderr) is (said not in ("", "namespace ads"))
    if not said:
        assert run("check", str(folder)).status == 0


@pytest.mark.parametrize("field", ["initContainers", "env"])
@pytest.mark.parametrize("is_same", [True, False])
def test_what_runs_in_order_has_the_order_of_the_job(field: str, is_same: bool, folder: Path) -> None:
    items = ["{name: a, image: x}", "{name: b, image: x}"]
    items = ["{name: A, value: x}", "{name: B, value: $(A)}"] if field == "env" else items
    wanted, had = (", ".join(each) for each in (items, items if is_same else items[::-1]))
    in_job = ("            resources", f"            env: [{wanted}]\n            resources")
    in_runtime = (":1}", f":1, env: [{had}]}}")
    if field != "env":
        in_job = ("          containers", f"          initContainers: [{wanted}]\n          containers")
        in_runtime = (
            "                containers",
            f"                initContainers: [{had}]\n                containers",
        )
    for name, text, change in (("a", PYTORCH, in_job), ("ours", OURS, in_runtime)):
        (folder / f"{name}.yaml").write_text(text.replace(*change), encoding="utf-8")
    assert run("migrate", "--into", "ours", str(folder)).status == 0
    assert ("name: ours" in (folder / "a.yaml").read_text(encoding="utf-8")) is is_same


def test_a_runtime_that_nobody_has_is_wrong_usage(folder: Path) -> None:
    (folder / "ours.yaml").write_text(OURS, encoding="utf-8")
    (folder / "a.yaml").write_text(PYTORCH, encoding="utf-8")
    result = run("migrate", "--into", "our", str(folder))
    assert (result.status, "there is no runtime 'our'" in result.stderr) == (2, True)
    assert "did you mean ours" in result.stderr
    assert (folder / "a.yaml").read_text(encoding="utf-8") == PYTORCH


def test_a_runtime_of_trainc_yaml_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "runtimes").mkdir()
    (folder / "trainc.yaml").write_text('release: "2.3"\nsources: [.]\nruntimes: [runtimes]\n', encoding="utf-8")
    (folder / "runtimes/ours.yaml").write_text(OURS, encoding="utf-8")
    (folder / "a.yaml").write_text(PYTORCH, encoding="utf-8")
    monkeypatch.chdir(folder)
    assert run("migrate", "--into", "ours", "a.yaml").status == 0
    assert "name: ours" in (folder / "a.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("version", "kind", "what"),
    [("kubeflow.org/v1", "MPIJob", "sshd"), ("kubeflow.org/v1beta2", "PyTorchJob", "older")],
)
def test_what_cannot_be_migrated_says_why_and_stays(version: str, kind: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: j}}\nspec: {{}}\n"
    path.write_text(text, encoding="utf-8")
    result = run("migrate", str(path))
    assert result.status == 1
    assert "error[CannotMigrate]" in result.stderr
    assert what in result.stderr
    assert path.read_text(encoding="utf-8") == text
    report = run("migrate", "--report", str(path))
    assert report.status == 1
    assert "1 that cannot be migrated" in report.stdout


INSIDE = """\
apiVersion: {group}
kind: {kind}
metadata: {{name: outer}}
spec:
  {field}:
    apiVersion: {api}
    kind: {job}
    metadata: {{name: inner}}
"""


@pytest.mark.parametrize("command", ["build", "check"])
def test_v1_jobs_inside_other_documents_are_named_with_their_paths(command: str, tmp_path: Path) -> None:
    path = tmp_path / "tune.yaml"
    names = {"group": "kubeflow.org/v1beta1", "kind": "Experiment", "field": "trial", "job": "PyTorchJob"}
    path.write_text(INSIDE.format(api="kubeflow.org/v1", **names), encoding="utf-8")
    for argument in (tmp_path, path):
        result = run(command, str(argument))
        assert result.status == 1
        assert (
            f"{path}:5:3: error[LegacyTrainingJob] spec.trial: the PyTorchJob inside this Experiment" in result.stderr
        )
        assert "NoTrainJob" not in result.stderr
    report = run("migrate", "--report", str(tmp_path))
    assert report.status == 1
    assert "PyTorchJob in Experiment outer" in report.stdout


@pytest.mark.parametrize(
    ("api", "job"), [("trainer.kubeflow.org/v1alpha1", "TrainJob"), ("jobset.x-k8s.io/v1alpha2", "JobSet")]
)
def test_other_jobs_inside_other_documents_are_said_not_to_be_checked(api: str, job: str, tmp_path: Path) -> None:
    names = {"group": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "field": "template"}
    (tmp_path / "wrapped.yaml").write_text(INSIDE.format(api=api, job=job, **names), encoding="utf-8")
    (tmp_path / "new.yaml").write_text(TRAINJOB, encoding="utf-8")
    result = run("check", str(tmp_path))
    assert result.status == 0
    assert (
        f"info[SkippedDocument] spec.template: the {job} inside this AppWrapper is neither compiled nor checked"
        in result.stderr
    )


def test_a_document_that_encloses_no_job_of_ours_is_counted_as_before(tmp_path: Path) -> None:
    names = {"group": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "field": "template"}
    text = INSIDE.format(api="batch/v1", job="Job", **names) + "# Not for kubeflow.org.\n"
    (tmp_path / "wrapped.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "new.yaml").write_text(TRAINJOB, encoding="utf-8")
    assert "skipped 1 document of other kinds" in run("check", str(tmp_path)).stderr


def test_rename_writes_a_name_that_fits_and_that_no_other_job_has(folder: Path) -> None:
    text = (folder / "old.yaml").read_text(encoding="utf-8")
    (folder / "old.yaml").unlink()
    long = f"{'a' * 45}-{'b' * 15}"
    for number, name in enumerate((f"{long}-c", f"{long}-d")):
        (folder / f"{number}.yaml").write_text(text.replace("name: digits\n", f"name: {name}\n"), encoding="utf-8")
    refused = run("migrate", str(folder))
    assert refused.status == 1
    assert f"call the job {'a' * 45}, or another name of at most 51 characters; --rename does that" in refused.stderr
    result = run("migrate", "--rename", str(folder))
    assert result.status == 0
    assert f"the job {long}-c is now called {'a' * 45}: the names of its pods would be too long" in result.stderr
    assert f"name: {'a' * 45}\n" in (folder / "0.yaml").read_text(encoding="utf-8")
    assert f"name: {'a' * 43}-2\n" in (folder / "1.yaml").read_text(encoding="utf-8")
    assert run("check", str(folder)).status == 0


def test_what_is_true_of_every_job_is_said_once(folder: Path) -> None:
    text = (folder / "old.yaml").read_text(encoding="utf-8")
    (folder / "z.yaml").write_text(text.replace("name: digits\n", "name: letters\n"), encoding="utf-8")
    for result in (run("migrate", "--report", str(folder)).stdout, run("migrate", str(folder)).stderr):
        assert result.count("note: the main container is now called node (in v1, pytorch)") == 1
        assert result.count("note: to resize a job") == 1
    assert "now called node" not in run("migrate", str(folder)).stderr


def test_a_report_does_not_say_that_there_are_no_jobs_in_what_it_could_not_read(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: [\n", encoding="utf-8")
    result = run("migrate", "--report", str(tmp_path))
    assert (result.status, result.stdout) == (
        1,
        "No Training Operator v1 jobs found in the files that could be read.\n",
    )
    assert "YAMLSyntax" in result.stderr
