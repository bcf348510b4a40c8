"""What programs print is split, searched for the first failure, and read as the stacks of ranks."""

from __future__ import annotations

from tables import cases

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


def first(*printed: tuple[str, str, list[str]]) -> str:
    failure = FirstFailure()
    for pod, rank, lines in printed:
        for line in lines:
            failure.line(pod, rank, line)
    return failure.text


@cases("printed", "text")
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
