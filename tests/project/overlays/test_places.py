"""Documents while they are edited: where each value was written, although lists move and names change."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.findings import Path, Source
from trainc.kube.documents import FieldPath, Item, identity_of, resolve_path, stable_path
from trainc.project.overlays.patterns import Edited, Origin
from trainc.reading.document import Document

ENV: dict[str, Any] = {"spec": {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "args": ["x", "y"]}}
A, B = Item("A", "name"), Item("B", "name")


def placed(data: Any, file: str) -> Document:
    """A document that says of each path: it is there, in the file of that name."""
    return Document(data, file, lambda path: Source(f"{file}:{'/'.join(map(str, path))}", 1, 1))


def where(edited: Edited, *path: str | int) -> str:
    source = edited.locate(path)
    return source.file if source else ""


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ((), ()),
        (("spec", "env", 1, "value"), ("spec", "env", B, "value")),
        (("spec", "env", 5), ("spec", "env", 5)),
        (("spec", "args", 1), ("spec", "args", 1)),
        (("gone", "env", 0), ("gone", "env", 0)),
    ],
)
def test_items_of_keyed_lists_are_known_by_their_key(path: Path, steps: FieldPath) -> None:
    assert stable_path(path, ENV) == steps


def test_a_key_that_is_not_a_name_keeps_its_index() -> None:
    assert stable_path(("env", 0), {"env": [{"name": ["x"]}]}) == ("env", 0)
    assert stable_path(("ports", 0), {"ports": [{"containerPort": 80}]}) == ("ports", Item(80, "containerPort"))
    assert stable_path(("runtimePatches", 0), {"runtimePatches": [{"manager": "m"}]}) == (
        "runtimePatches",
        Item("m", "manager"),
    )


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        (("spec", "env", B, "value"), ("spec", "env", 1, "value")),
        (("spec", "env", Item("C", "name"), "value"), ("spec", "env")),
        (("spec", "args", A), ("spec", "args")),
        (("spec", "none", A), ("spec", "none")),
    ],
)
def test_a_key_leads_to_where_its_item_stands(steps: FieldPath, path: Path) -> None:
    assert resolve_path(steps, ENV) == path


def test_a_value_is_found_where_it_was_written_last() -> None:
    edited = Edited.of(placed(ENV, "job"))
    patch = placed({"patch": {"env": [{"name": "B", "value": "9"}]}}, "overlay")
    moved = {"spec": {"env": [{"name": "B", "value": "9"}, {"name": "A", "value": "1"}], "args": ["x"]}}
    changed = edited.with_data(moved, [(("spec", "env", B, "value"), Origin(patch, ("patch", "env", 0, "value")))])
    assert where(changed, "spec", "env", 0, "value") == "overlay:patch/env/0/value"
    assert where(changed, "spec", "env", 0, "name") == "job:spec/env/1/name"
    assert where(changed, "spec", "env", 1, "value") == "job:spec/env/0/value"


def test_what_lies_below_a_written_value_is_found_in_its_patch() -> None:
    patch = placed({"items": [{"env": [{"name": "B"}, {"name": "A", "value": "7"}]}]}, "overlay")
    data = {"spec": {"env": [{"name": "A", "value": "7"}, {"name": "B"}]}}
    edited = Edited.of(placed(ENV, "job")).with_data(data, [(("spec",), Origin(patch, ("items", 0)))])
    assert where(edited, "spec", "env", 0, "value") == "overlay:items/0/env/1/value"
    assert where(edited, "spec", "gone") == "overlay:items/0/gone"
    lost = Edited.of(placed(ENV, "job")).with_data(data, [(("spec",), Origin(patch, ("items", 4)))])
    assert where(lost, "spec", "env", 0) == "overlay:items/4/env"


def test_a_field_that_is_written_again_forgets_what_was_written_below_it() -> None:
    first, second = placed({"a": 1}, "first"), placed({"b": 2}, "second")
    edited = Edited.of(placed({}, "job")).with_field(("x", "y"), 1, Origin(first, ("a",)))
    assert edited.data == {"x": {"y": 1}}
    assert where(edited, "x", "y") == "first:a"
    again = edited.with_field(("x",), {"y": 2}, Origin(second, ("b",)))
    assert where(again, "x", "y") == "second:b/y"
    assert where(again.with_field(("z",), 1, Origin(first, ("a",))), "x", "y") == "second:b/y"


def test_a_field_of_a_list_is_set_in_its_item_and_nowhere_else() -> None:
    origin = Origin(placed({}, "overlay"), ())
    edited = Edited.of(placed(ENV, "job")).with_field(("spec", "env", 1, "value"), "9", origin)
    assert edited.data["spec"]["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "9"}]
    assert ENV["spec"]["env"][1] == {"name": "B", "value": "2"}
    assert Edited.of(placed({"x": 3}, "job")).with_field(("x", "y"), 1, origin).data == {"x": {"y": 1}}


def test_a_document_that_nobody_changed_stays_itself() -> None:
    document = placed(ENV, "job")
    assert Edited.of(document).to_document() is document
    finished = Edited.of(document).with_field(("new",), 1, Origin(placed({}, "overlay"), ("n",))).to_document()
    assert (finished.data, finished.file, finished.before) == ({**ENV, "new": 1}, "job", document)
    source = finished.locate(("new",))
    assert source is not None
    assert source.file == "overlay:n"


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ({"metadata": {"namespace": "n", "name": "x"}}, ("n", "x")),
        ({"metadata": {"name": "x"}}, ("", "x")),
        ({"metadata": {"namespace": 3, "name": 4}}, ("", "")),
        ({"metadata": ["name"]}, ("", "")),
        ({}, ("", "")),
    ],
)
def test_a_documents_identity(data: dict[str, Any], names: tuple[str, str]) -> None:
    assert identity_of(data) == names
    assert Edited.of(Document.of(data)).identities == (names,)


def test_a_document_remembers_the_names_it_has_had() -> None:
    before = Edited.of(Document.of({"metadata": {"name": "a"}}))
    after = before.keep_identities(before.with_data({"metadata": {"name": "b"}}, ()))
    assert after.identities == (("", "a"), ("", "b"))
    assert after.data == {"metadata": {"name": "b"}}
