"""The layout of the package: imports point one way, plugins stand alone, names say what is inside."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import trainc

PACKAGE = Path(trainc.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

# cli -> pipeline -> stages -> ir -> ground. Modules at the top of the package that are not ground are the pipeline:
# they alone know several stages. What is built around the pipeline is the command line and the integrations.
GROUND = {
    "diagnostics",
    "name_forms",
    "near_names",
    "options",
    "patterns",
    "records",
    "sync_options",
}
STAGES = {"frontend", "lints", "output", "plugins", "report", "target"}
AROUND = {"__main__", "cli", "integrations"}
VAGUE = {"base", "common", "core", "helper", "helpers", "misc", "shared", "tools", "util", "utils"}


def home(module: str) -> str:
    """`reading/files.py` belongs to frontend, `pipeline.py` to pipeline."""
    return module.split("/", maxsplit=1)[0].removesuffix(".py")


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


@cache
def imported(module: str) -> tuple[str, ...]:
    """What `module` imports from the package, at its top or inside a function: `trainc.reading.files`."""
    return tuple(_imports(tree(module)))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("trainc."))
        elif isinstance(node, ast.ImportFrom) and node.module == "trainc":
            yield from (f"trainc.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trainc."):
            yield str(node.module)


def allowed(importer: str) -> set[str]:
    """The homes that a home may import beside itself."""
    if importer in GROUND or importer == "ir":
        return GROUND
    if importer in STAGES:
        return GROUND | {"ir"}
    homes = {home(module) for module in MODULES}
    return homes if importer in AROUND else homes - AROUND


def test_imports_point_one_way() -> None:
    wrong = {
        module: sorted(against)
        for module in MODULES
        if (against := {n for n in imported(module) if n.split(".")[1] not in allowed(home(module)) | {home(module)}})
    }
    assert wrong == {}


def test_there_are_modules_of_every_layer() -> None:
    homes = {home(module) for module in MODULES}
    assert homes > GROUND | STAGES | {"cli", "ir", "pipeline"}
    assert any(imported(module) for module in MODULES)


def test_no_two_modules_at_the_top_need_each_other() -> None:
    top = {home(module): imported(module) for module in MODULES if "/" not in module and not module.startswith("_")}
    TopologicalSorter({name: {n.split(".")[1] for n in names} & set(top) for name, names in top.items()}).prepare()


def test_plugins_never_import_each_other() -> None:
    registry = {"registry", "engine", "plugin", "__init__"}
    owners = {m: m.split("/")[1].removesuffix(".py") for m in MODULES if m.startswith("plugins/")}
    assert set(owners.values()) > registry
    for module, plugin in owners.items():
        if plugin not in registry:
            used = {name.split(".")[2] for name in imported(module) if name.startswith("trainc.plugins.")}
            assert used <= {"plugin", plugin}, module


def test_a_name_means_something() -> None:
    assert [module for module in MODULES if VAGUE & set(module.removesuffix(".py").split("/"))] == []


def test_a_module_says_what_it_is_in_a_sentence() -> None:
    openings = {module: (ast.get_docstring(tree(module)) or "").split("\n\n")[0] for module in MODULES}
    assert [module for module, opening in openings.items() if not opening.endswith((".", "?", ":"))] == []


def test_nothing_but_the_command_line_prints_reads_the_environment_or_looks_at_the_clock() -> None:
    # git is started with the environment that trainc was started with.
    exempt = {("reading/git_tree.py", "os.environ")}
    forbidden = {"print", "input", "os.getenv", "os.environ", "time.time", "datetime.now", "datetime.datetime.now"}
    used = {
        (module, ast.unparse(node))
        for module in MODULES
        if home(module) not in AROUND
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Name | ast.Attribute)
    }
    assert {use for use in used if use[1] in forbidden} - exempt == set()


def test_records_are_defined_by_records_and_not_by_the_standard_library() -> None:
    """It takes a hundred times as long, for each class of each command."""
    homes = {("graph/as_json.py", "asdict")}
    used = {
        (module, alias.name)
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses" and module != "records.py"
        for alias in node.names
    }
    assert used - homes == set()


def test_no_module_keeps_state() -> None:
    changed = [module for module in MODULES if any(isinstance(n, ast.Global) for n in ast.walk(tree(module)))]
    assert changed == []


@pytest.mark.parametrize("name", trainc.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert (inspect.getdoc(getattr(trainc, name)) or "").endswith(".")


@pytest.mark.parametrize("name", [name for name in trainc.__all__ if inspect.isfunction(getattr(trainc, name))])
def test_every_public_function_says_how_it_fails(name: str) -> None:
    assert "CompileError" in (getattr(trainc, name).__doc__ or "")
