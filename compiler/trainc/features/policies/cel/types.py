"""Types, and how the checker unifies them.

Source: cel-go v0.26 common/types/types.go, checker/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from trainc.api.records import dataclass, field


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


@dataclass(slots=True)
class Unifier:
    """What type variables are bound to. Bindings of an attempt that fails are taken back."""

    bound: dict[str, Type] = field(default_factory=dict)
    before: list[tuple[str, Type | None]] = field(default_factory=list)

    def substituted(self, kind: Type, *, free: Type | None = None) -> Type:
        """Replace type variables by what they are bound to, and the others by `free`, if it is not None."""
        return substituted(kind, self.bound, free=free)

    def unify(self, left: Sequence[Type], right: Sequence[Type]) -> bool:
        """Bind type variables such that the types agree pairwise. Returns whether they can."""
        self.before.clear()
        if self._agree_all(left, right):
            return True
        for name, kind in reversed(self.before):
            if kind is None:
                del self.bound[name]
            else:
                self.bound[name] = kind
        return False

    def _agree_all(self, left: Sequence[Type], right: Sequence[Type]) -> bool:
        return len(left) == len(right) and all(map(self._agree, left, right))

    def _agree(self, left: Type, right: Type) -> bool:
        if is_variable(right):
            agrees, is_bound = self._bind(left, right)
            if agrees or is_bound:
                return agrees
        if is_variable(left):
            return self._bind(right, left)[0]
        if is_dyn(left) or is_dyn(right):
            return True
        if "null_type" in (left.name, right.name):
            other = right if left.name == "null_type" else left
            return other.name in ("null_type", *_NULLABLE) or is_object(other)
        return left.name == right.name and (left.name == "type" or self._agree_all(left.of, right.of))

    def _bind(self, kind: Type, variable: Type) -> tuple[bool, bool]:
        """Bind a variable to a type. Returns whether they agree, and whether the variable was bound before."""
        if kind == variable:
            return True, True
        before = self.bound.get(variable.name)
        if before is None:
            occurs = self._occurs(variable, kind)
            if not occurs:
                self._set(variable, kind)
            return not occurs, False
        if kind != before:
            if not self._agree(kind, before):
                return False, True
            merged = most_general(kind, before)
            if not self._occurs(variable, merged):
                self._set(variable, merged)
        return True, True

    def _set(self, variable: Type, kind: Type) -> None:
        self.before.append((variable.name, self.bound.get(variable.name)))
        self.bound[variable.name] = kind

    def _occurs(self, variable: Type, kind: Type) -> bool:
        if kind == variable:
            return True
        if is_variable(kind):
            return kind.name in self.bound and self._occurs(variable, self.bound[kind.name])
        return any(self._occurs(variable, part) for part in kind.of)


def substituted(kind: Type, bound: Mapping[str, Type], *, free: Type | None = None) -> Type:
    """Replace names of types by what they are bound to, and type variables that are not by `free`."""
    while kind.name in bound:
        kind = bound[kind.name]
    if not kind.of:
        return free if free is not None and is_variable(kind) else kind
    return Type(kind.name, tuple(substituted(part, bound, free=free) for part in kind.of))


def most_general(left: Type, right: Type) -> Type:
    """The less specific of two types that agree."""
    return left if _is_less_specific(left, right) else right


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
