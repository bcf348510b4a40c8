"""Files of settings in YAML, JSON, TOML, INI and Python: their values, the lines of their keys, and why one cannot be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from trainc.findings import CompileError
from trainc.kube.documents import is_deeper
from trainc.options import Limits
from trainc.reading.yaml_reader import read_value
from trainc.startup.patterns import pattern
from trainc.startup.typing import Any

# Configurations of programs are small and flat.
LIMITS = Limits(document_bytes=200_000, depth=20)

# A key of n parts makes n tables in one another, and tomllib takes n * n steps for them.
_LONG_KEY = pattern(r"""(?:[\w"'-]++[ \t]*+\.[ \t]*+){100}""")

# configparser takes n * n steps for n spaces.
_LONG_SPACE = pattern(r"[^\S\n]{100}")

# A tag of a program's own, as in `net: !new:torch.nn.Linear`: its reader makes objects of what follows.
_TAG = pattern(r"(?<=[\s\[,{])!(?!!)([A-Za-z][\w.:/-]*)(?=[\s\],}]|$)")

# What templates have, which are filled in before a program reads the file.
_TEMPLATE = pattern(r"\{\{|\{%|<%|^\s*<<<|\$\{\w+:-", 8)


@lru_cache(maxsize=64)
def syntax_problem(name: str, text: str) -> tuple[int, str] | None:
    """Return the line, from 0, at which a file of this name can no longer be read as it is meant, and why; None if it can."""
    suffix = name.rpartition(".")[2].lower()
    reader = {"yaml": _yaml, "yml": _yaml, "json": _json, "toml": _toml}.get(suffix)
    if reader is None or not text.strip() or len(text) > LIMITS.document_bytes or _TEMPLATE.search(text):
        return None
    return reader(text) or (_twice(text) if reader is _yaml else None)


def _twice(text: str) -> tuple[int, str] | None:
    """Return the line of a key at the top of a file in YAML that it has before, too."""
    keys: dict[str, int] = {}
    for number, line in enumerate(text.splitlines()):
        if line.startswith("---"):
            keys = {}
        key = line.partition(":")[0]
        if ":" in line and key.isidentifier() and keys.setdefault(key, number) != number:
            return number, f"sets {key} twice; the last one counts, and the first is in line {keys[key] + 1}"
    return None


def _yaml(text: str) -> tuple[int, str] | None:
    from yaml.error import MarkedYAMLError, YAMLError

    from trainc.reading.libyaml import EventParser

    if is_deeper(text, LIMITS.depth):
        return None
    try:
        parser = EventParser(text)
        while parser.check_event():
            parser.get_event()
    except MarkedYAMLError as error:
        return getattr(error.problem_mark, "line", 0), f"is not valid YAML: {error.problem}"
    except YAMLError:
        return 0, "is not valid YAML: it has characters that are not allowed"
    return None


def _json(text: str) -> tuple[int, str] | None:
    import json

    twice: list[str] = []
    try:
        json.loads(text, object_pairs_hook=lambda pairs: twice.extend(_repeated(name for name, _ in pairs)))
    except json.JSONDecodeError as error:
        end = error.pos + (text[error.pos : error.pos + 1] == ",")
        before = text[:end].rstrip()
        if before.endswith(",") and text[end:].lstrip()[:1] in ("}", "]"):
            last = before.rpartition("\n")[2].strip()[-40:].rstrip(",")
            return before.count("\n"), f"is not valid JSON: a comma is behind the last item, {last}: remove it"
        return error.lineno - 1, f"is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
    except (ValueError, RecursionError):
        return None
    lines = [text[: text.rfind(f'"{name}"')].count("\n") for name in twice[:1]]
    return (lines[0], f"sets {twice[0]} twice in one object, where the last one counts") if lines else None


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _toml(text: str) -> tuple[int, str] | None:
    import tomllib

    if _is_deep_toml(text):
        return None
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).rpartition(" (at ")
        line = place.partition("line ")[2].partition(",")[0]
        return (
            int(line) - 1 if line.isdecimal() else text.count("\n")
        ), f"is not valid TOML: {message[:1].lower()}{message[1:]}"
    except (ValueError, RecursionError):  # A number of thousands of digits.
        pass
    return None


def _is_deep_toml(text: str) -> bool:
    """Return whether the brackets of a file, or the parts of a key in it, may nest deeper than files of settings do."""
    depth = deepest = 0
    for c in _TEXTS_OF_TOML.sub("", text):
        depth += (c in "[{") - (c in "]}")
        deepest = max(deepest, depth)
    return deepest > LIMITS.depth or _LONG_KEY.search(text) is not None


# What is not closed is no TOML: a text of several lines goes to the end of the file.
_TEXTS_OF_TOML = pattern(
    r'''(?s)"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)|\'{3}.*?(?:\'{3,5}|\Z)|"(?:[^"\\\n]|\\.)*+"|\'[^\'\n]*+\'|#[^\n]*+'''
)


