"""What a script in Python certainly calls, and with what: read from its syntax tree; the script is never run."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache

from trainc.startup.patterns import pattern
from trainc.startup.typing import Any

# Packages about whose calls there are rows, and others that do not start the processes of a training.
_ROOTS = frozenset(("torch", "jax", "xgboost", "deepspeed", "transformers", "transformer_engine"))
_PLAIN = _ROOTS | sys.stdlib_module_names | frozenset(("numpy", "pandas", "sklearn", "scipy", "pyarrow", "joblib"))
# A test that holds in each process, if at times only; what leaves a function or a turn of a loop; and that of the first rank.
_HOLDS = pattern(r"__name__ == '__main__'|\(?(?:\w*step|epoch|iteration|it|i|batch)(?: \+ 1\))? % [\w.]+ == 0")
_LEAVES = pattern(r"\b(?:return|continue|break|_?exit|abort|kill)\b")
_FIRST = pattern(
    r"(?:torch\.distributed\.get_rank\(\)|int\(os\.(?:environ\[|getenv\(|environ\.get\()'RANK'[^)\]]{0,9}[])]{1,2}) == 0"
    r"|accelerate\.Accelerator\([^\n]{0,99}\)\.is_main_process"
)
# How long what a name stands for may be.
_LONGEST = 100
# How often names that stand for more than a word are written out; a script with more is not read.
_MOST_WRITTEN = 10_000
_COLLECTIVE = pattern(
    r"torch\.distributed\.(?:(barrier)|all_reduce|all_gather\w*|reduce\w*|broadcast\w*|gather\w*|scatter\w*)"
    r"|accelerate\.Accelerator\([^\n]{0,99}\)\.(wait_for_everyone)"
)


@lru_cache(maxsize=64)
def calls(text: str) -> Mapping[str, tuple[Any, int]]:
    """Return the calls, `call:NAME`, their arguments, `call:NAME/KEYWORD` or `/0`, and what they are given, with their lines.

    A name stands for what it was imported as, or was assigned, if that was once. What is not constant is its text. `NAMES`
    are all names in the script, `FOREIGN` the packages of which nothing is known, and `ONE` what only the first rank waits in.
    """
    tree = ast.parse(text)
    roots = _rename(tree)
    script, nodes = _Script(tree), list(ast.walk(tree))
    names = {str(getattr(node, key, "")) for node in nodes for key in ("id", "attr", "arg", "value")}
    names = {part for name in names for part in name.split(".") if part.isidentifier()}
    names |= {"with" for node in nodes if isinstance(node, ast.With)}
    patched = {
        ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    # What is read in one place only is not changed before it.
    named = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    settings = {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and named[node.targets[0].id] == 2
    }
    given: dict[str, dict[str, tuple[Any, int]]] = {}
    differ: set[str] = set()
    for call in script.calls:
        key = f"call:{(name := ast.unparse(call.func))}"
        if name.partition(".")[0] in _ROOTS and name not in patched:
            pairs = (*enumerate(call.args), *((one.arg, one.value) for one in call.keywords))
            here = {f"{key}/{place}": (_value(one), getattr(one, "lineno", 1) - 1) for place, one in pairs}
            for place, one in pairs:
                whole = settings.get(one.id) if isinstance(one, ast.Name) else one
                for inner, value in zip(whole.keys, whole.values, strict=True) if isinstance(whole, ast.Dict) else ():
                    if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                        here[f"{key}/{place}/{inner.value}"] = _value(value), value.lineno - 1
            here[key] = (True, call.lineno - 1)
            before = given.setdefault(key, here)
            if key not in differ and {p: v for p, (v, _) in before.items()} != {p: v for p, (v, _) in here.items()}:
                differ.add(key)
                given[key] = dict.fromkeys(before, ("${}", call.lineno - 1)) | {key: before[key]}
    found = {place: value for one in given.values() for place, value in one.items()}
    found["call:NAMES"] = f" {' '.join(sorted(names))} ", 0
    found["call:FOREIGN"] = " ".join(sorted(roots - _PLAIN)) or "none", 0
    waiting = script.of_one(tree)
    return found | ({"call:ONE": (ast.unparse(waiting.func), waiting.lineno - 1)} if waiting else {})


def _rename(tree: ast.Module) -> set[str]:
    """Write what names stand for in their place, and return the packages that are imported."""
    bound: dict[str, dict[object, ast.expr | None]] = {}
    imported: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            package = "." * node.level + f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            for one in node.names:
                whole = package + (one.name if package or one.asname else one.name.partition(".")[0])
                name = one.asname or one.name.partition(".")[0]
                imported[name] = bound.setdefault(name, {}).setdefault(whole, ast.Name(whole, ast.Load())) or ast.Name(
                    name
                )
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and len(node.targets) == 1:
            bound.setdefault(node.targets[0].id, {})[node.targets[0]] = node.value
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.setdefault(node.id, {}).setdefault(node, None)
        elif isinstance(node, (ast.arg, ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)):
            bound.setdefault(getattr(node, "arg", getattr(node, "name", "")), {})[node] = None
    once = {
        name: value
        for name, (value, *more) in ((n, [*each.values()]) for n, each in bound.items())
        if value and not more
    }
    _Renaming({name: value for name, value in imported.items() if name in once}).visit(tree)
    # One that holds others is written out before it is: short, and none that comes later, or names would double or go round.
    known: dict[str, ast.expr] = {}
    assigned = [(name, value) for name, value in once.items() if name not in imported]
    for name, value in sorted(assigned, key=lambda pair: pair[1].lineno):
        if len(ast.unparse(value)) < _LONGEST:
            whole = _Renaming(known).visit(deepcopy(value))
            if len(ast.unparse(whole)) < _LONGEST:
                known[name] = whole
    _Renaming(known).visit(tree)
    return {str(getattr(value, "id", "")).partition(".")[0] for value in imported.values()}


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names, self.written = names, 0

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names or not isinstance(node.ctx, ast.Load):
            return node
        self.written += not isinstance(self.names[node.id], (ast.Name, ast.Constant))
        if self.written > _MOST_WRITTEN:
            raise ValueError("it would become too long")
        return self.names[node.id]


def _value(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return ast.unparse(node)
    return list(value) if isinstance(value, tuple) else value


class _Script:
    """The calls that each process comes to: not those behind a condition, or in functions that nothing certainly calls."""

    def __init__(self, tree: ast.Module) -> None:
        self.calls: list[ast.Call] = []
        self.functions = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef) and not f.decorator_list}
        self._read(tree.body)

    def _read(self, body: Sequence[ast.stmt]) -> bool:
        """Read statements until one may leave them, and return whether none does."""
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            holds = isinstance(statement, ast.If) and _HOLDS.fullmatch(ast.unparse(statement.test))
            if isinstance(statement, (ast.If, ast.While, ast.Match)) and not holds:
                if _LEAVES.search(ast.unparse(statement)):
                    return False
                continue
            for name, value in ast.iter_fields(statement):
                for node in value if name in ("items", "targets") else [value]:
                    self._call(node)
            if not self._read(getattr(statement, "body", ())):
                return False
        return True

    def _call(self, node: Any) -> None:
        """Keep the calls of an expression, apart from those that it may leave out, and read the functions that it calls."""
        if not isinstance(node, ast.AST) or isinstance(node, (ast.IfExp, ast.BoolOp, ast.Lambda)):
            return
        for inner in ast.iter_child_nodes(node):
            self._call(inner)
        if isinstance(node, ast.Call):
            self.calls.append(node)
            function = self.functions.pop(node.func.id, None) if isinstance(node.func, ast.Name) else None
            if function is not None:
                self._read(function.body)

    def of_one(self, tree: ast.Module) -> ast.Call | None:
        """Return a collective call that only the first rank makes, if no other one is behind a condition."""
        tests = (node for node in ast.walk(tree) if isinstance(node, ast.If) and not node.orelse)
        of_first = dict.fromkeys(
            c for one in tests if _FIRST.fullmatch(ast.unparse(one.test)) for c in _collective(one)
        )
        if not {*self.calls, *of_first}.issuperset(_collective(tree)):
            return None
        return next((one for one in of_first if _is_of_all(one)), None)


def _is_of_all(call: ast.Call) -> bool:
    """Return whether a collective call is certainly not one of a smaller group."""
    alone = _COLLECTIVE.fullmatch(ast.unparse(call.func))
    most = 0 if alone is not None and any(alone.groups()) else 2
    return len(call.args) <= most and not any(one.arg in ("group", None) for one in call.keywords)


def _collective(node: ast.AST) -> Iterator[ast.Call]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Call) and _COLLECTIVE.fullmatch(ast.unparse(one.func)))
