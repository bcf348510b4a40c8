"""Every cause that `trainc diff` names is one, and none is left out: the law, on a made-up repository, and single cases."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run
from law_of_causes import Round, rounds
from made_up_monorepo import monorepo, possible_edits, runtime_text
from repositories import JOB, RUNTIME, SETTINGS, commit, edit, git, write

from trainc import __version__
from trainc.features.gitops.diff.causes import Causes
from trainc.project.overlays.patterns import Edited

ROUNDS = int(os.environ.get("TRAINC_ROUNDS", "10"))
# The seeds of rounds that break the law for a known reason.
KNOWN: frozenset[int] = frozenset()
# Later seeds that broke it once: a new item of a list in the file of a kept job let in the other edits of that file.
MENDED = (103,)


@pytest.mark.slow
def test_the_law_holds(tmp_path: Path) -> None:
    broken, changes = rounds(sorted({*range(ROUNDS), *MENDED} - KNOWN), tmp_path)
    assert changes >= 2 * ROUNDS
    assert broken == []


def test_every_kind_of_edit_can_be_made() -> None:
    trees = [monorepo(kept=kept) for kept in (False, True)]
    made = {
        edit.name for seed in range(60) for tree in trees for edit in possible_edits(tree, random.Random(seed), "north")
    }
    assert len(made) >= 66


# Each step of provenance, with a round of which some change has a wrong cause without it: the seed, and the edits.
STEPS: dict[str, tuple[type, str, int, tuple[str, ...], tuple[str, ...]]] = {
    "overlays": (Edited, "written", 6, ("job image", "overlay patch job"), ()),
    "templates": (Causes, "_of_template", 6, ("template value",), ()),
    "settings": (Causes, "_options", 0, ("release",), ()),
    "runtimeRef": (Causes, "_runtime", 10, ("job runtime", "job image"), ()),
    "another runtime": (Causes, "_overridden", 1018, ("job runtime", "release"), ()),
    "naming": (Causes, "_overlaid", 0, ("overlay prefix",), ()),
    "own": (Causes, "_own", 1, ("job controller",), ("runtime env",)),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.slow
def test_the_law_is_broken_without_a_step(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, step, seed, edits, before = STEPS[name]
    assert Round(seed, tmp_path / "1", tmp_path / "rendered", edits, before).broken()[0] == []
    last = {"written": lambda self, path: [(self.document, path)]}.get(step, lambda *_: ())
    monkeypatch.setattr(owner, step, last)
    assert Round(seed, tmp_path / "2", tmp_path / "rendered", edits, before).broken()[0] != []


# Single changes of a repository of kept jobs under an overlay with mirrors: what is done, and each group of jobs with its
# causes and reason, and whether values differ.


def an_image() -> None:
    edit("jobs/ads/bert.yaml", "train:1", "train:2")


def the_same_edit_twice() -> None:
    for file in ("jobs/ads/bert.yaml", "jobs/nlp/clip.yaml"):
        edit(file, "--seed=1", "--seed=2")


def another_release() -> None:
    edit("trainc.yaml", "changed-jobs", "all")
    edit("trainc.yaml", '"2.2"', '"2.3"')


def a_file_by_hand() -> None:
    edit("rendered/ads/bert.yaml", "torchrun", "torchrun2")


def a_file_of_another_trainc() -> None:
    a_file_by_hand()
    edit("rendered/ads/bert.yaml", f"by trainc {__version__} ", "by trainc 9.8.7 ")


def a_sweep_of_a_job() -> None:
    text = "apiVersion: trainc/v1alpha1\nkind: Sweep\nmetadata: {name: s}\nbase: {file: bert.yaml, endsJob: true}\n"
    write("jobs/ads/sweep.yaml", f"{text}parameters: {{lr: [1, 2]}}\n")


CASES = {
    "an image under a mirror": (an_image, [("ads/bert", "jobs/ads/bert.yaml:10", "", False)]),
    "the same edit of two teams": (
        the_same_edit_twice,
        [("ads/bert nlp/clip", "jobs/ads/bert.yaml:14 jobs/nlp/clip.yaml:14", "", True)],
    ),
    "a release": (another_release, [("ads/mpi", "trainc.yaml:1", "Trainer 2.2 → 2.3", False)]),
    "a rendered file": (a_file_by_hand, [("ads/bert", "", "rendered/ads/bert.yaml, changed by hand", False)]),
    "a file of another trainc": (
        a_file_of_another_trainc,
        [("ads/bert", "", "rendered/ads/bert.yaml, built by trainc 9.8.7", False)],
    ),
    "a sweep that ends its base": (
        a_sweep_of_a_job,
        [
            ("ads/bert", "jobs/ads/sweep.yaml:4", "", False),
            ("ads/s-trial-0 ads/s-trial-1", "jobs/ads/sweep.yaml:3", "", False),
        ],
    ),
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for team, name in (("ads", "bert"), ("nlp", "clip")):
        write(f"jobs/{team}/{name}.yaml", SEEDED.replace("NAME", name).replace("TEAM", team))
    write("jobs/ads/mpi.yaml", JOB.replace("NAME", "mpi").replace("TEAM", "ads").replace("RUNTIME", "mpi"))
    write("runtimes/torch.yaml", RUNTIME.replace("NAME", "torch-h100"))
    write("runtimes/mpi.yaml", runtime_text("mpi"))
    write(
        "overlays/p/overlay.yaml",
        "apiVersion: trainc/v1alpha1\nkind: Overlay\nmirrors:\n  registry.example.com: mirror.example.com\n",
    )
    settings = SETTINGS.replace('"2.3"', '"2.2"').replace("nameHash: true\n", "")
    write("trainc.yaml", f"{settings}overlay: overlays/p\n")
    built = run("build")
    assert built.status == 0, built.stderr
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "before")


SEEDED = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: NAME
  namespace: TEAM
spec:
  runtimeRef:
    name: torch-h100
  trainer:
    image: registry.example.com/train:1
    command: [torchrun, train.py]
    args:
    - --config=NAME.toml
    - --seed=1
"""


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(("change", "expected"), CASES.values(), ids=CASES)
def test_a_reviewer_is_told(change: Callable[[], None], expected: list[tuple[str, str, str, bool]]) -> None:
    change()
    said = run("diff", "--format", "json")
    found = [
        (
            " ".join(f"{job['namespace']}/{job['name']}" for job in group["jobs"]),
            " ".join(f"{os.path.relpath(cause['file'])}:{cause['line']}" for cause in group["causes"]),
            group["reason"],
            group["valuesVary"],
        )
        for group in json.loads(said.stdout)["groups"]
    ]
    assert found == expected
    assert not any(group["pending"] for group in json.loads(said.stdout)["groups"])


