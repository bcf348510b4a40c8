"""The layout: where a line may stand, held by the imports it may make."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "compiler" / "trainc"
MODULES = sorted(PACKAGE.rglob("*.py"))

# From the bottom up. A module imports from its own folder and from lower layers only; the lowest is one folder.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"diagnostics", "near_names", "options", "sync_options"}),
    frozenset({"ir"}),
    frozenset({"frontend", "integrations", "lints", "output", "plugins", "report", "target"}),
    # The pipeline and what stands around it: modules at the top of the package.
    frozenset({"pipeline"}),
    frozenset({"cli", "testing", "__main__", "__init__"}),
)
_LAYER = {part: number for number, layer in enumerate(LAYERS) for part in layer}
_PIPELINE = _LAYER["pipeline"]


def part_of(module: str) -> str:
    """`trainc.ir.info` belongs to ir; a module at the top of the package that no layer names belongs to the pipeline."""
    first = [*module.split("."), "__init__"][1]
    return first if first in _LAYER else "pipeline"


def imports_of(path: Path) -> set[str]:
    """Every module of trainc that a file imports, for types too, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "trainc":
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {
                name if (PACKAGE / Path(*name.split(".")[1:])).with_suffix(".py").exists() else node.module
                for name in names
            }
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "trainc"}
    return found


def module_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE.parent).with_suffix("")
    return ".".join(relative.parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    own = part_of(module_of(path))
    wrong = {
        imported
        for imported in imports_of(path)
        if part_of(imported) != own and _LAYER[part_of(imported)] >= max(_LAYER[own], 1) and own not in LAYERS[-1]
    }
    assert wrong == set()


def plugin_of(module: str) -> str:
    return module.split(".")[2]


@pytest.mark.parametrize("path", sorted((PACKAGE / "plugins").rglob("*.py")), ids=lambda path: path.stem)
def test_plugins_never_import_each_other(path: Path) -> None:
    shared = {"plugin", "registry", "engine"}
    own = plugin_of(module_of(path))
    others = {plugin_of(name) for name in imports_of(path) if name.startswith("trainc.plugins.")} - {own, "plugin"}
    assert own in shared or others == set()


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "misc", "core"}
    assert [path for path in MODULES if path.stem in drawers] == []


def test_every_public_name_is_documented() -> None:
    import trainc

    undocumented = [name for name in trainc.__all__ if not (getattr(trainc, name).__doc__ or "").strip()]
    assert undocumented == []


def test_every_module_says_its_place() -> None:
    silent = [path for path in MODULES if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []
