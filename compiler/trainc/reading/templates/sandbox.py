"""The environment that templates run in: no files, no Python, no randomness, and a bound on every step.

Jinja2's own sandbox keeps templates away from Python's internals; it does not keep them from running for ever or from
filling the memory. Loops, calls and joins are counted here, and what makes large values out of small ones is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

from jinja2 import StrictUndefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from trainc.reading.templates.failure import TooMuchError
from trainc.startup.patterns import pattern

# Left out: what pads, repeats, formats or draws at random, and what is about HTML.
_FILTERS = (
    "abs", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last", "length", "list", "map", "max",
    "min", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "sum", "unique",
)  # fmt: skip
_TEXT_METHODS = (
    "capitalize", "endswith", "isdigit", "lower", "lstrip", "removeprefix", "removesuffix", "rstrip", "split",
    "splitlines", "startswith", "strip", "title", "upper",
)  # fmt: skip
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(_TEXT_METHODS),
    dict: frozenset(("get", "items", "keys", "values")),
    list: frozenset(("count", "index")),
    tuple: frozenset(("count", "index")),
    int: frozenset(),
    float: frozenset(),
    bool: frozenset(),
}
_TEXT_FILTERS: Mapping[str, Callable[[str], str]] = {
    "capitalize": str.capitalize,
    "lower": str.lower,
    "string": str,
    "title": str.title,
    "trim": str.strip,
    "upper": str.upper,
}
_INTEGER_BITS = 256
# What JSON may hold in a string, and YAML refuses there or takes for the end of a line.
_NOT_PLAIN = pattern("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox that takes at most `steps` rounds of loops and calls, and holds no text longer than `size`."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, steps: int, size: int) -> None:
        super().__init__(
            undefined=StrictUndefined,
            finalize=_as_yaml,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            cache_size=0,
            optimized=False,
        )
        self._steps, self._size = steps, size
        self.filters = {name: FILTERS[name] for name in _FILTERS}
        self.filters |= {name: _on_text(change) for name, change in _TEXT_FILTERS.items()}
        self.filters |= {"counted": self.counted, "weighed": self.weighed, "join": self._join, "tojson": _to_json}
        self.filters |= {"indent": self._indent, "replace": self._replace}
        self.globals = {"range": self._range, "dict": dict, "namespace": Namespace}
        self.concat = self._concat  # type: ignore[method-assign]

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items, each of them a step."""
        for item in items:
            self._step()
            yield item

    def weighed(self, value: Any) -> Any:
        """A new list or mapping; each value in it is a step, and one that stands in it twice is two."""
        waiting = [value]
        while waiting:
            inner = waiting.pop()
            if isinstance(inner, dict | list | tuple):
                for item in inner.values() if isinstance(inner, dict) else inner:
                    self._step()
                    waiting.append(item)
        return value

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Every call of a macro or method is a step."""
        self._step()
        return self.weighed(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Operators that can make a small template fill the memory."""
        if operator == "%" and isinstance(left, str):
            _refuse("text cannot be formatted with %; join its parts with ~")
        if operator == "**" and not (
            isinstance(right, int) and 0 <= right <= _INTEGER_BITS and abs(left) <= _INTEGER_BITS
        ):
            _refuse("** is for small numbers only")
        if operator == "*" and not all(isinstance(side, int | float) for side in (left, right)):
            _refuse("* is for numbers only")
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, int) and result.bit_length() > _INTEGER_BITS:
            _refuse("a number has become too large")
        if isinstance(result, str):
            self._check_size(len(result))
        return self.weighed(result)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Methods by type; what is no plain value is Jinja2's to judge."""
        allowed = _METHODS.get(type(obj))
        return super().is_safe_attribute(obj, attr, value) if allowed is None else attr in allowed

    def wrap_str_format(self, value: Any) -> None:
        """`str.format` pads without bound, and is treated as every other method."""

    def _step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise TooMuchError("it takes too many rounds of loops and calls")

    def _check_size(self, size: int) -> None:
        if size > self._size:
            raise TooMuchError("it makes too much text")

    def _concat(self, parts: Iterable[str]) -> str:
        kept: list[str] = []
        total = 0
        for part in parts:
            total += len(part)
            self._check_size(total)
            kept.append(part)
        return "".join(kept)

    def _range(self, *bounds: int) -> range:
        numbers = range(*bounds)
        if len(numbers) > self._steps:
            raise TooMuchError("a range is too long")
        return numbers

    def _join(self, items: Iterable[Any], by: str = "") -> str:
        texts = [_as_yaml(item) for item in self.counted(items)]
        self._check_size(sum(map(len, texts)) + len(by) * len(texts))
        return by.join(texts)

    def _indent(self, value: Any, width: int = 4, first: bool = False) -> str:
        text = _as_yaml(value)
        lines = text.splitlines(keepends=True)
        self._check_size(len(text) + len(lines) * width)
        pad = " " * width
        return "".join(pad + line if line.strip() and (i or first) else line for i, line in enumerate(lines))

    def _replace(self, value: Any, old: str, new: str) -> str:
        text = _as_yaml(value)
        self._check_size(len(text) + text.count(old) * len(new))
        return text.replace(old, new)


class Bounding(NodeTransformer):
    """Rewrites a template so that its loops are counted, its joins are bounded and its lists and mappings weighed."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        """`for x in items` becomes `for x in items | counted`."""
        self.generic_visit(node)
        if node.recursive:
            _refuse("recursive loops are not supported")
        node.iter = nodes.Filter(node.iter, "counted", [], [], None, None, lineno=node.lineno)
        return node

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        """`[a, b]` becomes `[a, b] | weighed`, as lists of lists of lists grow without any loop."""
        return self._weighed(node)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        """As lists."""
        return self._weighed(node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        """As lists, unless it is what a loop or an assignment gives names to."""
        return node if node.ctx != "load" else self._weighed(node)

    def _weighed(self, node: nodes.Expr) -> nodes.Node:
        self.generic_visit(node)
        return nodes.Filter(node, "weighed", [], [], None, None, lineno=node.lineno)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        """`a ~ b` becomes `[a, b] | join`."""
        self.generic_visit(node)
        return nodes.Filter(nodes.List(node.nodes), "join", [], [], None, None, lineno=node.lineno)


def _as_yaml(value: Any) -> str:
    """A value as YAML writes it in a line: null, true, and mappings and lists in flow style.

    Anything else, such as a method that was not called, would be shown with its address, another one in every run.
    """
    if isinstance(value, str | int | float | Undefined) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, bool | dict | list | tuple):
        return _to_json(value)
    raise SecurityError(
        f"a {type(value).__name__} cannot be written; call it with (), or make a list of it with | list"
    )


def _on_text(change: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda value: change(_as_yaml(value))


def _to_json(value: Any) -> str:
    text = _as_yaml(value) if isinstance(value, Undefined) else json.dumps(value, ensure_ascii=False)
    return _NOT_PLAIN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _refuse(reason: str) -> NoReturn:
    raise SecurityError(reason)
