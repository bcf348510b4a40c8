"""What the programs of a run print: lines and progress bars, the failure that came first, and where each rank is."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Sequence

from trainc.api.records import dataclass

# Torch prints this before each line of an exception that nobody caught.
_RANK = re.compile(r"\[(?:rank|default)(\d+)\]:? ?")
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'\s+File "([^"]+)", line (\d+)(?:,? in (.+))?')
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python", "<frozen ")
# What a launcher raises because a rank has failed, or because it was told to stop.
_CONSEQUENCES = ("ChildFailedError", "SignalException", "KeyboardInterrupt", "SystemExit")
_MOST_FRAMES, _LONGEST = 12, 300
_MOST_BYTES = 1_000_000


class Splitter:
    """Splits what arrives from a program: `line` gets whole lines, `bar` what a carriage return will overwrite."""

    def __init__(self, line: Callable[[bytes], None], bar: Callable[[bytes], None]) -> None:
        self._line, self._bar = line, bar
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._line(_last_state(line))
        if b"\r" in self._rest:
            self._rest = self._rest[self._rest.rstrip(b"\r").rfind(b"\r") + 1 :]
            self._bar(self._rest.rstrip(b"\r"))
        elif len(self._rest) > _MOST_BYTES:
            self.end()

    def end(self) -> None:
        """Take the end of the stream for the end of a line."""
        if self._rest:
            self._line(_last_state(self._rest))
        self._rest = b""


def _last_state(line: bytes) -> bytes:
    """A line as a terminal leaves it, where each carriage return begins the line anew."""
    return line.rstrip(b"\r").rpartition(b"\r")[2]


@dataclass(frozen=True, slots=True)
class Frame:
    """A call in a Python stack."""

    file: str
    line: str
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}{f' in {self.function}' if self.function else ''}"


def _frame(text: str) -> Frame | None:
    match = _FRAME.match(text)
    return None if match is None else Frame(match[1], match[2], match[3] or "")


class FirstFailure:
    """Finds the exception that came first among the lines of all pods; `text` is empty until there is one."""

    def __init__(self) -> None:
        self.text = ""
        self._from: tuple[str, str] | None = None
        self._open: dict[tuple[str, str], list[Frame]] = {}

    def line(self, pod: str, rank: str, text: str) -> None:
        """Take a line of a pod, and of a rank where that is known."""
        prefix = _RANK.match(text)
        if prefix is not None:
            rank, text = rank or prefix[1], text[prefix.end() :]
        key = (pod, rank)
        if text.startswith(_TRACEBACK):
            self._open[key] = []
        elif key in self._open and not text.startswith((" ", "\t")) and text.strip():
            self._ended(key, self._open.pop(key), text.strip())
        elif key in self._open and (frame := _frame(text)) is not None:
            self._open[key].append(frame)

    def _ended(self, key: tuple[str, str], frames: Sequence[Frame], message: str) -> None:
        raised = message.partition(":")[0].rpartition(".")[2]
        # What one rank raises while it handles an exception is what ends it.
        if raised in _CONSEQUENCES or (self.text and self._from != key):
            return
        pod, rank = key
        own_frames = [frame for frame in frames if not any(part in frame.file for part in _LIBRARIES)] or frames
        where = own_frames[-1] if own_frames else None
        position = f" ({os.path.basename(where.file)}:{where.line})" if where else ""
        self._from = key
        self.text = f"{rank_label(pod, rank)}: {message[:_LONGEST]}{position}"


def rank_label(pod: str, rank: str) -> str:
    """A rank in messages."""
    return f"{pod}, rank {rank}" if rank else pod


def calls(lines: Sequence[str]) -> list[str]:
    """The calls of the main thread in a report of Python's faulthandler, the innermost one last."""
    threads: list[tuple[str, list[Frame]]] = []
    for line in lines:
        if "(most recent call first)" in line:
            threads.append((line, []))
        elif threads and (frame := _frame(line)) is not None:
            threads[-1][1].append(frame)
    # The signal reaches the main thread, unless that blocks it.
    current = next((frames for title, frames in threads if title.startswith("Current thread")), None)
    frames = current if current is not None else threads[-1][1] if threads else []
    # Without those by which Python starts a module.
    return [str(frame) for frame in frames if not frame.file.startswith("<frozen ")][:_MOST_FRAMES][::-1]
