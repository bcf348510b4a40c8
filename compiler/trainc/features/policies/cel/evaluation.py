"""Evaluate expressions in a bounded number of steps.

The evaluation records which fields of the object an expression reads; a denial points to the last one.
Source: cel-go v0.26 interpreter/planner.go, interpreter/attributes.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainc.api.findings import Path
from trainc.api.records import dataclass, field
from trainc.features.policies.cel.functions import apply, list_index, map_key
from trainc.features.policies.cel.syntax import Call, Comprehension, List, Literal, Map, Name, Node, Select
from trainc.features.policies.cel.values import NONE, Budget, EvaluationError, Maybe, Type, UnknownError, known, type_of

Scope = Mapping[str, Any]
_ERRORS = (EvaluationError, UnknownError)
_ABSORBS = frozenset(("_&&_", "_||_"))
_READS = frozenset(("_[_]", "_[?_]", "@in"))


@dataclass(slots=True)
class Lazy:
    """`variables`: each one is evaluated on first use."""

    get: Callable[[str], Any]


@dataclass(slots=True)
class Evaluation:
    """The evaluation of one policy on one object: its remaining budget, and the lists and maps that were read."""

    budget: Budget
    subject: Any = None
    reads: list[tuple[Any, tuple[Any, ...]]] = field(default_factory=list)

    @property
    def last_read(self) -> Path:
        """The path of the last field of the object that was read."""
        paths = paths_of(self.subject)
        for base, steps in reversed(self.reads):
            if id(base) in paths:
                return (*paths[id(base)], *(step for step in steps if isinstance(step, str | int)))
        return ()

    def value(self, node: Node, scope: Scope) -> Any:
        """The value of a node. Raises EvaluationError, UnknownError or CostExceededError."""
        self.budget.charge()
        match node:
            case Literal():
                return node.value
            case Name():
                return known(scope[node.word] if node.word in scope else Type(node.word))
            case Select():
                return self._selected(node, self.value(node.base, scope))
            case Call():
                return self._called(node, scope)
            case List():
                items = (self.value(item, scope) for item in node.items)
                return [item for i, one in enumerate(items) for item in _present(one, i in node.optional)]
            case Map():
                result: dict[Any, Any] = {}
                for key, item, optional in node.entries:
                    name = map_key(self.value(key, scope))
                    for one in _present(self.value(item, scope), optional):
                        result[name] = one
                return result
            case Comprehension():
                return self._loop(node, scope)

    def _selected(self, node: Select, base: Any) -> Any:
        if isinstance(base, Lazy):
            return node.test or base.get(node.field)
        is_optional = isinstance(base, Maybe)
        if is_optional:
            if not base.is_set:
                return False if node.test else NONE
            base = known(base.value)
        self._note(base, node.field)
        if isinstance(base, list):
            list_index(node.field)
        is_set = isinstance(base, dict) and node.field in base
        if node.test:
            return is_set
        if is_optional or node.optional:
            return Maybe(base[node.field], is_set=True) if is_set else NONE
        if not is_set:
            raise EvaluationError(f"no such key: {node.field}")
        return known(base[node.field])

    def _called(self, node: Call, scope: Scope) -> Any:
        function = node.function
        if function in _ABSORBS:
            return self._decided(node, scope, decides=function == "_||_")
        if function == "_?_:_":
            test, then, otherwise = node.arguments
            return self.value(then if _truth(self.value(test, scope)) else otherwise, scope)
        if function == "@not_strictly_false":
            try:
                return self.value(node.arguments[0], scope) is not False
            except _ERRORS:
                return True
        if node.target is None:
            arguments = [self.value(argument, scope) for argument in node.arguments]
            if function in _READS:
                base, key = arguments if function != "@in" else arguments[::-1]
                self._note(base.value if isinstance(base, Maybe) else base, key)
            return apply(function, arguments, self.budget, is_method=False)
        target = self.value(node.target, scope)
        if function in ("or", "orValue"):
            if not isinstance(target, Maybe):
                return target  # As upstream, for what turns out to be no optional value.
            if not target.is_set:
                return self.value(node.arguments[0], scope)
            return target if function == "or" else known(target.value)
        self._note(target)
        arguments = [target, *(self.value(argument, scope) for argument in node.arguments)]
        return apply(function, arguments, self.budget, is_method=True)

    def _decided(self, node: Call, scope: Scope, *, decides: bool) -> bool:
        """`&&` and `||`: a deciding value takes precedence over what is unknown, and that over errors."""
        failed: EvaluationError | UnknownError | None = None
        for term in node.arguments:
            try:
                if _truth(self.value(term, scope)) is decides:
                    return decides
            except _ERRORS as error:
                if failed is None or (isinstance(error, UnknownError) and isinstance(failed, EvaluationError)):
                    failed = error
        if failed is not None:
            raise failed
        return not decides

    def _loop(self, node: Comprehension, scope: Scope) -> Any:
        """A comprehension. Its result can be an error, which a later step may absorb."""
        items = self.value(node.items, scope)
        self._note(items)
        inner = {**scope, node.result: self.value(node.start, scope)}
        for bound in _bound(items, node.variables):
            self.budget.charge()
            inner.update(bound)
            if not self.value(node.condition, inner):
                break
            try:
                inner[node.result] = self.value(node.step, inner)
            except _ERRORS as error:
                inner[node.result] = error
        return self.value(node.end, inner)

    def _note(self, base: Any, *steps: Any) -> None:
        self.reads.append((base, steps))


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError("no such overload: a condition must be a bool")
    return value


def _present(value: Any, optional: bool) -> Iterator[Any]:
    """The items that one item of a list or map literal adds: with a `?`, none if it is not set."""
    if not optional:
        yield value
    elif not isinstance(value, Maybe):
        raise EvaluationError("cannot initialize optional list element from non-optional value")
    elif value.is_set:
        yield value.value


def _bound(base: Any, variables: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The variables of a loop for each item. For maps: one variable gets the key, two get key and value."""
    if not isinstance(base, list | dict):
        raise EvaluationError(f"unsupported comprehension range type: {type_of(base)}")
    if len(variables) == 1:
        yield from ({variables[0]: item} for item in base)
        return
    pairs = base.items() if isinstance(base, dict) else enumerate(base)
    yield from ({variables[0]: key, variables[1]: value} for key, value in pairs)


def paths_of(value: Any, path: Path = ()) -> dict[int, Path]:
    """The path of each list and map of a value, by identity."""
    paths = {}
    stack = [(value, path)]
    while stack:
        part, where = stack.pop()
        if isinstance(part, dict | list):
            paths[id(part)] = where
            items = part.items() if isinstance(part, dict) else enumerate(part)
            stack += [(inner, (*where, step)) for step, inner in items]
    return paths
