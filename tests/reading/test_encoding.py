"""Bytes that are text, and bytes that are not."""

from __future__ import annotations

import pytest
from reading import data_of, errors_of, read

TEXT = "name: \u00e9\U0001f600\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        b"\xff\xfe" + TEXT.encode("utf-16-le"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
    ],
)
def test_every_encoding_that_kubectl_reads_is_read(data: bytes) -> None:
    assert data_of(data) == [{"name": "\u00e9\U0001f600"}]


@pytest.mark.parametrize(
    ("data", "errors", "words"),
    [
        (b"a: 1\nb: x\xffy\n", [("InvalidEncoding", 2, 5)], "0xFF"),
        (b"a: \xc3\xa9\x80\n", [("InvalidEncoding", 1, 5)], "0x80"),
        (b"a: \xed\xa0\x80\n", [("InvalidEncoding", 1, 4)], "0xED"),
        (b"a: b\x00c\n", [("InvalidEncoding", 1, 5)], "U+0000"),
        (b"a: b\x1bc\n", [("InvalidEncoding", 1, 5)], "U+001B"),
        (b"a: b\x7fc\n", [("InvalidEncoding", 1, 5)], "U+007F"),
        ("a: b\x9fc\n".encode(), [("InvalidEncoding", 1, 5)], "U+009F"),
        ("a: b\uffffc\n".encode(), [("InvalidEncoding", 1, 5)], "U+FFFF"),
        ("a: 1\n".encode("utf-16-le"), [("InvalidEncoding", 1, 2)], "U+0000"),
        ("a: 1\n".encode("utf-32"), [("InvalidEncoding", 1, 1)], "U+0000"),
        ("a: 1\n".encode("utf-16")[:-1], [("InvalidEncoding", 1, 5)], "UTF-16"),
        (b"\xff\xfea\x00\x00\xd8b\x00", [("InvalidEncoding", 1, 2)], "UTF-16"),
    ],
)
def test_bytes_that_are_no_text_are_refused_where_they_stand(
    data: bytes, errors: list[tuple[str, int, int]], words: str
) -> None:
    assert errors_of(data) == errors
    _, [error] = read(data)
    assert words in error.message


def test_bad_bytes_in_one_document_leave_the_others() -> None:
    documents, [error] = read(b"a: 1\n---\na: \xff\n---\na: 3\n")
    assert [document.data for document in documents] == [{"a": 1}, {"a": 3}]
    assert str(error.source) == "jobs.yaml:3:4"