RUNTIME_ENV = ("runtimes/torch.yaml", "value: WARN", "value: INFO")
TORCH = SEEDED.replace("TEAM", "ads")
OWN = f"""{TORCH.replace("NAME", "own")}    env:
    - {{name: A, valueFrom: {{configMapKeyRef: {{name: own, key: a}}}}}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: own
  namespace: ads
  annotations: {{trainc/own: "true"}}
data: {{a: b}}
"""
TRIALS = "apiVersion: trainc/v1alpha1\nkind: Sweep\nmetadata: {name: s}\nbase: ../../base.yaml#s\nparameters: {lr: [1, 2, 3]}\nexclude:\n"
NAMELESS = TRIALS.replace("metadata: {name: s}\n", "")
# What is built and committed: a file, its text, and an edit after it; what is then edited, and how it is built; and what
# is said.
SINCE = {
    "what waited, because of an option": (
        ("trainc.yaml", "", RUNTIME_ENV),
        ("trainc.yaml", "", ""),
        ("--rebuild", "nlp/clip"),
        ["because of `--rebuild`", "and, since it was built, of runtimes/torch.yaml:19"],
    ),
    "what waited, because of the settings": (
        ("trainc.yaml", "", RUNTIME_ENV),
        ("trainc.yaml", "changed-jobs", "all"),
        (),
        ["because of trainc.yaml:6", "and, since it was built, of runtimes/torch.yaml:19"],
    ),
    "a template that is left out is not gone": (
        (
            "jobs/ads/t.yaml.j2",
            TORCH.replace("NAME", "t").replace("train:1", "train:{{ tag }}"),
            ("overlays/p/overlay.yaml", "mirrors", "values: {tag: 1}\nmirrors"),
        ),
        ("trainc.yaml", "output: rendered", "exclude: ['*.j2']\noutput: rendered"),
        (),
        ["because of trainc.yaml:4"],
    ),
    "what waited is not what bears the name": (
        ("jobs/ads/mpi.yaml", "", ("runtimes/mpi.yaml", "mpi:1", "mpi:2")),
        ("jobs/ads/mpi.yaml", "train.py", "train2.py"),
        (),
        ["because of jobs/ads/mpi.yaml:6", "and, since it was built, of runtimes/mpi.yaml:25, runtimes/mpi.yaml:38"],
    ),
    "a line of a template is another one, and not gone": (
        (
            "jobs/ads/t.yaml.j2",
            TORCH.replace("NAME", "t").replace("train:1", "train:{{ tag }}"),
            ("overlays/p/overlay.yaml", "mirrors", "values: {tag: 1}\nmirrors"),
        ),
        ("jobs/ads/t.yaml.j2", "torchrun, train.py", "python, train.py"),
        (),
        ["because of jobs/ads/t.yaml.j2:11"],
    ),
    "a ConfigMap has another name": (
        ("jobs/ads/own.yaml", OWN, ("jobs/ads/own.yaml", "b", "b")),
        ("jobs/ads/own.yaml", "  name: own\n  namespace: ads\n  ann", "  name: own-2\n  namespace: ads\n  ann"),
        (),
        ["because of jobs/ads/own.yaml:21"],
    ),
    "trials have other values": (
        ("jobs/ads/s.yaml", f"{TRIALS}- {{lr: 1}}\n", ("jobs/ads/s.yaml", "lr", "lr")),
        ("jobs/ads/s.yaml", "- {lr: 1}", "- {lr: 3}"),
        (),
        ["because of jobs/ads/s.yaml:7"],
    ),
    "a new sweep is its own cause": (
        ("jobs/ads/s.yaml", f"{NAMELESS}- {{lr: 1}}\n", ("jobs/ads/s.yaml", "lr", "lr")),
        ("jobs/nlp/s.yaml", "", f"{NAMELESS}- {{lr: 2}}\n".replace("#s", "#z")),
        (),
        ["because of jobs/nlp/s.yaml:1"],
    ),
}


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(("built", "change", "words", "expected"), SINCE.values(), ids=SINCE)
def test_a_cause_has_changed_and_is_where_it_is_now(
    built: tuple[str, str, tuple[str, str, str]],
    change: tuple[str, str, str],
    words: tuple[str, ...],
    expected: list[str],
) -> None:
    file, text, later = built
    edit("trainc.yaml", "rebuild", "nameHash: true\nrebuild")
    write("base.yaml", "---\n".join(TORCH.replace("NAME", name) for name in ("s", "z")))
    if text:
        write(file, text)
    run("build", "--rebuild", "all")
    edit(*later)
    run("build")
    commit("before")
    if any(change[1:]):
        (edit if change[1] else write)(*(part for part in change if part))
    run("build", *words)
    said = run("diff", "git:HEAD").stdout
    assert [line.strip() for line in said.splitlines() if "because of" in line or "and, since" in line] == expected


