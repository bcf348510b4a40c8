"""What a script in Python certainly calls, and with what: read from its syntax tree; the script is never run."""

from __future__ import annotations

import ast
import builtins
import sys
from collections import ChainMap, Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from types import MappingProxyType

from trainc.reading.settings import Expression
from trainc.startup.patterns import pattern
from trainc.startup.shipped import read_data
from trainc.startup.typing import Any, TypeAlias

_WORDS = read_data(__file__, "python_calls.json")
# Packages about whose calls there are rows, and those that do not start or join the processes of a training.
_ROOTS = frozenset((*_WORDS["joining"], *_WORDS["known"]))
_PLAIN = sys.stdlib_module_names | frozenset((*_WORDS["known"], *_WORDS["plain"]))
# A test that holds in each process, if at times only; and what leaves a function, or a turn of a loop.
_HOLDS, _ENDS, _LEAVES = (pattern(_WORDS[key]) for key in ("holds", "ends", "leaves"))
# Tests of the first rank, after one whether there are ranks; and what all ranks have to call, in a group of which it may be.
_FIRST = pattern("|".join(_WORDS["first"]).replace("RANK()", _WORDS["rank"]))
_UNLAUNCHED, _COLLECTIVE = pattern(_WORDS["unlaunched"]), pattern("|".join(_WORDS["collective"]))
# What puts something on the first device, or on none.
_MOVING, _FIRST_DEVICE = pattern(_WORDS["moving"]), pattern(_WORDS["first_device"])
_PUT = {kind: pattern(text) for kind, text in _WORDS["put"].items()}
# Decorators that change nothing about when a function is called, calls of what they are given, and those without arguments.
_KEEPING, _CALLING, _CALLED = (pattern(_WORDS[key]) for key in ("keeping", "calling", "called"))
# How long what a name stands for may be, how often names are written out, and how many calls of one function are kept apart.
_LONGEST, _MOST_WRITTEN, _MOST_CALLS = 100, 10_000, 6
_GONE = frozenset(_WORDS["gone"])
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PARSER = "argparse.ArgumentParser"
_BUILT_IN = frozenset((*dir(builtins), *_ROOTS))

# What names are bound to, in order, if that is known, and whether in each process.
_Bound: TypeAlias = "dict[str, list[tuple[ast.expr | None, bool]]]"


@lru_cache(maxsize=64)
def calls(text: str) -> Mapping[str, tuple[Any, int]]:
    """Return the calls, `call:NAME`, their arguments, `call:NAME/KEYWORD` or `/0`, and what they are given, with their lines.

    A name stands for what it was imported as, or was assigned, if that was once, and a method has the name of the class.
    What is not constant is its text. Further calls with other arguments are in `call1:NAME` and so on, and those behind
    conditions in `maybe0:NAME`; one with `*` or `**` is left out. `call:os.environ/NAME` is a variable that the script needs, and `OPTIONS` are those of its command line.
    `call:NAME/@` is the place of a call among all. `DEVICES` is 1 if nothing is put on another device than the first.
    `IMPORT` are the imports that some version lacks, `RELATIVE` is one of the script's own package, `NAMES` all names in the script, `TEXT` is the script, `FOREIGN` the packages of which nothing is known, and `ONE` what only the first
    rank waits in (`LOCAL`: the first of each pod).
    """
    tree = _Own(ast.parse(text)).whole
    streams = [
        one.name
        for one in ast.walk(tree)
        if isinstance(one, ast.ClassDef)
        and [dotted(base).rpartition(".")[2] for base in one.bases] == ["IterableDataset"]
    ]
    _Renaming({name: ast.Name("torch.utils.data.IterableDataset", ast.Load()) for name in streams}).visit(tree)
    imported = _imports(tree)
    roots = _rename(tree)
    script, nodes = _Script(tree), list(ast.walk(tree))
    names = {str(getattr(node, key, "")) for node in nodes for key in ("id", "attr", "arg", "value")}
    names = {part for name in names for part in name.split(".") if part.isidentifier()}
    names |= {"with" for node in nodes if isinstance(node, ast.With)}
    found = _of_calls(script, nodes) | _options(nodes, script.calls) | _of_devices(script, nodes) | imported
    found["call:NAMES"] = f" {' '.join(sorted(names))} ", 0
    found["call:TEXT"] = Expression(text), 0
    found["call:FOREIGN"] = " ".join(sorted(roots - _PLAIN)) or "none", 0
    for key, waiting in script.of_one(tree).items():
        found[key] = dotted(waiting.func), waiting.lineno - 1
    return found