@lru_cache(maxsize=64)
def yaml_value(text: str) -> Any:
    """Return the value of a file in YAML or JSON; None if it cannot be read."""
    try:
        # hyperpyyaml's !PLACEHOLDER says that a value is still to be given, as ??? of OmegaConf does.
        text = _TAG.sub(lambda tag: "???" if tag[1] == "PLACEHOLDER" else "", text) if " !" in text else text
        return read_value(text, LIMITS)
    except CompileError:
        return None


@lru_cache(maxsize=64)
def toml_value(text: str) -> Any:
    """Return the value of a file in TOML; None if it cannot be read."""
    import tomllib

    try:
        return None if _is_deep_toml(text) else tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def line_of(text: str, dotted: str) -> int:
    """Return the line of a key, from 0: that of the last of its parts that is found, each behind the one before."""
    from bisect import bisect_left

    if dotted.startswith(("call", "maybe")) and python_value(text) is not None:
        from trainc.reading.python_calls import calls

        return calls(text).get(dotted, (None, 0))[1]
    lines = _lines_of_keys(text)
    at = 0
    for part in dotted.split(".") if dotted else ():
        found = lines.get(part, ())
        place = bisect_left(found, at)
        at = found[place] if place < len(found) else at
    return at


# A file may have a finding for each of its keys.
@lru_cache(maxsize=16)
def _lines_of_keys(text: str) -> Mapping[str, list[int]]:
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(text.splitlines()):
        for match in _KEY.finditer(line):
            lines.setdefault(match[1], []).append(number)
    return lines


_KEY = pattern(r"""(?<![^\s{,\[("'.])([\w/-]++)["']?\s*[:=\]]""")


@lru_cache(maxsize=64)
def ini_value(text: str) -> Any:
    """Return the sections of a file in INI, or the keys of one without any, with values as text; None if it cannot be read."""
    from configparser import Error, RawConfigParser

    parser = RawConfigParser(delimiters=("=",), inline_comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    if len(text) > LIMITS.document_bytes or _LONG_SPACE.search(text):
        return None
    try:
        parser.read_string(text if "[" in text else f"[top]\n{text}")
    except Error:
        return None
    found = {name: {key: value.strip("\"'") for key, value in parser[name].items()} for name in parser.sections()}
    return found if "[" in text else found["top"]


class Expression(str):
    """The text of what is not constant in a script."""

    __slots__ = ()


# Classes and functions of trainers that take settings by name. Those of Lightning's Trainer are known below `trainer`.
_CONFIGURES = pattern(r"\w*TrainingArguments|(?:SFT|DPO|KTO|GRPO|RLOO|PPO|ORPO|CPO|Reward)Config|initialize|Trainer")


@lru_cache(maxsize=64)
def python_value(text: str) -> Any:
    """Return what a file in Python assigns, if it has settings alone, and what it passes by name to a trainer's classes.

    A call such as dict(...) is a mapping, `files` are those that a script names, and a variable stands for what only the
    running script knows, or two calls say differently. None if it cannot be read. It is parsed, never run.
    """
    import ast

    from trainc.reading.python_calls import calls

    data = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Import, ast.ImportFrom)
    names, passed = dict[str, Any](), dict[str, Any]()
    try:
        text = "" if len(text) > LIMITS.document_bytes or is_deeper(text, LIMITS.depth) else text
        tree, called = ast.parse(text), calls(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            names[statement.targets[0].id] = _of_expression(statement.value, names)
    values = dict(names) if all(isinstance(statement, data) for statement in tree.body) else {}
    for call in ast.walk(tree):
        name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
        of_lightning = name == "Trainer" and "lightning" in text
        if isinstance(call, ast.Call) and _CONFIGURES.fullmatch(name) and (name != "Trainer" or of_lightning):
            settings = passed.setdefault("trainer", {}) if of_lightning else passed
            for key, value in _of_expression(ast.Call(call.func, [], call.keywords), names).items():
                settings[key] = value if settings.get(key, value) == value else "${}"
    texts = [str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    files = enumerate(text for text in texts if text.endswith((".json", ".yaml", ".yml", ".toml")))
    of_calls = {key: value for key, (value, _) in called.items()}
    return {**values, **passed, **of_calls, "files": {str(number): name for number, name in files}}


def _of_expression(node: Any, names: Mapping[str, Any]) -> Any:
    import ast

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):  # A mapping stands where it was first written.
            return names[name] if isinstance(names.get(name), (str, int, float)) else None
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_of_expression(item, names) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {key.value: _of_expression(each, names) for key, each in pairs if isinstance(key, ast.Constant)}
        case ast.Call(args=[], keywords=keywords):
            return {one.arg: _of_expression(one.value, names) for one in keywords if one.arg}
    return "${}"
