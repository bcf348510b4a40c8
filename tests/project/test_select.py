"""`select` and globs in trainc.yaml: the jobs of one folder go to several clusters, and none gets lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run
from repositories import git, write

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}, namespace: {namespace}, labels: {{kueue.x-k8s.io/queue-name: {queue}, team: {team}}}}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer:
    numNodes: 2
    image: "example.com/train:1"
    command: [torchrun, train.py]
    resourcesPerNode: {{requests: {{cpu: 8, memory: 64Gi}}, limits: {{cpu: 8, memory: 64Gi, nvidia.com/gpu: 8}}}}
"""
CLUSTERS = """\
release: "2.3"
sources: [jobs]
environments:
  h100: {output: rendered/h100, select: {queue: h100}}
  a100: {output: rendered/a100, select: {queue: [a100, a100-spot]}}
  tpu: {output: rendered/tpu, select: {labels: {team: [speech, vision]}, namespaces: ["vision*"], paths: ["jobs/vision"]}}
"""


def job(path: str, queue: str, namespace: str = "nlp") -> None:
    name = Path(path).stem
    write(path, JOB.format(name=name, namespace=namespace, queue=queue, team=Path(path).parent.name))


def _without_select(path: str) -> None:
    """Add an environment that compiles every job, and let a job go to it alone."""
    write("trainc.yaml", CLUSTERS + "  rest: {output: rendered/rest}\n")
    job(path, "x")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("trainc.yaml", CLUSTERS)
    job("jobs/nlp/bert.yaml", "h100")
    job("jobs/nlp/spot.yaml", "a100-spot")
    job("jobs/vision/vit.yaml", "v5", "vision-dev")


def rendered() -> list[str]:
    return sorted(path.relative_to("rendered").as_posix() for path in Path("rendered").rglob("*.yaml"))


@pytest.mark.parametrize(
    ("select", "status", "names"),
    [
        ("{labels: {team: nlp}}", 0, ["bert", "spot"]),
        ("{labels: {team: [vision, nlp]}}", 0, ["bert", "spot", "vit"]),
        ("{labels: {team: [vision]}}", 0, ["vit"]),
        ("{labels: {team: [nlp], kueue.x-k8s.io/queue-name: [h100, v5]}}", 0, ["bert"]),
        ("{queue: [h100, a100-spot], labels: {kueue.x-k8s.io/queue-name: [h100, v5]}}", 0, ["bert"]),
        ("{labels: {team: []}}", 1, []),
        ("{labels: {team: [1]}}", 1, []),
    ],
)
def test_a_label_is_selected_by_one_value_or_by_several(select: str, status: int, names: list[str]) -> None:
    write("trainc.yaml", f"sources: [jobs]\nenvironments:\n  all: {{output: rendered/all, select: {select}}}\n")
    result = run("build")
    assert (result.status, [Path(path).stem for path in rendered()]) == (status, names), result.stderr
    assert ("error[InvalidConfiguration] environments.all.select.labels.team" in result.stderr) == bool(status)


ALL = ["a100/nlp/spot.yaml", "h100/nlp/bert.yaml", "tpu/vision-dev/vit.yaml"]


def test_each_job_goes_to_the_environment_that_selects_it() -> None:
    result = run("build")
    assert (result.status, rendered()) == (0, ALL), result.stderr
    assert "NotSelected" not in run("check").stderr


def test_a_job_that_moves_ends_in_one_environment_and_starts_in_another() -> None:
    run("build")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "all")
    job("jobs/nlp/bert.yaml", "a100")
    shown = run("diff").stdout
    assert shown.index("h100") < shown.index("1 of 1 job ends")
    assert "1 of 2 jobs is new" in shown
    assert run("build", "--allow-empty").status == 0
    assert rendered() == ["a100/nlp/bert.yaml", "a100/nlp/spot.yaml", "tpu/vision-dev/vit.yaml"]


def test_a_job_that_nobody_selects_is_reported_once_and_only_then() -> None:
    job("jobs/nlp/lost.yaml", "h200")
    for command in ("build", "check"):
        result = run(command)
        assert result.stderr.count("warning[NotSelected]") == 1, result.stderr
        assert "jobs/nlp/lost.yaml:3:49: warning[NotSelected] metadata.labels" in result.stderr
    # The others are asked also where one environment is checked alone.
    assert "nlp/lost.yaml:3:49: warning[NotSelected]" in run("check", "--env", "h100").stderr
    write("trainc.yaml", CLUSTERS + "  rest: {output: rendered/rest}\n")
    assert "NotSelected" not in run("check").stderr


