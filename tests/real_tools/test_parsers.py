"""What the programs' own argument parsers refuse, trainc refuses, and what they take it leaves alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
from trainings import reported, training

# The interpreter with torch, accelerate and transformers: this one, or another that somebody names.
PYTHON = os.environ.get("TRAINC_TORCH_PYTHON", sys.executable)
PROGRAM = """
import contextlib, io, json, sys
{make}
def takes(words):
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        parser.parse_args(words)
        return True
    return False
kinds = {{int: "int", float: "float"}}
options = [
    [max(one.option_strings, key=len), kinds.get(one.type, ""), one.nargs, one.choices and [*map(str, one.choices)]]
    for one in parser._actions if one.option_strings and one.nargs != 0
]
print(json.dumps([takes(words) for words in json.load(sys.stdin)] or options))
"""


class Parser(NamedTuple):
    """How a parser is made, and the words around its options; a script's may have further ones. `silent` is said by no table."""

    make: str
    before: list[str]
    behind: list[str]
    of_script: bool = False
    silent: frozenset[str] = frozenset()


PARSERS = {
    "torchrun": Parser(
        "from torch.distributed.run import get_args_parser; parser = get_args_parser()", ["torchrun"], ["train.py"]
    ),
    "accelerate": Parser(
        "from accelerate.commands.launch import launch_command_parser; parser = launch_command_parser()",
        ["accelerate", "launch"],
        ["train.py"],
    ),
    "transformers": Parser(
        "from transformers import HfArgumentParser, TrainingArguments; parser = HfArgumentParser(TrainingArguments)",
        ["torchrun", "run_clm.py"],
        [],
        True,
        # Of another type or with other choices in another version.
        frozenset(
            (
                *("--warmup_steps=many", "--dataloader_multiprocessing_context=forkserverx"),
                *("--train_sampling_strategy=batch_rebalancex", "--ddp_backend=mcclx"),
                *("--log_level=passivex", "--log_level_replica=passivex"),
            )
        ),
    ),
}


@cache
def asked(name: str, lines: str = "[]") -> Any:
    """Which command lines the parser takes; without any, its options that have a value, with their types and choices."""
    program = PROGRAM.format(make=PARSERS[name].make)
    ran = subprocess.run([PYTHON, "-c", program], input=lines, capture_output=True, text=True, timeout=600, check=False)
    if ran.returncode:
        pytest.skip(f"{PYTHON} cannot import it ({ran.stderr.splitlines()[-1]}); TRAINC_TORCH_PYTHON names another")
    return json.loads(ran.stdout.splitlines()[-1])


def generated(name: str) -> Iterator[list[str]]:
    """Each option with right values and wrong ones, and misspelled; those of a launcher without a value, too."""
    for flag, kind, nargs, choices in asked(name):
        if choices:
            yield from ([f"{flag}={choice}"] for choice in (choices[0], choices[-1], f"{choices[-1]}x"))
        elif kind:
            yield from ([f"{flag}={value}"] for value in ("4", "2.5", "1e3", "many"))
        if not PARSERS[name].of_script:
            yield from ([f"{flag}s0=1"], [] if nargs == "?" else [flag])


def refused(name: str, words: list[str], *, is_taken: bool) -> list[str]:
    """What trainc says of these words alone; of those that the parser takes, that it does not: of ranges it asks later."""
    parser = PARSERS[name]
    without = {d.message for d in reported(training([*parser.before, *parser.behind]))}
    said = [d for d in reported(training([*parser.before, *words, *parser.behind])) if d.severity != "info"]
    parsed = (" takes ", " has no ", f"so {' '.join(parser.before)} exits")
    new = [d.message for d in said if d.message not in without]
    return [message for message in new if not is_taken or any(part in message for part in parsed)]


@pytest.mark.run
@pytest.mark.parametrize("name", PARSERS)
def test_what_the_parser_refuses_is_reported_and_what_it_takes_is_not(name: str) -> None:
    lines = [words for words in generated(name) if words and words[0] not in PARSERS[name].silent]
    taken = asked(name, json.dumps([[*words, *PARSERS[name].behind] for words in lines]))
    assert len(lines) > 50
    said = [refused(name, words, is_taken=each) for words, each in zip(lines, taken, strict=True)]
    assert {words[0]: one for words, one, each in zip(lines, said, taken, strict=True) if bool(one) == each} == {}
