"""The one difference of texts: right, and in a number of steps that the texts' length bounds."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import run
from repositories import commit, git, write
from steps import steps

import trainc
from trainc.features.gitops.diff import places
from trainc.findings.differences import changes, unified

PACKAGE = Path(trainc.__file__).parent
WORDS = ("abcd", "abcdefghijklmnop", ["a", "b", "a\r", "b\u2028c", "é", ""])


def pairs(count: int) -> Iterator[tuple[list[str], list[str]]]:
    """Lists of lines, and what is left of them after some edits."""
    chance = random.Random(50)
    for number in range(count):
        words = WORDS[number % len(WORDS)]
        old = chance.choices(words, k=chance.randint(0, 25))
        new = list(old)
        for _ in range(chance.randint(0, 7)):
            if new and chance.random() < 0.5:
                new.pop(chance.randrange(len(new)))
            else:
                new.insert(chance.randint(0, len(new)), chance.choice(words))
        yield old, new


def test_the_changes_make_the_new_text_of_the_old_one() -> None:
    for old, new in pairs(2_000):
        made, place = [], 0
        for hunk in changes(old, new):
            assert hunk.end > hunk.start or hunk.new_end > hunk.new_start
            assert hunk.start > place or not place
            made += old[place : hunk.start] + new[hunk.new_start : hunk.new_end]
            place = hunk.end
        assert made + old[place:] == new


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
def test_patch_applies_a_unified_difference(tmp_path: Path) -> None:
    for number, (old, new) in enumerate(pairs(150)):
        texts = ["\n".join(side) + "\n" * (number % 2) * bool(side) for side in (old, new)]
        (tmp_path / "old").write_bytes(texts[0].encode())
        patch = unified(texts[0], texts[1], "a", "b")
        assert bool(patch) == (texts[0] != texts[1])
        if patch:
            words = ["patch", "--binary", "-s", "-o", "new", "old"]
            subprocess.run(words, input=patch.encode(), cwd=tmp_path, check=True)
            assert (tmp_path / "new").read_bytes() == texts[1].encode()


SHAPES = {
    "repeated": lambda n: (["a"] * n, ["b", "a"] * n),
    "permuted": lambda n: (list(map(str, range(n))), random.Random(1).sample(list(map(str, range(n))), n)),
    "reversed": lambda n: (list(map(str, range(n))), list(map(str, reversed(range(n))))),
    "shifted": lambda n: (["a", "b", "c"] * n, ["c", "b"] * n),
    "nothing in common": lambda n: (list(map(str, range(n))), [f"x{i}" for i in range(n)]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_lines_take_twice_the_steps(shape: str) -> None:
    once, twice = (steps(lambda n=n: changes(*SHAPES[shape](n))) for n in (1_000, 2_000))  # type: ignore[misc]
    assert twice <= 2.3 * once


JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: a, namespace: b}}
spec: {{runtimeRef: {{name: torch-distributed}}, trainer: {{command: [x], args: {}}}}}
"""


@pytest.mark.parametrize(
    "command", ["diff old.yaml new.yaml", "diff old.yaml new.yaml --format markdown", "build new.yaml -o out --check"]
)
@pytest.mark.parametrize("shape", ["repeated", "permuted"])
def test_commands_that_compare_take_steps_in_proportion(
    command: str, shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for n in (600, 1_200):
        for name, words in zip(("old", "new"), SHAPES[shape](n), strict=True):
            Path(f"{name}.yaml").write_text(JOB.format(json.dumps(["\n".join(words)])), encoding="utf-8")
        assert run("build", "old.yaml", "-o", "out", "--release", "2.3").status == 0
        found.append(steps(lambda: run(*command.split(), "--release", "2.3")))
    assert found[1] <= 2.3 * found[0]


# A job and a template of one, whose labels all change, and a runtime whose tolerations do.
CHANGED = {"job.yaml": "a", "job.yaml.j2": "{{ name }}", "list.yaml": "a"}
LABELED = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: NAME
  namespace: b
  labels:
LABELSspec: {runtimeRef: {name: torch-distributed}}
"""

TOLERATING = """spec: {runtimeRef: {name: own}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: own}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
  containers: [{name: node, image: a}],
  tolerations: [ITEMS
  ]}}}}}]}}}
"""


@pytest.mark.parametrize("file", CHANGED)
def test_the_causes_of_many_changes_take_steps_in_proportion(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["diff", "was/jobs", "now/jobs", "--release", "2.3", "--overlay", "now"]
    found = []
    for n in (10, 50, 100, 200):  # The first one imports what a difference needs.
        for side in ("was", "now"):
            Path(side, "jobs").mkdir(parents=True, exist_ok=True)
            labels = "".join(f"    a{i}: {side}{i}\n" for i in range(n))
            text = LABELED.replace("NAME", CHANGED[file])
            if file == "list.yaml":
                items = "".join(f"\n    {{key: {side}{i}}}," for i in range(n))
                text = text.partition("  labels:")[0] + TOLERATING.replace("ITEMS", items)
            text = text.replace("LABELS", labels)
            Path(side, "jobs", file).write_text(text, encoding="utf-8")
            Path(side, "overlay.yaml").write_text(
                "apiVersion: trainc/v1alpha1\nkind: Overlay\nvalues: {name: a}\n", encoding="utf-8"
            )
        found.append(steps(lambda: run(*words)))
    assert f"because of now/jobs/{file}:" in run(*words).stdout
    # What looks at each change again for each is a tenth of the steps here.
    assert found[3] - found[2] < 2.15 * (found[2] - found[1]), found


# Templates of a job for each of so many values, or of one with as many labels: the text of a label, and each value.
FILLED = {
    "values are alike": ("{{ v.aNUMBER }}", "SIDE"),
    "no value is seen": ("{{ v.aNUMBER|length }}", "SIDE"),
    "each item is a job": ("{{ job.image }}", "{name: jNUMBER, image: SIDE}"),
}


@pytest.mark.parametrize("shape", FILLED)
def test_the_causes_of_many_values_take_steps_in_proportion(
    shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "_MOST_CAUSES", 5)
    label, value = FILLED[shape]
    is_loop = "item" in shape
    git("init", "-q")
    write("trainc.yaml", "release: '2.3'\nsources: [jobs]\noverlay: .\n")
    found = []
    for n in (5, 20, 40, 80):  # The first one imports what a difference needs.
        labels = "".join(f"    a{i}: '{label.replace('NUMBER', str(i))}'\n" for i in range(1 if is_loop else n))
        text = LABELED.replace("LABELS", labels).replace("NAME", "{{ job.name }}" if is_loop else "a")
        write("jobs/job.yaml.j2", f"{{% for job in v %}}\n{text}---\n{{% endfor %}}\n" if is_loop else text)
        for side in ("was", "later"):
            filled = [value.replace("NUMBER", str(i)).replace("SIDE", side) for i in range(n)]
            values = "".join(f"  {'-' if is_loop else f'a{i}:'} {one}\n" for i, one in enumerate(filled))
            write("overlay.yaml", f"apiVersion: trainc/v1alpha1\nkind: Overlay\nvalues:\n v:\n{values}")
            if side == "was":
                commit()
        found.append(steps(lambda: run("diff")))
    assert "because of overlay.yaml:" in run("diff").stdout
    assert found[3] - found[2] < 2.15 * (found[2] - found[1]), found
