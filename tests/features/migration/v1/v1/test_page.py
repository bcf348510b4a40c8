"""The pages about Training Operator v1: what they show is what happens, from the first command to the last."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import run

DOCS = Path(__file__).parents[5] / "docs"
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("training-operator-v1.md", "v1-details.md"))
_FILE = re.compile(r"<!-- file: (\S+) -->\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"<!-- run -->\n```console\n\$ trainc ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_commands_print_one_after_the_other_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in _FILE.findall(PAGE):
        (tmp_path / name).write_text(text, encoding="utf-8")
    shown = _RUN.findall(PAGE)
    assert len(shown) == PAGE.count("$ trainc ") == 7
    for command, printed in shown:
        words, _, redirected = command.partition(" < ")
        result = run(*shlex.split(words), stdin=(tmp_path / redirected).read_bytes() if redirected else b"")
        assert result.stdout + result.stderr == printed, command


@pytest.mark.parametrize("variables", ["keep", "torchrun"])
def test_the_first_example_trains_once_and_not_once_for_each_pod(variables: str, tmp_path: Path) -> None:
    (name, text), *_ = _FILE.findall(PAGE)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run("migrate", "--variables", variables, str(tmp_path)).status == 0
    built = run("build", "--release", "2.3", str(tmp_path)).stdout
    variable = {"keep": "WORLD_SIZE", "torchrun": "PET_NNODES"}[variables]
    assert re.search(rf'- name: {variable}\n +value: "4"\n', built)
    assert ("- torchrun\n" in built) == (variables == "torchrun")
