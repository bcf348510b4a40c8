"""The layout of the package: imports point one way, plugins stand alone, names say what is inside."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from package import GROUP, PACKAGE, trees

import trainc

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
pytestmark = GROUP

TOP = {"__init__", "__main__", "compilation", "functions", "kubeflow", "options", "paths"}

# The compiler, from the bottom to the top: each folder, and each module beside them, imports only what stands before it.
ORDER = (
    "startup",
    "features",  # the table; what stands in its folders is the front
    "findings",
    "kube",
    "options",
    "schema",
    "pods",
    "reading",
    "project",
    "ir",
    "knowledge",
    "plugins",
    "lints",
    "emit",
    "compilation",
    "admission",
    "output",
    "pipeline",
    "explain",
    "functions",
    "paths",
)
# What one imports as a user: these tell a type checker what features add to them, and import nothing of a feature.
PUBLIC = {"__init__", "kubeflow", "testing"}
# These see everything, features among it.
FRONT = {"api", "cli", "feature", "__main__", *PUBLIC}
# The door: what features may import of the compiler, at most.
MOST_NAMES = 150
# Of these, the modules: each is one name for what it has, and reads as a noun before a dot, as in `releases.RELEASES`.
WHOLE_MODULES = set(
    "as_html bounds catalog command compiling devices dialects differences document_kinds documents edits enclosed expressions failures files "
    "fragments functions git ignores inputs kept kueue_versions libyaml live_objects markdown name_hash names opening "
    "ownership patches patterns policy quantity releases revisions selectors settings_file stack "
    "unknown_fields updates version yaml_reader yaml_writer".split()
)
PRINTING = {"__main__", "cli", "feature"}
# What compiles documents, without the command line and the reading of files: one reads it in a day.
COMPILING = ("functions.py", "pipeline/session.py")
MOST_LINES_COMPILING = 29_456
# A module is what belongs together: nobody reads more than this at once.
MOST_LINES = 600
VAGUE = {"base", "common", "core", "helper", "helpers", "misc", "shared", "tools", "util", "utils"}


def home(module: str) -> str:
    """`reading/files.py` belongs to reading, `options.py` to options, and all in a folder of features to feature."""
    if module.startswith("features/") and module.count("/") > 2:
        return "feature"
    return module.split("/", maxsplit=1)[0].removesuffix(".py")


def feature_of(module: str) -> str:
    """`features/gitops/diff/sides.py` is of the feature diff, in the quarter gitops."""
    return module.split("/")[2]


def tree(module: str) -> ast.Module:
    return trees()[module]


@cache
def imported(module: str) -> tuple[str, ...]:
    """What `module` imports from the package, at its top or inside a function: `trainc.reading.files`."""
    return tuple(_imports(tree(module)))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("trainc."))
        elif isinstance(node, ast.ImportFrom) and node.module == "trainc":
            yield from (f"trainc.{alias.name}" for alias in node.names if alias.name != "__version__")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trainc."):
            yield str(node.module)


def lines(module: str) -> int:
    return len((PACKAGE / module).read_text(encoding="utf-8").splitlines())


def arrows() -> set[tuple[str, str]]:
    """What each home imports of the others."""
    used = {
        (home(module), "feature" if name.startswith("trainc.features.") else name.split(".")[1])
        for module in MODULES
        for name in imported(module)
    }
    return {(module, other) for module, other in used if module != other}


def test_the_compiler_imports_only_what_stands_before_it() -> None:
    against = {
        (module, used)
        for module, used in arrows()
        if module not in FRONT and (used in FRONT or ORDER.index(used) > ORDER.index(module))
    }
    assert against == set()


def test_what_users_import_names_features_for_type_checkers_alone() -> None:
    named = {module: [n for n in imported(module) if n.startswith("trainc.features.")] for module in MODULES}
    for module in MODULES:
        if home(module) in PUBLIC:
            for_types = [name for node in tree(module).body if is_for_types(node) for name in _imports(node)]
            allowed = [name for name in for_types if name.startswith("trainc.features.")]
            assert named[module] == allowed, module


def test_features_do_not_import_each_other() -> None:
    across = {
        (feature_of(module), ".".join(name.split(".")[2:4]))
        for module in MODULES
        if home(module) == "feature"
        for name in imported(module)
        if name.startswith("trainc.features.") and name.split(".")[2:4] != module.split("/")[1:3]
    }
    assert across == set()


def test_features_enter_the_compiler_by_its_door() -> None:
    beside = {
        (module, name)
        for module in MODULES
        if home(module) == "feature"
        for name in imported(module)
        if not name.startswith(("trainc.api.", "trainc.features"))
    }
    assert beside == set()


def test_the_door_is_narrow_and_nothing_behind_it_looks_through_it() -> None:
    names = [name for path in (PACKAGE / "api").glob("[a-z]*.py") for name in exported(path)]
    assert len(names) == len(set(names)) <= MOST_NAMES
    entered = [name for path in (PACKAGE / "api").glob("[a-z]*.py") for name in imported_names(path)]
    assert {name.rpartition(".")[2] for name in entered if file_of(name)} == WHOLE_MODULES
    assert {module for module, used in arrows() if used == "api"} == {"feature"}


def imported_names(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def exported(path: Path) -> list[str]:
    """Return the names that a module of the door imports as themselves, which are all that it has."""
    docstring, *imports = ast.parse(path.read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    assert all(isinstance(node, ast.ImportFrom) for node in imports)
    aliases = [alias for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert all(alias.asname == alias.name for alias in aliases)
    return [alias.name for alias in aliases]


def test_what_compiles_a_document_is_read_in_a_day() -> None:
    needed: set[str] = set()
    waiting = {*COMPILING, *(module for module in MODULES if home(module) == "plugins")}
    while waiting:
        module = waiting.pop()
        needed.add(module)
        waiting |= set(run_with(module)) - needed
    assert {home(module) for module in needed} & {"feature", "cli", "api", "paths", "output"} == set()
    # Of the plugins' folders, one reads that of one's own framework.
    shared = [module for module in needed if home(module) != "plugins" or module.count("/") == 1]
    much = sum(map(lines, shared)) - MOST_LINES_COMPILING
    assert much <= 0, f"""what compiles a document has {much} lines too many outside the plugins' folders:
    - what belongs to one framework goes into its folder in plugins/, which is not counted;
    - what serves one command goes into the command's folder in features/;
    - of a rule, what is a row goes into knowledge/tables/;
    - if none of these is possible, raise MOST_LINES_COMPILING by {much}, and say why in the commit."""


@cache
def run_with(module: str) -> list[str]:
    """The modules that one imports when it runs, at its top, inside a function or by a name in a table."""
    names: list[str] = []
    for node in (node for part in tree(module).body if not is_for_types(part) for node in ast.walk(part)):
        if isinstance(node, ast.ImportFrom):
            names += (str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.append(node.value)
    return [file for name in names if name.startswith("trainc.") and (file := file_of(name))]


def file_of(name: str) -> str | None:
    path = "/".join(name.split(".")[1:])
    return next((file for file in (f"{path}.py", f"{path}/__init__.py") if file in MODULES), None)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def test_every_folder_has_its_place() -> None:
    assert {home(module) for module in MODULES} == {*ORDER, *FRONT}


def test_nothing_is_at_the_top_that_does_not_belong_there() -> None:
    assert {module.removesuffix(".py") for module in MODULES if "/" not in module} == TOP
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files == {f"{name}.py" for name in TOP} | {"PORT.yaml", "py.typed"}


def test_no_module_is_longer_than_one_reads_at_once() -> None:
    assert {module for module in MODULES if lines(module) > MOST_LINES} == set()


def test_the_types_of_documents_are_defined_once() -> None:
    defined = [
        module
        for module in MODULES
        for node in tree(module).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if ast.unparse(target) in {"Json", "Manifest"}
    ]
    assert defined == ["kube/documents.py"] * 2


def test_plugins_never_import_each_other() -> None:
    shared = {"plugin"}
    registry = {*shared, "registry", "ranks", "__init__"}
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
    exempt = {("reading/git.py", "os.environ")}
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
    homes = {("features/authoring/graph/formats.py", "asdict")}
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
