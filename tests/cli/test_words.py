"""The words of a command read without argparse: it would say the same, and everything that it might refuse is left to it."""

from __future__ import annotations

import pytest

from trainc.cli.command import commands
from trainc.cli.parser import build_parser, parse_arguments
from trainc.cli.words import plain_arguments

PLAIN = [
    "build",
    "build jobs",
    "build a b -o out c --release 2.3",
    "build --release=v2.2.1 -",
    "build --runtimes a --runtimes=b x --quiet",
    "build --env=prod --env dev --max-depth 7 --format json -q",
    "build --output one --output two",
    "build --output=-x",
    "check --strict -v jobs",
    "check jobs --color never",
    "explain job.yaml",
    "explain job.yaml#name spec.template --release 2.3",
    "schema",
    "rule UnknownField",
    "rule --all",
    "version",
    "version -v",
    "help build",
    "completion bash",
]
LEFT = [
    "build --help",
    "build -h",
    "build --relaese 2.3",
    "build --release",
    "build --release -q",
    "build --release 1.0",
    "build -q -v",
    "build --quiet=yes",
    "build -qo out",
    "build -oout",
    "build --max-depth 0",
    "build --format toml",
    "build --format=",
    "build -- jobs",
    "build ''",
    "build -1",
    "build --at-most 3cpus",
    "completion",
    "completion tcsh",
    "rule A B",
    "runtimes list",
]


def read(line: str) -> object:
    name, *words = [word.strip("'") for word in line.split()]
    command = next(command for command in commands() if command.name == name)
    return plain_arguments(command, words)


@pytest.mark.parametrize("line", PLAIN)
def test_plain_words_mean_what_argparse_makes_of_them(line: str) -> None:
    name, *words = line.split()
    command = next(command for command in commands() if command.name == name)
    found = read(line)
    if name == "explain":
        assert found is None or found == parse_arguments(build_parser(command), words)
    else:
        assert found == parse_arguments(build_parser(command), words)


@pytest.mark.parametrize("line", LEFT)
def test_words_that_argparse_may_refuse_or_read_otherwise_are_left_to_it(line: str) -> None:
    assert read(line) is None


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name)
def test_a_command_without_words_is_read_alike_or_left(command) -> None:  # type: ignore[no-untyped-def]
    found = plain_arguments(command, [])
    assert found is None or found == parse_arguments(build_parser(command), [])
