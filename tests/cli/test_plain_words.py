"""Plain words are read as argparse reads them, and whatever is not plain is left to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trainc.cli.command import COMMANDS, Arguments, Command, Parser
from trainc.cli.parser import parsed, parser_of
from trainc.cli.plain_words import NotPlainError, PlainParser, plain_arguments

PLAIN = tuple(command for command in COMMANDS if command.name in ("build", "check", "diff", "report"))
BUILD = PLAIN[0]
PIECES = """
    jobs - -- -1 1 0 yaml json text markdown 2.3 v2.1.7 9.9 gitops auto
    -o -oout -o=out --output --output=out --output= --output=-x --out -j -j2 --jobs=x
    -q -v -qv --quiet --verbose --quiet=1 --check --color --color=never --colour --title --exit-code
    --release --release=2.2 --releases --format --semantics --runtime --runtimes --runtimes=a=b
    --overlay --max-files --sync-option --name-hash --allow-outside --config -h
"""
WORDS = ("", "a b", *PIECES.split())


@pytest.mark.parametrize("command", PLAIN, ids=[command.name for command in PLAIN])
@given(words=st.lists(st.sampled_from(WORDS), max_size=7))
@example(words=["jobs", "--release", "v2.3", "--runtimes", "a", "more", "--runtimes=b", "-q", "--name-hash"])
@example(words=["-q", "-v"])
@example(words=["-q", "-q"])
def test_argparse_makes_the_same_of_words_that_are_plain(command: Command, words: list[str]) -> None:
    plain = plain_arguments(command.load(), words)
    if plain is not None:
        assert plain == parsed(parser_of(command), words)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "train.yaml --release 2.3",
        "jobs --runtimes platform -o rendered --check",
        "--overlay overlays/prod --output=rendered -q",
        "- -o - --format json --color never",
        "jobs -o rendered -j 4 --cache .cache --max-file-bytes 5000 --name-hash",
    ],
)
def test_what_people_write_is_plain(line: str) -> None:
    assert plain_arguments(BUILD.load(), line.split()) == parsed(parser_of(BUILD), line.split())


@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "--relase 2.3",
        "--release",
        "--release 9.9",
        "--release -q",
        "-j -1",
        "--check=yes",
        "-q -v",
        "-- jobs",
    ],
)
def test_what_is_wrong_or_unusual_is_left_to_argparse(line: str) -> None:
    assert plain_arguments(BUILD.load(), line.split()) is None


@pytest.mark.parametrize("command", PLAIN, ids=[command.name for command in PLAIN])
def test_commands_of_many_inputs_can_do_without_argparse(command: Command) -> None:
    assert plain_arguments(command.load(), ["jobs", "--color", "never"]) is not None


@pytest.mark.parametrize(
    "declare",
    [
        lambda parser: parser.add_argument("name"),
        lambda parser: parser.add_argument("names", nargs="+"),
        lambda parser: parser.add_argument("--pair", nargs=2),
        lambda parser: parser.add_argument("-v", action="count"),
        lambda parser: parser.add_argument("--name", required=True),
        lambda parser: parser.add_subparsers(dest="action"),
        lambda parser: parser.add_mutually_exclusive_group().add_argument("--name"),
        lambda parser: [parser.add_argument(name, nargs="*") for name in ("some", "others")],
        lambda parser: parser.add_argument("names", nargs="*", default=["."]),
        lambda parser: parser.add_argument("--number", type=int, default="3"),
        lambda parser: [parser.add_argument(name, dest="same") for name in ("--some", "--others")],
    ],
)
def test_a_declaration_that_is_not_plain_is_left_to_argparse(declare: Callable[[Parser], object]) -> None:
    with pytest.raises(NotPlainError):
        declare(PlainParser())


def test_arguments_have_their_defaults() -> None:
    parser = PlainParser()
    parser.add_argument("--switch", action="store_true")
    parser.add_argument("--perhaps", action="store_true", default=None)
    parser.add_argument("--some-name", default="x")
    parser.add_argument("paths", nargs="*")
    assert parser.parsed([]) == Arguments(switch=False, perhaps=None, some_name="x", paths=[])
