"""Command lines that can be read without argparse, which takes as long to import and set up as forty of trainc's modules.

A command declares its arguments once, in `add_arguments`. Here the declaration is read as far as it is plain; words that
are not understood in full, be they wrong, unusual or a call for help, are left to argparse and the same declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, NoReturn

from trainc.cli.command import Arguments, CommandModule
from trainc.startup.records import dataclass

_ACTIONS = ("store", "append", "store_true")
_UNDERSTOOD = {"action", "choices", "default", "dest", "help", "metavar", "nargs", "type"}


class NotPlainError(Exception):
    """argparse has to look at it."""


def plain_arguments(module: CommandModule, words: Sequence[str]) -> Arguments | None:
    """What argparse would make of the words; None where it has to be asked."""
    parser = PlainParser()
    try:
        module.add_arguments(parser)
        return parser.parsed(words)
    except NotPlainError:
        return None


@dataclass(slots=True)
class Argument:
    """An argument as it was declared: an option, or what all words belong to that are neither option nor value."""

    action: str
    dest: str
    type: Callable[[str], Any]
    choices: Container[Any] | None
    is_alternative: bool = False
    completes: str = ""

    def value(self, word: str) -> Any:
        """The value that a word stands for."""
        if not word or (word.startswith("-") and word != "-"):
            raise NotPlainError
        try:
            value = self.type(word)
        except Exception as refused:
            raise NotPlainError from refused
        if self.choices is not None and value not in self.choices:
            raise NotPlainError
        return value


class PlainParser:
    """Stands in for argparse's parser and for its groups, which matter to --help only."""

    def __init__(self) -> None:
        self._options: dict[str, Argument] = {}
        self._rest: Argument | None = None
        self._values: dict[str, Any] = {}

    def add_argument(self, *names: str, **choices: Any) -> Argument:
        """Declare an option of one value or none, or the list that all other words make."""
        action, nargs = choices.get("action", "store"), choices.get("nargs")
        dest = choices.get("dest") or names[-1].lstrip("-").replace("-", "_")
        default = choices.get("default", False if action == "store_true" else None)
        argument = Argument(action, dest, choices.get("type", str), choices.get("choices"))
        if action not in _ACTIONS or not choices.keys() <= _UNDERSTOOD or dest in self._values:
            raise NotPlainError
        if isinstance(default, str) and "type" in choices:
            raise NotPlainError  # It would be read as a word is.
        if names[0].startswith("-") and nargs is None:
            self._options |= dict.fromkeys(names, argument)
            self._values[dest] = default
        elif nargs == "*" and default is None and self._rest is None:
            self._rest = argument
            argument.action = "append"
            self._values[dest] = []
        else:
            raise NotPlainError
        return argument

    def add_argument_group(self, *_shown: Any) -> PlainParser:
        """Declare arguments that --help shows together."""
        return self

    def add_mutually_exclusive_group(self) -> Alternatives:
        """Declare arguments of which one may be given."""
        return Alternatives(self)

    def add_subparsers(self, *_shown: Any, **_choices: Any) -> NoReturn:
        """Declare actions of a command."""
        raise NotPlainError

    def parsed(self, words: Sequence[str]) -> Arguments:
        """The values of all arguments. NotPlainError where argparse may see something else in the words."""
        alternatives = 0
        waiting = iter(words)
        for word in waiting:
            name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
            if word == "-" or not word.startswith("-"):
                self._add(self._rest, word)
            elif name not in self._options:
                raise NotPlainError
            elif (option := self._options[name]).action != "store_true":
                self._add(option, text if equals else next(waiting, ""))
            elif equals:
                raise NotPlainError
            else:
                self._values[option.dest] = True
                alternatives += option.is_alternative
        if alternatives > 1:
            raise NotPlainError
        return Arguments(**self._values)

    def _add(self, argument: Argument | None, word: str) -> None:
        if argument is None:
            raise NotPlainError
        value = argument.value(word)
        self._values[argument.dest] = (
            value if argument.action == "store" else [*(self._values[argument.dest] or ()), value]
        )


class Alternatives:
    """Stands in for a group of arguments that exclude each other."""

    def __init__(self, parser: PlainParser) -> None:
        self._parser = parser

    def add_argument(self, *names: str, **choices: Any) -> Argument:
        """Declare a switch."""
        argument = self._parser.add_argument(*names, **choices)
        if argument.action != "store_true":
            raise NotPlainError
        argument.is_alternative = True
        return argument
