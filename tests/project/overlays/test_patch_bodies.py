"""The bodies of patches, in place and in files, and where their lines stand."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases

from trainc.findings import Source
from trainc.options import Limits
from trainc.project.overlays.overlay import Overlay, PatchEntry, bodies_of, body_in_place
from trainc.reading.document import Document

REMOVE = [{"op": "remove", "path": "/a"}]
ENTRY = ("patches", 0)


@cases("text", "bodies")
def test_mappings_merge_and_lists_are_operations(text: str, bodies: list[Any]) -> None:
    found, problems = bodies_of(text, "p.yaml", Limits())
    assert not problems
    assert [body for body, _, _ in found] == bodies


def test_a_value_in_a_file_of_several_patches_is_found_at_its_line() -> None:
    text = "a: 1\n---\nb:\n  c: 2\n---\n# why\n- op: remove\n  path: /a\n"
    (_, first, _), (_, second, below), (_, third, listed) = bodies_of(text, "p.yaml", Limits())[0]
    assert first.locate(("a",)) == Source("p.yaml", 1, 1)
    assert second.locate((*below, "b", "c")) == Source("p.yaml", 4, 3)
    assert listed == ("operations",)
    assert third.locate((*listed, 0, "path")) == Source("p.yaml", 8, 3)


@pytest.mark.parametrize(("text", "line"), [("a: 1\n---\nb: [\n", 4), ("a: 1\n---\n- [\n", 4), ("a: {\n", 2)])
def test_what_is_not_yaml_is_reported_at_its_line(text: str, line: int) -> None:
    _, (problem,) = bodies_of(text, "p.yaml", Limits())
    assert problem.source is not None
    assert problem.source.file == "p.yaml"
    assert line - 1 <= problem.source.line <= line


def in_place(body: Any, line: int | None = 10) -> Any:
    def locate(path: Any) -> Source | None:
        return Source("overlay.yaml", line, 3) if line and path[:3] == (*ENTRY, "patch") else None

    overlay = Overlay(Document({}, "overlay.yaml", locate))
    return body_in_place(overlay, PatchEntry(ENTRY, body, None, None), Limits())


def test_a_patch_in_place_stands_in_the_overlay() -> None:
    ((body, document, path),), problems = in_place({"a": 1})
    assert (body, path, problems) == ({"a": 1}, (*ENTRY, "patch"), [])
    assert document.locate(path) == Source("overlay.yaml", 10, 3)
    assert in_place(None) == ([], [])
    assert in_place(REMOVE)[0][0][0] == REMOVE


def test_lines_of_a_text_in_place_are_lines_of_the_overlay() -> None:
    ((body, document, path),), _ = in_place("a: 1\nb: 2\n")
    assert body == {"a": 1, "b": 2}
    assert document.locate((*path, "b")) == Source("overlay.yaml", 12, 3)
    ((_, single, path),), _ = in_place("{a: 1}")
    assert single.locate((*path, "a")) == Source("overlay.yaml", 10, 3)
    _, (problem,) = in_place("a: 1\nb: [\n")
    assert problem.source.file == "overlay.yaml"
    assert problem.source.line in (12, 13)
    assert in_place("a: 1\nb: [\n", None)[1][0].source is None


def test_bytes_that_are_no_text_are_reported() -> None:
    bodies, (problem,) = bodies_of("a: \udcff\n", "p.yaml", Limits())
    assert (bodies, problem.severity) == ([], "error")
    assert problem.source is not None
    assert (problem.source.file, problem.source.line) == ("p.yaml", 1)
