"""Types, and how the checker unifies them.

Source: cel-go v0.26 common/types/types.go, checker/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias


class Type(NamedTuple):
    """A type and its parameters. Names of one letter are type parameters; `_1`, `_2`, ... are instances of them."""

    name: str
    of: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.of))})" if self.of else self.name


DYN, ERROR, BOOL, INT, STRING, NULL = map(Type, ("dyn", "!error!", "bool", "int", "string", "null_type"))
_NULLABLE = frozenset(("google.protobuf.Duration", "google.protobuf.Timestamp", "optional_type"))
_PARAMETERIZED = frozenset(("list", "map", "optional_type"))


@lru_cache(maxsize=512)
def parse_type(text: str) -> Type:
    """Parse `map(string, list(A))`."""
    name, bracket, rest = text.strip().partition("(")
    return Type(name, tuple(map(parse_type, split_types(rest[:-1])))) if bracket else Type(name)


def split_types(text: str) -> list[str]:
    """Split `int, map(string, A)` at the commas outside of parentheses."""
    found, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return found if text.strip() else []


def list_of(item: Type) -> Type:
    """The type of a list."""
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    """The type of a map."""
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    """The type of an optional value."""
    return Type("optional_type", (value,))


def is_variable(kind: Type) -> bool:
    """Return whether a type stands for one that is not yet determined."""
    return kind.name[0] == "_"


def is_dyn(kind: Type) -> bool:
    """Return whether a type is checked only when the expression is evaluated."""
    return kind.name in ("dyn", "!error!")


def is_object(kind: Type) -> bool:
    """Return whether a type is one of Kubernetes' own, such as `kubernetes.Quantity` or `net.IP`."""
    return "." in kind.name and not kind.name.startswith("google.")


Bindings: TypeAlias = dict[str, Type]


def substituted(kind: Type, bound: Mapping[str, Type], *, free: Type | None = None) -> Type:
    """Replace type variables by what they are bound to, and the others by `free`, if it is not None."""
    while kind.name in bound:
        kind = bound[kind.name]
    if not kind.of:
        return free if free is not None and is_variable(kind) else kind
    return Type(kind.name, tuple(substituted(part, bound, free=free) for part in kind.of))


def unify_all(left: Sequence[Type], right: Sequence[Type], bound: Bindings) -> Bindings | None:
    """Unify types pairwise. Returns the bindings of type variables that make them agree, or None."""
    tried = dict(bound)
    return tried if _agree_all(left, right, tried) else None


def most_general(left: Type, right: Type) -> Type:
    """The less specific of two types that agree."""
    return left if _is_less_specific(left, right) else right


def _agree_all(left: Sequence[Type], right: Sequence[Type], bound: Bindings) -> bool:
    return len(left) == len(right) and all(_agree(a, b, bound) for a, b in zip(left, right, strict=True))


def _agree(left: Type, right: Type, bound: Bindings) -> bool:
    if is_variable(right):
        agrees, is_bound = _bind(left, right, bound)
        if agrees or is_bound:
            return agrees
    if is_variable(left):
        return _bind(right, left, bound)[0]
    if is_dyn(left) or is_dyn(right):
        return True
    if "null_type" in (left.name, right.name):
        other = right if left.name == "null_type" else left
        return other.name in ("null_type", *_NULLABLE) or is_object(other)
    if left.name != right.name:
        return False
    return left.name == "type" or _agree_all(left.of, right.of, bound)


def _bind(kind: Type, variable: Type, bound: Bindings) -> tuple[bool, bool]:
    """Bind a variable to a type. Returns whether they agree, and whether the variable was bound before."""
    if kind == variable:
        return True, True
    if variable.name in bound:
        before = bound[variable.name]
        if kind == before:
            return True, True
        if not _agree(kind, before, bound):
            return False, True
        merged = most_general(kind, before)
        if not _occurs(variable, merged, bound):
            bound[variable.name] = merged
        return True, True
    if _occurs(variable, kind, bound):
        return False, False
    bound[variable.name] = kind
    return True, False


def _occurs(variable: Type, kind: Type, bound: Bindings) -> bool:
    if kind == variable:
        return True
    if is_variable(kind):
        return kind.name in bound and _occurs(variable, bound[kind.name], bound)
    return any(_occurs(variable, part, bound) for part in kind.of)


def _is_less_specific(left: Type, right: Type) -> bool:
    if left.name == "dyn" or is_variable(left):
        return True
    if right.name == "dyn" or is_variable(right) or left.name != right.name:
        return False
    if left.name == "type":
        return True
    if left.name in _PARAMETERIZED:
        return all(_is_less_specific(a, b) for a, b in zip(left.of, right.of, strict=True))
    return left == right
