"""Generate the option tables in compiler/trainc/knowledge/tables/generated from published packages.

The packages are pinned by version and hash, downloaded as wheels and unpacked; their source is parsed, and never imported
or run. Programs that no package has are read from clones, OWNER/NAME below the folder in TRAINC_ECOSYSTEM, at commits that
are pinned, too. Names, types, choices, and checks of the programs' own (table_checks.py) are read, and no prose. What the
parser does not understand is an error, because a table with a part missing would make false alarms. The options of all
versions of a recipe are united; where they differ in type, nothing is checked.

    PYTHONPATH=tools python -m scripts.generate_tables [--check] [NAME ...]
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from scripts.table_checks import ADDING, checks_of, lasting
from scripts.table_recipes import CHECKS, PREFIXES, RECIPES, WITH_FLAGS

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "compiler" / "trainc" / "knowledge" / "tables" / "generated"
LOCK = ROOT / "tools" / "locks" / "tables.json"
# Values that take any further keys.
_FREE = ["any"]
# The enumerations of the package that is read.
ENUMS: dict[str, list[str]] = {}
# Functions that read true and false, by what scripts call them.
_SWITCH = re.compile(r"(?:\w+\.)*(?:str(?:ing)?_?(?:2|to)_?bool|strtobool|(?:parse_|_)?str_to_bool|bool_flag)")
# The names of fairseq's registries, which its table has by hand.
_OF_REGISTRIES = ("'--' + registry_name.replace('_', '-')",)
_CLICK = {"click.IntRange": ["int"], "click.FloatRange": ["float"]}
_SIMPLE = {"int": "int", "float": "float", "str": "str", "bool": "bool"}


class NotUnderstoodError(Exception):
    """The source of a package has a form that is not read."""


def kind_of(annotation: ast.expr) -> list[str]:  # noqa: C901 - one case for each form
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
        if outer in ("Annotated", "Suppress"):
            return kind_of(inner[0])
        if outer in ("list", "List"):
            of = kind_of(inner[0])
            return ["list", *(of[1:] if of and of[0] == "str" else ())]
        if outer == "Literal":
            values = [part.value for part in inner if isinstance(part, ast.Constant)]
            return ["str", *map(str, values)] if all(isinstance(value, str) for value in values) else ["any"]
        if outer in (
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
            "Iterable",
            "Iterator",
            "defaultdict",
            "OrderedDict",
            "conlist",
        ):
            return _FREE
        raise NotUnderstoodError(ast.unparse(annotation))
    name = ast.unparse(annotation).rpartition(".")[2]
    if ENUMS.get(name):
        return ["str", *ENUMS[name]]
    return [_SIMPLE.get(name, "any")]


def _either(kinds: list[list[str]]) -> list[str]:
    """Return the one kind of a union. `Union[Enumeration, str]` is how transformers writes an enumeration."""
    given = [kind for kind in kinds if kind]
    if len(given) == 2 and given[0][0] == "str" and len(given[0]) > 1 and given[1] == ["str"]:
        del given[1]
    return given[0] if len(given) == 1 else ["any"]


def enumerations(folder: Path) -> dict[str, list[str]]:
    """Return the texts of each enumeration of a package; none for a name that it has twice, or with other values."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*.py")):
        text = file.read_text(encoding="utf-8", errors="replace")
        try:
            body = ast.parse(text).body if "Enum" in text or " = Literal[" in text else []  # ChoiceEnum is fairseq's
        except SyntaxError:  # A module for a newer Python; what it enumerates is not known.
            continue
        for node in body:
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Literal["):
                kind = kind_of(node.value)
                found[ast.unparse(node.targets[0])] = kind[1:] if kind[0] == "str" else []
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("ChoiceEnum(["):
                texts = re.findall(r"'([^']*)'", ast.unparse(node.value))
                found[ast.unparse(node.targets[0])] = texts
            if not isinstance(node, ast.ClassDef) or not any("Enum" in ast.unparse(base) for base in node.bases):
                continue
            values = [part.value for part in node.body if isinstance(part, ast.Assign)]
            texts = [
                value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)
            ]
            same = texts if len(texts) == len(values) and found.get(node.name, texts) == texts else []
            found[node.name] = same
    return found


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
        elif base_name in imports:
            module, level, original = imports[base_name]
            above = Path(path).parents[level - 1] if level else Path()
            home = above / (module.replace(".", "/") + ".py")
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
    if isinstance(action, ast.Constant) and str(action.value) in ("store_true", "store_false", "store_const"):
        return ["flag"]
    if isinstance(action, ast.Constant) and action.value == "store":
        action = None
    if action is not None or "nargs" in given:
        return ["any"]
    if isinstance(choices, (ast.List, ast.Tuple)):
        values = [choice.value for choice in choices.elts if isinstance(choice, ast.Constant)]
        plain = len(values) == len(choices.elts) and all(isinstance(value, str) for value in values)
        return ["str", *map(str, values)] if plain else ["any"]
    kind = _SIMPLE.get(ast.unparse(given["type"]), "any") if "type" in given else "str"
    if kind == "any" and _SWITCH.fullmatch(ast.unparse(given["type"])):
        return ["bool"]
    return ["any"] if choices is not None or kind == "bool" else [kind]


