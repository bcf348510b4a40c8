"""Read the words of a command without argparse, which takes as long to import and set up as forty modules of trainc.

A command declares its arguments once, in rows. Words that are not understood in full, be they wrong, unusual or
a call for help, are for argparse and the same declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from trainc.cli.command import Arguments, argument_of, in_common
from trainc.startup.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.cli.command import Command

_UNDERSTOOD = {"action", "choices", "default", "dest", "help", "metavar", "nargs", "type"}
# The numbers of words that the argument without a name takes, by its `nargs`.
_COUNTS: dict[Any, Callable[[int], bool]] = {
    None: lambda count: count == 1,
    "?": lambda count: count <= 1,
    "*": lambda _: True,
    "+": lambda count: count > 0,
}


class NotPlainError(Exception):
    """argparse has to read it."""


def plain_arguments(command: Command, words: Sequence[str]) -> Arguments | None:
    """Return what argparse would make of the words, or None if it has to be asked."""
    declared = _Declared()
    try:
        declared.declare(command.rows())
        return Arguments(**declared.values_of(words))
    except NotPlainError:
        return None


class _Argument:
    """An option, or the argument to which all words belong that are neither an option nor its value."""

    def __init__(self, dest: str, action: str, nargs: Any, choices: dict[str, Any], group: object) -> None:
        self.dest = dest
        self.action = action
        self.nargs = nargs
        self.convert: Callable[[str], Any] = choices.get("type") or str
        self.choices: Container[Any] | None = choices.get("choices")
        self.group = group

    def value(self, word: str) -> Any:
        """Convert a word."""
        try:
            value = self.convert(word)
        except Exception as error:
            raise NotPlainError from error
        if not word or (self.choices is not None and value not in self.choices):
            raise NotPlainError
        return value


class _Declared:
    """The arguments of a command."""

    def __init__(self) -> None:
        self._options: dict[str, _Argument] = {}
        self._unnamed: _Argument | None = None
        self._values: dict[str, Any] = {}

    def declare(self, rows: Sequence[Any], group: object = None) -> None:
        """Take rows; of those in an exclusive `group`, at most one argument may be given."""
        for row in rows:
            if isinstance(row, str):
                self.declare(in_common(row), group)
            elif "arguments" in row:  # How the help groups them.
                self.declare(row["arguments"], group)
            elif "exclusive" in row:
                self.declare(row["exclusive"], object())
            elif "actions" in row:
                raise NotPlainError
            else:
                self._add(*argument_of(row), group)

    def _add(self, names: Sequence[str], choices: dict[str, Any], group: object) -> None:
        action, nargs, default = choices.get("action", "store"), choices.get("nargs"), choices.get("default")
        dest = choices.get("dest") or names[-1].lstrip("-").replace("-", "_")
        argument = _Argument(dest, action, nargs, choices, group)
        is_option = names[0].startswith("-")
        if (
            not choices.keys() <= _UNDERSTOOD
            or action not in ("store", "append", "store_true")
            or dest in self._values
            or (default is not None and ("type" in choices or nargs or action == "append"))
            or (nargs if is_option else self._unnamed or nargs not in _COUNTS)
        ):
            raise NotPlainError
        self._values[dest] = False if action == "store_true" and "default" not in choices else default
        if is_option:
            self._options |= dict.fromkeys(names, argument)
        else:
            self._unnamed = argument

    def values_of(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the value of each argument."""
        values, waiting = self._values, iter(words)
        unnamed: list[str] = []
        given: list[object] = []
        for word in waiting:
            name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
            option = self._options.get(name)
            if option is None:
                if word.startswith("-") and word != "-":
                    raise NotPlainError
                unnamed.append(word)
                continue
            if option.action == "store_true":
                if equals:
                    raise NotPlainError
                value: Any = True
            else:
                if not equals and (text := next(waiting, "")).startswith("-") and text != "-":
                    raise NotPlainError
                value = option.value(text)
            values[option.dest] = [*(values[option.dest] or ()), value] if option.action == "append" else value
            if option.group is not None:
                given.append(option.group)
        if len(given) > len(set(given)):
            raise NotPlainError
        self._take(unnamed)
        return values

    def _take(self, words: list[str]) -> None:
        argument = self._unnamed
        if argument is None:
            if words:
                raise NotPlainError
            return
        found = [argument.value(word) for word in words]
        if not _COUNTS[argument.nargs](len(found)):
            raise NotPlainError
        if argument.nargs in ("*", "+"):
            self._values[argument.dest] = found
        elif found:
            self._values[argument.dest] = found[0]
