"""The checks that a program makes of its own arguments before it works, as rows of its table.

Read are the conditions under which it raises an error, or calls the error of its parser: those of the functions that are
given, as far as they compare options with each other and with constants. A condition that has anything else is left out,
and so is one about an option that the function has changed before.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

# What makes an option: argparse, and the parsers of configargparse.
ADDING = ("add_argument", "add")
# What rows about all programs say.
_SAID = (("bf16", "fp16", ""),)
# What the object that has the options is called.
OWNERS = frozenset(
    (
        *(
            "args",
            "self",
            "opt",
            "opts",
            "config",
            "cfg",
            "training_args",
            "model_args",
            "data_args",
            "finetuning_args",
        ),
        *(
            "generating_args",
            "ds_args",
            "hparams",
            "server_args",
            "params",
            "script_args",
            "train_args",
            "data",
            "values",
        ),
    )
)
_WORD = re.compile(r"[\w.:/-]+")
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_RELATIONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_MOST_ALTERNATIVES = 8
# A condition: its kind, its option, and what it is compared with.
Atom = tuple[str, ...]
# Those that have to hold together, of which there may be several.
Alternatives = list[tuple[Atom, ...]]


class Reader:
    """Reads the checks of functions. `options` are the names that count, `falsy` those that are off if nobody gives them."""

    def __init__(self, options: Mapping[str, object], falsy: frozenset[str]) -> None:
        """Read no other options."""
        self.options, self.falsy = options, falsy

    def checks(self, tree: ast.AST) -> Iterator[tuple[str, ...]]:
        """Yield the checks of all functions of a module: conditions, and last what has to hold then."""
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from self._of_block(node.body, [[()]], set())

    def _of_block(
        self, body: Sequence[ast.stmt], path: list[Alternatives], changed: set[str]
    ) -> Iterator[tuple[str, ...]]:
        for statement in body:
            if isinstance(statement, ast.If):
                test, otherwise = self._holds(statement.test, True), self._holds(statement.test, False)
                yield from self._of_block(statement.body, [*path, test], changed)
                yield from self._of_block(statement.orelse, [*path, otherwise], changed)
                if statement.body and isinstance(statement.body[-1], (ast.Return, ast.Continue, ast.Break)):
                    path = [*path, otherwise]
            elif isinstance(statement, ast.Raise) or self._exits(statement):
                yield from self._rows(path, changed)
                return
            elif isinstance(statement, ast.Assert):
                yield from self._rows([*path, self._holds(statement.test, False)], changed)
            elif isinstance(statement, ast.With):
                yield from self._of_block(statement.body, path, changed)
            elif isinstance(statement, (ast.Return, ast.Continue, ast.Break)):
                return
            changed |= {name for node in ast.walk(statement) if (name := self._assigned(node))}

    def _assigned(self, node: ast.AST) -> str:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
            return node.attr
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant):
            return str(node.slice.value)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr") and len(node.args) > 1:
            named = node.args[1]
            return str(named.value) if isinstance(named, ast.Constant) else ""
        return ""

    def _exits(self, statement: ast.stmt) -> bool:
        called = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(called, ast.Call) and ast.unparse(called.func) in ("parser.error", "sys.exit", "exit")

    def option(self, node: ast.expr) -> str:
        """Return the option that an expression is the value of, or an empty text."""
        name = ""
        if isinstance(node, ast.Attribute) and self._is_owner(node.value):
            name = node.attr
        elif isinstance(node, ast.Subscript) and self._is_owner(node.value) and isinstance(node.slice, ast.Constant):
            name = str(node.slice.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            first = node.args[0] if len(node.args) == 1 else None
            if self._is_owner(node.func.value) and isinstance(first, ast.Constant):
                name = str(first.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr" and self._is_owner(node.args[0]):
            name = str(node.args[1].value) if isinstance(node.args[1], ast.Constant) else ""
        return name if name in self.options else ""

    def _is_owner(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return node.attr in OWNERS
        return isinstance(node, ast.Name) and node.id in OWNERS

    def _holds(self, test: ast.expr, truth: bool) -> Alternatives:
        """Return when a condition is true, or false; no alternatives if that is not understood."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._holds(test.operand, not truth)
        if isinstance(test, ast.BoolOp):
            parts = [self._holds(value, truth) for value in test.values]
            if isinstance(test.op, ast.And) != truth:
                return [one for part in parts for one in part] if all(parts) else []
            return _together(parts)
        if name := self.option(test):
            return [(("on" if truth else "off", name),)]
        if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
            return self._divided(test) if truth else []
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and len(test.args) == 1:
            return self._like(test.func, test.args[0], truth)
        if not isinstance(test, ast.Compare):
            return []
        if len(test.ops) > 1:
            pairs = zip((test.left, *test.comparators), test.ops, test.comparators, strict=False)
            each: list[ast.expr] = [ast.Compare(left, [op], [right]) for left, op, right in pairs]
            return self._holds(ast.BoolOp(ast.And(), each), truth)
        return self._compared(test.left, test.ops[0], test.comparators[0], truth)

    def _compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr, truth: bool) -> Alternatives:
        name, value = self.option(left), right.value if isinstance(right, ast.Constant) else ...
        if isinstance(operator, (ast.Is, ast.IsNot)) or value is None or isinstance(value, bool):
            same = isinstance(operator, (ast.Is, ast.Eq)) == truth
            if not name or not (value is None or isinstance(value, bool)):
                return []
            return [(("off" if same == (value is None or value is False) else "on", name),)]
        if isinstance(operator, (ast.In, ast.NotIn)):
            among = isinstance(operator, ast.In) == truth
            if isinstance(left, ast.Constant) and (of := self.option(right)) and _is_word(left.value):
                return [(("~" if among else "!~", of, f"*{left.value!s}*"),)]
            values = _constants(right)
            return [(("in" if among else "not in", name, "|".join(values)),)] if name and values else []
        relation = _RELATIONS[type(operator)]
        if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod) and value == 0:
            return self._divided(left) if (relation == "!=") == truth else []
        relation = relation if truth else _NEGATED[relation]
        if name and isinstance(value, str):
            kinds = {"==": "in", "!=": "not in"}
            return [((kinds[relation], name, value),)] if relation in kinds and _is_word(value) else []
        a, b = self._term(left), self._term(right)
        return [((relation, a, b),)] if a and b and (name or self.option(left)) else []

    def _divided(self, test: ast.BinOp) -> Alternatives:
        a, b = self._term(test.left), self._term(test.right)
        return [(("%", a, b),)] if a in self.options and b else []

    def _term(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return str(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            a, b = self._term(node.left), self._term(node.right)
            return f"{a} * {b}" if a and b else ""
        return self.option(node)

    def _like(self, function: ast.Attribute, argument: ast.expr, truth: bool) -> Alternatives:
        name, value = self.option(function.value), argument.value if isinstance(argument, ast.Constant) else None
        form = {"startswith": "{}*", "endswith": "*{}"}.get(function.attr)
        return [(("~" if truth else "!~", name, form.format(value)),)] if name and form and _is_word(value) else []

    def _rows(self, path: list[Alternatives], changed: set[str]) -> Iterator[tuple[str, ...]]:
        for atoms in _together(path):
            unique = _merged(dict.fromkeys(atoms))
            about = {word for atom in unique for term in atom[1:] for word in term.split()}
            if (
                not unique
                or about & changed
                or any(kind == "off" and one[0] not in self.falsy for kind, *one in unique)
            ):
                continue
            row = _row(unique)
            if row:
                yield row


def _together(parts: Iterable[Alternatives]) -> Alternatives:
    made = [tuple(atom for atoms in chosen for atom in atoms) for chosen in product(*parts)]
    return made if len(made) <= _MOST_ALTERNATIVES else []


def _merged(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Return conditions with those that say that one option is none of some words as one."""
    others: dict[str, list[str]] = {}
    kept = []
    for atom in atoms:
        if atom[0] == "not in":
            others.setdefault(atom[1], []).extend(atom[2].split("|"))
        else:
            kept.append(atom)
    return (*kept, *(("not in", name, "|".join(words)) for name, words in others.items()))


def _is_word(value: object) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


def _constants(node: ast.expr) -> list[str]:
    given = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else []
    values = [one.value for one in given if isinstance(one, ast.Constant)]
    return [str(value) for value in values] if len(values) == len(given) and all(map(_is_word, values)) else []


def _row(atoms: Sequence[Atom]) -> tuple[str, ...]:
    """Return conditions and a check for what must not hold together; nothing if no option has to be given for it."""
    missing = [one for one in atoms if one[0] == "off"]
    compared = [one for one in atoms if one[0] in _NEGATED]
    divided = [one for one in atoms if one[0] == "%"]
    listed = [one for one in atoms if one[0] == "not in"]
    if len(missing) == len(atoms) or len(divided) > 1:
        return ()
    # What is compared with a number below every sensible one says nothing.
    last = next(iter((*divided, *(missing if len(missing) == 1 else ()), *compared, *listed)), None)
    if last is not None and last[0] != "off" and missing and last[0] != "%":
        last = None
    rest = tuple(sorted(_text(one) for one in atoms if one is not last))
    return (*rest, _passed(last) if last is not None else "")


def _text(atom: Atom) -> str:
    kind, *terms = atom
    return {"on": terms[0], "off": f"!{terms[0]}"}.get(kind) or f"{terms[0]} {kind} {terms[1]}"


def _passed(atom: Atom) -> str:
    """Return the check that fails where a condition holds."""
    kind, *terms = atom
    if kind == "off":
        return terms[0]
    operator = {"not in": "in", "%": "%"}.get(kind) or _NEGATED[kind]
    return f"{terms[0]} {operator} {terms[1]}"


def default_values(tree: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield the default of each option that a module defines, and an ellipsis where that is no constant."""
    for node in ast.walk(tree):
        given: Mapping[str, ast.expr] = {}
        names: list[str] = []
        missing: object = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ADDING:
            given = {keyword.arg or "": keyword.value for keyword in node.keywords}
            names = [str(one.value).lstrip("-").replace("-", "_") for one in node.args if isinstance(one, ast.Constant)]
            action = ast.unparse(given["action"]) if "action" in given else ""
            missing = True if "store_false" in action or "Boolean" in action else None
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            names, missing = [node.target.id], ...
            inner = node.value
            is_field = isinstance(inner, ast.Call) and ast.unparse(inner.func).rpartition(".")[2] in ("field", "Field")
            if isinstance(inner, ast.Call) and is_field:
                given = {keyword.arg or "": keyword.value for keyword in inner.keywords}
                given |= {"default": inner.args[0]} if inner.args else {}
                missing = [] if ast.unparse(given.get("default_factory", inner)) in ("list", "dict") else ...
            else:
                given = {"default": inner}
        default = given.get("default")
        value = missing if default is None and names else getattr(default, "value", ...)
        yield from ((name, value) for name in names)


def checks_of(patterns: str, folder: Path, options: Mapping[str, list[str]]) -> set[tuple[str, ...]]:
    """Return the checks of a version: with the script that makes one, unless all make it that have its options."""
    of_each = patterns.startswith("each:")
    files = [file for pattern in patterns.removeprefix("each:").split() for file in sorted(folder.glob(pattern))]
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    defaults: dict[str, list[object]] = {}
    for tree in trees.values():
        for option, value in default_values(tree):
            defaults.setdefault(option, []).append(value)
    falsy = frozenset(
        option for option, values in defaults.items() if not any(value or value is ... for value in values)
    )
    made: dict[tuple[str, ...], set[str]] = {}
    having: dict[str, set[str]] = {}
    for file, tree in trees.items():
        for option, _ in default_values(tree):
            having.setdefault(option, set()).add(file.name)
        for row in Reader(options, falsy).checks(tree):
            made.setdefault(row, set()).add(file.name)
    rows = set()
    for row, scripts in made.items():
        if row in _SAID or (len(row) == 2 and not row[1] and not of_each):
            continue  # Of an option alone, it is not known which of several programs refuses it.
        words = [word.lstrip("!") for text in row for word in text.split()]
        sharing = [having[word] for word in words if word in having]
        if not of_each or (len(scripts) > 2 and sharing and set.intersection(*sharing) <= scripts):
            rows.add(row)
        else:
            rows.add((f"job:script ~ {'|'.join(f'*{one}*' for one in sorted(scripts))}", *row))
    return rows


def lasting(
    rows: list[set[tuple[str, ...]]], has: list[set[str]], package: str, versions: list[str]
) -> list[list[str]]:
    """Return the checks that all versions make that have their options, and those of the newer ones with their version."""
    found = []
    for row in sorted(rows[-1]):
        words = {word.lstrip("!") for text in row for word in text.split()}
        able = [index for index, options in enumerate(has) if words & has[-1] <= options]
        lacking = [index for index in able if row not in rows[index]]
        if lacking and not package:
            continue
        first = lacking[-1] + 1 if lacking else 0
        # What one version alone does says nothing of others.
        since = (
            [f"package:{package}?{versions[-1]} >= {versions[first]}"] if package and (lacking or able == [0]) else []
        )
        found.append([*since, *_without_what_is_refused(row, rows[-1])])
    return found


def _without_what_is_refused(row: tuple[str, ...], others: set[tuple[str, ...]]) -> tuple[str, ...]:
    """Return a check, without the option that it asks for if the program refuses that one there as well."""
    *when, last = row
    return (*when, "") if last and (*sorted((*when, last)), "") in others else row