def _imports(tree: ast.Module) -> dict[str, tuple[Any, int]]:
    """Return what a script certainly imports first, and the modules that this is in, as far as others went missing."""
    found: dict[str, tuple[Any, int]] = {}
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) and not node.level else ""
            if isinstance(node, ast.ImportFrom) and node.level:
                found.setdefault("call:RELATIVE", (f"from {'.' * node.level}{node.module or ''}", node.lineno - 1))
            for one in node.names if module or isinstance(node, ast.Import) else ():
                parts = f"{module}{one.name}".split(".")
                for name in {".".join(parts[:end]) for end in range(1, len(parts) + 1)} & _GONE:
                    found[f"call:IMPORT/{name}"] = True, node.lineno - 1
    return found


def _of_calls(script: _Script, nodes: Sequence[ast.AST]) -> dict[str, tuple[Any, int]]:
    """Return the calls with their arguments, the variables, and what is put on devices."""
    patched = {ast.unparse(node) for node in nodes if isinstance(getattr(node, "ctx", None), ast.Store)}
    given: dict[str, dict[str, dict[str, tuple[Any, int]]]] = {}
    found: dict[str, tuple[Any, int]] = {}
    sure = {call: order for order, call in enumerate(script.calls)}
    others = (one for one in nodes if isinstance(one, ast.Call) and one not in sure and one.col_offset >= 0)
    for call in (*sure, *others):
        key = f":{(name := dotted(call.func))}"
        if name.partition(".")[0] in _ROOTS and ast.unparse(call.func) not in patched:
            here = _arguments(key, call)
            if call in sure:
                found.setdefault(f"call{key}/@", (sure[call], call.lineno - 1))
                more = [one.value for one in call.keywords if one.arg is None and isinstance(one.value, ast.Subscript)]
                found |= {f"call{key}/**": (Expression(ast.unparse(one)), call.lineno - 1) for one in more}
            else:
                key = f"?{key}"
            given.setdefault(key, {}).setdefault(str([(place, value[0]) for place, value in here.items()]), here)
    for key, each in given.items():
        for number, one in enumerate([*filter(None, each.values())][:_MOST_CALLS]):
            space = f"maybe{number}" if key[0] == "?" else f"call{number or ''}"
            found |= {f"{space}{place}": value for place, value in one.items()}
    # What the script sets whose name it makes up as well.
    unknown = any(
        place == "os.environ" or (place.startswith("os.environ[") and place[11] not in "'\"") for place in patched
    )
    for name, line in script.reads.items():
        if not unknown and f"os.environ['{name}']" not in patched:
            found[f"call:os.environ/{name}"] = True, line
    found |= {f"call:os.environ.set/{name}": value for name, value in script.sets.items()}
    return found


def _of_devices(script: _Script, nodes: Sequence[ast.AST]) -> dict[str, tuple[Any, int]]:
    """Return whether all goes to the first device, and what certainly goes to one by the rank, or to any."""
    moves = [one for one in nodes if isinstance(one, ast.Call) and _MOVING.search(dotted(one.func))]
    places = [ast.unparse(to) for one in moves for to in (*one.args, *(each.value for each in one.keywords))]
    found: dict[str, tuple[Any, int]] = {"call:DEVICES": (int(all(map(_FIRST_DEVICE.fullmatch, places))), 0)}
    for call in script.calls:
        text = ast.unparse(call.args[0]) if call.args else dotted(call.func).rpartition(".")[2]
        for kind, texts in _PUT.items() if _MOVING.search(dotted(call.func)) else ():
            if texts.fullmatch(text):
                found.setdefault(f"call:ON/{kind}", (text, call.lineno - 1))
    return found


