"""One team's mistake is theirs: commands that read go on without its jobs, and `build --keep-going` leaves its files alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Result, run
from repositories import commit, git, starting_with, write

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}, namespace: {team}}}
spec:
  runtimeRef: {{name: {runtime}}}
  trainer:
    numNodes: 2
    image: "example.com/train:1"
    command: [torchrun, train.py]
    resourcesPerNode: {{requests: {{cpu: 8, memory: 64Gi}}, limits: {{cpu: 8, memory: 64Gi, nvidia.com/gpu: 8}}}}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: custom, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "example.com/base:1"}]}}}
"""
SETTINGS = 'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\noutput: rendered\n'
BROKEN = ("numNodes: 2", "numNode: 2")


def job(path: str, change: tuple[str, str] = ("", ""), runtime: str = "torch-distributed") -> None:
    text = JOB.format(name=Path(path).stem, team=Path(path).parent.name, runtime=runtime)
    assert change[0] in text
    write(path, text.replace(*change))


@starting_with
def _here() -> None:
    write("trainc.yaml", SETTINGS)
    write("runtimes/custom.yaml", RUNTIME)
    job("jobs/ads/reward.yaml")
    job("jobs/nlp/bert.yaml")
    job("jobs/nlp/custom.yaml", runtime="custom")
    assert run("build").status == 0


def files() -> dict[str, str]:
    return {path.as_posix(): path.read_text(encoding="utf-8") for path in sorted(Path("rendered").rglob("*.yaml"))}


def kept_going(*words: str) -> Result:
    result = run("build", "--keep-going", *words)
    assert "Traceback" not in result.stderr
    return result


def test_what_compiles_is_written_and_a_job_with_errors_keeps_its_file() -> None:
    before = files()
    job("jobs/ads/reward.yaml", BROKEN)
    job("jobs/nlp/bert.yaml", ("train.py", "other.py"))
    job("jobs/nlp/new.yaml")
    assert run("build").status == 1
    assert files() == before
    checked = kept_going("--check")
    assert (checked.status, "other.py" in checked.stdout, files()) == (1, True, before)
    result = kept_going()
    assert result.status == 1
    assert "error[UnknownField]" in result.stderr
    assert "warning[LeftOut] 1 job with errors is left out: ads/reward" in result.stderr
    after = files()
    assert after["rendered/ads/reward.yaml"] == before["rendered/ads/reward.yaml"]
    assert "other.py" in after["rendered/nlp/bert.yaml"]
    assert "rendered/nlp/new.yaml" in after
    checked = kept_going("--check")
    assert (checked.status, checked.stdout) == (1, "")


def test_jobs_that_are_gone_end_and_those_of_a_broken_file_do_not() -> None:
    both = JOB.format(name="two", team="ads", runtime="torch-distributed")
    write("jobs/ads/reward.yaml", Path("jobs/ads/reward.yaml").read_text(encoding="utf-8") + "---\n" + both)
    assert run("build").status == 0
    # One of the two jobs has an error, and the other one is gone; another file is gone altogether.
    job("jobs/ads/reward.yaml", BROKEN)
    Path("jobs/nlp/bert.yaml").unlink()
    kept_going()
    assert list(files()) == ["rendered/ads/reward.yaml", "rendered/ads/two.yaml", "rendered/nlp/custom.yaml"]


@pytest.mark.parametrize("text", ["a: [\n", "\tx: 1\nkind: TrainJob\n", "kind: TrainJob\nmetadata: {name: [}\n"])
def test_a_file_that_cannot_be_parsed_keeps_what_names_it(text: str) -> None:
    before = files()
    write("jobs/ads/reward.yaml", f"apiVersion: trainer.kubeflow.org/v1alpha1\n{text}")
    job("jobs/nlp/bert.yaml", ("train.py", "other.py"))
    result = kept_going()
    assert result.status == 1
    assert "the jobs of jobs/ads/reward.yaml are left out" in result.stderr, result.stderr
    assert list(files()) == list(before)
    assert "other.py" in files()["rendered/nlp/bert.yaml"]


