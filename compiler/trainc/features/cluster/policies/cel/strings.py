"""Functions on strings and lists, regular expressions, and `format()`.

Source: cel-go v0.26 ext/strings.go (version 2), ext/formatting.go, ext/lists.go (version 3); kubernetes apiserver
pkg/cel/library (lists.go, regex.go), v1.37.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial, reduce
from itertools import pairwise
from typing import Any

from trainc.api.records import pattern
from trainc.features.cluster.policies.cel.functions import COMPARABLE, define, go_text
from trainc.features.cluster.policies.cel.values import (
    Budget,
    Duration,
    EvaluationError,
    Timestamp,
    Type,
    Uint,
    UnknownError,
    arithmetic,
    compare,
    equal,
    require_known,
    type_of,
)

_SPACES = "".join(c for c in map(chr, range(0x3001)) if c.isspace() and not "\x1c" <= c <= "\x1f")
_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}  # fmt: skip
# Quoted text, or a backslash with what it escapes.
_ESCAPE = pattern(r"(?s)\\Q.*?(?:\\E|$)|\\.")
# Looking ahead and behind, and a number of a group, which RE2 leaves out on purpose.
_LOOKING = pattern(r"\(\?<?[=!]|\\[1-9]")
_CLAUSE = pattern(r"(?s)%(?:\.(?P<precision>\d*))?(?P<clause>.?)")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

define("<string>.startsWith(string) -> bool")(lambda _, text, start: text.startswith(start))
define("<string>.endsWith(string) -> bool")(lambda _, text, end: text.endswith(end))
define("<string>.contains(string) -> bool")(lambda _, text, part: part in text)
define("<string>.lowerAscii() -> string")(lambda _, text: "".join(c.lower() if c.isascii() else c for c in text))
define("<string>.upperAscii() -> string")(lambda _, text: "".join(c.upper() if c.isascii() else c for c in text))
define("<string>.trim() -> string")(lambda _, text: text.strip(_SPACES))


@lru_cache(maxsize=256)
def compile_regex(text: str) -> Any:
    """Compile a regular expression, which then runs in linear time and means what it means in Go.

    Raises ValueError if it is malformed, and UnknownError without the extra `policy`.
    """
    try:
        import re2
    except ModuleNotFoundError:
        raise UnknownError("regular expressions need the extra `policy`") from None
    unknown = [escape[0] for escape in _ESCAPE.finditer(text) if escape[0] == r"\C"]
    if not unknown:
        options = re2.Options()
        options.log_errors = False
        with suppress(re2.error):
            return re2.compile(text, options)
    unknown = unknown or _LOOKING.findall(text)
    why = f": RE2 has no {unknown[0]} (compare in CEL instead)" if unknown else ""
    raise ValueError(f"{text!r} is not a regular expression{why}")


@define("matches(string, string) -> bool", "<string>.matches(string) -> bool")
def _matches(_: Budget, text: str, regex: str) -> bool:
    return compile_regex(regex).search(text) is not None


@define("<string>.find(string) -> string")
def _find(_: Budget, text: str, regex: str) -> str:
    match = compile_regex(regex).search(text)
    return match.group() if match else ""


@define("<string>.findAll(string) -> list(string)", "<string>.findAll(string, int) -> list(string)")
def _find_all(_: Budget, text: str, regex: str, limit: int = -1) -> list[str]:
    matches, end = [], -1
    for match in compile_regex(regex).finditer(text):
        if match.end() > end:  # Go leaves out an empty match that adjoins the one before.
            matches.append(match.group())
        end = match.end()
    return matches if limit < 0 else matches[:limit]


@define("<string>.replace(string, string) -> string", "<string>.replace(string, string, int) -> string")
def _replace(budget: Budget, text: str, old: str, new: str, limit: int = -1) -> str:
    budget.charge(min(text.count(old), limit if limit >= 0 else len(text) + 1) * len(new) // 10)
    return text.replace(old, new, limit)


@define("<string>.split(string) -> list(string)", "<string>.split(string, int) -> list(string)")
def _split(_: Budget, text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        return list(text) if limit < 0 or limit >= len(text) else [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


@define("<list(string)>.join() -> string", "<list(string)>.join(string) -> string")
def _join(budget: Budget, items: list[Any], separator: str = "") -> str:
    for item in items:
        if not isinstance(require_known(item), str):
            raise EvaluationError(f"join: invalid input: {item}")
    budget.charge(sum(len(item) + len(separator) for item in items) // 10)
    return separator.join(items)


def _in_range(index: int, size: int) -> int:
    if not 0 <= index <= size:
        raise EvaluationError(f"index out of range: {index}")
    return index


@define("<string>.substring(int) -> string", "<string>.substring(int, int) -> string")
def _substring(_: Budget, text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[_in_range(start, len(text)) : len(text) if end is None else _in_range(end, len(text))]


@define("<string>.charAt(int) -> string")
def _char_at(_: Budget, text: str, at: int) -> str:
    return text[_in_range(at, len(text)) : at + 1]


@define("<string>.indexOf(string) -> int", "<string>.indexOf(string, int) -> int")
def _index_of(_: Budget, text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    _in_range(start, max(start, len(text)))
    return text.find(part, start)


@define("<string>.lastIndexOf(string) -> int", "<string>.lastIndexOf(string, int) -> int")
def _last_index_of(_: Budget, text: str, part: str, start: int | None = None) -> int:
    if not part:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(part)
    _in_range(start, max(start, len(text)))
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


define("strings.quote(string) -> string")(lambda _, text: '"' + "".join(_QUOTED.get(c, c) for c in text) + '"')


def _define_each(
    kinds: Sequence[str], form: str, *, since: int = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Define a function for lists of each of several types."""
    return define(*(form.format(kind) for kind in kinds), since=since)


def _order(left: Any, right: Any) -> int:
    """Return -1, 0 or 1, and 0 for values without an order, as these functions do."""
    try:
        return compare(require_known(left), require_known(right))
    except EvaluationError:
        return 0


@_define_each(COMPARABLE, "<list({0})>.isSorted() -> bool")
def _is_sorted(_: Budget, items: list[Any]) -> bool:
    return all(_order(item, next_item) <= 0 for item, next_item in pairwise(items))


for _kind, _zero in {"int": 0, "uint": Uint(0), "double": 0.0, "google.protobuf.Duration": Duration(0)}.items():
    define(f"<list({_kind})>.sum() -> {_kind}")(
        lambda budget, items, zero=_zero: reduce(lambda a, b: arithmetic("+", a, b, budget), items, zero)
    )


def _extreme(word: str, sign: int, _: Budget, items: list[Any]) -> Any:
    if not items:
        raise EvaluationError(f"{word} called on empty list")
    best = items[0]
    for item in items[1:]:
        best = item if _order(item, best) == sign else best
    return best


_define_each(COMPARABLE, "<list({0})>.min() -> {0}")(partial(_extreme, "min", -1))
_define_each(COMPARABLE, "<list({0})>.max() -> {0}")(partial(_extreme, "max", 1))


@define("<list(A)>.indexOf(A) -> int")
def _item_index(budget: Budget, items: list[Any], item: Any) -> int:
    return next((i for i, element in enumerate(items) if equal(element, item, budget)), -1)


@define("<list(A)>.lastIndexOf(A) -> int")
def _last_item_index(budget: Budget, items: list[Any], item: Any) -> int:
    return next((i for i in reversed(range(len(items))) if equal(items[i], item, budget)), -1)


@define("<dyn>.includes(dyn) -> bool", since=37)
def _includes(budget: Budget, target: Any, item: Any) -> bool:
    if isinstance(target, list) and any(equal(element, item, budget) for element in target):
        return True
    return equal(target, item, budget)