def _arguments(key: str, call: ast.Call) -> dict[str, tuple[Any, int]]:
    """Return a call with its arguments, and those inside of mappings that are written out; nothing if it has others."""
    found: dict[str, tuple[Any, int]] = {key: (True, call.lineno - 1)}
    # What stands for a name is given where the name was.
    waiting: list[tuple[Any, ast.expr, int]] = [
        (place, one, one.lineno if getattr(one, "col_offset", -1) >= 0 else call.lineno)
        for place, one in enumerate(call.args)
    ]
    waiting += [(one.arg, one.value, one.lineno) for one in call.keywords]
    for place, one, line in waiting:
        pairs = [*zip(one.keys, one.values, strict=True)] if isinstance(one, ast.Dict) else []
        whole = bool(pairs) and all(isinstance(name, ast.Constant) for name, _ in pairs)
        if isinstance(one, ast.Starred) or (place is None and not whole):
            return {}
        if place is not None:
            value = _value(one)
            # What is not constant in a mapping is known only to the script.
            inside = "/" in str(place) and isinstance(value, Expression) and not pairs
            found[f"{key}/{place}"] = "${}" if inside else value, line - 1
        above = "" if place is None else f"{place}/"
        waiting += [(f"{above}{getattr(name, 'value', '')}", value, value.lineno) for name, value in pairs if whole]
    return found


def dotted(node: ast.expr) -> str:
    """Return the name of what is called: that of a method is the name of what makes its object, and its own."""
    parts: list[str] = []
    called = False
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        # model.to(device) is the model.
        if isinstance(node, ast.Attribute) and not (called and node.attr in ("to", "cuda", "train", "eval")):
            parts.append(node.attr)
        called = isinstance(node, ast.Call)
        node = node.func if isinstance(node, ast.Call) else node.value
    return ".".join((node.id.removesuffix("()"), *parts[::-1])) if isinstance(node, ast.Name) else ""


