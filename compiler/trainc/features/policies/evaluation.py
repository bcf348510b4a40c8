"""Evaluate CEL expressions (operators, field selection and macros) in a bounded number of steps.

The evaluation records which fields of the object an expression reads; a denial points to the last one.
Source: cel-spec doc/langdef.md; kubernetes apiserver pkg/cel/environment/base.go (v1.36) for the libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainc.features.policies.functions import FUNCTIONS, METHODS
from trainc.features.policies.syntax import Node, is_macro, split_macro
from trainc.features.policies.values import (
    NONE,
    Budget,
    EvaluationError,
    Maybe,
    arithmetic,
    equal,
    no_overload,
    ordered,
)
from trainc.findings import Path
from trainc.startup.records import dataclass, field

Scope = Mapping[str, Any]


@dataclass(slots=True)
class Lazy:
    """`variables`: each one is evaluated on first use."""

    get: Callable[[str], Any]


@dataclass(slots=True)
class Evaluation:
    """The evaluation of one policy on one object: its remaining budget, and the fields that were read.

    `paths` maps each list and map of the object, by identity, to its path.
    """

    budget: Budget
    paths: Mapping[int, Path] = field(default_factory=dict)
    last_read: Path = ()

    def value(self, node: Node, scope: Scope) -> Any:  # noqa: C901 - one case for each operation
        """Evaluate a node. Raises EvaluationError, CostExceededError, or RecursionError if it is nested too deeply."""
        self.budget.charge()
        match node:
            case ("value", value):
                return value
            case ("name", word):
                return scope[word]
            case ("get", base, key):
                return self._field(self.value(base, scope), key[1])
            case ("index", base, key):
                return self._field(self.value(base, scope), self.value(key, scope))
            case ("maybe", base, key):
                return self._maybe(self.value(base, scope), self.value(key, scope))
            case ("call", "has", None, (("get" | "maybe", base, key),)):
                return self._has(self.value(base, scope), key[1])
            case ("call", word, target, arguments):
                return self._call(word, target, arguments, scope)
            case ("op", symbol, left, right):
                return self._operation(symbol, self.value(left, scope), self.value(right, scope))
            case ("and" | "or", left, right):
                return self._decided(((left, scope), (right, scope)), node[0] == "or")
            case ("if", test, then, otherwise):
                return self.value(then if _truth(self.value(test, scope)) else otherwise, scope)
            case _:
                return self._plain(node, scope)

    def _plain(self, node: Node, scope: Scope) -> Any:
        match node:
            case ("not", operand):
                return not _truth(self.value(operand, scope))
            case ("neg", operand):
                return arithmetic("-", _zero_like(number := self.value(operand, scope)), number, self.budget)
            case ("list", items):
                return [self.value(item, scope) for item in items]
            case ("map", items):
                return {_key(self.value(key, scope)): self.value(value, scope) for key, value in items}
        raise EvaluationError(f"unknown expression {node[0]}")

    def _operation(self, symbol: str, left: Any, right: Any) -> Any:
        match symbol:
            case "==":
                return equal(left, right, self.budget)
            case "!=":
                return not equal(left, right, self.budget)
            case "in":
                return self._contains(right, left)
            case "<":
                return ordered(left, right) < 0
            case "<=":
                return ordered(left, right) <= 0
            case ">":
                return ordered(left, right) > 0
            case ">=":
                return ordered(left, right) >= 0
        return arithmetic(symbol, left, right, self.budget)

    def _contains(self, container: Any, item: Any) -> bool:
        if isinstance(container, dict):
            self._note(container, item)
            return isinstance(item, str | int) and item in container
        if isinstance(container, list):
            self._note(container)
            return any(equal(item, each, self.budget) for each in container)
        raise no_overload("in", item, container)

    def _decided(self, terms: Iterable[tuple[Node, Scope]], decides: bool) -> bool:
        """`&&`, `||`, `all` and `exists`: the first deciding value takes precedence over errors of other terms."""
        failed: EvaluationError | None = None
        for node, scope in terms:
            try:
                if _truth(self.value(node, scope)) is decides:
                    return decides
            except EvaluationError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return not decides

    def _field(self, base: Any, key: Any) -> Any:
        if isinstance(base, Lazy):
            return base.get(key)
        if isinstance(base, Maybe):
            return (
                Maybe(self._field(base.value, key), is_set=True) if base.is_set and self._has(base.value, key) else NONE
            )
        self._note(base, key)
        if isinstance(base, dict):
            if _key(key) in base:
                return base[key]
            raise EvaluationError(f"no such key: {key}")
        if isinstance(base, list) and isinstance(key, int) and not isinstance(key, bool):
            if 0 <= key < len(base):
                return base[key]
            raise EvaluationError(f"index out of bounds: {key}")
        raise no_overload("select" if isinstance(key, str) else "index", base, key)

    def _maybe(self, base: Any, key: Any) -> Maybe:
        if isinstance(base, Maybe):
            return self._maybe(base.value, key) if base.is_set else NONE
        self._note(base, key)
        if isinstance(base, dict):
            return Maybe(base[key], is_set=True) if _key(key) in base else NONE
        if isinstance(base, list) and isinstance(key, int):
            return Maybe(base[key], is_set=True) if 0 <= key < len(base) else NONE
        raise no_overload("optional select", base, key)

    def _has(self, base: Any, key: Any) -> bool:
        if isinstance(base, Maybe):
            return base.is_set and self._has(base.value, key)
        self._note(base, key)
        if not isinstance(base, dict):
            raise no_overload("has", base, key)
        return key in base

    def _note(self, base: Any, *steps: Any) -> None:
        path = self.paths.get(id(base))
        if path is not None:
            self.last_read = (*path, *(step for step in steps if isinstance(step, str | int)))

    def _call(self, word: str, target: Node | None, arguments: tuple[Node, ...], scope: Scope) -> Any:
        if target is None:
            return FUNCTIONS[word](self.budget, *(self.value(one, scope) for one in arguments))
        if target[0] == "name" and f"{target[1]}.{word}" in FUNCTIONS:
            return FUNCTIONS[f"{target[1]}.{word}"](self.budget, *(self.value(one, scope) for one in arguments))
        if is_macro(word, arguments):
            variables, bodies = split_macro(word, arguments)
            return self._macro(word, self.value(target, scope), variables, bodies, scope)
        base = self.value(target, scope)
        self._note(base)
        if isinstance(base, Maybe) and word in ("or", "orValue") and base.is_set and len(arguments) == 1:
            return base if word == "or" else base.value
        return METHODS[word](self.budget, base, *(self.value(one, scope) for one in arguments))

    def _macro(self, word: str, base: Any, variables: tuple[str, ...], bodies: tuple[Node, ...], scope: Scope) -> Any:
        if word in ("optMap", "optFlatMap"):
            if not isinstance(base, Maybe):
                raise no_overload(word, base)
            found = self.value(bodies[0], {**scope, variables[0]: base.value}) if base.is_set else NONE
            return found if word == "optFlatMap" or not base.is_set else Maybe(found, is_set=True)
        self._note(base)
        scopes = [{**scope, **bound} for bound in _bound(base, variables, word)]
        if word in ("all", "exists"):
            return self._decided(((bodies[0], each) for each in scopes), word == "exists")
        if word in ("exists_one", "existsOne"):
            return sum(_truth(self.value(bodies[0], each)) for each in scopes) == 1
        if word == "filter":
            return [each[variables[0]] for each in scopes if _truth(self.value(bodies[0], each))]
        chosen = scopes if len(bodies) == 1 else [each for each in scopes if _truth(self.value(bodies[0], each))]
        return [self.value(bodies[-1], each) for each in chosen]


def _bound(base: Any, variables: tuple[str, ...], word: str) -> Iterator[dict[str, Any]]:
    """The variables of a macro for each item. For maps: one variable gets the key, two get key and value."""
    if not isinstance(base, list | dict):
        raise no_overload(word, base)
    if len(variables) == 1:
        yield from ({variables[0]: item} for item in base)
        return
    pairs = base.items() if isinstance(base, dict) else enumerate(base)
    yield from ({variables[0]: key, variables[1]: value} for key, value in pairs)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError("no such overload: a condition must be a bool")
    return value


def _key(value: Any) -> str | int:
    if not isinstance(value, str | int):
        raise EvaluationError("a map has no keys of this type")
    return value


def _zero_like(value: Any) -> Any:
    return 0.0 if isinstance(value, float) else 0


def paths_of(value: Any, path: Path = ()) -> dict[int, Path]:
    """The path of each list and map of a value, by identity."""
    found = {}
    stack = [(value, path)]
    while stack:
        part, where = stack.pop()
        if isinstance(part, dict | list):
            found[id(part)] = where
            items = part.items() if isinstance(part, dict) else enumerate(part)
            stack += [(inner, (*where, step)) for step, inner in items]
    return found
