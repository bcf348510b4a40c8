"""Where a diagnostic points once overlays have been read and applied: to who wrote the value."""

from __future__ import annotations

from pathlib import Path

import pytest
from overlaid import HEAD, JOB, overlay, refused, write
from tables import cases


@cases("text", "start")
def test_a_value_of_an_overlay_is_reported_where_the_overlay_has_it(folder: Path, text: str, start: str) -> None:
    assert any(error.startswith(start) for error in refused(overlay(text + "\n"))), refused(overlay(text + "\n"))


def test_a_value_of_the_document_is_reported_there_although_the_list_has_moved(folder: Path) -> None:
    write("jobs/llm.yaml", JOB.replace('{name: A, value: "1"}', "{name: A, value: 1}"))
    errors = refused(overlay("patches:\n- {target: {name: llm}, patch: {spec: {trainer: {env: [{name: B}]}}}}\n"))
    assert [
        error for error in errors if error.startswith("jobs/llm.yaml:10:17: error[WrongType] spec.trainer.env[0].value")
    ]


def test_what_a_patch_file_holds_is_reported_there(folder: Path) -> None:
    write("overlays/prod/a.yaml", "# first\nspec: {}\n---\nspec:\n  trainer:\n    nodes: 3\n")
    errors = refused(overlay("patches:\n- {target: {name: llm}, path: a.yaml}\n"))
    assert [error for error in errors if error.startswith("overlays/prod/a.yaml:6:5: error[UnknownField]")]


@cases("text", "start")
def test_what_is_wrong_with_an_overlay_is_reported_at_its_place(folder: Path, text: str, start: str) -> None:
    (error,) = refused(overlay(text + "\n"))
    assert error.startswith(f"overlays/prod/overlay.yaml:{start}"), error


def test_everything_that_is_wrong_is_reported_at_once(folder: Path) -> None:
    other = overlay("nothing: 1\n", "other")
    assert len(refused(overlay("a: 1\nb: 2\nrelease: 2.3\npatches: [{}]\n"), other)) == 5


@pytest.mark.parametrize(
    ("file", "text"),
    [("overlay.yaml", ""), ("overlay.yaml", "kind: Overlay\n"), ("overlay.yaml", HEAD + "---\n" + HEAD), (None, "")],
)
def test_what_is_not_an_overlay_is_refused(folder: Path, file: str | None, text: str) -> None:
    if file:
        write(f"overlays/prod/{file}", text)
    assert refused("overlays/prod")


def test_an_overlay_by_another_name_is_not_a_resource(folder: Path) -> None:
    write("overlays/base.yaml", HEAD)
    (error,) = refused(overlay("resources: [../base.yaml]\n"))
    assert "overlays/base.yaml is an overlay, but is not called overlay.yaml" in error