@define("<list(T)>.slice(int, int) -> list(T)", since=34)
def _slice(_: Budget, items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


@define(
    "<list(list(T))>.flatten() -> list(T)", "<list(dyn)>.flatten(int) -> list(dyn)", since=34, guards="list(T), int"
)
def _flatten(budget: Budget, items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    while depth and any(isinstance(item, list) for item in items):
        items = [part for item in items for part in (item if isinstance(item, list) else [item])]
        budget.charge_for(items)
        depth -= 1
    return items


@_define_each(COMPARABLE, "<list(T)>.@sortByAssociatedKeys(list({0})) -> list(T)", since=34)
def _sorted_by(budget: Budget, items: list[Any], keys: list[Any]) -> list[Any]:
    if len({type_of(key) for key in keys}) > 1:
        raise EvaluationError("list elements must have the same type")
    budget.charge(len(keys) * len(keys).bit_length() // 10)
    return [items[i] for i in sorted(range(len(items)), key=lambda i: require_known(keys[i]))]


_define_each(COMPARABLE, "<list({0})>.sort() -> list({0})", since=34)(
    lambda budget, items: _sorted_by(budget, items, items)
)


@define("lists.range(int) -> list(int)", since=34)
def _range(budget: Budget, count: int) -> list[int]:
    budget.charge(max(count, 0) // 10)
    return list(range(count))


define("<list(T)>.reverse() -> list(T)", since=34)(lambda _, items: items[::-1])


@define("<list(T)>.distinct() -> list(T)", since=34)
def _distinct(budget: Budget, items: list[Any]) -> list[Any]:
    unique: list[Any] = []
    for item in items:
        if not any(equal(item, element, budget) for element in unique):
            unique.append(item)
    return unique


class FormatError(EvaluationError):
    """A format string that does not fit its arguments."""


@define("<string>.format(list(dyn)) -> string")
def _format(budget: Budget, text: str, arguments: list[Any]) -> str:
    parts = []
    for part in clauses(text):
        if isinstance(part, str):
            parts.append(part)
            continue
        index, clause, precision = part
        if index >= len(arguments):
            raise FormatError(f"index {index} out of range")
        value = require_known(arguments[index])
        budget.charge_for(value)
        if not fits_clause(clause, type_of(value).name, value):
            raise FormatError(f"error during formatting: {refusal(clause, type_of(value).name)}")
        parts.append(_CLAUSES[clause](value, 6 if precision is None else precision, budget))
        budget.charge_for(parts[-1])
    return "".join(parts)


def clauses(text: str) -> Iterator[str | tuple[int, str, int | None]]:
    """The parts of a format string: texts, and clauses with the index of their argument. Raises FormatError."""
    index, at = 0, 0
    for match in _CLAUSE.finditer(text):
        yield text[at : match.start()]
        at, digits, clause = match.end(), match["precision"], match["clause"]
        if clause == "%" and digits is None:
            yield "%"
            continue
        if digits is not None and not 0 < len(digits) <= 4:
            raise FormatError("could not parse formatting clause: error while parsing precision")
        if not clause:
            raise FormatError("unexpected end of string")
        if clause not in _CLAUSES:
            raise FormatError(f'could not parse formatting clause: unrecognized formatting clause "{clause}"')
        yield index, clause, int(digits) if digits else None
        index += 1
    yield text[at:]


_TEXTS = ["list", "map", "int", "uint", "double", "bool", "string", "google.protobuf.Timestamp", "bytes", "google.protobuf.Duration", "type", "null_type"]  # fmt: skip
_TEXTS_IN_WORDS = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
# clause -> the types that it takes, and how an error says so.
_TAKES: Mapping[str, tuple[Sequence[str], str]] = {
    "s": (_TEXTS, f"string clause can only be used on {_TEXTS_IN_WORDS}"),
    "d": (("int", "uint"), "decimal clause can only be used on integers"),
    "f": (("double",), "fixed-point clause can only be used on doubles"),
    "e": (("double",), "scientific clause can only be used on doubles"),
    "b": (("int", "uint", "bool"), "only integers and bools can be formatted as binary"),
    "x": (("int", "uint", "string", "bytes"), "only integers, byte buffers, and strings can be formatted as hex"),
    "X": (("int", "uint", "string", "bytes"), "only integers, byte buffers, and strings can be formatted as hex"),
    "o": (("int", "uint"), "octal clause can only be used on integers"),
}


def fits_clause(clause: str, kind: str, value: object = "NaN") -> bool:
    """Return whether a clause takes a type. Strings are taken where a double is meant, if they spell a special one."""
    if clause in "fe" and kind == "string":
        return value in ("NaN", "Infinity", "-Infinity")
    return kind in _TAKES[clause][0]


def refusal(clause: str, kind: str) -> str:
    """What is wrong if a clause does not take a type."""
    return f"{_TAKES[clause][1]}, was given {kind}"


def _as_text(value: Any, _: int, budget: Budget) -> str:
    if value is None:
        return "null"
    if isinstance(value, Type):
        return value.name
    return _as_literal(value, budget) if isinstance(value, list | dict) else go_text(value)


def _as_literal(value: Any, budget: Budget, depth: int = 0) -> str:
    """A value inside a list or map, as CEL writes it."""
    budget.charge_for(value)
    if depth > 100:
        raise UnknownError("it formats a value that is nested more than 100 levels deep")
    match require_known(value):
        case list():
            return f"[{', '.join(_as_literal(item, budget, depth + 1) for item in value)}]"
        case dict():
            pairs = ((_as_literal(k, budget, depth), _as_literal(v, budget, depth + 1)) for k, v in value.items())
            return f"{{{', '.join(f'{key}:{item}' for key, item in sorted(pairs))}}}"
        case str():
            return _quote(value)
        case bytes():
            return f"b{_quote(go_text(value))}"
        case Timestamp():
            return f'timestamp("{value}")'
        case Duration():
            return f'duration("{value}")'
        case float():
            return f"{value:.6f}" if math.isfinite(value) else f'"{go_text(value)}"'
    kind = type_of(value).name
    if not fits_clause("s", kind):
        raise FormatError(f"error during formatting: no formatting function for {kind}")
    return _as_text(value, 0, budget)


def _quote(text: str) -> str:
    quoted = (_QUOTED.get(c, c) if c.isprintable() or c in _QUOTED else f"\\u{ord(c):04x}" for c in text)
    return f'"{"".join(quoted)}"'


def _scientific(value: Any, precision: int, _: Budget) -> str:
    """As Go writes it in the locale en_US, with a power of ten in superscript."""
    number = float(value)
    if special := _special(number):
        return special
    mantissa, power = f"{number:.{precision}e}".split("e")
    return f"{mantissa}\u00d710{power.removeprefix('+').translate(_SUPERSCRIPTS)}"


def _special(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "" if math.isfinite(number) else "∞" if number > 0 else "-∞"


def _hexadecimal(upper: bool, value: Any, _: int, __: Budget) -> str:
    data = value.encode() if isinstance(value, str) else value
    text = data.hex() if isinstance(data, bytes) else f"{int(value):x}"
    return text.upper() if upper else text


_CLAUSES: Mapping[str, Callable[[Any, int, Budget], str]] = {
    "s": _as_text,
    "d": lambda value, _, __: str(int(value)),
    "f": lambda value, precision, _: _special(float(value)) or f"{float(value):,.{precision}f}",
    "e": _scientific,
    "b": lambda value, _, __: f"{int(value):b}",
    "x": partial(_hexadecimal, False),
    "X": partial(_hexadecimal, True),
    "o": lambda value, _, __: f"{int(value):o}",
}
