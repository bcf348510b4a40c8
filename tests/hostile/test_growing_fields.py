"""Fields of a TrainJob that grow, made from its schema, take steps in proportion; loops copy no list that they grow."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from growing import Field, fields, write
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


def test_changes_that_are_refused_take_steps_in_proportion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change is about a refusal, of which there are as many: fields that grow together found it."""
    monkeypatch.chdir(tmp_path)
    pods = "JobSet spec.replicatedJobs.0.template.spec.template.spec"
    anti_affinity = "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    ways = (f"{pods}.{anti_affinity} numbered", f"{pods}.containers.0.env numbered")
    together, found = [field for field in fields("JobSet") if str(field) in ways], []
    for size in (20, 40, 80, 160):  # The first one imports what a difference needs.
        write(together, tmp_path, size)
        found.append(steps(lambda: main(["diff", "before/rendered.yaml", "rendered.yaml"], _streams())))
    assert_linear(found[1:], 40_000)


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


# The lists in which loops look for something: no input decides how long they are, or how often that is done.
BOUNDED = {
    "cli/report_formats.py": "codes",
    "cli/settings.py": "overlay_folders",
    "emit/shaping.py": "chosen",
    "explain/model.py": "candidates requested",
    "features/authoring/new/command.py": "documents",
    "features/authoring/run/plan.py": "ours",
    "features/cluster/doctor/comparison.py": "ListComp",
    "features/cluster/fits/answer.py": "classes",
    "features/cluster/fits/findings.py": "kinds",
    "features/cluster/fits/shortfall.py": "levels",
    "features/gitops/diff/causes.py": "fields",
    "features/gitops/diff/comparison.py": "deliveries",
    "features/gitops/diff/live.py": "odd",
    "features/gitops/init/command.py": "environment_names",
    "ir/parallelism.py": "Call axes",
    "knowledge/software.py": "names",
    "kube/sync_options.py": "chosen",
    "lints/programs.py": "choices homes",
    "lints/runs.py": "read",
    "pods/checks.py": "needs",
    "reading/files.py": "lines",  # Each text's own.
    "schema/unknown_fields.py": "unknown",
}
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def test_no_loop_looks_for_something_in_a_list() -> None:
    """Each look goes through the list, in C, where no steps are counted: a set or a mapping is asked instead."""
    found: dict[str, set[str]] = {}
    for module, function in nodes(ast.FunctionDef):
        for looked in _looks(function):
            found.setdefault(module, set()).add(looked)
    assert {module: " ".join(sorted(lists)) for module, lists in found.items()} == BOUNDED


def _looks(function: ast.FunctionDef) -> Iterator[str]:
    """The lists in which loops of a function look: those that it makes, and those that it is given."""
    given = [*function.args.args, *function.args.kwonlyargs]
    lists = {one.arg for one in given if one.annotation and ast.unparse(one.annotation).startswith(("list", "Seq"))}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_list(node.value, lists):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            lists |= {target.id for target in targets if isinstance(target, ast.Name)}
    for node in (node for loop in ast.walk(function) if isinstance(loop, LOOPS) for node in ast.walk(loop)):
        if isinstance(node, ast.Compare) and isinstance(node.ops[-1], ast.In | ast.NotIn):
            asked = node.comparators[-1]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS:
            asked = node.func.value
        else:
            continue
        if _is_list(asked, lists) and not isinstance(asked, ast.List):
            yield asked.id if isinstance(asked, ast.Name) else type(asked).__name__


LOOKS = ("index", "count", "remove")


def _is_list(node: ast.expr, lists: set[str]) -> bool:
    if isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        return called in ("list", "sorted", "values")
    return isinstance(node, ast.List | ast.ListComp) or (isinstance(node, ast.Name) and node.id in lists)