def _spellings(argument: ast.expr, loops: Mapping[str, list[str]]) -> list[str]:
    """Return the spellings of an option: one, or those that a loop over constants makes."""
    if isinstance(argument, ast.Constant):
        return [str(argument.value)]
    if not isinstance(argument, ast.JoinedStr):
        raise NotUnderstoodError(ast.unparse(argument)[:100])
    made = [""]
    for part in argument.values:
        value: object = part.value if isinstance(part, (ast.Constant, ast.FormattedValue)) else None
        if isinstance(part, ast.FormattedValue) and not (isinstance(value, ast.Name) and loops.get(value.id)):
            raise NotUnderstoodError(ast.unparse(argument)[:100])
        texts = loops[value.id] if isinstance(value, ast.Name) else [str(value)]
        made = [start + text for start in made for text in texts]
    return made


def _looped(over: ast.expr) -> list[str]:
    """Return the constants that a loop is over."""
    if isinstance(over, (ast.Tuple, ast.List)):
        return [str(each.value) for each in over.elts if isinstance(each, ast.Constant)]
    bounds = re.fullmatch(r"range\((?:(\d+), )?(\d+)\)", ast.unparse(over))
    return [str(number) for number in range(int(bounds[1] or 0), int(bounds[2]))] if bounds else []


