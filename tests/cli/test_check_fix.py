"""`trainc check --fix`: what is applied without asking, what with --unsafe-fixes, and that nothing else of a file changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from steps import assert_linear, steps

# Line ends of two kinds, a mark at the start, and no line end at the end.
TEXT = """\
\ufeff# A job. \r
apiVersion: trainer.kubeflow.org/v1alpha1\r
kind: TrainJob
metadata: {name: a,   namespace: t}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    command: [torchrun, train.py]
    env:
    - {name: X, value: "1"}
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}\
"""
NODES, COMMAND, ENV = "    numNodes: 2\n", "    command: [torchrun, train.py]\n", '    - {name: X, value: "1"}\n'
SAFE = {
    "a misspelt field": [(NODES, "    numNode: 2\n")],
    "a number for a text": [(ENV, "    - {name: X, value: 1}\n")],
    "several": [(NODES, "    numNode: 2\n"), (ENV, "    - {nme: X, value: 1}\n")],
}
# The first is what --unsafe-fixes writes.
UNSAFE = {
    "words of a command": [(COMMAND, "    command: [torchrun, --nnodes=4, train.py]\n")],
}
NEVER = {
    "an unknown field": [(NODES, f"{NODES}    hosts: 3\n")],
    "a runtime that there is not": [("torch-distributed", "torch-distribute")],
}


def with_mistakes(mistakes: list[tuple[str, str]]) -> bytes:
    text = TEXT
    for right, wrong in mistakes:
        assert right in text
        text = text.replace(right, wrong)
    return text.encode()


@pytest.mark.parametrize(
    ("mistakes", "flags"),
    [*((m, ["--fix"]) for m in SAFE.values()), *((m, ["--unsafe-fixes"]) for m in UNSAFE.values())],
    ids=[*SAFE, *UNSAFE],
)
def test_a_fix_changes_its_words_alone(
    mistakes: list[tuple[str, str]], flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.yaml"
    file.write_bytes(with_mistakes(mistakes))
    shown = run("check", "--release", "2.3", *flags, "--diff", "a.yaml")
    assert file.read_bytes() == with_mistakes(mistakes)
    assert all(f"+{right.rstrip()}" in shown.stdout for right, _ in mistakes), shown.stdout
    said = run("check", "--release", "2.3", *flags, "a.yaml")
    assert file.read_bytes() == TEXT.encode()
    assert said.status == 0
    assert said.stderr.splitlines()[0].startswith("fixed ")


def test_what_may_change_a_job_is_left_alone_beside_an_error_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mistakes = [mistake for of_both in (UNSAFE, NEVER) for some in of_both.values() for mistake in some]
    (tmp_path / "a.yaml").write_bytes(with_mistakes(UNSAFE["words of a command"]))
    (tmp_path / "b.yaml").write_bytes(with_mistakes([m for m in mistakes if m != NEVER["an unknown field"][0]]))
    before = [(tmp_path / name).read_bytes() for name in ("a.yaml", "b.yaml")]
    said = run("check", "--release", "2.3", "--fix", ".")
    assert said.stderr.startswith("fixed 0 findings")
    assert [(tmp_path / name).read_bytes() for name in ("a.yaml", "b.yaml")] == before


@pytest.mark.parametrize("mistakes", [*UNSAFE.values(), *NEVER.values()], ids=[*UNSAFE, *NEVER])
def test_what_may_change_a_job_is_left_alone(
    mistakes: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.yaml"
    file.write_bytes(with_mistakes(mistakes))
    said = run("check", "--release", "2.3", "--fix", "a.yaml")
    assert file.read_bytes() == with_mistakes(mistakes)
    assert said.stderr.startswith("fixed 0 findings")
    assert ("--unsafe-fixes" in said.stderr.splitlines()[0]) is (mistakes in UNSAFE.values())


def test_a_file_is_fixed_through_a_link_of_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real.yaml").write_bytes(with_mistakes(SAFE["a misspelt field"]))
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    for flag in ("--fix", "--unsafe-fixes"):
        (tmp_path / "real.yaml").write_bytes(with_mistakes(SAFE["a misspelt field"]))
        assert run("check", "--release", "2.3", flag, "link.yaml").stderr.startswith("fixed 1 finding in 1 file\n")
        assert (tmp_path / "real.yaml").read_bytes() == TEXT.encode()
        assert (tmp_path / "link.yaml").is_symlink()


def test_a_file_in_another_encoding_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = with_mistakes(SAFE["a misspelt field"]).decode().removeprefix("\ufeff").encode("utf-16")
    (tmp_path / "a.yaml").write_bytes(text)
    said = run("check", "--release", "2.3", "--unsafe-fixes", "a.yaml")
    assert (said.status, (tmp_path / "a.yaml").read_bytes()) == (1, text)
    assert said.stderr.startswith("fixed 0 findings\n")


@pytest.mark.parametrize("variable", ["{nme: X, value: a}", "{name: X, value: 1}"])
def test_fixes_take_steps_in_proportion(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for count in (25, 25, 50, 100):  # What only the first run does depends on nothing of the count.
        env = "".join(f"    - {variable.replace('X', f'X{i}')}\n" for i in range(count))
        (tmp_path / "a.yaml").write_text(TEXT.replace(ENV, env), encoding="utf-8")
        found.append(steps(lambda: run("check", "--release", "2.3", "--fix", "--diff", "a.yaml")))
    assert_linear(found[1:])
