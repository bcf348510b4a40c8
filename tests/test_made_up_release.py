"""A release is one column: what nobody says anew holds in a new release, and no table is of a kind of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_up import REPOSITORY, Edits, committed, run_all

from trainc.ir.release import release_facts
from trainc.kube.releases import JOBSETS, RELEASES, Columns, Since, Span

NEXT = "2.5"
PINS = """\
  "2.5":
    trainer: v2.5.0
    trainerCommit: 658725bdae5c7e3a0854d93ac6ff492e109a22ab
    jobset: v0.13.0
    jobsetCommit: f22e565ac3cc3265c7c45ef67ecffdc689af5d77
"""
# Everything that a release which changes nothing takes, beside a version in tools/scripts/generate_schemas.py. It is a
# preview like the one before it, so that the default release stays the same.
COMMIT: Edits = {
    "compiler/trainc/kube/releases.py": [
        ('"2.3", "2.4")', '"2.3", "2.4", "2.5")'),
        ('("2.4",)', '("2.4", "2.5")'),
        ('"0.11", "0.12")', '"0.11", "0.12", "0.13")'),
    ],
    "compiler/trainc/ir/release.py": [('"0.12"),', '"0.12", "0.13"),')],
    "compiler/trainc/PORT.yaml": [("# Kueue, whose", f"{PINS}# Kueue, whose")],
}
CASES = Path(__file__).parent / "cases"
JOBS = ("torch-distributed", "jax-distributed", "xgboost-distributed", "flux-distributed", "mpi-openmpi")
OLD = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  podSpecOverrides: [{targetJobs: [{name: node}], serviceAccountName: trainer}]
  initializer: {dataset: {storageUri: no uri}}
  trainer: {numNodes: 2, numProcPerNode: auto, command: [torchrun, train.py]}
"""
VOLCANO = """\
apiVersion: kubeflow.org/v2alpha1
kind: TrainingRuntime
metadata: {name: torch, namespace: team-a}
spec:
  podGroupPolicy: {volcano: {queue: gold, networkTopology: {mode: hard}}}
  mlPolicy: {numNodes: 2, torch: {numProcPerNode: auto}}
  template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, image: example.com/train:1}]}}}}}]}}
"""


def commands(release: str) -> list[list[str]]:
    """Every command that knows releases, for one of them."""
    pinned = ["--release", release]
    each = [
        [*words, *pinned]
        for job in JOBS
        for words in (
            ["build", f"{job}.yaml"],
            ["build", f"{job}.yaml", "--semantics", "controller"],
            ["check", f"{job}.yaml", "--format", "json"],
            ["explain", f"{job}.yaml", "--format", "json"],
            ["graph", f"{job}.yaml"],
            ["diff", f"{job}.yaml", f"changed/{job}.yaml"],
            ["diff", f"{job}.yaml", f"changed/{job}.yaml", "--sync-option", "Force=true"],
        )
    ]
    return [
        *each,
        ["check", "old.yaml", "--format", "json", *pinned],
        ["check", "volcano.yaml", "--format", "json", *pinned],
        ["check", "rendered.yaml", "--format", "json", *pinned],
        ["report", ".", *pinned],
        *(["schema", kind, *pinned] for kind in ("TrainJob", "ClusterTrainingRuntime", "TrainingRuntime")),
        ["runtimes", "show", "torch-distributed", *pinned],
        ["diff", "torch-distributed.yaml", "--releases", f"2.0..{release}"],
        # These work for the newest release.
        ["migrate", "old.yaml", "--diff"],
        ["runtimes", "show", "jax-distributed"],
        ["build", "jax-distributed.yaml"],
    ]


def written(folder: Path) -> Path:
    """The input of the commands."""
    (folder / "changed").mkdir(parents=True)
    for job in JOBS:
        text = (CASES / f"{job}.yaml").read_text(encoding="utf-8")
        (folder / f"{job}.yaml").write_text(text, encoding="utf-8")
        (folder / "changed" / f"{job}.yaml").write_text(re.sub(r"numNodes: \d+", "numNodes: 7", text), encoding="utf-8")
    (folder / "old.yaml").write_text(OLD, encoding="utf-8")
    (folder / "volcano.yaml").write_text(VOLCANO, encoding="utf-8")
    built = run_all(REPOSITORY / "compiler", [["build", "torch-distributed.yaml"]], folder)
    (folder / "rendered.yaml").write_text(built[0][1].replace("namespace: team", "namespace: other"), encoding="utf-8")
    return folder


