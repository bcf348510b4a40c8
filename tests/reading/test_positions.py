"""Field paths to lines and columns."""

from __future__ import annotations

import pytest
from reading import read
from tables import cases

from trainc.findings import Path
from trainc.reading.document import Document

TEXT = """\
# A comment first.
---
kind: TrainJob
metadata: {name: llm, labels: {app.kubernetes.io/name: "é", x: 1}}
spec:
  "trainer":
    env:
    - name: A
      value: |
        first: line
    -   name: B
    - - nested
  1: number
  empty:
shared: &shared
  deep: {er: 1}
alias: *shared
merged:
  <<: *shared
  own: 1
"""


@cases("path", "place")
def test_a_path_is_found_at(path: Path, place: str) -> None:
    [document], _ = read(TEXT)
    assert str(document.locate(path)) == f"jobs.yaml:{place}"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("status",), "3:1"),
        (("spec", "runtimeRef", "name"), "5:1"),
        (("spec", "trainer", "env", 7, "name"), "7:5"),
        (("spec", "trainer", "env", -1), "7:5"),
        (("spec", "trainer", "env", "name"), "7:5"),
        (("spec", "empty", "x"), "14:3"),
        (("kind", 0), "3:1"),
    ],
)
def test_a_path_that_does_not_exist_is_found_at_its_nearest_ancestor(path: Path, place: str) -> None:
    [document], _ = read(TEXT)
    assert str(document.locate(path)) == f"jobs.yaml:{place}"


def test_every_key_of_the_data_has_a_place_of_its_own() -> None:
    [document], _ = read(TEXT)

    def walk(value: object, path: Path) -> list[Path]:
        steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [path] + [deeper for step, item in steps for deeper in walk(item, (*path, step))]

    # Keys below an alias share the places of its anchor's; a list's item shares the place of its first key.
    paths = [path for path in walk(document.data, ()) if path and path[0] not in {"alias", "merged"}]
    paths = [path for path in paths if isinstance(path[-1], str)]
    assert len({str(document.locate(path)) for path in paths}) == len(paths)


def test_data_that_stands_in_no_file_has_no_place() -> None:
    assert Document.of({"kind": "TrainJob"}).locate(("kind",)) is None