def test_a_job_that_nobody_selects_any_more_does_not_end() -> None:
    assert run("build").status == 0
    write("trainc.yaml", CLUSTERS.replace("vision", "visoin"))
    for command in ("build", "check", "build --check", "build --keep-going"):
        result = run(*command.split(), "--allow-empty")
        assert result.status == 1, command
        assert "jobs/vision/vit.yaml:3:55: error[SourceSkipped]" in result.stderr
        assert "; pruning would end its job\n" in result.stderr
        assert "to end its job: git rm rendered/tpu/vision-dev/vit.yaml" in result.stderr
        assert rendered() == ALL
    Path("rendered/tpu/vision-dev/vit.yaml").unlink()
    assert run("build", "--allow-empty").status == 0
    assert rendered() == [path for path in ALL if "vit" not in path]


MOVES: dict[str, tuple[Callable[[], None], str, str, bool]] = {
    # What happens, the environment that is built alone, a file of its output, and whether that file stays.
    "a job that another environment selects now": (lambda: job("jobs/nlp/bert.yaml", "a100"), "h100", "nlp/bert", False),
    "a job that no environment selects now": (lambda: job("jobs/nlp/bert.yaml", "h200"), "h100", "nlp/bert", True),
    "a job that another environment selects but does not read": (
        lambda: write("trainc.yaml", CLUSTERS.replace("rendered/a100,", "rendered/a100, sources: [jobs/vision],").replace("queue: h100", "queue: h200").replace("[a100, a100-spot]", "[h100]")),
        "h100", "nlp/bert", True,
    ),
    "a job that another environment selects but excludes": (
        lambda: write("trainc.yaml", CLUSTERS.replace("rendered/a100,", "rendered/a100, exclude: [jobs/nlp],").replace("queue: h100", "queue: h200").replace("[a100, a100-spot]", "[h100]")),
        "h100", "nlp/bert", True,
    ),
    "a job whose select has a typo": (lambda: write("trainc.yaml", CLUSTERS.replace("vision", "visoin")), "tpu", "vision-dev/vit", True),
    "a job that is gone": (lambda: Path("jobs/nlp/bert.yaml").unlink(), "h100", "nlp/bert", False),
    "a job that an environment without select compiles": (
        lambda: _without_select("jobs/nlp/bert.yaml"),
        "h100", "nlp/bert", False,
    ),
    "a job that the overlay of another environment lists": (lambda: resource("jobs/nlp/bert.yaml"), "h100", "nlp/bert", False),
    "a job that the overlay of another environment does not list": (lambda: resource("jobs/nlp/spot.yaml"), "h100", "nlp/bert", True),
}  # fmt: skip


def resource(path: str) -> None:
    overlay = f"apiVersion: trainc/v1alpha1\nkind: Overlay\nresources: [../{path}]\n"
    write("listing/overlay.yaml", overlay)
    settings = CLUSTERS.replace("sources: [jobs]\n", "").replace("queue: h100", "queue: h200")
    write("trainc.yaml", settings + "  listed: {output: rendered/listed, overlay: listing}\n")


@pytest.mark.parametrize("name", MOVES)
def test_an_environment_that_is_built_alone_ends_only_what_belongs_to_another_or_is_gone(name: str) -> None:
    change, environment, path, stays = MOVES[name]
    assert run("build").status == 0
    change()
    result = run("build", "--env", environment, "--allow-empty")
    assert (f"{environment}/{path}.yaml" in rendered()) is stays, result.stderr
    assert ("error[SourceSkipped]" in result.stderr) is stays, result.stderr
    assert result.status == (1 if stays else 0)


@pytest.mark.parametrize(("queue", "stays"), [("a100", False), ("h200", True)])
def test_trials_of_an_environment_that_is_built_alone_go_where_their_base_does(queue: str, stays: bool) -> None:
    sweep = "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: bert.yaml\nparameters: {lr: [1, 2]}\n"
    write("jobs/nlp/sweep.yaml", sweep)
    assert run("build").status == 0
    job("jobs/nlp/bert.yaml", queue)
    result = run("build", "--env", "h100", "--allow-empty")
    assert ("h100/nlp/bert-trial-0.yaml" in rendered()) is stays, result.stderr
    assert result.status == (1 if stays else 0)


