"""Generate the option tables in compiler/trainc/knowledge/tables/generated from published packages.

The packages are pinned by version and hash, downloaded as wheels and unpacked; their source is parsed, and never imported
or run. Names, types and choices are read, and no prose. What the parser does not understand is an error, because a table
with a part missing would make false alarms. The options of all versions of a recipe are united; where they differ in type,
nothing is checked.

    python tools/scripts/generate_tables.py [--check] [NAME ...]
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "compiler" / "trainc" / "knowledge" / "tables" / "generated"
LOCK = ROOT / "tools" / "locks" / "tables.json"
# For each table, the package with its versions, and the classes of settings (module:Class), or the modules whose calls of
# add_argument make the options.
RECIPES: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "transformers": (
        "transformers",
        ("5.23.0", "4.57.6", "4.44.2"),
        (
            "transformers/training_args.py:TrainingArguments",
            "transformers/training_args_seq2seq.py:Seq2SeqTrainingArguments",
        ),
        (),
    ),
    "llamafactory": (
        "llamafactory",
        ("0.9.5", "0.9.2"),
        tuple(
            f"llamafactory/hparams/{module}.py:{name}"
            for module, name in (
                ("model_args", "ModelArguments"),
                ("data_args", "DataArguments"),
                ("finetuning_args", "FinetuningArguments"),
                ("generating_args", "GeneratingArguments"),
            )
        ),
        (),
    ),
    "trl": (
        "trl",
        ("1.16.0", "0.19.1"),
        tuple(
            f"trl/trainer/{n}_config.py:{c}Config"
            for n, c in (("sft", "SFT"), ("dpo", "DPO"), ("grpo", "GRPO"), ("model", "Model"))
        ),
        (),
    ),
    "megatron": ("megatron-core", ("0.19.2",), (), ("megatron/training/arguments.py",)),
}
_SIMPLE = {"int": "int", "float": "float", "str": "str", "bool": "bool"}


class NotUnderstoodError(Exception):
    """The source of a package has a form that is not read."""


def kind_of(annotation: ast.expr) -> list[str]:
    """Return the type of an annotation, with its choices; "any" for one with several types, or of a class."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return kind_of(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return []
    if isinstance(annotation, ast.BinOp):
        return _either([kind_of(annotation.left), kind_of(annotation.right)])
    if isinstance(annotation, ast.Subscript):
        outer = ast.unparse(annotation.value).rpartition(".")[2]
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if outer in ("Optional", "Union"):
            return _either([kind_of(part) for part in inner])
        if outer == "Literal":
            values = [part.value for part in inner if isinstance(part, ast.Constant)]
            return ["str", *map(str, values)] if all(isinstance(value, str) for value in values) else ["any"]
        if outer in (
            "list",
            "List",
            "dict",
            "Dict",
            "tuple",
            "Tuple",
            "Sequence",
            "set",
            "ClassVar",
            "Callable",
            "type",
            "Mapping",
        ):
            return ["list" if outer in ("list", "List") else "any"]
        raise NotUnderstoodError(ast.unparse(annotation))
    name = ast.unparse(annotation).rpartition(".")[2]
    return [_SIMPLE.get(name, "any")]


def _either(kinds: list[list[str]]) -> list[str]:
    given = [kind for kind in kinds if kind]
    return given[0] if len(given) == 1 else ["any"]


