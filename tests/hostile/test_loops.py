"""Loops copy no list that they grow, and look for nothing in one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from package import GROUP, nodes, trees

pytestmark = GROUP


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
    "explain/expressions.py": "candidates requested",
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
    "ir/commands/programs.py": "Subscript",  # Five words.
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
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _is_list(node.value, lists)  # A part of a list is copied as well.
    return isinstance(node, ast.List | ast.ListComp) or (isinstance(node, ast.Name) and node.id in lists)