def test_trials_that_nobody_selects_any_more_do_not_end() -> None:
    sweep = "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: bert.yaml\nparameters: {lr: [1, 2]}\n"
    write("jobs/nlp/sweep.yaml", sweep)
    assert run("build").status == 0
    written = rendered()
    job("jobs/nlp/bert.yaml", "h200")
    result = run("build", "--allow-empty")
    assert result.status == 1
    assert "git rm rendered/h100/nlp/bert-trial-0.yaml rendered/h100/nlp/bert-trial-1.yaml" in result.stderr
    assert rendered() == written


def test_an_environment_that_is_left_without_jobs_is_an_error_that_names_select() -> None:
    job("jobs/nlp/bert.yaml", "a100")
    result = run("build")
    assert result.status == 1
    assert "error[NoTrainJob] `select` chooses none of the 3 TrainJobs in jobs" in result.stderr
    assert run("build", "--allow-empty").status == 0


def test_what_is_selected_is_the_job_as_written_and_not_what_an_overlay_makes_of_it() -> None:
    overlay = "apiVersion: trainc/v1alpha1\nkind: Overlay\nlabels: [{pairs: {kueue.x-k8s.io/queue-name: other}}]\n"
    write("overlays/h100/overlay.yaml", overlay)
    write("trainc.yaml", CLUSTERS.replace("rendered/h100,", "rendered/h100, overlay: overlays/h100,"))
    assert run("build").status == 0
    assert rendered() == ALL
    assert "queue-name: other" in Path("rendered/h100/nlp/bert.yaml").read_text(encoding="utf-8")


def test_trials_go_where_their_base_belongs() -> None:
    write(
        "jobs/nlp/sweep.yaml", "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: bert.yaml\nparameters: {lr: [1, 2]}\n"
    )
    assert "NotSelected" not in run("build").stderr
    trials = ["h100/nlp/bert-trial-0.yaml", "h100/nlp/bert-trial-1.yaml"]
    assert rendered() == sorted([*trials, *(path for path in ALL if "bert" not in path)])
    job("jobs/nlp/bert.yaml", "h200")
    assert (
        "trainc.yaml:4:42: warning[NotSelected] `select` chooses the queue 'h100', in which there is no"
        in run("check").stderr
    )


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ('["jobs/*/bert.yaml"]', ["nlp/bert.yaml"]),
        ('["jobs/v*"]', ["vision-dev/vit.yaml"]),
        ('["**/s??t.yaml", jobs/vision]', ["nlp/spot.yaml", "vision-dev/vit.yaml"]),
        ('["jobs/**"]', ["nlp/bert.yaml", "nlp/spot.yaml", "vision-dev/vit.yaml"]),
    ],
)
def test_sources_are_globs_as_in_exclude(sources: str, expected: list[str]) -> None:
    write("trainc.yaml", f'release: "2.3"\nsources: {sources}\noutput: rendered\n')
    for _ in range(2):  # What has been written is not an input.
        result = run("build")
        assert (result.status, rendered()) == (0, expected), result.stderr


def test_what_is_excluded_matches_no_glob() -> None:
    settings = 'release: "2.3"\nsources: ["jobs/*/*.yaml"]\noutput: rendered\nexclude: ["spot.yaml"]\n'
    write("trainc.yaml", settings)
    assert run("build").status == 0
    assert rendered() == ["nlp/bert.yaml", "vision-dev/vit.yaml"]


def test_a_glob_that_matches_nothing_is_an_error() -> None:
    write("trainc.yaml", 'release: "2.3"\nsources: ["jobs/*/h100"]\noutput: rendered\n')
    result = run("build")
    assert (result.status, "error[NoSuchPath] nothing matches jobs/*/h100" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("rendered", "rendered/b", "rendered/b is inside rendered, the output of a"),
        ("rendered/x", "./rendered", "./rendered contains rendered/x, the output of a"),
        ("rendered/x/", "rendered/x", "rendered/x is also the output of a"),
        ("rendered", "rendered-b", ""),
    ],
)
def test_outputs_that_contain_each_other_are_refused(a: str, b: str, said: str) -> None:
    write("trainc.yaml", f'release: "2.3"\nsources: [jobs]\nenvironments: {{a: {{output: {a}}}, b: {{output: {b}}}}}\n')
    result = run("check")
    assert (said in result.stderr, result.status) == (True, int(bool(said))), result.stderr


@pytest.mark.parametrize(
    "select", ["{}", "h100", "{queues: [a]}", "{labels: [a]}", "{labels: {a: 1}}", "{paths: jobs}"]
)
def test_what_is_no_selection_is_refused(select: str) -> None:
    write("trainc.yaml", f'release: "2.3"\nsources: [jobs]\nselect: {select}\n')
    assert "error[InvalidConfiguration] select" in run("check").stderr