def test_a_new_release_is_the_newest_one_in_every_command(tmp_path: Path) -> None:
    folder = written(tmp_path / "input")
    before = run_all(REPOSITORY / "compiler", commands(RELEASES[-1]), folder)
    after = run_all(committed(tmp_path / "next", COMMIT), commands(NEXT), folder)
    assert {0, 1} == {status for status, _, _ in before}, [r for r in before if r[0] > 1]
    assert sum(len(stdout) for _, stdout, _ in before) > 100_000
    listed, more = ", ".join(RELEASES), ", ".join((*RELEASES, NEXT))
    for command, expected, found in zip(commands(NEXT), before, after, strict=True):
        status, *texts = found
        plain = [text.replace(more, listed).replace(NEXT, RELEASES[-1]) for text in texts]
        assert (status, *plain) == expected, command


def test_an_upgrade_to_a_new_release_that_changes_nothing_changes_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path / "input")
    upgrade = [["diff", f"{job}.yaml", "--releases", f"{RELEASES[-1]}..{NEXT}"] for job in JOBS]
    results = run_all(committed(tmp_path / "next", COMMIT), [*upgrade, ["version"], ["runtimes", "list"]], folder)
    assert [status for status, _, _ in results] == [0] * len(results)
    assert all("1 job unchanged" in stdout or "o change" in stdout for _, stdout, _ in results[: len(JOBS)]), results[0]
    assert "  2.5  Trainer v2.5.0" in results[-2][1]
    assert "2.5" in results[-1][1]


def test_a_preview_is_never_the_default_until_its_name_is_taken_out(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text((CASES / "torch-distributed.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    read: Edits = {"compiler/trainc/kube/releases.py": [('PREVIEWS = ("2.4",)', "PREVIEWS: tuple[str, ...] = ()")]}
    asked = [["check", "job.yaml", "--format", "json"], ["check", "job.yaml", "--format", "json", "--release", "2.4"]]
    for compiler, default, previewed in (
        (REPOSITORY / "compiler", "2.3", True),
        (committed(tmp_path / "read", read), "2.4", False),
    ):
        unpinned, pinned = (stdout for _, stdout, _ in run_all(compiler, asked, tmp_path))
        assert f"compiling for Trainer {default}" in unpinned
        assert "PreviewRelease" not in unpinned
        assert ("PreviewRelease" in pinned) is previewed


SOURCES = sorted((REPOSITORY / "compiler" / "trainc").rglob("*.py"))
MINORS = re.compile("|".join(re.escape(minor) for minor in (*RELEASES, *JOBSETS)))
TABLES = {table.__name__ for table in (Columns, Since, Span)}


def loose(node: ast.AST, inside: bool = False) -> Iterator[int]:
    """The lines of strings that are a minor and stand in none of the three kinds of table, nor in a docstring."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and MINORS.fullmatch(node.value) and not inside:
        yield node.lineno
    called = node.func if isinstance(node, ast.Call) else None
    name = called.value if isinstance(called, ast.Subscript) else called
    # `Span`, or `releases.Span` where a feature has it from the door.
    inside = inside or (name is not None and ast.unparse(name).rpartition(".")[2] in TABLES)
    for child in ast.iter_child_nodes(node):
        yield from loose(child, inside)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.relative_to(REPOSITORY / "compiler").as_posix())
def test_what_depends_on_a_release_stands_in_one_of_three_kinds_of_table(file: Path) -> None:
    if file.name != "releases.py":
        assert list(loose(ast.parse(file.read_text(encoding="utf-8")))) == []


def test_every_jobset_minor_goes_with_a_release() -> None:
    assert tuple(dict.fromkeys(release_facts(release).jobset for release in RELEASES)) == JOBSETS


def test_a_row_that_ends_early_goes_on_as_it_ends() -> None:
    facts = Columns(("1", "2", "3"), {"a": (1,), "b": (1, 2), "c": (1, 2, 3)})
    assert [facts.at(minor) for minor in facts.axis] == [
        {"a": 1, "b": 1, "c": 1},
        {"a": 1, "b": 2, "c": 2},
        {"a": 1, "b": 2, "c": 3},
    ]
    with pytest.raises(KeyError):
        facts.at("4")


def test_a_span_ends_where_it_says_or_never() -> None:
    assert [release in Span("2.1", "2.2") for release in RELEASES] == [False, True, True, False, False]
    assert [release in Span("2.2") for release in RELEASES] == [False, False, True, True, True]
    assert (Span("2.1", "2.2").last, Span("2.1").last) == ("2.2", RELEASES[-1])
