"""torchrun's own flags in a container's command line, be it started directly, as a Python module or by a shell.

Source: pytorch torch/distributed/run.py get_args_parser, which torchrun, `python -m torch.distributed.run` and
`python -m torch.distributed.launch` share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.diagnostics import Path
from trainc.ir.entrypoints import About, Entrypoint, shell_script
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_PROGRAM = "torchrun"
_MODULES = ("torch.distributed.run", "torch.distributed.launch")
_WITHOUT_VALUE = frozenset(("standalone", "module", "no-python", "run-path", "help", "use-env", "-m", "-h"))
# Commands that name torchrun without running it.
_NAMING = frozenset(("echo", "printf", "which", "type", "man", "pip", "pip3"))
# A line end ends a command, too; shlex takes these as words of their own.
_SEPARATORS = "();<>|&\n"
_COMMENT_LINE = pattern(r"(?m)^[ \t]*#.*$")


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of torchrun's as it is `written` ("--nproc_per_node"), its value, and where it stands.

    `value` is None for a flag that takes none or is given none. In a `script`, a shell expands `$NAME`; elsewhere nothing does.
    """

    written: str
    value: str | None
    path: Path
    about: About
    script: bool = False

    @property
    def name(self) -> str:
        """Its name alone, with dashes: torchrun takes underscores for the same."""
        return _name(self.written)


def torchrun_flags(entrypoint: Entrypoint) -> Iterator[Flag]:
    """The flags of every torchrun that a container's command line starts, in order."""
    words = entrypoint.words
    script = shell_script(words)
    if script is None:
        start = _torchrun_end(words)
        if start is not None:
            for index, written, value in _flags(words[start:]):
                yield Flag(written, value, *entrypoint.place(start + index))
        return
    path, about = entrypoint.place(words.index(script))
    for command in _commands(script):
        start = _torchrun_end(command)
        for _, written, value in _flags(command[start:]) if start is not None else ():
            yield Flag(written, value, path, about, script=True)


def _torchrun_end(words: Sequence[str]) -> int | None:
    """Where torchrun's arguments begin in one command; None where it starts no torchrun."""
    if words and words[0].rpartition("/")[2] in _NAMING:
        return None
    for index, word in enumerate(words):
        if word.rpartition("/")[2] == _PROGRAM or word.removeprefix("-m") in _MODULES:
            return index + 1
    return None


def _flags(words: Sequence[str]) -> Iterator[tuple[int, str, str | None]]:
    """Each flag before the script with its index; from the script's name on, everything is the script's."""
    index = 0
    while index < len(words) and words[index].startswith("-") and words[index] not in ("-", "--"):
        at, word = index, words[index]
        index += 1
        written, equals, value = word.partition("=")
        if equals:
            yield at, written, value
        elif _name(written) in _WITHOUT_VALUE:
            yield at, written, None
        else:
            yield at, written, words[index] if index < len(words) else None
            index += 1


def _name(written: str) -> str:
    return written.removeprefix("--").replace("_", "-")


def _commands(script: str) -> list[list[str]]:
    """The simple commands of a shell script, each as its words; none where its quotes are not closed."""
    import shlex

    code = _COMMENT_LINE.sub("", script).replace("\\\n", " ")
    lexer = shlex.shlex(code, posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    commands: list[list[str]] = [[]]
    try:
        for token in lexer:
            if set(token) <= set(_SEPARATORS):
                commands.append([])
            else:
                commands[-1].append(token)
    except ValueError:
        return []
    return commands