@pytest.mark.usefixtures("repository")
def test_a_sweep_that_would_end_a_job_in_silence_is_refused() -> None:
    a_sweep_of_a_job()
    assert run("check").status == 0
    edit("jobs/ads/sweep.yaml", "{file: bert.yaml, endsJob: true}", "bert.yaml")
    for said in (run("check"), run("check", "--base", "HEAD"), run("build")):
        assert said.status == 1
        assert "jobs/ads/sweep.yaml:4:1: error[InvalidSweep] base: ads/bert is a job in HEAD" in said.stderr
    assert Path("rendered/ads/bert.yaml").exists()


@pytest.mark.usefixtures("repository")
def test_a_new_job_and_one_of_another_team_say_what_they_are() -> None:
    write(
        "jobs/ads/new.yaml",
        SEEDED.replace("NAME", "new").replace("TEAM", "ads").replace("spec:", "spec:\n  activeDeadlineSeconds: 7200"),
    )
    edit("jobs/nlp/clip.yaml", "namespace: nlp", "namespace: other")
    said = run("diff", "--format", "markdown").stdout.replace("`", "")
    assert (
        "new · image mirror.example.com/train:1 · runs torchrun train.py --config=new.toml --seed=1 · queue none"
        in said
    )
    assert "for at most 2 h · at most 16 GPU-hours | jobs/ads/new.yaml:4 | created |" in said
    assert "other/clip has the same content: the job was moved" in said
    assert "| nlp/clip | removed · moved to other/clip |" in said


@pytest.mark.usefixtures("repository")
def test_a_value_that_another_overlay_replaces_changes_nothing_and_that_is_said() -> None:
    text = "apiVersion: trainc/v1alpha1\nkind: Overlay\nvalues: {tag: 1, teams: {a: 1}}\n"
    write("overlays/c/overlay.yaml", text)
    edit("overlays/p/overlay.yaml", "mirrors", "resources: [../c]\nvalues: {tag: 2, teams: {b: 2}}\nmirrors")
    write("jobs/ads/t.yaml.j2", TORCH.replace("NAME", "t").replace("train:1", "train:{{ tag }}-{{ teams.b }}"))
    assert run("build").status == 0
    commit("before")
    edit("overlays/c/overlay.yaml", "tag: 1", "tag: 3, other: 1")
    said = " ".join(run("diff", "git:HEAD").stdout.split())
    assert (
        "! tag is another value at overlays/c/overlay.yaml:3, which changes nothing here: overlays/p/overlay.yaml:4 replaces it."
        in said
    )
    assert said.count("is another value") == 1
    edit("overlays/c/overlay.yaml", "a: 1", "b: 3")
    assert "teams" not in run("diff", "git:HEAD").stdout
