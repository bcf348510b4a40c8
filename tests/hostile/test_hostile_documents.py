"""Hostile documents, given to every command: refused with a diagnostic, in the memory and the time that there is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hostile_inputs import HEAD, LARGE, SMALL

pytestmark = pytest.mark.slow

LIMITED = Path(__file__).with_name("limited.py")
FLAGS = ["--release", "2.3"]
# What each command is told, less the file. Those that read TrainJobs from files refuse what `build` refuses.
COMPILING = {
    "build": [*FLAGS],
    "check": [*FLAGS, "--format", "text"],
    "explain": [*FLAGS],
    "graph": [*FLAGS],
    "report": [*FLAGS, "-o", "-"],
    "diff": ["good.yaml", *FLAGS],
}


def outcomes(folder: Path, commands: Iterable[list[str]], stdin: Iterable[str] = ()) -> list[dict[str, Any]]:
    """What became of each command; an error if the process was killed on the way. `stdin` is a file for each."""
    pairs = zip_longest(commands, stdin)
    requests = [json.dumps({"folder": str(folder), "words": words, "stdin": file}) for words, file in pairs]
    done = subprocess.run(
        [sys.executable, str(LIMITED)], input="\n".join(requests), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stderr[-2000:]} after {done.stdout.count(chr(10))} commands"
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every small document as a file of its own, in a folder of its own."""
    root = tmp_path_factory.mktemp("hostile")
    (root / "good.yaml").write_text(HEAD, encoding="utf-8")
    for number, (content, _) in enumerate(SMALL.values()):
        (root / str(number)).mkdir()
        data = content.encode() if isinstance(content, str) else content
        (root / str(number) / "job.yaml").write_bytes(data)
    return root


def words_for(command: str, flags: list[str], number: int) -> list[str]:
    file = f"{number}/job.yaml"
    if command == "diff":
        return [command, flags[0], file, *flags[1:]]
    return [command, file, *flags]


@pytest.mark.parametrize("command", COMPILING)
def test_a_command_that_compiles_refuses_it_with_a_diagnostic(command: str, folder: Path) -> None:
    found = outcomes(folder, [words_for(command, COMPILING[command], number) for number in range(len(SMALL))])
    assert len(found) == len(SMALL)
    # A file without a job is no usage of explain and graph.
    wrong = {
        name: outcome
        for (name, (_, code)), outcome in zip(SMALL.items(), found, strict=True)
        if outcome["traceback"]
        or outcome["status"] not in ((1, 2) if command in ("explain", "graph") else (1,))
        or (outcome["status"] == 1 and command == "build" and code not in outcome["codes"])
    }
    if command in ("check", "diff", "report"):
        wrong = {name: outcome for name, outcome in wrong.items() if SMALL[name][1] != "NoTrainJob"}
    assert wrong == {}


@pytest.mark.parametrize("command", ["migrate", "krm"])
def test_a_command_that_rewrites_never_fails_for_another_reason(command: str, folder: Path) -> None:
    files = [f"{number}/job.yaml" for number in range(len(SMALL))]
    if command == "migrate":
        found = outcomes(folder, [["migrate", "--diff", file] for file in files])
    else:
        found = outcomes(folder, [[command] for _ in files], files)
    names = list(SMALL)
    assert {names[i]: o for i, o in enumerate(found) if o["traceback"] or o["status"] not in (0, 1)} == {}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_file_is_refused_without_being_held_many_times(name: str, tmp_path: Path) -> None:
    content, code = LARGE[name]
    (tmp_path / "job.yaml").write_text(content(), encoding="utf-8")
    (outcome,) = outcomes(tmp_path, [["build", ".", *FLAGS]])
    assert (outcome["status"], outcome["traceback"]) == (1, False)
    assert code in outcome["codes"]


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    (outcome,) = outcomes(tmp_path, [["build", "/dev/zero", "--max-file-bytes", "10000000", *FLAGS]])
    assert (outcome["status"], outcome["codes"]) == (1, ["UnreadableFile"])


@pytest.mark.parametrize("name", ["ten thousand lists", "ten thousand mappings", "ten thousand objects of JSON"])
def test_limits_that_are_raised_too_far_end_in_a_message(name: str, folder: Path) -> None:
    number = list(SMALL).index(name)
    words = [["build", f"{number}/job.yaml", "--max-depth", "1000000", *FLAGS]]
    (outcome,) = outcomes(folder, words)
    assert (outcome["status"], outcome["traceback"]) == (1, False)


LIMITS: Mapping[str, tuple[str, str, str]] = {
    "--max-document-bytes": ("100", HEAD, "DocumentTooLarge"),
    "--max-file-bytes": ("100", HEAD, "UnreadableFile"),
    "--max-documents": ("1", f"{HEAD}---\n{HEAD}", "TooManyDocuments"),
    "--max-depth": ("2", f"{HEAD}  trainer: {{env: []}}\n", "TooDeep"),
    "--max-alias-expansions": ("1", f"{HEAD}  labels: &a {{}}\n  annotations: {{a: *a, b: *a}}\n", "TooManyAliases"),
}


@pytest.mark.parametrize("flag", LIMITS)
def test_a_flag_moves_its_limit(flag: str, tmp_path: Path) -> None:
    value, text, code = LIMITS[flag]
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    narrow, wide = outcomes(
        tmp_path, [["build", "job.yaml", *FLAGS, flag, value], ["build", "job.yaml", *FLAGS, flag, "99999"]]
    )
    assert code in narrow["codes"]
    assert code not in wide["codes"]
