"""Dispatch: from the words of a command line to an exit code.

Only the command that was asked for is imported. The codes are those of command.Status, 130 after Ctrl-C and 141 where
the reader of the output has gone, as a shell reports both.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from io import BytesIO, RawIOBase, StringIO
from typing import Any, BinaryIO, NoReturn

from trainc.cli.command import COMMANDS, Command, Status, Streams, UsageError, build_parser, parse_arguments

# The name that kustomize gives to the program of a plugin: the kind of its configuration.
KUSTOMIZE_PLUGIN = "Overlay"
_ALLOCATIONS_BETWEEN_SEARCHES = 200_000
_SPELLINGS = {"-h": "help", "--help": "help", "-V": "version", "--version": "version"}
_INTERRUPTED = 130
_NO_READER = 141


def run() -> NoReturn:
    """The console script."""
    # A command lives shortly and makes few cycles: looking for them would take a twentieth of its time. `build --watch`
    # lives long, so that the search is put off and not given up.
    gc.set_threshold(_ALLOCATIONS_BETWEEN_SEARCHES)
    status = main()
    # Everything is written and every process of `-j` joined; Python would take another twentieth to take itself apart.
    os._exit(status)


def main(words: Sequence[str] | None = None, streams: Streams | None = None) -> int:
    """Run one command line, by default the process's own, and give back its exit code."""
    if streams is None:
        streams = _own_streams()
    try:
        status = _dispatch(_process_words() if words is None else list(words), streams)
        streams.out.flush()
        if sys.stdout is not None:
            sys.stdout.flush()  # argparse prints its help there.
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _discard_output(streams)
        return _NO_READER
    except OSError as error:
        # The disk or the permissions, not the input and not trainc: inputs that cannot be read are diagnosed before.
        from trainc.diagnostics.escaping import escape_line, escape_report

        # Nothing that is written to can be missing: without a name, that is the folder that trainc was started in.
        nameless = "the current folder" if isinstance(error, FileNotFoundError) else "standard output"
        where = error.filename if isinstance(error.filename, str) else nameless
        streams.err.write(escape_report(f"trainc: {escape_line(where)}: {error.strerror or error}\n"))
        _discard_output(streams)
        return Status.DIAGNOSED
    except (MemoryError, RecursionError) as error:
        what = "not enough memory" if isinstance(error, MemoryError) else "nested too deeply for Python"
        streams.err.write(f"trainc: the input is too large: {what}; split it up rather than raising limits\n")
        return Status.DIAGNOSED
    except Exception:  # noqa: BLE001 - the one place where a defect becomes an exit code
        from trainc.cli.version import describe_defect

        streams.err.write(describe_defect())
        return Status.DEFECT
    return status


def _process_words() -> list[str]:
    """The process's arguments. kustomize calls a plugin by its kind, and gives it no word that says what to do."""
    called = os.path.basename(sys.argv[0])
    return ["krm", *sys.argv[1:]] if called == KUSTOMIZE_PLUGIN else sys.argv[1:]


def _own_streams() -> Streams:
    """The process's. One that it was started without holds nothing, or takes nothing that is meant to be read."""
    stdin: BinaryIO = sys.stdin.buffer if sys.stdin is not None else BytesIO()
    out: Any = sys.stdout.buffer if sys.stdout is not None else _Closed()
    return Streams(stdin, out, sys.stderr if sys.stderr is not None else StringIO())


class _Closed(RawIOBase):
    """A standard output that is none."""

    def write(self, _: object) -> int:
        """Nothing can be."""
        raise OSError(errno.EBADF, "it is closed")


def _discard_output(streams: Streams) -> None:
    """Send what the process has still buffered nowhere; without this, Python complains about it when it ends."""
    from contextlib import suppress

    if sys.stdout is not None and streams.out is sys.stdout.buffer:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(words: list[str], streams: Streams) -> int:
    first, *rest = words or ["help"]
    first = _SPELLINGS.get(first, first)
    for command in COMMANDS:
        if command.name == first:
            return _run(command, rest, streams)
    from trainc.cli.help import unknown_command

    streams.err.write(f"trainc: error: {unknown_command(words)}\n")
    return Status.USAGE


def _run(command: Command, words: list[str], streams: Streams) -> int:
    parser = build_parser(command)
    try:
        return command.load().run(parse_arguments(parser, words), streams)
    except UsageError as error:
        parser.print_usage(streams.err)
        streams.err.write(f"trainc {command.name}: error: {error}\n")
        return Status.USAGE
    except SystemExit as finished:
        # argparse has printed its help or what is wrong with the words.
        return Status.DONE if not finished.code else Status.USAGE
