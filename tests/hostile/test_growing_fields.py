"""Fields of a TrainJob that grow, made from its schema, take steps in proportion; loops copy no list that they grow."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from growing import Field, fields
from package import nodes, trees
from steps import assert_linear, steps

from trainc.cli.command import Streams
from trainc.cli.main import main

SIZES = (150, 300, 600)
GROWN = [field for field in fields("TrainJob") if field.way in ("numbered", "keys")]


def _streams() -> Streams:
    return Streams(io.BytesIO(), io.BytesIO(), io.StringIO())


@pytest.mark.slow
@pytest.mark.parametrize("grown", GROWN, ids=str)
def test_check_takes_steps_in_proportion(grown: Field, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for size in SIZES:
        grown.write(tmp_path, size)
        main(["check"], _streams())  # What is remembered of an input is remembered before it is counted.
        found.append(steps(lambda: main(["check"], _streams())))
    # Some of what is remembered is bounded, so that the largest document is read anew.
    assert_linear(found, 40_000)


def test_every_kind_of_field_is_found() -> None:
    assert len(GROWN) >= 20
    assert {"spec.trainer.args", "spec.trainer.env", "metadata.labels"} <= {".".join(map(str, f.path)) for f in GROWN}


def test_nothing_but_suggestions_of_names_uses_difflib() -> None:
    """Names are short there; elsewhere it is cubic."""
    imports = [*nodes(ast.Import), *nodes(ast.ImportFrom)]
    users = {module for module, node in imports if "difflib" in ast.unparse(node)}
    assert users == {"findings/text.py"}


def test_no_loop_takes_the_first_item_off_a_list() -> None:
    found = [
        f"{module}:{node.lineno} {ast.unparse(node)}" for module, tree in trees().items() for node in _shifts(tree)
    ]
    assert found == []


def _shifts(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls in loops that move every item of a list: `pop(0)` and `insert(0, ...)`."""
    for loop in ast.walk(tree):
        for node in ast.walk(loop) if isinstance(loop, ast.For | ast.While) else ():
            is_first = isinstance(node, ast.Call) and node.args and ast.unparse(node.args[0]) == "0"
            if isinstance(node, ast.Call) and is_first and ast.unparse(node.func).endswith((".pop", ".insert")):
                yield node