def _rename(tree: ast.Module) -> set[str]:
    """Write what names stand for in their place, in the script and in each function, and return the imported packages."""
    shared = {name for node in ast.walk(tree) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    named = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    outer: dict[str, ast.expr | None] = {}
    packages: set[str] = set()
    called = {
        one.func.id: one for one in ast.walk(tree) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }
    functions = [one for one in tree.body if isinstance(one, _SCOPES)]
    tops = {*_BUILT_IN, *(one.name for one in functions)}
    top = ast.Module([one for one in tree.body if not isinstance(one, _SCOPES)], [])
    # What a function calls comes after it, so that the arguments are written out before.
    for scope in (top, *functions[::-1]):
        bound: _Bound = {one.name: [(None, False)] for one in functions} if scope is top else {}
        call = called.get(getattr(scope, "name", ""))
        imported = _bind(
            scope, bound, _passed(scope, call, tops) if call and named[getattr(scope, "name", "")] == 1 else {}
        )
        packages |= {str(getattr(value, "id", "")).partition(".")[0] for value in imported.values()}
        once = {name: each[0][0] for name, each in bound.items() if len(each) == 1 and name not in shared}
        own: dict[str, ast.expr | None] = {name: value for name, value in imported.items() if name in once}
        _Renaming(ChainMap(own, dict.fromkeys(bound), outer)).visit(scope)
        assigned = [(name, value) for name, value in once.items() if value and name not in imported]
        known = _known(sorted(assigned, key=lambda pair: getattr(pair[1], "lineno", 0)), named)
        _Renaming(known).visit(scope)
        # A model that is wrapped into another has its name from there on.
        ends = {
            name: each[-1][0] for name, each in bound.items() if each[1:] and each[-1][1] and all(v for v, _ in each)
        }
        wrapped = {
            name: one for name, value in ends.items() if name not in shared for one in _object(name, value).values()
        }
        since = {name: getattr(ends[name], "end_lineno", 0) for name in wrapped}
        _Renaming(wrapped, since).visit(scope)
        if scope is top:
            outer = {**own, **known}
    return packages


def _passed(scope: ast.AST, call: ast.Call, tops: Container[str]) -> dict[ast.AST, ast.expr | None]:
    """Return what the only call of a function gives for its arguments."""
    if not isinstance(scope, ast.FunctionDef) or any(isinstance(one, ast.Starred) for one in call.args):
        return {}
    by_name = {one.arg: one.value for one in call.keywords}
    given: dict[ast.AST, ast.expr] = {
        one: by_name[one.arg] for one in (*scope.args.args, *scope.args.kwonlyargs) if one.arg in by_name
    }
    given |= dict(zip(scope.args.args, call.args, strict=False))
    # What is not written out is a name of the other function.
    names = {one: {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} for one, value in given.items()}
    whole = {one: all("." in name or name in tops for name in each) for one, each in names.items()}
    return {one: value if whole[one] else _object("", value).get("") for one, value in given.items()}


def _known(assigned: Sequence[tuple[str, ast.expr]], named: Mapping[str, int]) -> dict[str, ast.expr]:
    """Return what names stand for.

    One that holds others is written out before it is: short, and none that comes later, or names would double or go round.
    """
    known: dict[str, ast.expr] = {}
    for name, value in assigned:
        # What is written into later is another one.
        if isinstance(value, (ast.Dict, ast.List)) and named[name] > 2:
            continue
        once = isinstance(value, ast.Dict)  # It is read in one place.
        if once or len(ast.unparse(value)) < _LONGEST:
            whole = _Renaming(known).visit(deepcopy(value))
            if once or len(ast.unparse(whole)) < _LONGEST:
                known[name] = whole
                for node in ast.walk(whole):  # It is called where it was written, not where its name is.
                    node.col_offset = -1  # type: ignore[attr-defined]
        if name not in known:
            known |= _object(name, value)
    return known


def _object(name: str, value: ast.expr | None) -> dict[str, ast.expr]:
    """Return what makes an object, which is not made again, if it is of a package that is known."""
    of = dotted(value) if isinstance(value, ast.Call) else ""
    known = of.partition(".")[0] in _ROOTS | {"argparse"}
    return {name: ast.Name(f"{of}()", ast.Load(), lineno=getattr(value, "lineno", 1))} if known else {}


def _bind(scope: ast.AST, bound: _Bound, passed: Mapping[ast.AST, ast.expr | None]) -> dict[str, ast.expr]:
    """Add what the names of a scope are bound to, and return those that are imported; the same import twice is one."""
    imported: dict[str, ast.expr] = {}
    waiting, targets = [(scope, True)], set[ast.AST]()
    while waiting:
        node, sure = waiting.pop()
        sure = sure and not (isinstance(node, (ast.If, ast.While)) and not _HOLDS.fullmatch(ast.unparse(node.test)))
        waiting += [(inner, sure) for inner in ast.iter_child_nodes(node)][::-1]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            package = "." * node.level + f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            for one in node.names:
                whole = package + (one.name if package or one.asname else one.name.partition(".")[0])
                name = one.asname or one.name.partition(".")[0]
                if name not in imported or getattr(imported[name], "id", "") != whole:
                    imported[name] = ast.Name(whole, ast.Load())
                    bound.setdefault(name, []).append((imported[name], sure))
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target: ast.expr = node.targets[0]
            if isinstance(target, ast.Tuple) and target.elts and isinstance(node.value, ast.Call):
                # That of DeepSpeed returns the engine first.
                target = target.elts[0] if getattr(node.value.func, "attr", "") == "initialize" else target
            if isinstance(target, ast.Name):
                bound.setdefault(target.id, []).append((node.value, sure))
                targets.add(target)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node not in targets:
            bound.setdefault(node.id, []).append((None, sure))
        elif isinstance(node, (ast.arg, *_SCOPES, ast.ExceptHandler)):
            bound.setdefault(str(getattr(node, "arg", getattr(node, "name", ""))), []).append((passed.get(node), True))
    return imported


class _Own(ast.NodeTransformer):
    """What one class keeps in `self.`, and nothing else sets, as names in it."""

    def __init__(self, tree: ast.Module) -> None:
        nodes = [[each for each in ast.walk(one) if isinstance(each, ast.Attribute)] for one in tree.body]
        set_in = [{ast.unparse(each) for each in inner if isinstance(each.ctx, ast.Store)} for inner in nodes]
        times = Counter(text.rpartition(".")[2] for texts in set_in for text in texts)
        self.names = {text for texts in set_in for text in texts if times[text.rpartition(".")[2]] == 1}
        self.whole: ast.Module = self.visit(tree)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "self" and f"self.{node.attr}" in self.names:
            return ast.copy_location(ast.Name(f"self.{node.attr}", node.ctx), node)
        return self.generic_visit(node)  # type: ignore[return-value]


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr | None], since: Mapping[str, int] = MappingProxyType({})) -> None:
        self.names, self.since, self.written = names, since, 0

    def visit_Name(self, node: ast.Name) -> ast.expr:
        later = isinstance(node.ctx, ast.Load) and getattr(node, "lineno", 1) > self.since.get(node.id, 0)
        found = (self.names.get(node.id) if later else None) or node
        self.written += not isinstance(found, (ast.Name, ast.Constant))
        if self.written > _MOST_WRITTEN:
            raise ValueError("it would become too long")
        return found