def arguments(folder: Path, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the options that the calls of add_argument in a module make."""
    file = folder / path
    if not file.is_file():
        raise NotUnderstoodError(f"there is no {path}")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    loops = {
        node.target.id: _looped(node.iter)
        for node in ast.walk(tree)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
    }
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ADDING
            and (
                node.func.attr == "add_argument"
                or str(getattr(node.args[0] if node.args else None, "value", "")).startswith("-")
            )
        ):
            continue
        if any(isinstance(argument, ast.Starred) or ast.unparse(argument) in _OF_REGISTRIES for argument in node.args):
            continue
        spellings = [spelling for argument in node.args for spelling in _spellings(argument, loops)]
        kind = kind_of_argument({keyword.arg or "": keyword.value for keyword in node.keywords})
        for spelling in spellings:
            if spelling.startswith("--"):
                yield spelling[2:].replace("-", "_"), kind


def all_fields(folder: Path, pattern: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the fields of all classes of some modules, by the names and the aliases that a file may have."""
    files = sorted(folder.glob(pattern))
    if not files:
        raise NotUnderstoodError(f"there is no {pattern}")
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for part in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    kind = kind_of(part.annotation)
                    yield part.target.id, kind
                    calls = [n for n in ast.walk(part) if isinstance(n, ast.Call)]
                    for keyword in (keyword for call in calls for keyword in call.keywords):
                        if keyword.arg in ("alias", "validation_alias") and isinstance(keyword.value, ast.Constant):
                            yield str(keyword.value.value), kind
                    choices = [n.value for call in calls for n in call.args if isinstance(n, ast.Constant)]
                    if any(ast.unparse(call.func).endswith("AliasChoices") for call in calls):
                        yield from ((str(choice), kind) for choice in choices if isinstance(choice, str))


def nested(folder: Path, path: str, name: str, prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the fields of a class, and those of the classes of its fields, by their dotted keys."""
    tree = ast.parse((folder / path).read_text(encoding="utf-8"))
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    if name not in classes:
        raise NotUnderstoodError(f"{path} has no class {name}")
    for part in classes[name].body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            of = ast.unparse(part.annotation)
            key = f"{prefix}{part.target.id}"
            if of in classes:
                yield key, ["map"]
                yield from nested(folder, path, of, f"{key}.")
            else:
                yield key, kind_of(part.annotation)


def parameters(folder: Path, path: str, name: str, function: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the parameters of a function of a class, or of the module if the class has no name."""
    tree = ast.parse((folder / path).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        named = isinstance(node, ast.ClassDef) and node.name == name
        for part in node.body if isinstance(node, (ast.ClassDef, ast.Module)) and (named or not name) else ():
            if isinstance(part, ast.FunctionDef) and part.name == function:
                for argument in (*part.args.args[bool(name) :], *part.args.kwonlyargs):
                    yield argument.arg, kind_of(argument.annotation) if argument.annotation else _FREE


def constructors(folder: Path, pattern: str) -> Iterator[tuple[str, list[str]]]:
    """Yield CLASS.ARGUMENT for all that the classes of some modules are made with; any, where one hands on what it is given.

    What only a decorator names is an old argument that is still taken. Of types only choices count: Python checks no others.
    """
    for file in sorted(folder.glob(pattern)):
        path = str(file.relative_to(folder))
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.ClassDef):
                continue
            made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
            if made is None:
                is_data = any("dataclass" in ast.unparse(one) for one in node.decorator_list)
                for name, kind in fields(folder, f"{path}:{node.name}") if is_data else ():
                    yield f"{node.name}.{name}", kind if len(kind) > 1 else _FREE
                continue
            if made.args.kwarg is not None:
                yield node.name, _FREE
            for name, kind in parameters(folder, path, node.name, "__init__"):
                yield f"{node.name}.{name}", kind if len(kind) > 1 else _FREE
            for old in (n for one in made.decorator_list for n in ast.walk(one) if isinstance(n, ast.Constant)):
                if str(old.value).isidentifier() and isinstance(old.value, str):
                    yield f"{node.name}.{old.value}", _FREE


def assigned(folder: Path, path: str, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the keys of a configuration that a module makes with assignments: `_C.MODEL.DEVICE = "cuda"`."""
    tree = ast.parse((folder / path).read_text(encoding="utf-8"))
    for node in tree.body:
        target = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
        if isinstance(node, ast.Assign) and target.startswith(f"{name}."):
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            kinds = {bool: ["bool"], int: ["float"], float: ["float"]}
            called = ast.unparse(node.value)
            is_section = called.startswith(("CN(", "CfgNode(", "ConfigNode("))
            yield target.removeprefix(f"{name}."), ["map"] if is_section else kinds.get(type(value), _FREE)


def clicked(folder: Path, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the options that the decorators of click make in a module."""
    for node in ast.walk(ast.parse((folder / path).read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "click.option"):
            continue
        given = {keyword.arg or "": keyword.value for keyword in node.keywords}
        of = ast.unparse(given["type"]) if "type" in given else "str"
        kind = next((kind for name, kind in _CLICK.items() if of.startswith(name)), [_SIMPLE.get(of, "any")])
        if of.startswith("click.Choice(["):
            kind = ["str", *re.findall(r"'([^']*)'", of)]
        for argument in node.args:
            if isinstance(argument, ast.Constant) and str(argument.value).startswith("--"):
                yield (
                    str(argument.value).partition("/")[0][2:].replace("-", "_"),
                    ["flag"] if "is_flag" in given else kind,
                )


def registered(folder: Path, path: str, function: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what the calls of a function of a module register under names: `register_template` makes the choices of `template`."""
    tree = ast.parse((folder / path).read_text(encoding="utf-8"))
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(function)
    ]
    given = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "name"]
    names = [name.value for name in given if isinstance(name, ast.Constant)]
    if not names:
        raise NotUnderstoodError(f"{path} never calls {function}")
    yield function.removeprefix("register_"), ["name", *sorted(set(map(str, names)))]


def keys_of(value: object, prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the dotted keys of a file that has all settings, each with what it takes; one without a value takes any."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        key = f"{prefix}{name}"
        if isinstance(inner, dict) and inner:
            yield key, ["map"]
            yield from keys_of(inner, f"{key}.")
        elif isinstance(inner, bool):
            yield key, ["bool"]
        elif isinstance(inner, (int, float)):
            yield key, ["float"]
        else:
            yield key, ["list"] if isinstance(inner, list) else _FREE


def read(folder: Path, place: str) -> Iterator[tuple[str, list[str]]]:  # noqa: C901, PLR0912 - one case for each form
    """Yield the options at a place, in one of the forms that RECIPES lists."""
    path, _, name = place.partition(":")
    owner, _, member = name.partition(".")
    before, at, path = path.rpartition("@")
    if at:
        yield from ((f"{before}{option}", kind) for option, kind in read(folder, f"{path}:{name}".rstrip(":")))
    elif name == "=":
        yield from (one for file in _found(folder, path) for one in assigned(folder, file, "_C"))
    elif name == "click":
        yield from clicked(folder, path)
    elif name == "()":
        yield from constructors(folder, path)
    elif name.endswith("()"):
        yield from registered(folder, path, name.removesuffix("()"))
    elif name == "*":
        yield from all_fields(folder, path)
    elif member == "*":
        yield from nested(folder, path, owner)
    elif member:
        yield from parameters(folder, path, owner, member)
    elif name:
        yield from fields(folder, place)
    else:
        for file in _found(folder, path):
            if file.endswith(".py"):
                yield from arguments(folder, file)
            else:
                yield from keys_of(yaml.safe_load((folder / file).read_text(encoding="utf-8")))


def _found(folder: Path, pattern: str) -> list[str]:
    """Return the files of a pattern, relative to the folder."""
    files = [str(file.relative_to(folder)) for file in sorted(folder.glob(pattern))]
    if not files:
        raise NotUnderstoodError(f"there is no {pattern}")
    return files


def unpack(key: str, lock: dict[str, str], into: Path) -> None:
    """Unpack the Python and YAML files of a version: of its wheel, or of a clone. The lock has its hash, or the commit."""
    if "@" in key:
        _unpack_clone(key, lock, into)
        return
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
            archive.extractall(
                into,
                [name for name in archive.namelist() if name.endswith((".py", ".yaml", ".yml")) and ".." not in name],
            )


def _unpack_clone(key: str, lock: dict[str, str], into: Path) -> None:
    repository, _, revision = key.partition("@")
    git = ["git", "-C", str(Path(os.environ.get("TRAINC_ECOSYSTEM", ".")) / repository)]
    found = subprocess.run(
        [*git, "rev-parse", f"{lock.get(key, revision)}^{{commit}}"], check=False, capture_output=True, text=True
    )
    if found.returncode:
        raise SystemExit(f"{key} is in no clone below TRAINC_ECOSYSTEM")
    lock[key] = found.stdout.strip()
    with tempfile.NamedTemporaryFile() as packed:
        # The largest files of a clone may be left out of it.
        subprocess.run([*git, "archive", "--format=zip", lock[key], ":(glob)**/*.py"], stdout=packed, check=True)
        with zipfile.ZipFile(packed.name) as archive:
            files = [one for one in archive.infolist() if not stat.S_ISLNK(one.external_attr >> 16)]
            archive.extractall(into, files)


def table(name: str, lock: dict[str, str]) -> dict[str, Any]:  # noqa: C901, PLR0912 - what each version adds, one after the other
    """Return the table of a recipe: the options united over its versions, and from which to which one lasts if not in all."""
    united: dict[str, list[str]] = {}
    of_version: dict[str, set[str]] = {}
    checks: dict[str, set[tuple[str, ...]]] = {}
    for key, places in RECIPES[name].items():
        with tempfile.TemporaryDirectory() as folder:
            unpack(key, lock, Path(folder))
            ENUMS.clear()
            ENUMS.update(enumerations(Path(folder)))
            found: dict[str, list[str]] = {}
            for place in places:
                for option, kind in read(Path(folder), place):
                    if option in found and place.endswith(".yml"):
                        continue  # The types say more than the defaults.
                    if kind == ["bool"] and name in WITH_FLAGS:
                        kind = _FREE  # noqa: PLW2901
                    if option.isidentifier() or "." in option:
                        same = found.get(option, kind) == kind or place.endswith("()")
                        found[option] = kind if same else _FREE
            if name in CHECKS:
                checks[key] = checks_of(CHECKS[name], Path(folder), found)
        of_version[key] = set(found)
        for option, kind in found.items():
            before = united.get(option, kind)
            united[option] = kind if before == kind else _FREE
            if before[0] == kind[0] and before[0] in ("str", "name") and len(before) > 1 and len(kind) > 1:
                united[option] = [*before, *(choice for choice in kind[1:] if choice not in before)]
    newest = of_version[next(iter(RECIPES[name]))]
    for option, kind in united.items() if of_clones(name) else ():
        if option not in newest and kind[0] == "str" and len(kind) > 1:
            united[option] = ["name", *kind[1:]]  # A newer way to define it may have others.
    package = next(iter(RECIPES[name])).partition("==")[0] if not of_clones(name) else ""
    versions = sorted((key for key in RECIPES[name] if key.startswith(f"{package}==")), key=numbers)
    spans: dict[str, list[int]] = {}
    for option in sorted(united):
        having = [index for index, key in enumerate(versions) if option in of_version[key]]
        if having and (having[0] > 0 or having[-1] < len(versions) - 1):
            spans[PREFIXES.get(name, "") + option] = [having[0], having[-1]]
    options = {PREFIXES.get(name, "") + option: kind for option, kind in sorted(united.items())}
    return {
        "package": package,
        "versions": [key.partition("==")[2] for key in versions],
        "spans": spans,
        "options": options,
    } | ({"checks": lasting(*_ordered(name, checks, of_version, package))} if name in CHECKS else {})


def of_clones(name: str) -> bool:
    """Return whether a table is read from clones, the versions of which nobody knows."""
    return any("@" in key for key in RECIPES[name])


def _ordered(
    name: str, checks: Mapping[str, set[tuple[str, ...]]], of_version: Mapping[str, set[str]], package: str
) -> tuple[list[set[tuple[str, ...]]], list[set[str]], str, list[str]]:
    keys = [*RECIPES[name]][::-1] if not package else sorted(RECIPES[name], key=numbers)
    prefix = PREFIXES.get(name, "")
    assert not (prefix and checks), f"checks of {name} have no {prefix}"
    return (
        [checks[key] for key in keys],
        [of_version[key] for key in keys],
        package,
        [key.partition("==")[2] for key in keys],
    )


def numbers(key: str) -> list[int]:
    """Return the numbers of a version, to sort by."""
    return [int(part) for part in key.partition("==")[2].split(".") if part.isdigit()]


def main() -> int:
    """Write the tables, or compare them; 1 if one is not as it was generated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*RECIPES])
    parser.add_argument("--check", action="store_true", help="only compare")
    given = parser.parse_args()
    lock = json.loads(LOCK.read_text(encoding="utf-8")) if LOCK.is_file() else {}
    status = 0
    for name in given.names:
        made = table(name, lock)
        options = made["options"]
        path = GENERATED / f"{name}.json"
        old = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"options": {}}
        if len(options) < 0.85 * len(old["options"]):
            raise SystemExit(
                f"{name} has {len(options)} options, and had {len(old['options'])}: look at what was not read"
            )
        text = json.dumps(made, separators=(",", ":")).replace('],"', '],\n"') + "\n"
        print(f"{name}: {len(options)} options")
        if given.check:
            status |= made != old
        else:
            path.write_text(text, encoding="utf-8")
            LOCK.write_text(json.dumps(dict(sorted(lock.items())), indent=1) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
