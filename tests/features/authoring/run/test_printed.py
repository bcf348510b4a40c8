"""What programs print is split, searched for the first failure, and read as the stacks of ranks."""

from __future__ import annotations

import pytest

from trainc.features.authoring.run.printed import FirstFailure, Splitter, calls


def split(*chunks: bytes) -> tuple[list[bytes], list[bytes]]:
    lines: list[bytes] = []
    bars: list[bytes] = []
    splitter = Splitter(lines.append, bars.append)
    for chunk in chunks:
        splitter.feed(chunk)
    splitter.end()
    return lines, bars


def test_lines_arrive_whole_however_the_bytes_do() -> None:
    assert split(b"a", b"b\nc", b"\n\nd") == ([b"ab", b"c", b"", b"d"], [])


def test_a_progress_bar_is_seen_before_its_line_ends_and_once_as_a_line() -> None:
    assert split(b"\r 1%", b"\r 2%\r", b" 3%\nend\r\n") == ([b" 3%", b"end"], [b" 1%", b" 2%"])


def test_a_text_without_lines_is_not_kept_for_ever() -> None:
    lines, _ = split(b"x" * 1_500_000, b"y")
    assert [len(line) for line in lines] == [1_500_000, 1]


def crash(message: str, *frames: str, prefix: str = "") -> list[str]:
    called = [f'  File "{file}", line {number}, in step' for file, _, number in (f.partition(":") for f in frames)]
    return [f"{prefix}{line}" for line in ("Traceback (most recent call last):", *called, "    code", message)]


def first(*printed: tuple[str, str, list[str]]) -> str:
    failure = FirstFailure()
    for pod, rank, lines in printed:
        for line in lines:
            failure.line(pod, rank, line)
    return failure.text


OWN = crash("ValueError: bad shard", "/w/train.py:31", "/usr/lib/python3.11/json.py:4")
ELASTIC = crash(
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "/x/site-packages/torch/run.py:1"
)


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        pytest.param(
            [("node-0-1", "3", OWN)], "node-0-1, rank 3: ValueError: bad shard (train.py:31)", id="the user's line"
        ),
        pytest.param([("n", "", OWN)], "n: ValueError: bad shard (train.py:31)", id="no rank where none is known"),
        pytest.param(
            [("n", "", crash("E: x", "/w/a.py:1", prefix="[rank7]: "))], "n, rank 7: E: x (a.py:1)", id="torch's prefix"
        ),
        pytest.param(
            [("n", "0", OWN), ("n", "1", crash("RuntimeError: Connection closed", "/w/a.py:1"))],
            "n, rank 0: ValueError: bad shard (train.py:31)",
            id="what follows in others is not the cause",
        ),
        pytest.param(
            [("n", "0", [*OWN, "", "During handling of the above exception, another exception occurred:", "", *crash("B: y", "/w/b.py:2")])],
            "n, rank 0: B: y (b.py:2)",
            id="what a rank raises in the end",
        ),
        pytest.param([("n", "", ELASTIC)], "", id="a launcher reports its rank"),
        pytest.param([("n", "", ["Traceback of costs", "ValueError: no"])], "", id="no traceback"),
    ],
)  # fmt: skip
def test_the_exception_that_came_first_is_found(printed: list[tuple[str, str, list[str]]], text: str) -> None:
    assert first(*printed) == text


def test_the_stack_of_the_main_thread_ends_with_the_innermost_call() -> None:
    lines = [
        "Fatal Python error: Aborted",
        "Thread 0x1 (most recent call first):",
        '  File "/x/watch.py", line 1 in run',
        "Current thread 0x2 (most recent call first):",
        '  File "/w/train.py", line 9 in step',
        '  File "/w/train.py", line 11 in <module>',
        '  File "<frozen runpy>", line 88 in _run_code',
        "Extension modules: numpy",
    ]
    assert calls(lines) == ["/w/train.py:11 in <module>", "/w/train.py:9 in step"]
    assert calls(lines[:3]) == ["/x/watch.py:1 in run"]
    assert calls(["no stack"]) == []
