"""Dispatch: from the words of a command line to an exit code.

Only the command that was asked for is imported. The codes are those of command.Status, and as a shell reports them 130
after Ctrl-C, 141 where the reader of the output has gone, and 143 after SIGTERM with a temporary folder to remove.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextvars import copy_context
from io import BufferedReader, BufferedWriter, BytesIO, RawIOBase, StringIO, TextIOWrapper

from trainc import __version__
from trainc.cli.command import (
    Command,
    HelpText,
    Progress,
    Status,
    Streams,
    TerminatedError,
    UsageError,
    arguments_of,
    command_named,
    commands,
)
from trainc.startup import suppress
from trainc.startup.records import replace
from trainc.startup.typing import Any, BinaryIO, TextIO, TypeVar, cast

# kustomize invokes an exec plugin by an executable named after the `kind` of its configuration.
KUSTOMIZE_PLUGIN = "Overlay"
_VERSION = ("-V", "--version")
_SPELLINGS = {"-h": "help", "--help": "help", **dict.fromkeys(_VERSION, "version")}
_INTERRUPTED = 130
_NO_READER = 141
_TERMINATED = 143


def run() -> None:
    """Run the command line of this process."""
    streams = _own_streams()
    sys.stdout = sys.stderr  # What a plugin or a library prints is no part of manifests or of frames.
    status = main(streams=streams)
    # Output is flushed by now; interpreter teardown would cost another 5%.
    os._exit(status)


def main(command_line: Sequence[str] | None = None, streams: Streams | None = None) -> int:
    """Run one command line (the process's own arguments by default) and return its exit code."""
    streams = streams or _own_streams()
    streams = replace(streams, progress=Progress(streams.err))
    try:
        status = copy_context().run(
            _dispatch, _process_words() if command_line is None else list(command_line), streams
        )
        streams.out.flush()
        streams.err.flush()
    except KeyboardInterrupt as stopped:
        return _TERMINATED if isinstance(stopped, TerminatedError) else _INTERRUPTED
    except BrokenPipeError:
        _discard_output(streams)
        return _NO_READER
    except OSError as error:
        # An OSError here means the disk or permissions: unreadable inputs have already been reported as diagnostics.
        from trainc.findings.text import escape_line, escape_report

        # Output files are created on demand, so an error without a file name is about the current directory.
        nameless = "the current folder" if isinstance(error, FileNotFoundError) else "standard output"
        where = error.filename if isinstance(error.filename, str) else nameless
        with suppress(OSError):  # Standard error may be what cannot be written.
            streams.err.write(escape_report(f"trainc: {escape_line(where)}: {error.strerror or error}\n"))
        _discard_output(streams)
        return Status.DIAGNOSED
    except (MemoryError, RecursionError) as error:
        reason = "not enough memory" if isinstance(error, MemoryError) else "nested too deeply for Python"
        streams.err.write(f"trainc: the input is too large: {reason}; split it up rather than raising limits\n")
        return Status.DIAGNOSED
    except Exception:  # noqa: BLE001 - the one place where a defect becomes an exit code
        from trainc.cli.version import describe_defect

        streams.err.write(describe_defect())
        return Status.DEFECT
    return status


def _process_words() -> list[str]:
    """Return the process's arguments. kustomize invokes a plugin by its kind, without a subcommand."""
    called = os.path.basename(sys.argv[0])
    return ["krm", *sys.argv[1:]] if called == KUSTOMIZE_PLUGIN else sys.argv[1:]


def _own_streams() -> Streams:
    """Return the process's streams. A stream missing at startup is replaced by an empty input or a closed output."""
    stdin: BinaryIO = whole_input(sys.stdin) if sys.stdin is not None else BytesIO()
    out: Any = whole_output(sys.stdout) if sys.stdout is not None else _Closed()
    return Streams(stdin, out, whole_messages(sys.stderr) if sys.stderr is not None else StringIO())


class _Closed(RawIOBase):
    """Stand-in for a standard output that the process was started without."""

    def write(self, _: object) -> int:
        """Raise OSError: nothing can be written."""
        raise OSError(errno.EBADF, "it is closed")


def _discard_output(streams: Streams) -> None:
    """Discard buffered output; otherwise Python reports a write error at exit."""
    for own, stream in ((sys.__stdout__, streams.out), (sys.__stderr__, streams.err)):
        with suppress(OSError, ValueError):
            if own is not None and stream.fileno() == own.fileno():
                os.dup2(os.open(os.devnull, os.O_WRONLY), own.fileno())


def _dispatch(command_line: list[str], streams: Streams) -> int:
    first, *arguments = _command_first(command_line) or ["help"]
    if first in _VERSION and not arguments:
        streams.write(f"trainc {__version__}\n")
        return Status.DONE
    first = _SPELLINGS.get(first, first)
    if command := command_named(first):
        return _run(command, arguments, streams)
    if first == "__complete":  # What the completion scripts ask, as those of cobra do.
        from trainc.cli.completion import complete

        streams.write(complete(arguments))
        return Status.DONE
    from trainc.cli.help import unknown_command

    streams.err.write(f"trainc: error: {unknown_command(command_line)}\n")
    return Status.USAGE


def _command_first(command_line: list[str]) -> list[str]:
    """Move options that stand before the command behind it: `trainc -v check` is `trainc check -v`."""
    if command_line and command_line[0].startswith("-") and command_line[0] not in _SPELLINGS:
        names = {command.name for command in commands()}
        place = next((place for place, word in enumerate(command_line) if word in names), 0)
        return [*command_line[place : place + 1], *command_line[:place], *command_line[place + 1 :]]
    return command_line


def _run(command: Command, command_line: list[str], streams: Streams) -> int:
    try:
        arguments = arguments_of(command.name, command_line)
        return command.load().run(arguments, streams)
    except UsageError as error:
        from trainc.cli.parser import build_parser

        build_parser(command).print_usage(streams.err)
        streams.err.write(f"trainc {command.name}: error: {error}\n")
        return Status.USAGE
    except HelpText as help_text:
        streams.write(str(help_text))
        return Status.DONE
    except SystemExit:  # argparse has already printed the usage error.
        return Status.USAGE


# The streams of the process: each byte that is written to one is written, or an OSError says so.


T = TypeVar("T")


class _Whole(RawIOBase):
    """A raw stream that waits for a pipe that does not block, and writes all that it is given or raises OSError.

    A raw write may take a part of the bytes without an error, and Python's own stdout is raw under PYTHONUNBUFFERED. A
    pipe that does not block looks like the end of the input, and like one that has taken nothing.
    """

    def __init__(self, stream: Any) -> None:
        self._raw = getattr(stream, "raw", stream)

    def write(self, data: Any) -> int:
        left = size = len(view := memoryview(data).cast("B"))
        while left:
            taken = self._waiting(lambda: self._raw.write(view[size - left :]), "POLLOUT")  # noqa: B023 - called at once
            if not taken:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            left -= taken
        return size

    def readinto(self, buffer: Any) -> int:
        return int(self._waiting(lambda: self._raw.readinto(buffer), "POLLIN"))

    def _waiting(self, act: Callable[[], T | None], event: str) -> T:
        while (done := act()) is None:
            import select

            if not hasattr(select, "poll"):  # Windows has no pipes that do not block.
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            poll = select.poll()
            poll.register(self.fileno(), getattr(select, event))
            poll.poll()
        return done

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())


def whole_input(stream: TextIO) -> BinaryIO:
    """The bytes of the process's standard input; a pipe that does not block is waited for."""
    return BufferedReader(_Whole(stream.buffer))


def whole_output(stream: TextIO) -> BinaryIO:
    """The bytes that go to the process's standard output, all of them once they are flushed."""
    return BufferedWriter(_Whole(stream.buffer))


def whole_messages(stream: TextIO) -> TextIO:
    """The text that goes to the process's standard error, line by line. A stream of a notebook is taken as it is."""
    if not hasattr(stream, "buffer"):
        return stream
    return TextIOWrapper(
        cast("BinaryIO", BufferedWriter(_Whole(stream.buffer))),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
    )