def _value(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        value = {}
    return (
        Expression(ast.unparse(node)) if isinstance(value, dict) else list(value) if isinstance(value, tuple) else value
    )


class _Script:
    """The calls that each process comes to: not those behind a condition, or in functions that nothing certainly calls."""

    def __init__(self, tree: ast.Module) -> None:
        self.calls: list[ast.Call] = []
        # The variables that it reads by subscript, wherever it runs, with their lines, and those that it sets.
        self.reads, self.sets = dict[str, int](), dict[str, tuple[Any, int]]()
        self.everywhere = True
        self.functions = {
            one.name: one
            for one in tree.body
            if isinstance(one, ast.FunctionDef) and all(_KEEPING.fullmatch(ast.unparse(d)) for d in one.decorator_list)
        }
        inits = ((one, each) for one in tree.body if isinstance(one, ast.ClassDef) for each in one.body)
        functions = ((one, each) for one, each in inits if isinstance(each, ast.FunctionDef))
        self.functions |= {one.name: each for one, each in functions if each.name == "__init__"}
        # What functions return that are called without arguments.
        self.returned = {
            name: f"({text or None})"
            for name, one in self.functions.items()
            if isinstance(end := one.body[-1], ast.Return) and len(text := ast.unparse(end)[7:]) < _LONGEST
        }
        self._read(tree.body)

    def _read(self, body: Sequence[ast.stmt]) -> bool:
        """Read statements until one may leave them, and return whether none does."""
        for statement in body:
            if isinstance(statement, _SCOPES):
                continue
            holds = isinstance(statement, ast.If) and _HOLDS.fullmatch(ast.unparse(statement.test))
            if isinstance(statement, (ast.If, ast.While, ast.Match)) and not holds:
                if _LEAVES.search(ast.unparse(statement)):
                    return False
                continue
            before, at_times = self.everywhere, isinstance(statement, ast.Try) or (holds and "__main__" not in holds[0])
            self.everywhere = before and not at_times
            match statement:
                case ast.Assign([ast.Subscript(of, ast.Constant(name))], ast.Constant(value)) if (
                    ast.unparse(of) == "os.environ"
                ):
                    self.sets[str(name)] = value, statement.lineno - 1
            for name, value in ast.iter_fields(statement):
                for node in value if name in ("items", "targets") else [value]:
                    self._call(node)
            if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                return False
            # What leaves a turn of a loop does not leave what comes after it.
            whole = self._read(getattr(statement, "body", ()))
            self.everywhere = before
            if not whole and (not isinstance(statement, ast.For) or _ENDS.search(ast.unparse(statement))):
                return False
        return True

    def _call(self, node: Any) -> None:
        """Keep the calls of an expression, apart from those that it may leave out, and read the functions that it calls."""
        left_out = isinstance(node, (ast.IfExp, ast.BoolOp, ast.Lambda)) or getattr(node, "col_offset", 0) < 0
        if not isinstance(node, ast.AST) or left_out:
            return
        for inner in ast.iter_child_nodes(node):
            self._call(inner)
        match node:
            case ast.Subscript(of, ast.Constant(name), ast.Load()) if (
                self.everywhere and ast.unparse(of) == "os.environ"
            ):
                self.reads.setdefault(str(name), node.lineno - 1)
        if isinstance(node, ast.Call):
            self.calls.append(node)
            calling = node.args and _CALLING.fullmatch(dotted(node.func))
            named = node.args[0] if calling else node.func
            function = self.functions.pop(named.id, None) if isinstance(named, ast.Name) else None
            if function is not None:
                self._read(function.body)

    def of_one(self, tree: ast.Module) -> Mapping[str, ast.Call]:
        """Return a collective call that only the first rank makes, and one of the first of each pod.

        There is none if another one, which the other ranks may make meanwhile, is behind another condition.
        """
        of_first: dict[ast.Call, str] = {}
        tests = [(one.test, one.body) for one in ast.walk(tree) if isinstance(one, ast.If)]
        for body in [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]:  # type: ignore[attr-defined]
            alone = [(n, one) for n, one in enumerate(body) if isinstance(one, ast.If) and not one.orelse]
            ends = [(one.test, n) for n, one in alone if isinstance(one.body[-1], (ast.Return, ast.Continue))]
            tests += [(ast.UnaryOp(ast.Not(), test), body[n + 1 :]) for test, n in ends[:1]]
        firsts = ((self._is_first(test), body) for test, body in tests)
        reached = [("call:LOCAL" if "local" in first.lower() else "call:ONE", body) for first, body in firsts if first]
        nodes = {*ast.walk(tree)}
        left = Counter(getattr(node, "id", "") for node in nodes)
        for key, body in reached:  # With the functions that are named nowhere else.
            of_first |= {c: key for one in body for c in _collective(one) if of_first.get(c) != "call:ONE"}
            here = {node for one in body for node in ast.walk(one)} & nodes
            nodes -= here
            names = [getattr(node, "id", "") for node in here]
            left.subtract(names)
            found = sorted(name for name in {*names} & self.functions.keys() if not left[name])
            reached += [(key, self.functions.pop(name).body) for name in found]
        certain = {*self.calls}
        unsure = {dotted(c.func) for c in _collective(tree) if c not in of_first and c not in certain}
        sure = [c for c in of_first if dotted(c.func) not in unsure and _is_of_all(c)]
        return {of_first[c]: c for c in sure[::-1]}

    def _is_first(self, test: ast.expr) -> str:
        """Return the test of the first rank that a condition has, if any: without it, it does not hold."""
        text = ast.unparse(test)
        for _ in range(2 if "()" in text else 0):
            text = _CALLED.sub(lambda match: self.returned.get(match[1], match[0]), text)
            test = ast.parse(text, mode="eval").body
            text = ast.unparse(test)
        if _FIRST.fullmatch(text):
            return text
        values = test.values if isinstance(test, ast.BoolOp) else []
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):  # Where there is no group, it is not asked.
            values = [one for one in values if not _UNLAUNCHED.fullmatch(ast.unparse(one))]
            values = values if len(values) == 1 else []
        return next((text for text in map(ast.unparse, values) if _FIRST.fullmatch(text)), "")