def fields(folder: Path, place: str, seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, list[str]]]:
    """Yield the fields of a class and of its bases in the same package."""
    path, _, name = place.partition(":")
    file = folder / path
    if not file.is_file():
        raise NotUnderstoodError(f"there is no {path}")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    imports = {
        alias.asname or alias.name: (node.module or "", node.level, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    if name not in classes:
        raise NotUnderstoodError(f"{path} has no class {name}")
    for base in classes[name].bases:
        base_name = ast.unparse(base).rpartition(".")[2]
        if base_name in classes and base_name not in seen:
            yield from fields(folder, f"{path}:{base_name}", seen | {name})
        elif base_name in imports and imports[base_name][1]:
            module, level, original = imports[base_name]
            home = Path(path).parents[level - 1] / (module.replace(".", "/") + ".py")
            if (folder / home).is_file():
                yield from fields(folder, f"{home}:{original}", seen | {name})
    for node in classes[name].body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            if node.value is not None and "init=False" in ast.unparse(node.value):
                continue
            yield node.target.id, kind_of(node.annotation)


def kind_of_argument(given: Mapping[str, ast.expr]) -> list[str]:
    """Return what an option takes, by the keywords of add_argument."""
    action, choices = given.get("action"), given.get("choices")
    if isinstance(action, ast.Constant) and str(action.value).startswith("store_"):
        return ["flag"]
    if action is not None or "nargs" in given:
        return ["any"]
    if isinstance(choices, (ast.List, ast.Tuple)):
        values = [choice.value for choice in choices.elts if isinstance(choice, ast.Constant)]
        plain = len(values) == len(choices.elts) and all(isinstance(value, str) for value in values)
        return ["str", *map(str, values)] if plain else ["any"]
    kind = _SIMPLE.get(ast.unparse(given["type"]), "any") if "type" in given else "str"
    return ["any"] if choices is not None or kind == "bool" else [kind]


def arguments(folder: Path, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the options that the calls of add_argument in a module make."""
    file = folder / path
    if not file.is_file():
        raise NotUnderstoodError(f"there is no {path}")
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
        ):
            continue
        spellings = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        if len(spellings) != len(node.args):
            raise NotUnderstoodError(ast.unparse(node)[:100])
        kind = kind_of_argument({keyword.arg or "": keyword.value for keyword in node.keywords})
        for spelling in spellings:
            if str(spelling).startswith("--"):
                yield str(spelling)[2:].replace("-", "_"), kind


def unpack(package: str, version: str, lock: dict[str, str], into: Path) -> None:
    """Download the wheel of a version, compare it with the lock, and unpack its Python files."""
    key = f"{package}=={version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += [
        "--python-version",
        "3.12",
        "--platform",
        "manylinux_2_28_x86_64",
        "--platform",
        "manylinux2014_x86_64",
        "--platform",
        "any",
    ]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*command, "--dest", folder, key], check=True)
        wheel = next(Path(folder).iterdir())
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if lock.setdefault(key, digest) != digest:
            raise SystemExit(f"{key} is not the file that is locked")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(into, [name for name in archive.namelist() if name.endswith(".py") and ".." not in name])


def table(name: str, lock: dict[str, str]) -> dict[str, list[str]]:
    """Return the options of a recipe, united over its versions."""
    package, versions, classes, modules = RECIPES[name]
    united: dict[str, list[str]] = {}
    for version in versions:
        with tempfile.TemporaryDirectory() as folder:
            unpack(package, version, lock, Path(folder))
            found = dict(option for place in classes for option in fields(Path(folder), place))
            found |= dict(option for module in modules for option in arguments(Path(folder), module))
        for option, kind in found.items():
            united[option] = kind if united.get(option, kind) == kind else ["any"]
    return dict(sorted(united.items()))


def main() -> int:
    """Write the tables, or compare them; 1 if one is not as it was generated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*RECIPES])
    parser.add_argument("--check", action="store_true", help="only compare")
    given = parser.parse_args()
    lock = json.loads(LOCK.read_text(encoding="utf-8")) if LOCK.is_file() else {}
    status = 0
    for name in given.names:
        options = table(name, lock)
        path = GENERATED / f"{name}.json"
        old = json.loads(path.read_text(encoding="utf-8"))["options"] if path.is_file() else {}
        if len(options) < 0.85 * len(old):
            raise SystemExit(f"{name} has {len(options)} options, and had {len(old)}: look at what was not read")
        text = json.dumps({"options": options}, separators=(",", ":")).replace('],"', '],\n"') + "\n"
        print(f"{name}: {len(options)} options")
        if given.check:
            status |= options != old
        else:
            path.write_text(text, encoding="utf-8")
            LOCK.write_text(json.dumps(dict(sorted(lock.items())), indent=1) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