def test_a_runtime_with_errors_stops_its_jobs_and_all_pruning() -> None:
    write("runtimes/custom.yaml", RUNTIME.replace("numNodes: 1", "numNode: 1"))
    Path("jobs/ads/reward.yaml").unlink()
    job("jobs/nlp/bert.yaml", ("train.py", "other.py"))
    before = files()
    result = kept_going()
    assert "left out: nlp/custom" in result.stderr
    assert list(files()) == list(before)
    assert "other.py" in files()["rendered/nlp/bert.yaml"]


@pytest.mark.parametrize(
    "change",
    [
        ("trainc.yaml", SETTINGS.replace("sources", "source")),
        ("trainc.yaml", SETTINGS + "overlay: overlays/none\n"),
        ("overlays/prod/overlay.yaml", "apiVersion: trainc/v1alpha1\nkind: Overlay\npatches: [{target: {name: x}, patch: {}}]\n"),
        ("runtimes/torch.yaml", "kind: ClusterTrainingRuntime\nmetadata: {name: torch-distributed\n"),
        ("jobs/ads/torch.json", '{"kind": "ClusterTrainingRuntime", "metadata": {"name": "torch-distributed"'),
        ("jobs/nlp/again.yaml", RUNTIME + "---\n" + RUNTIME),
    ],
)  # fmt: skip
def test_where_nothing_can_be_trusted_nothing_is_written(change: tuple[str, str]) -> None:
    if change[0].startswith("overlays"):
        write("trainc.yaml", SETTINGS + "overlay: overlays/prod\n")
    write(*change)
    job("jobs/nlp/bert.yaml", ("train.py", "other.py"))
    before = files()
    result = kept_going()
    assert (result.status, files()) == (1, before), result.stderr


def test_the_trials_of_a_sweep_with_errors_or_over_its_budget_stay_as_they_are() -> None:
    sweep = "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: bert.yaml\nparameters: {lr: [1, 2]}\n"
    write("jobs/nlp/sweep.yaml", sweep)
    job("jobs/nlp/bert.yaml", ("train.py", 'train.py, "--lr=${trialParameters.lr}"'))
    assert run("build").status == 0
    before = files()
    assert "rendered/nlp/bert-trial-1.yaml" in before
    write("jobs/nlp/sweep.yaml", sweep.replace("[1, 2]", "[1, 3, 4]") + "budget: {gpuHours: 1, hoursPerTrial: 1}\n")
    assert kept_going().status == 1
    assert files() == before
    write("jobs/nlp/sweep.yaml", sweep)
    job("jobs/nlp/bert.yaml", ("train.py", 'train.py, "--lr=${trialParameters.rate}"'))
    assert kept_going().status == 1
    assert files() == before
    job("jobs/nlp/bert.yaml", BROKEN)
    assert kept_going().status == 1
    assert files() == before


def test_a_sweep_with_an_error_leaves_out_itself_alone() -> None:
    sweep = "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: ../../bases/BASE.yaml\nparameters: {lr: [1, 2]}\n"
    for team in ("ads", "nlp"):
        job(f"bases/{team}.yaml", ("train.py", 'train.py, "--lr=${trialParameters.lr}"'))
        write(f"jobs/{team}/sweep.yaml", sweep.replace("BASE", team))
    assert run("build").status == 0
    before = files()
    write("jobs/ads/sweep.yaml", sweep.replace("BASE", "ads").replace("[1, 2]", "[1, 2, 3]"))
    of_nlp = sweep.replace("BASE", "nlp")
    for path, text in (
        ("jobs/nlp/sweep.yaml", of_nlp.replace("[1, 2]", "{min: 0, max: 1, count: 2, scale: log}")),
        ("jobs/nlp/sweep.yaml", of_nlp.replace("bases/nlp", "base/nlp")),
        (
            "bases/nlp.yaml",
            Path("bases/nlp.yaml").read_text(encoding="utf-8").replace("Parameters.lr", "Parameters.rate"),
        ),
        ("bases/nlp.yaml", "kind: [TrainJob\n"),
    ):
        was = Path(path).read_text(encoding="utf-8")
        write(path, text)
        said = kept_going()
        assert said.status == 1
        assert "jobs/nlp/sweep.yaml are left out, because of errors" in said.stderr, said.stderr
        assert {path for path in files() if path not in before} == {"rendered/bases/ads-trial-2.yaml"}, said.stderr
        assert before.items() <= files().items()
        write(path, was)
        Path("rendered/bases/ads-trial-2.yaml").unlink()


def test_without_a_folder_or_without_any_job_there_is_nothing_to_go_on_with() -> None:
    assert run("build", "--keep-going", "-o", "-").status == 2
    for path in Path("jobs").rglob("*.yaml"):
        path.write_text(path.read_text(encoding="utf-8").replace(*BROKEN), encoding="utf-8")
    before = files()
    assert (kept_going().status, files()) == (1, before)


# Commands that read.


def committed() -> None:
    git("init", "-q")
    commit()


@pytest.mark.parametrize("side", ["before", "after"])
def test_diff_compares_the_jobs_without_errors_and_ends_none_of_the_others(side: str) -> None:
    if side == "before":
        job("jobs/ads/reward.yaml", BROKEN)
    committed()
    job("jobs/ads/reward.yaml", BROKEN if side == "after" else ("", ""))
    job("jobs/nlp/bert.yaml", ("train.py", "other.py"))
    result = run("diff")
    assert result.status == 1
    assert "error[UnknownField]" in result.stderr
    found = json.loads(run("diff", "--format", "json").stdout)
    assert [each["name"] for each in found["jobs"]] == ["bert"]
    assert "1 job with errors is left out: ads/reward." in found["notes"][0]
    comment = run("diff", "--format", "markdown")
    assert comment.status == 0
    assert "left out: `ads/reward`" in comment.stdout
    assert "is new" not in comment.stdout
    against_output = json.loads(run("diff", "rendered", "--format", "json").stdout) if side == "after" else None
    if against_output is not None:
        assert [each["name"] for each in against_output["jobs"]] == ["bert"]


def test_diff_of_a_file_that_cannot_be_parsed_ends_no_job() -> None:
    committed()
    write("jobs/ads/reward.yaml", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: [\n")
    for words in ([], ["rendered"]):
        found = json.loads(run("diff", *words, "--format", "json").stdout)
        assert found["jobs"] == [], words


def test_where_a_side_cannot_be_read_the_comment_says_so() -> None:
    committed()
    write("trainc.yaml", "source: x\n")
    result = run("diff", "--format", "markdown")
    assert result.status == 0
    assert result.stdout.startswith(
        "### The two sides cannot be compared\n\n#### Not compared\n\n- `trainc.yaml:1`: InvalidConfiguration"
    )
    assert run("diff").status == 1


def test_report_fits_and_explain_go_on_and_name_what_they_leave_out() -> None:
    job("jobs/ads/reward.yaml", BROKEN)
    report = run("report", "-o", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert (report.status, "nlp/bert" in page, "UnknownField" in page) == (1, True, True)
    assert "left out: ads/reward" in report.stderr
    write("cluster/ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: nlp}\n")
    fits = run("fits", "--cluster", "cluster")
    assert (fits.status, "nlp/bert" in fits.stdout, "ads/reward" in fits.stdout) == (1, True, False)
    assert "left out: ads/reward" in fits.stderr
    assert run("explain", "jobs#nlp/bert").status == 0
    assert run("explain", "jobs#ads/reward").status == 1
