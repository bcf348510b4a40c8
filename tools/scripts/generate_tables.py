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
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "compiler" / "trainc" / "knowledge" / "tables" / "generated"
LOCK = ROOT / "tools" / "locks" / "tables.json"
# For each table, its packages with the places in each: a class with its bases (`path:Class`), all classes of the modules that a
# pattern names (`path/*.py:*`), a class and those of its fields (`path:Class.*`), the parameters of a function
# (`path:Class.function`), those that make an object of each class of some modules (`path/*.py:()`), the calls of add_argument in a
# module (`path.py`), what the calls of a function register (`path:register_template()`), or the keys of a file (`path.yaml`). Other
# packages may define further options, which tables with `extends` have.
RECIPES: dict[str, Mapping[str, tuple[str, ...]]] = {
    "transformers": dict.fromkeys(
        (
            *("transformers==5.23.0", "transformers==5.0.0", "transformers==4.57.6", "transformers==4.53.3"),
            *("transformers==4.50.3", "transformers==4.46.3", "transformers==4.45.2", "transformers==4.40.2"),
            "transformers==4.30.2",
        ),
        (
            "transformers/training_args.py:TrainingArguments",
            "transformers/training_args_seq2seq.py:Seq2SeqTrainingArguments",
        ),
    ),
    "llamafactory": dict.fromkeys(
        ("llamafactory==0.9.5", "llamafactory==0.9.2", "llamafactory==0.8.3", "llamafactory==0.7.1"),
        ("llamafactory/hparams/*_args.py:*", "llamafactory/data/template.py:register_template()"),
    ),
    "trl": {
        "trl==1.16.0": ("trl/trainer/*_config.py:*", "trl/scripts/*.py:*", "trl/experimental/*/*_config.py:*"),
        **dict.fromkeys(
            ("trl==1.0.0", "trl==0.24.0", "trl==0.19.1", "trl==0.15.2"),
            ("trl/trainer/*_config.py:*", "trl/scripts/*.py:*"),
        ),
        "trl==0.8.6": ("trl/trainer/*_config.py:*", "trl/commands/*.py:*"),
        "trl==0.11.4": ("trl/trainer/*_config.py:*", "trl/commands/*.py:*"),
    },
    "megatron": {"megatron-core==0.19.2": ("megatron/training/arguments.py",)},
    "swift": {
        "ms-swift==4.6.0": (
            *("swift/arguments/*.py:*", "swift/arguments/base_args/*.py:*", "swift/trainers/arguments.py:*"),
            *(
                "swift/rlhf_trainers/*.py:*",
                "swift/ray_utils/*.py:*",
                "swift/tuner_plugin/*.py:*",
                "swift/megatron/arguments/*.py:*",
            ),
        ),
        **dict.fromkeys(
            ("ms-swift==3.12.6", "ms-swift==3.3.1"),
            (
                *("swift/llm/argument/*.py:*", "swift/llm/argument/base_args/*.py:*", "swift/trainers/*arguments.py:*"),
                "swift/megatron/argument/*.py:*",
            ),
        ),
        "ms-swift==2.6.1": ("swift/llm/utils/argument.py:*", "swift/trainers/arguments.py:*"),
        "ms-swift==2.0.0": ("swift/llm/utils/argument.py:*", "swift/trainers/arguments.py:*"),
    },
    "axolotl": dict.fromkeys(
        ("axolotl==0.21.0",), ("axolotl/utils/schemas/*.py:*", "axolotl/integrations/*/args.py:*")
    ),
    "accelerate": dict.fromkeys(
        ("accelerate==1.15.0", "accelerate==1.0.1"), ("accelerate/commands/config/config_args.py:*",)
    ),
    "verl": {
        **dict.fromkeys(
            ("verl==0.9.1", "verl==0.6.1"),
            (
                "verl/trainer/config/_generated_ppo_trainer.yaml",
                "verl/trainer/config/_generated_ppo_megatron_trainer.yaml",
            ),
        ),
        **dict.fromkeys(
            ("verl==0.4.1", "verl==0.3.0.post1", "verl==0.2.0.post2"),
            ("verl/trainer/config/ppo_trainer.yaml", "verl/trainer/config/ppo_megatron_trainer.yaml"),
        ),
    },
    "verl_sft": {
        "verl==0.9.1": ("verl/trainer/config/sft_trainer_engine.yaml",),
        "verl==0.6.1": ("verl/trainer/config/sft_trainer.yaml",),
        "verl==0.4.1": ("verl/trainer/config/sft_trainer.yaml",),
    },
    "maxtext": dict.fromkeys(
        ("maxtext==0.2.5", "maxtext==0.2.0"), ("maxtext/configs/types.py:*", "maxtext/configs/base.yml")
    ),
    "torchtitan": {
        "torchtitan==0.2.2": ("torchtitan/config/job_config.py:JobConfig.*",),
        "torchtitan==0.1.0": ("torchtitan/config_manager.py:JobConfig.*",),
    },
    "openrlhf": dict.fromkeys(
        ("openrlhf==0.11.2", "openrlhf==0.8.11"),
        ("*.data/purelib/openrlhf/cli/train_*.py",),
    ),
    "composer": {"mosaicml==0.32.1": ("composer/cli/launcher.py",)},
    "ultralytics": {
        **dict.fromkeys(
            ("ultralytics==8.4.190", "ultralytics==8.3.0", "ultralytics==8.2.0", "ultralytics==8.1.0"),
            ("ultralytics/cfg/default.yaml",),
        ),
        "ultralytics==8.0.50": ("ultralytics/yolo/cfg/default.yaml",),
    },
    "open_clip": dict.fromkeys(("open_clip_torch==3.3.0", "open_clip_torch==2.30.0"), ("open_clip_train/params.py",)),
    "mace": dict.fromkeys(
        ("mace-torch==0.3.16", "mace-torch==0.3.10", "mace-torch==0.3.6"), ("mace/tools/arg_parser.py",)
    ),
    "rl_zoo": dict.fromkeys(("rl_zoo3==2.9.2", "rl_zoo3==2.3.0", "rl_zoo3==1.8.0"), ("rl_zoo3/train.py",)),
    "yolov5": dict.fromkeys(("yolov5==7.0.14", "yolov5==6.2.3", "yolov5==6.0.7"), ("yolov5/train.py",)),
    "lm_eval": {
        "lm_eval==0.4.13": ("lm_eval/_cli/run.py",),
        **dict.fromkeys(("lm_eval==0.4.8", "lm_eval==0.4.2"), ("lm_eval/__main__.py",)),
    },
    "mlx": dict.fromkeys(("mlx-lm==0.32.2", "mlx-lm==0.21.5"), ("mlx_lm/lora.py",)),
    "f5_tts": dict.fromkeys(("f5-tts==1.1.22", "f5-tts==1.0.0"), ("f5_tts/train/finetune_cli.py",)),
    "diffsynth": {"diffsynth==2.1.12": ("diffsynth/diffusion/parsers.py",)},
    "paddlenlp": dict.fromkeys(
        ("paddlenlp==2.8.1", "paddlenlp==2.6.1"), ("paddlenlp/trainer/training_args.py:TrainingArguments",)
    ),
    "lerobot": dict.fromkeys(("lerobot==0.6.1", "lerobot==0.4.0"), ("lerobot/configs/train.py:TrainPipelineConfig.*",)),
    "flag_embedding": dict.fromkeys(
        ("FlagEmbedding==1.4.2",),
        ("FlagEmbedding/abc/finetune/*/*.py:*", "FlagEmbedding/finetune/*/*/*/arguments.py:*"),
    ),
    "openmmlab_train": {
        **dict.fromkeys(("mmdet==3.3.0", "mmdet==2.28.2"), ("mmdet/.mim/tools/train.py",)),
        **dict.fromkeys(("mmsegmentation==1.2.2", "mmsegmentation==0.30.0"), ("mmseg/.mim/tools/train.py",)),
    },
    "lightning": {
        "lightning==2.6.6": ("lightning/pytorch/trainer/trainer.py:Trainer.__init__",),
        "lightning==2.2.5": ("lightning/pytorch/trainer/trainer.py:Trainer.__init__",),
        "pytorch-lightning==1.9.5": ("pytorch_lightning/trainer/trainer.py:Trainer.__init__",),
    },
}
# The arguments of classes that scripts call.
RECIPES |= {
    "trl_calls": dict.fromkeys(
        ("trl==1.16.0", "trl==1.0.0", "trl==0.24.0", "trl==0.19.1", "trl==0.15.2", "trl==0.11.4", "trl==0.8.6"),
        ("trl/trainer/*_trainer.py:()",),
    ),
    "transformers_calls": dict.fromkeys(
        RECIPES["transformers"], ("transformers/trainer.py:()", "transformers/trainer_seq2seq.py:()")
    ),
    "lightning_calls": dict.fromkeys(
        (
            *("pytorch-lightning==2.6.6", "pytorch-lightning==2.0.0", "pytorch-lightning==1.9.0"),
            *("pytorch-lightning==1.8.0", "pytorch-lightning==1.7.0", "pytorch-lightning==1.6.0"),
            *("pytorch-lightning==1.5.0", "pytorch-lightning==1.4.9", "pytorch-lightning==1.2.10"),
        ),
        ("pytorch_lightning/trainer/trainer.py:()",),
    ),
    "peft_calls": {
        **dict.fromkeys(
            ("peft==0.21.2", "peft==0.15.2", "peft==0.11.1", "peft==0.7.1"), ("peft/tuners/lora/config.py:()",)
        ),
        "peft==0.4.0": ("peft/tuners/lora.py:()",),
    },
    "accelerate_calls": dict.fromkeys(
        ("accelerate==1.15.0", "accelerate==1.0.1", "accelerate==0.34.2", "accelerate==0.28.0", "accelerate==0.20.3"),
        ("accelerate/accelerator.py:()", "accelerate/utils/dataclasses.py:()"),
    ),
}
# What comes before the keys of a table.
PREFIXES = {"lightning": "trainer."}
# Values that take any further keys.
_FREE = ["any"]
# The enumerations of the package that is read.
ENUMS: dict[str, list[str]] = {}
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
            body = ast.parse(text).body if "Enum" in text or " = Literal[" in text else []
        except SyntaxError:  # A module for a newer Python; what it enumerates is not known.
            continue
        for node in body:
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Literal["):
                kind = kind_of(node.value)
                found[ast.unparse(node.targets[0])] = kind[1:] if kind[0] == "str" else []
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


def arguments(folder: Path, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the options that the calls of add_argument in a module make."""
    file = folder / path
    if not file.is_file():
        raise NotUnderstoodError(f"there is no {path}")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    loops = {
        node.target.id: [str(each.value) for each in node.iter.elts if isinstance(each, ast.Constant)]
        for node in ast.walk(tree)
        if isinstance(node, ast.For)
        and isinstance(node.target, ast.Name)
        and isinstance(node.iter, (ast.Tuple, ast.List))
    }
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
        ):
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
    """Yield the parameters of a function of a class."""
    tree = ast.parse((folder / path).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        for part in node.body if isinstance(node, ast.ClassDef) and node.name == name else ():
            if isinstance(part, ast.FunctionDef) and part.name == function:
                for argument in (*part.args.args[1:], *part.args.kwonlyargs):
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


def read(folder: Path, place: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the options at a place, in one of the forms that RECIPES lists."""
    path, _, name = place.partition(":")
    owner, _, member = name.partition(".")
    if name == "()":
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
        files = sorted(folder.glob(path))
        if not files:
            raise NotUnderstoodError(f"there is no {path}")
        for file in files:
            if file.suffix == ".py":
                yield from arguments(folder, str(file.relative_to(folder)))
            else:
                yield from keys_of(yaml.safe_load(file.read_text(encoding="utf-8")))


def unpack(key: str, lock: dict[str, str], into: Path) -> None:
    """Download the wheel of a version, compare it with the lock, and unpack its Python and YAML files."""
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


def table(name: str, lock: dict[str, str]) -> dict[str, Any]:
    """Return the table of a recipe: the options united over its versions, and from which to which one lasts if not in all."""
    united: dict[str, list[str]] = {}
    of_version: dict[str, set[str]] = {}
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
                    if option.isidentifier() or "." in option:
                        same = found.get(option, kind) == kind or place.endswith("()")
                        found[option] = kind if same else _FREE
        of_version[key] = set(found)
        for option, kind in found.items():
            before = united.get(option, kind)
            united[option] = kind if before == kind else _FREE
            if before[0] == kind[0] and before[0] in ("str", "name") and len(before) > 1 and len(kind) > 1:
                united[option] = [*before, *(choice for choice in kind[1:] if choice not in before)]
    package = next(iter(RECIPES[name])).partition("==")[0]
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
    }


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
