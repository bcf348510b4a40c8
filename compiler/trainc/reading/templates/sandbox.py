"""The sandbox for templates: no file access, no Python, no randomness, and a budget for everything.

Jinja2's own sandbox protects Python's internals, but does not prevent infinite loops or excessive memory use. Here,
loops, calls, filters, tests and operators are charged for their input before they run, and for their result. Features
that create large values from small ones are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined
from jinja2.filters import FILTERS, make_attrgetter
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, TemplateReference, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS
from jinja2.utils import Namespace

from trainc.reading.templates.budget import CHARACTERS, Budget
from trainc.reading.templates.failure import TooMuchError
from trainc.reading.templates.values import (
    as_yaml,
    check_number,
    dict_of,
    key_of,
    namespace_of,
    on_text,
    refuse,
    to_json,
)

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
        own: dict[str, Callable[..., Any]] = {name: on_text(change) for name, change in _TEXT_FILTERS.items()}
        own |= {
            "join": self._join,
            "tojson": to_json,
            "indent": self._indent,
            "replace": self._replace,
            "sum": self._sum,
        }
        filters: dict[str, Callable[..., Any]] = {**{name: FILTERS[name] for name in _FILTERS}, **own}
        self.filters = {name: self._charge(name, function) for name, function in filters.items()}
        self.filters |= {"counted": budget.counted, "made": self._made, "weighed": self._weighed, "spent": self._spent}
        self.filters |= {"key": key_of}
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
        return self._made(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Restrict operators that could fill the memory."""
        for side in (left, right):
            self._weighed(side)
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
        return self._made(super().call_binop(context, operator, left, right))

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
            given = (*args[first + 1 :], *kwargs.values())
            for value in given:
                self._weighed(value)
            steps = 1 + sum(len(text) for text in given if isinstance(text, str)) // _CHARACTERS_PER_ITEM
            given = self._given(name, args[first], steps)
            result = function(*args[:first], given, *args[first + 1 :], **kwargs)
            return result if name in _IMMEDIATE else self._made(result)

        return paid

    def _given(self, name: str, value: Any, steps: int) -> Any:
        """Charge `steps` per item of a filter's input, and return the input."""
        if hasattr(value, "__next__"):
            return self._budget.counted(value, steps)
        if name in _IMMEDIATE:
            return value
        self._weighed(value)
        if isinstance(value, list | tuple | dict | range):
            self._budget.spend(len(value) * (steps - 1))
        elif isinstance(value, str) and name in _ITERATING:
            self._budget.spend(len(value) * steps)
        # Values can be constructed to have equal hashes, in which case they are compared with each other.
        return self._budget.counted(value) if name == "unique" else value

    def _made(self, value: Any) -> Any:
        check_number(value)
        return self._budget.made(value)

    def _weighed(self, value: Any) -> Any:
        check_number(value)
        self._budget.weigh(value)
        return value

    def _spent(self, steps: int) -> str:
        self._budget.spend(steps)
        return ""

    def _check_parts(self, text: str, method: str, given: Any = None) -> None:
        """Charge for substring searches, and check the number of parts before they are created."""
        if isinstance(given, str) and method not in _AT_AN_END:
            self._budget.spend(len(text) * len(given) // CHARACTERS)
        if method == "split" and len(text) > self._budget.steps:
            parts = text.count(given) if isinstance(given, str) else len(text.split(None, self._budget.steps + 1))
            self._budget.spend(parts)
        elif method == "splitlines":
            self._budget.spend(sum(map(text.count, _LINE_ENDS)))

    def _concat(self, parts: Iterable[str]) -> str:
        kept: list[str] = []
        total = 0
        for part in parts:
            total += len(part)
            self._budget.allow(total)
            kept.append(part)
        return str(self._budget.made("".join(kept)))

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
