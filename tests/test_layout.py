"""The layout of the package: imports point one way, plugins stand alone, names say what is inside."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import trainc

PACKAGE = Path(trainc.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

TOP = {"__init__", "__main__", "compilation", "kubeflow", "options"}

# What each folder, and each module at the top, may import beside itself: the folders above it in this table. What is
# named here is what is used, so that a new arrow is a line of a diff.
EDGES = {
    "startup": "",
    "diagnostics": "startup",
    "api": "startup diagnostics",
    "options": "startup api",
    # Its YAML is written by the one writer, and what it shows of itself is drawn where it is looked at.
    "compilation": "startup diagnostics api emit notebook",
    "reading": "startup diagnostics api options",
    "dialects": "startup diagnostics api",
    "overlays": "startup diagnostics api options reading dialects",
    "ir": "startup diagnostics api options",
    "plugins": "startup diagnostics api ir",
    "lints": "startup diagnostics api options ir plugins",
    "admission": "startup diagnostics api options compilation reading ir lints",
    "emit": "startup diagnostics api options ir",
    "pipeline": "startup diagnostics api options compilation reading dialects overlays ir plugins lints admission emit",
    "batch": "startup diagnostics api options reading dialects overlays plugins lints emit pipeline",
    "output": "startup diagnostics reading",
    "migration": "startup diagnostics api options reading dialects pipeline",
    "explain": "startup diagnostics api options compilation reading ir plugins emit pipeline",
    # Both draw flowcharts.
    "diff": "startup diagnostics api options reading dialects ir plugins admission emit pipeline explain graph",
    "graph": "startup diagnostics api ir plugins",
    "report": "startup diagnostics api explain graph",
    "fits": "startup diagnostics api reading",
    "doctor": "startup diagnostics api",
    # Selectors of labels are Kueue's and the API server's alike.
    "policies": "startup diagnostics api options reading fits",
    "run": "startup diagnostics api ir plugins",
    "lsp": "startup diagnostics api options compilation reading pipeline explain diff graph fits",
    # Trials are counted from the picture of each job, and know which of their values stand in the sweep.
    "sweeps": "startup diagnostics api options overlays reading graph",
    # It tells what the commands of these do.
    "notebook": "startup diagnostics api options compilation emit pipeline explain diff graph",
    "integrations": "startup diagnostics api options compilation reading dialects overlays ir emit pipeline explain",
    "testing": "startup diagnostics api options compilation reading emit integrations",
    "cli": "startup diagnostics api options compilation reading dialects overlays plugins lints admission emit pipeline batch output migration explain diff graph report fits doctor policies run lsp sweeps integrations",
    "__init__": "diagnostics options compilation admission migration fits integrations",
    "kubeflow": "integrations sweeps",
    "__main__": "cli",
}
# Arrows that point down the table, each with its reason above.
DOWNWARD = {("compilation", "emit"), ("compilation", "notebook"), ("diff", "graph")}
PRINTING = {"__main__", "cli", "integrations"}
# A module earns its file: two importers, or lines of its own; and nobody reads more than a few screens.
FEWEST_LINES, MOST_LINES, FEWEST_IMPORTERS = 60, 280, 2
# What is smaller all the same. Loaded by name, by a table or from outside:
LOADED_BY_NAME = {
    "__main__.py",
    "cli/completion.py",
    "cli/lsp.py",
    "cli/rule.py",
    "kubeflow.py",
    "plugins/flux/launchers.py",
    "plugins/mpi/launchers.py",
}
# By the registry of plugins, and by that of lints.
NAMED_BY_A_REGISTRY = re.compile(r"plugins/\w+/(passes|explain|lints)\.py|lints/\w+\.py")
# Not merged yet: to be taken away, never added to.
TOO_SMALL = {
    "batch/identity.py",
    "cli/shells/fish.py",
    "plugins/mpi/policy_checks.py",
    "plugins/mpi/search_domain.py",
    "plugins/mpi/slots.py",
    "plugins/mpi/ssh.py",
    "reading/strict.py",
    "reading/event_parser.py",
    "reading/flattened.py",
}
# As long as what it is generated from has to say.
GENERATED = {"api/schema/kubernetes_fields.py"}
TOO_LONG = {"startup/records.py"}
VAGUE = {"base", "common", "core", "helper", "helpers", "misc", "shared", "tools", "util", "utils"}


def home(module: str) -> str:
    """`reading/files.py` belongs to reading, `options.py` to options."""
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
            yield from (f"trainc.{alias.name}" for alias in node.names if alias.name != "__version__")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trainc."):
            yield str(node.module)


def lines(module: str) -> int:
    return len((PACKAGE / module).read_text(encoding="utf-8").splitlines())


def modules_imported(module: str) -> set[str]:
    """The files of the modules that `module` imports, whole or in part."""
    parts = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    paths = {name.removeprefix("trainc.").replace(".", "/") for name in (*parts, *imported(module))}
    return {path for name in paths for path in (f"{name}.py", f"{name}/__init__.py") if path in MODULES}


def arrows() -> dict[str, set[str]]:
    """What each home imports of the others."""
    found: dict[str, set[str]] = {home(module): set() for module in MODULES}
    for module in MODULES:
        found[home(module)] |= {name.split(".")[1] for name in imported(module)} - {home(module)}
    return found


def test_every_folder_imports_what_the_table_says_and_nothing_else() -> None:
    assert {home: " ".join(sorted(used)) for home, used in arrows().items()} == {
        home: " ".join(sorted(row.split())) for home, row in EDGES.items()
    }


def test_arrows_point_up_the_table() -> None:
    order = list(EDGES)
    downward = {
        (home, used) for home, row in EDGES.items() for used in row.split() if order.index(used) > order.index(home)
    }
    assert downward == DOWNWARD


def test_nothing_is_at_the_top_that_does_not_belong_there() -> None:
    assert {module.removesuffix(".py") for module in MODULES if "/" not in module} == TOP
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files == {f"{name}.py" for name in TOP} | {"PORT.yaml", "py.typed"}


def test_a_module_earns_its_file() -> None:
    importers = dict.fromkeys(MODULES, 0)
    for module in MODULES:
        for name in modules_imported(module) - {module}:
            importers[name] += 1
    small = {
        module
        for module in MODULES
        if not module.endswith("__init__.py") and lines(module) < FEWEST_LINES and importers[module] < FEWEST_IMPORTERS
        if not NAMED_BY_A_REGISTRY.fullmatch(module)
    }
    assert small == LOADED_BY_NAME | TOO_SMALL | GENERATED


def test_no_module_is_longer_than_a_few_screens() -> None:
    assert {module for module in MODULES if lines(module) > MOST_LINES} == TOO_LONG


def test_the_types_of_documents_are_defined_once() -> None:
    defined = [
        module
        for module in MODULES
        for node in tree(module).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if ast.unparse(target) in {"Json", "Manifest"}
    ]
    assert defined == ["api/documents.py"] * 2


def test_plugins_never_import_each_other() -> None:
    shared = {"plugin", "rows", "readings", "counting", "gangs"}
    registry = {*shared, "registry", "engine", "entry_points", "__init__"}
    owners = {m: m.split("/")[1].removesuffix(".py") for m in MODULES if m.startswith("plugins/")}
    assert set(owners.values()) > registry
    for module, plugin in owners.items():
        if plugin not in registry:
            used = {name.split(".")[2] for name in imported(module) if name.startswith("trainc.plugins.")}
            assert used <= {*shared, plugin}, module


def test_a_name_means_something() -> None:
    assert [module for module in MODULES if VAGUE & set(module.removesuffix(".py").split("/"))] == []


def test_a_module_says_what_it_is_in_a_sentence() -> None:
    openings = {module: (ast.get_docstring(tree(module)) or "").split("\n\n")[0] for module in MODULES}
    assert [module for module, opening in openings.items() if not opening.endswith((".", "?", ":"))] == []


def test_nothing_but_the_command_line_prints_reads_the_environment_or_looks_at_the_clock() -> None:
    # git is started with the environment that trainc was started with.
    # What Python starts for `-j` is told by a variable not to import from the current folder.
    exempt = {("reading/git_program.py", "os.environ"), ("batch/workers.py", "os.environ")}
    forbidden = {"print", "input", "os.getenv", "os.environ", "time.time", "datetime.now", "datetime.datetime.now"}
    used = {
        (module, ast.unparse(node))
        for module in MODULES
        if home(module) not in PRINTING
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Name | ast.Attribute)
    }
    assert {use for use in used if use[1] in forbidden} - exempt == set()


def test_records_are_defined_by_records_and_not_by_the_standard_library() -> None:
    """A budget of start-up: the library takes a hundred times as long, for each class of each command."""
    homes = {("graph/formats.py", "asdict")}
    used = {
        (module, alias.name)
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses" and module != "startup/records.py"
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