def _is_of_all(call: ast.Call) -> bool:
    """Return whether a collective call is certainly not one of a smaller group."""
    match, given = _COLLECTIVE.fullmatch(dotted(call.func)), {one.arg for one in call.keywords}
    most = 0 if match and match[1] else 99 if match and match[2] else 2
    return len(call.args) <= most and given.isdisjoint(("group", "no_dist", "process_group", None))


def _collective(node: ast.AST) -> Iterator[ast.Call]:
    called = (one for one in ast.walk(node) if isinstance(one, ast.Call) and one.col_offset >= 0)
    return (one for one in called if _COLLECTIVE.fullmatch(dotted(one.func)))


def _options(nodes: Sequence[ast.AST], called: Sequence[ast.Call]) -> dict[str, tuple[Any, int]]:
    """Return the options that a script takes, if it certainly parses its command line, in one place, and takes no others."""
    parsing = next((one for one in called if dotted(one.func) in _WORDS["parsing"] and not one.args), None)
    makes = [one for one in nodes if isinstance(one, ast.Call) and dotted(one.func) == _PARSER]
    made = len(makes) + sum(isinstance(one, ast.Name) and one.id == f"{_PARSER}()" for one in nodes)
    uses = [one.attr for one in nodes if isinstance(one, ast.Attribute) and dotted(one.value) == _PARSER]
    takes_others = {one.arg for each in makes for one in each.keywords}.difference(_WORDS["describing"])
    if parsing is None or made != len(uses) + 1 or takes_others or not {*uses} <= {*_WORDS["parses"]}:
        return {}
    found: dict[str, tuple[Any, int]] = {}
    if dotted(parsing.func).endswith("parse_args"):
        found["call:OPTIONS"] = True, parsing.lineno - 1
    for call in nodes:
        if not isinstance(call, ast.Call) or not dotted(call.func).endswith("add_argument"):
            continue
        # An action of a class may add others, such as --no-amp.
        own = any(one.arg == "action" and not isinstance(one.value, ast.Constant) for one in call.keywords)
        known = dotted(call.func) in _WORDS["adds"] and bool(call.args) and not own
        names = [str(one.value) for one in call.args if isinstance(one, ast.Constant)]
        if not known or len(names) < len(call.args):
            return {}
        of_text = any(one.arg == "type" and dotted(one.value) == "bool" for one in call.keywords)
        required = any(one.arg == "required" and getattr(one.value, "value", 0) is True for one in call.keywords)
        for name in names:
            found[f"call:OPTIONS/{name}"] = "required" if required else "bool" if of_text else True, call.lineno - 1
            required = False
    return found
