"""Renders templates: parses, rewrites and runs them, and turns errors into diagnostics with lines."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import partial, wraps
from itertools import islice
from time import thread_time
from types import TracebackType
from typing import Any, NoReturn

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS, make_attrgetter
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, TemplateReference, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from trainc.findings import Hint
from trainc.findings.text import did_you_mean
from trainc.options import Limits
from trainc.reading.templates import TemplateFailedError
from trainc.startup.patterns import pattern

# Large enough for any realistic number, and small enough that few numbers share a hash.
_INTEGER_BITS = 64
# Characters that are allowed in JSON strings, but that YAML rejects or treats as line breaks.
_NOT_PLAIN = pattern("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def dict_of(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    """Replace the class `dict`, which has methods that modify their argument."""
    pairs = args[0].items() if args and isinstance(args[0], dict) else (*args, ())[0]
    return {key_of(key): value for key, value in pairs} | kwargs


def key_of(value: Any) -> Any:
    """Check a mapping key. Other types than in YAML could be constructed to have equal hashes."""
    if not isinstance(value, str | int | float | None):
        refuse("the keys of a mapping must be strings or numbers")
    check_number(value)
    return value


def namespace_of(*args: Any, **kwargs: Any) -> Any:
    """Replace the class `namespace` with a function."""
    namespace: Any = Namespace
    return namespace(*args, **kwargs)


def check_number(value: Any) -> None:
    """Raise SecurityError for an integer of more than 64 bits."""
    if isinstance(value, int) and value.bit_length() > _INTEGER_BITS:
        refuse("the number is too large")


def as_yaml(value: Any) -> str:
    """Format a value as YAML on one line: null, true, and flow style for mappings and lists.

    Other values, such as a method that was not called, are rejected: their text contains an address, which differs
    between runs.
    """
    if isinstance(value, str | int | float | Undefined) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, bool | dict | list | tuple):
        return to_json(value)
    raise SecurityError(
        f"a {type(value).__name__} cannot be printed; call it with (), or turn it into a list with | list"
    )


def on_text(change: Callable[[str], str]) -> Callable[[Any], str]:
    """Turn a filter for strings into one for any value."""
    return lambda value: change(as_yaml(value))


def to_json(value: Any) -> str:
    """Format a value as JSON that is also valid YAML."""
    text = as_yaml(value) if isinstance(value, Undefined) else json.dumps(value, ensure_ascii=False)
    return _NOT_PLAIN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def refuse(reason: str) -> NoReturn:
    """Stop the template with a SecurityError."""
    raise SecurityError(reason)


_NODES_PER_STEP = 10


class Bounding(NodeTransformer):
    """Rewrites templates so that operations that bypass the environment count towards the budget."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        """Turn `for x in items` into `for x in items | counted(n)`, where `n` depends on the size of the body."""
        steps = _steps(node)
        self.generic_visit(node)
        if node.recursive:
            raise SecurityError("recursive loops are not supported")
        node.iter = _filter(node.iter, "counted", nodes.Const(steps))
        return node

    def visit_Macro(self, node: nodes.Macro | nodes.CallBlock | nodes.Block) -> nodes.Node:  # noqa: N802
        """Charge for the size of the body on every call."""
        steps = _steps(node)
        self.generic_visit(node)
        spent = _filter(nodes.Const(steps, lineno=node.lineno), "spent")
        node.body.insert(0, nodes.ExprStmt(spent, lineno=node.lineno))
        return node

    visit_CallBlock = visit_Block = visit_Macro  # noqa: N815

    def visit_EvalContextModifier(self, node: nodes.EvalContextModifier) -> nodes.Node:  # noqa: N802
        """Reject `autoescape`, which creates a string type whose methods the sandbox does not cover."""
        raise SecurityError(f"{type(node).__name__}: autoescape is for HTML")

    visit_ScopedEvalContextModifier = visit_EvalContextModifier  # noqa: N815

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """Turn `a in b` into `a | weighed in b | weighed`, as every item of a list may be compared."""
        self.generic_visit(node)
        node.expr = _filter(node.expr, "weighed")
        for operand in node.ops:
            operand.expr = _filter(operand.expr, "weighed")
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        """Turn `a[1:]` into `a[1:] | made`."""
        self.generic_visit(node)
        return _filter(node, "made") if isinstance(node.arg, nodes.Slice) else node

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        """Turn `[a, b]` into `[a, b] | made`, since nested lists can grow exponentially without loops."""
        self.generic_visit(node)
        return _filter(node, "made")

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        """Like `visit_List`; also restrict keys to types that YAML allows."""
        self.generic_visit(node)
        for pair in node.items:
            pair.key = _filter(pair.key, "key")
        return _filter(node, "made")

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        """Like `visit_List`, except for assignment targets."""
        if node.ctx != "load":
            return node
        self.generic_visit(node)
        return _filter(node, "made")

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        """Turn `a ~ b` into `[a, b] | join`."""
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes), "join")


def _steps(node: nodes.Node) -> int:
    """Return the cost of running a node once, in steps."""
    return 1 + sum(1 for _ in node.find_all(nodes.Node)) // _NODES_PER_STEP


def _filter(node: nodes.Node, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(arguments), [], None, None, lineno=node.lineno)


class TooMuchError(Exception):
    """The template exceeded its budget."""


# The budget of a template: steps, bytes of strings and collections, and processor time as a fallback.

# The number of characters that are processed in about the time of one step.
CHARACTERS = 1_000
# Approximate size of a new value in a collection, such as a number in a range.
_ITEM_BYTES = 32


class Budget:
    """The remaining steps, bytes and seconds of one run of a template. Raises TooMuchError once they are spent.

    A step is a loop iteration, a call, a value or a thousand characters processed. Bytes count everything that was
    created, even if it has been freed. `now` returns processor time in seconds. No known input reaches the time limit
    before the other two; it is a safety net.
    """

    def __init__(self, limits: Limits, now: Callable[[], float] = thread_time) -> None:
        self._steps, self._bytes = limits.template_steps, limits.template_bytes
        self._text = limits.document_bytes
        self._now, self._end = now, now() + limits.template_seconds

    @property
    def steps(self) -> int:
        """The remaining steps."""
        return self._steps

    def spend(self, steps: int = 1) -> None:
        """Spend steps."""
        self._steps -= steps
        if self._steps < 0:
            raise TooMuchError("it takes too many steps (loop iterations, calls, and values in them)")
        if self._now() > self._end:
            raise TooMuchError("it takes too long")

    def allow(self, characters: int) -> None:
        """Check that a string of this length is allowed, before creating it."""
        if characters > self._text:
            raise TooMuchError("its output is too long")

    def charge(self, value: Any) -> Any:
        """Charge for a new value and return it: a step per value in a collection, counting duplicates."""
        if isinstance(value, str):
            self.allow(len(value))
        if isinstance(value, str | dict | list | tuple):
            items = 0 if isinstance(value, str) else len(value)
            self._bytes -= sys.getsizeof(value) + items * _ITEM_BYTES
            if self._bytes < 0:
                raise TooMuchError("its strings and lists take too many bytes")
        self.weigh(value)
        return value

    def weigh(self, value: Any) -> None:
        """Charge for processing a value: a step per value in it, and per thousand characters."""
        waiting = [value]
        while waiting:
            inner = waiting.pop()
            if isinstance(inner, dict | list | tuple | range):
                self.spend(len(inner))
                if not isinstance(inner, range):
                    waiting += inner
                if isinstance(inner, dict):
                    waiting += inner.values()
            elif isinstance(inner, str) and len(inner) >= CHARACTERS:
                self.spend(len(inner) // CHARACTERS)

    def charge_items(self, items: Iterable[Any], steps: int = 1) -> Iterator[Any]:
        """Yield the items, charging `steps` for each."""
        for item in items:
            self.spend(steps)
            yield item


# The sandbox for templates: no file access, no Python, no randomness, and a budget for everything.
#
# Jinja2's own sandbox protects Python's internals, but does not prevent infinite loops or excessive memory use. Here,
# loops, calls, filters, tests and operators are charged for their input before they run, and for their result.
# Features that create large values from small ones are removed.

# Filters that pad, repeat, format, pick at random, or concern HTML are removed.
_FILTERS = (
    "abs", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last", "length", "list", "map", "max",
    "min", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "unique",
)  # fmt: skip
# Filters that neither process nor create anything.
_IMMEDIATE = frozenset(("count", "d", "default", "first", "last", "length"))
# Filters that treat a string as a sequence of characters.
_ITERATING = frozenset(
    ("join", "list", "map", "max", "min", "reject", "rejectattr", "select", "selectattr", "sort", "sum", "unique")
)
_TEXT_METHODS = (
    "capitalize", "endswith", "isdigit", "lower", "lstrip", "removeprefix", "removesuffix", "rstrip", "split",
    "splitlines", "startswith", "strip", "title", "upper",
)  # fmt: skip
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(_TEXT_METHODS),
    dict: frozenset(("get", "items", "keys", "values")),
    list: frozenset(("count", "index")),
    tuple: frozenset(("count", "index")),
}
# Jinja2's own objects, whose attributes its sandbox checks.
_ITS_OWN = (BlockReference, LoopContext, Macro, Namespace, TemplateReference, Undefined)
_TEXT_FILTERS: Mapping[str, Callable[[str], str]] = {
    "capitalize": str.capitalize,
    "lower": str.lower,
    "string": str,
    "title": str.title,
    "trim": str.strip,
    "upper": str.upper,
}
_AT_AN_END = frozenset(("endswith", "removeprefix", "removesuffix", "startswith"))
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_LARGEST_POWER = 256
# The string arguments of a filter are processed again for each item.
_CHARACTERS_PER_ITEM = 100


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox in which everything is charged to `budget`."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "**", "%"))

    def __init__(self, budget: Budget) -> None:
        super().__init__(
            undefined=StrictUndefined,
            finalize=self._format_value,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            cache_size=0,
            optimized=False,
        )
        self._budget = budget
        filters: dict[str, Callable[..., Any]] = {
            **{name: FILTERS[name] for name in _FILTERS},
            **{name: on_text(change) for name, change in _TEXT_FILTERS.items()},
            "join": self._join,
            "tojson": to_json,
            "indent": self._indent,
            "replace": self._replace,
            "sum": self._sum,
        }
        self.filters = {name: self._charge(name, function) for name, function in filters.items()}
        self.filters |= {"counted": budget.charge_items, "made": self._charge_result, "weighed": self._charge_value}
        self.filters |= {"spent": self._charge_steps, "key": key_of}
        tests: dict[str, Any] = {**TESTS}
        self.tests = {name: self._charge("", test) for name, test in tests.items()}
        self.globals = {"range": self._range, "dict": dict_of, "namespace": namespace_of}
        self.concat = self._concat  # type: ignore[method-assign]

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Charge a step for every call of a macro or method, and for the values that it processes."""
        self._budget.spend()
        owner = getattr(obj, "__self__", None)
        for value in (owner, *args, *kwargs.values()):
            self._budget.weigh(value)
        if isinstance(owner, str):
            self._check_parts(owner, obj.__name__, next(iter((*args, *kwargs.values())), None))
        return self._charge_result(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Restrict operators that could fill the memory."""
        for side in (left, right):
            self._charge_value(side)
        if operator == "%" and isinstance(left, str):
            refuse("text cannot be formatted with %; join its parts with ~")
        if operator == "**" and not (
            isinstance(right, int) and 0 <= right <= _LARGEST_POWER and abs(left) <= _LARGEST_POWER
        ):
            refuse("** works on small numbers only")
        if operator == "*" and not all(isinstance(side, int | float) for side in (left, right)):
            refuse("* works on numbers only")
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            self._budget.allow(len(left) + len(right))
        return self._charge_result(super().call_binop(context, operator, left, right))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Allow methods by type; Jinja2 decides about its own objects."""
        if isinstance(obj, _ITS_OWN):
            return super().is_safe_attribute(obj, attr, value)
        return attr in _METHODS.get(type(obj), ())

    def wrap_str_format(self, value: Any) -> None:
        """Leave `str.format` to `is_safe_attribute`, like every other method; it can pad without limits."""

    def _charge(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a filter or test to charge for its input (per item if it is lazy) and its result."""
        first = int(hasattr(function, "jinja_pass_arg"))  # The environment or the context is passed first.

        @wraps(function)
        def paid(*args: Any, **kwargs: Any) -> Any:
            arguments = (*args[first + 1 :], *kwargs.values())
            for value in arguments:
                self._charge_value(value)
            steps = 1 + sum(len(text) for text in arguments if isinstance(text, str)) // _CHARACTERS_PER_ITEM
            charged = self._charge_input(name, args[first], steps)
            result = function(*args[:first], charged, *args[first + 1 :], **kwargs)
            return result if name in _IMMEDIATE else self._charge_result(result)

        return paid

    def _charge_input(self, name: str, value: Any, steps: int) -> Any:
        """Charge `steps` per item of a filter's input, and return the input."""
        if hasattr(value, "__next__"):
            return self._budget.charge_items(value, steps)
        if name in _IMMEDIATE:
            return value
        self._charge_value(value)
        if isinstance(value, list | tuple | dict | range):
            self._budget.spend(len(value) * (steps - 1))
        elif isinstance(value, str) and name in _ITERATING:
            self._budget.spend(len(value) * steps)
        # Values can be constructed to have equal hashes, in which case they are compared with each other.
        return self._budget.charge_items(value) if name == "unique" else value

    def _charge_result(self, value: Any) -> Any:
        check_number(value)
        return self._budget.charge(value)

    def _charge_value(self, value: Any) -> Any:
        check_number(value)
        self._budget.weigh(value)
        return value

    def _charge_steps(self, steps: int) -> str:
        self._budget.spend(steps)
        return ""

    def _check_parts(self, text: str, method: str, substring: Any = None) -> None:
        """Charge for substring searches, and check the number of parts before they are created."""
        if isinstance(substring, str) and method not in _AT_AN_END:
            self._budget.spend(len(text) * len(substring) // CHARACTERS)
        if method == "split" and len(text) > self._budget.steps:
            parts = (
                text.count(substring) if isinstance(substring, str) else len(text.split(None, self._budget.steps + 1))
            )
            self._budget.spend(parts)
        elif method == "splitlines":
            self._budget.spend(sum(map(text.count, _LINE_ENDS)))

    def _concat(self, parts: Iterable[str]) -> str:
        texts: list[str] = []
        total = 0
        for part in parts:
            total += len(part)
            self._budget.allow(total)
            texts.append(part)
        return str(self._budget.charge("".join(texts)))

    def _format_value(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        self._budget.weigh(value)
        return as_yaml(value)

    def _range(self, *bounds: int) -> range:
        numbers = range(*bounds)
        if len(numbers) > self._budget.steps:
            raise TooMuchError("the range is too long")
        return numbers

    def _join(self, items: Iterable[Any], by: str = "") -> str:
        texts = [self._format_value(item) for item in items]
        self._budget.allow(sum(map(len, texts)) + len(by) * len(texts))
        return by.join(texts)

    def _sum(self, items: Iterable[Any], attribute: str | int | None = None, start: Any = 0) -> Any:
        of: Any = (lambda item: item) if attribute is None else make_attrgetter(self, attribute)
        for item in items:
            value = of(item)
            if not all(isinstance(side, int | float) for side in (start, value)):
                refuse("sum works on numbers only")
            start += value
            check_number(start)
        return start

    def _indent(self, value: Any, width: int = 4, first: bool = False) -> str:
        text = as_yaml(value)
        self._check_parts(text, "splitlines")
        lines = text.splitlines(keepends=True)
        self._budget.allow(len(text) + (len(lines) + 1) * width)
        pad = " " * width
        return "".join(pad + line if line.strip() and (i or first) else line for i, line in enumerate(lines))

    def _replace(self, value: Any, old: str, new: str) -> str:
        text = as_yaml(value)
        self._check_parts(text, "replace", old)
        self._budget.allow(len(text) + text.count(old) * len(new))
        return text.replace(old, new)


_NAME = "<template>"
_QUOTED = pattern(r"'(\w+)'")
_OF_PLAIN = pattern(r"'(str|int|float|bool) object' has no attribute '(\w+)'")
# Of values that are looked through for a name that is alike.
_MOST_LOOKED_AT = 1_000
# Exceptions from template expressions besides Jinja2's own: 1/0, {}[[]], 'a' + 1, deeply nested loops.
_EXPRESSION_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, SyntaxError, TypeError, ValueError)
# The cost of parsing in Jinja2 in the worst cases: strings full of backslashes, many blocks.
_BYTES_PER_CHARACTER = 100
_STEPS_PER_WORD = 4
_MARK = pattern("\ue000([0-9]+)\ue001")
# If there are several marks at the start of a line, the last one applies; the text of the others is empty there.
_MARKS = pattern(f"(?:{_MARK.pattern})+")


def render(text: str, file: str, values: Mapping[str, Any], limits: Limits) -> str:
    """Render a template. Raises TemplateFailedError."""
    failed = partial(TemplateFailedError, file, text)
    try:
        return _run(text, values, limits, ())
    except TemplateSyntaxError as error:
        hint = _near_word(str(error.message)) or "check the Jinja2 syntax; write a literal brace as {{ '{{' }}"
        message, line = f"the template is malformed: {error.message}", error.lineno
        if "Unexpected end of template" in message and message.endswith("'."):
            line, word = _opened(text, message.rsplit("'", 2)[1])
            message, hint = (
                f"the template is malformed: it ends inside this {{% {word} %}}",
                f"add {{% end{word} %}} where it is to end",
            )
        raise failed(line, message, hint) from None
    except UndefinedError as error:
        rest = "set it under `values` in an overlay, or give it a default, as in {{ x | default(1) }}"
        near = _near_value(str(error), values)
        if (plain := _OF_PLAIN.match(str(error))) is not None:
            rest = f"leave out .{plain[2]}, or make the value a mapping under `values` in an overlay"
        hint = Hint(
            f"{near} Or {rest}" if near else rest, trait="unset" if str(error).endswith(" is undefined") else ""
        )
        raise failed(_line(error.__traceback__), str(error), hint) from None
    except TooMuchError as error:
        message = f"the template was stopped: {error}"
        raise failed(_line(error.__traceback__), message, "split the template, or raise the limit") from None
    except (TemplateError, *_EXPRESSION_ERRORS) as error:
        message = str(error) or type(error).__name__
        hint = "remove the call: templates run in a sandbox without files and Python functions"
        raise failed(_line(error.__traceback__), f"the template fails: {message}", hint) from None


def _opened(text: str, word: str) -> tuple[int, str]:
    """Return the line of the innermost block of a kind that nothing closes, and the word that opens it."""
    ends = 0
    for tag in [*re.finditer(rf"\{{%[-+]?\s*(end)?{word}\b", text)][::-1]:
        ends += 1 if tag[1] else -1
        if ends < 0:
            return text.count("\n", 0, tag.start()) + 1, word
    return 1, word


def _near_word(message: str) -> str:
    """What a filter, test or tag may be called, or where an expression ends."""
    first, *others = _QUOTED.findall(message) or [""]
    if "'end of print statement'" in message:
        return f"close the expression with }}}} before {first}" if first else "close the expression with }}"
    known = TESTS if message.startswith("No test") else (*_FILTERS, *_TEXT_FILTERS)
    return did_you_mean(first, others if "unknown tag" in message else known)


def _near_value(message: str, values: Mapping[str, Any]) -> str:
    """What an undefined name may stand for: a value, or, of what is in one, a key."""
    word = message.rsplit("'", 2)[1] if message.count("'") > 1 else ""
    left: list[Any] = [values]
    keys = list[str](values)
    if "has no attribute" in message:
        keys = []
        for _ in range(_MOST_LOOKED_AT):
            inner = left.pop() if left else {}
            found = inner.values() if isinstance(inner, Mapping) else inner
            keys += [str(key) for key in inner] if isinstance(inner, Mapping) and inner is not values else []
            left += [value for value in found if isinstance(value, (Mapping, list))]
    return did_you_mean(word, set(keys))


def template_lines(text: str, output: str, values: Mapping[str, Any], limits: Limits) -> list[int]:
    """Return the template line for each line of `output`, which is the rendered `text`.

    Renders the template again with marks at each line. If the marks change the output, all lines map to line 1.
    """
    marked = ""
    with suppress(TooMuchError):  # The marks count towards the budget.
        marked = _run(text, values, limits, (_Marking(),))
    if _MARK.sub("", marked) != output:
        return [1]
    lines: list[int] = []
    current = 1
    for line in marked.split("\n"):
        match = _MARKS.search(line)
        current = int(match[1]) if match else current
        lines.append(current)
    return lines


def _run(text: str, values: Mapping[str, Any], limits: Limits, changes: tuple[NodeTransformer, ...]) -> str:
    environment = BoundedEnvironment(Budget(limits))
    if len(text) > limits.template_bytes // _BYTES_PER_CHARACTER:
        raise TooMuchError("it is too long")
    words = (kind for _, kind, _ in environment.lex(text, _NAME, _NAME) if kind != "data")
    if next(islice(words, limits.template_steps // _STEPS_PER_WORD, None), None):
        raise TooMuchError("it has too many tokens")
    tree: Any = environment.parse(text, _NAME, _NAME)
    for change in (Bounding(), *changes):
        tree = change.visit(tree)
    code = environment.compile(tree, _NAME, _NAME)
    return Template.from_code(environment, code, environment.make_globals(None)).render(deepcopy(dict(values)))


class _Marking(NodeTransformer):
    """Inserts a mark with the line number before every line of literal text."""

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:  # noqa: N802
        """Mark the lines of literal text; `lineno` is the first one."""
        lines = (f"\ue000{node.lineno + i}\ue001{line}" for i, line in enumerate(node.data.split("\n")))
        return nodes.TemplateData("\n".join(lines), lineno=node.lineno)


def _line(traceback: TracebackType | None) -> int:
    """Return the innermost line of the template in a traceback, or 1 if there is none."""
    line = 1
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == _NAME:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
