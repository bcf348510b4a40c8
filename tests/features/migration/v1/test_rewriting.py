"""Text with other data: it reads as the new data, no comment is lost or doubled, and what has not changed is as it was."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from yaml_styles import written

from trainc.features.migration.v1.rewriting import rewrite, rewrite_json
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents, read_value

SHAPES = sorted((Path(__file__).parent / "v1" / "shapes").glob("*.yaml"))
NEW: tuple[Any, ...] = (
    *(None, 0, True, 1.5, "", "yes", "0x1F", "[x]", "a: b", " lead", "several\nlines\n", [], {}),
    *({"a": 1, "b": [1, {"c": "d"}]}, ["x", {"name": "n", "v": 1}], list(range(30))),
)


def documents() -> list[dict[str, Any]]:
    read = (read_documents(path.read_bytes(), path.name, Limits())[0] for path in SHAPES)
    return [document.data for documents in read for document in documents]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield (*path, step)
        yield from paths(item, (*path, step))


def changed(document: dict[str, Any], random: Random) -> dict[str, Any]:
    """The document with some of its values gone, replaced, added, renamed or doubled."""
    result = copy.deepcopy(document)
    for _ in range(random.randint(1, 4)):
        *above, last = random.choice(list(paths(result)) or [("kind",)])
        parent: Any = result
        for step in above:
            parent = parent[step]
        action = random.choice(("remove", "replace", "add", "rename"))
        if action == "remove" and len(parent) > 1:
            del parent[last]
        elif action == "rename" and isinstance(parent, dict):
            parent[f"{last}New"] = parent.pop(last)
        elif action == "add" and isinstance(parent, list):
            parent.insert(last, copy.deepcopy(random.choice((*NEW, parent[last]))))
        else:
            parent["added" if isinstance(parent, dict) and action == "add" else last] = copy.deepcopy(
                random.choice(NEW)
            )
    return result


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def comments(text: str) -> Counter[str]:
    return Counter(re.findall(r"# \d+$", text, re.MULTILINE))


@pytest.mark.parametrize("first", range(4))
def test_any_document_reads_as_its_new_data_with_every_comment_once(first: int) -> None:
    known = documents()
    for seed in range(first, 400, 4):
        random = Random(seed)
        data = random.choice(known)
        text = written(data, random)
        new = [changed(data, random), *random.choices(known, k=random.choice((0, 0, 1)))]
        result = rewrite(text, data, new)
        assert same([read_value(part) for part in result.split("\n---\n")], new), seed
        assert comments(result) == comments(text), seed


def test_any_object_of_json_reads_as_its_new_data() -> None:
    known = documents()
    for seed in range(200):
        random = Random(seed)
        data = random.choice(known)
        form = random.choice(({}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}))
        new = changed(data, random)
        assert same(json.loads(rewrite_json(json.dumps(data, **form), data, [new])), new), seed


TEXT = """\
# The head.
kind: A
metadata: {name: x,   labels: {a: b}} # flow
spec:
    # Above the list.
    items:
    -   name: one   # first

        size:  1
    # Above two.
    - name: two
      text: |
        # not a comment
        a
    gone: 1 # of no use
    last: 'x'
# The tail.
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("kind",), "B", "kind: A\n", "kind: B\n"),
        (("metadata", "labels"), None, ",   labels: {a: b}} # flow\n", "} # flow\n"),
        (("metadata", "name"), "yes", "{name: x,", '{name: "yes",'),
        (("spec", "items", 0, "size"), 2, "size:  1\n", "size: 2\n"),
        (("spec", "items", 1, "text"), "b", "text: |\n        # not a comment\n        a\n", "text: b\n"),
        (("spec", "gone"), None, "    gone: 1 # of no use\n    last", "    # of no use\n    last"),
        (
            ("spec", "items", 0),
            None,
            "    -   name: one   # first\n\n        size:  1\n    # Above",
            "    # first\n    # Above",
        ),
        (("spec", "more"), {"a": [1]}, "    last: 'x'\n", "    last: 'x'\n    more:\n        a:\n        - 1\n"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_one_change_changes_its_lines_alone(path: tuple[Any, ...], value: Any, old: str, new: str) -> None:
    data = read_value(TEXT)
    other = copy.deepcopy(data)
    parent = other
    for step in path[:-1]:
        parent = parent[step]
    if value is None:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    assert TEXT.count(old) == 1
    assert rewrite(TEXT, data, [other]) == TEXT.replace(old, new)


def test_an_anchor_whose_value_changes_is_written_out_where_it_was_used() -> None:
    text = "a: &all {x: 1} # one\nb: *all # two\nc:   3\n"
    assert rewrite(text, read_value(text), [{"a": {"x": 2}, "b": {"x": 1}, "c": 3}]) == (
        "a: # one\n  x: 2\nb: # two\n  x: 1\nc:   3\n"
    )
