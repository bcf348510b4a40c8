"""Hostile documents, given to every command: refused with a diagnostic, in the memory and the time that there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hostile_inputs import COMPILING, FLAGS, HEAD, LARGE, REWRITING, SMALL, words_of, written
from limited import outcomes, request
from reading import errors_of

from trainc.options import Limits

pytestmark = pytest.mark.slow


def of_each(folder: Path, commands: Iterable[list[str]], stdin: Iterable[str] = ()) -> list[dict[str, Any]]:
    """What became of each command; `stdin` is a file for each."""
    return outcomes(request(folder, words, file) for words, file in zip_longest(commands, stdin))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("command", COMPILING)
def test_a_command_that_compiles_refuses_it_with_a_diagnostic(command: str, folder: Path) -> None:
    found = of_each(folder, words_of(command))
    assert len(found) == len(SMALL)
    # A file without a job is no usage of explain and graph.
    wrong = {
        name: outcome
        for (name, (_, code)), outcome in zip(SMALL.items(), found, strict=True)
        if outcome["traceback"]
        or outcome["status"] not in ((1, 2) if command in ("explain", "graph", "run") else (1,))
        or (outcome["status"] == 1 and command == "build" and code not in outcome["codes"])
    }
    if command in ("check", "diff", "report"):
        wrong = {name: outcome for name, outcome in wrong.items() if SMALL[name][1] != "NoTrainJob"}
    assert wrong == {}


@pytest.mark.parametrize("command", REWRITING)
def test_any_other_command_never_fails_for_another_reason(command: str, folder: Path) -> None:
    found = of_each(folder, words_of(command), [f"{number}/job.yaml" for number in range(len(SMALL))])
    names = list(SMALL)
    assert {names[i]: o for i, o in enumerate(found) if o["traceback"] or o["status"] not in (0, 1)} == {}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_file_is_refused_without_being_held_many_times(name: str, tmp_path: Path) -> None:
    content, code = LARGE[name]
    (tmp_path / "job.yaml").write_text(content(), encoding="utf-8")
    (outcome,) = of_each(tmp_path, [["build", "job.yaml", *FLAGS]])
    assert (outcome["status"], outcome["traceback"]) == (1, False)
    assert code in outcome["codes"]


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    (outcome,) = of_each(tmp_path, [["build", "/dev/zero", "--max-file-bytes", "10000000", *FLAGS]])
    assert (outcome["status"], outcome["codes"]) == (1, ["UnreadableFile"])


@pytest.mark.parametrize("name", ["ten thousand lists", "ten thousand mappings", "ten thousand objects of JSON"])
def test_limits_that_are_raised_too_far_end_in_a_message(name: str, folder: Path) -> None:
    number = list(SMALL).index(name)
    words = [["build", f"{number}/job.yaml", "--max-depth", "1000000", *FLAGS]]
    (outcome,) = of_each(folder, words)
    assert (outcome["status"], outcome["traceback"]) == (1, False)


LIMITS: Mapping[str, tuple[str, str, str]] = {
    "--max-document-bytes": ("100", HEAD, "DocumentTooLarge"),
    "--max-file-bytes": ("100", HEAD, "UnreadableFile"),
    "--max-documents": ("1", f"{HEAD}---\n{HEAD}", "TooManyDocuments"),
    "--max-depth": ("2", f"{HEAD}  trainer: {{env: []}}\n", "TooDeep"),
    "--max-values": ("9", f"{HEAD}  labels: &a {{b: c}}\n", "TooManyValues"),
    "--max-alias-expansions": ("1", f"{HEAD}  labels: &a {{}}\n  annotations: {{a: *a, b: *a}}\n", "TooManyAliases"),
}


@pytest.mark.parametrize("flag", LIMITS)
def test_a_flag_moves_its_limit(flag: str, tmp_path: Path) -> None:
    value, text, code = LIMITS[flag]
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    narrow, wide = of_each(
        tmp_path, [["build", "job.yaml", *FLAGS, flag, value], ["build", "job.yaml", *FLAGS, flag, "99999"]]
    )
    assert code in narrow["codes"]
    assert code not in wide["codes"]


@pytest.mark.parametrize("text", ["x: &a [1]", "x: [1]", "x: [[[1]]]", '{"x": [1]}'])
def test_values_are_counted_whichever_reader_has_them(text: str) -> None:
    """The readers of plain lines and of JSON count none: what may have too many is left to the one that does."""
    for count, refused in ((5, False), (40, True)):
        found = errors_of(text.replace("1", ", ".join("1" * count)), Limits(values=20))
        assert ("TooManyValues" in [code for code, _, _ in found]) == refused
