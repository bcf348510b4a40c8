"""Check an expression as the API server does when a policy is created, and evaluate it in a bounded number of steps.

The evaluation records which fields of the object an expression reads; a denial points to the last one.
Source: cel-go v0.26 checker/checker.go, cel/validator.go, ext/formatting.go, interpreter (decorators.go, planner.go,
attributes.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from trainc.api.findings import Path, did_you_mean
from trainc.api.kube import documents
from trainc.api.records import dataclass, field
from trainc.features.cluster.policies.cel import values
from trainc.features.cluster.policies.cel.functions import FUNCTIONS, Overload, apply, list_index, map_key
from trainc.features.cluster.policies.cel.strings import FormatError, clauses, compile_regex, fits_clause, refusal
from trainc.features.cluster.policies.cel.syntax import (
    Call,
    Comprehension,
    InvalidExpressionError,
    List,
    Literal,
    Map,
    Name,
    Node,
    Select,
    UnsupportedError,
    parse,
    position_of,
)
from trainc.features.cluster.policies.cel.values import (
    BOOL,
    DYN,
    INT,
    NONE,
    Budget,
    EvaluationError,
    Maybe,
    Type,
    Unifier,
    UnknownError,
    parse_type,
    require_known,
    substitute,
    type_of,
)

Fields = Mapping[str, Mapping[str, Type]]
# Calls with a constant argument are evaluated when the policy is created.
_CONVERSIONS = frozenset(("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint", "type"))
_REGEX_ARGUMENT = {"matches": 1, "find": 1, "findAll": 1}
_ERROR_NAMES = {"null_type": "null", "google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp"}


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables of an expression, the fields of their types, and the minor of Kubernetes."""

    variables: Mapping[str, Type]
    fields: Fields
    minor: int = 99

    def compile(self, text: str, allowed: Sequence[Type] = ()) -> tuple[Node, Type]:
        """Parse and check an expression.

        Returns its node and type, which must be one of `allowed` unless that is empty. Raises InvalidExpressionError if
        the API server would refuse it, and UnsupportedError if trainc cannot evaluate it.
        """
        node = parse(text, self.minor)
        checker = _Checker(text, self)
        kind = checker.unifier.substitute(checker.check(node, self.variables), free=DYN)
        checker.validate()
        if allowed and kind not in allowed:
            expected = " or ".join(map(str, allowed))
            raise InvalidExpressionError(f"must evaluate to {expected} but got {kind}")
        return node, kind


@dataclass(slots=True)
class _Checker:
    text: str
    environment: Environment
    unifier: Unifier = field(default_factory=Unifier)
    # What the validators look at once the types are determined: nodes and the types of their parts.
    literals: list[tuple[Node, list[Node], list[Type]]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    kinds: dict[int, Type] = field(default_factory=dict)
    inside_format: int = 0
    fresh: int = 0

    def check(self, node: Node, scope: Mapping[str, Type]) -> Type:
        """The type of a node, which is kept by its identity. Raises InvalidExpressionError."""
        self.kinds[id(node)] = kind = self._type_of_node(node, scope)
        return kind

    def _type_of_node(self, node: Node, scope: Mapping[str, Type]) -> Type:
        match node:
            case Literal():
                return type_of(node.value)
            case Name(word=word) if word in scope:
                return scope[word]
            case Name(word=word) if word in TYPE_NAMES:
                return Type("type", (TYPE_NAMES[word],))
            case Name(word="google"):
                raise UnsupportedError("it names a message of protobuf")
            case Name():
                self._refuse(node, f"undeclared reference to {node.word!r}")
            case Select():
                kind = self._type_of_field(node, self.unifier.substitute(self.check(node.base, scope)))
                return BOOL if node.test else self.unifier.substitute(kind)
            case Call():
                return self._type_of_call(node, scope)
            case List():
                parts = [(item, i in node.optional, self.check(item, scope)) for i, item in enumerate(node.items)]
                return Type("list", (self._join_types(node, parts),))
            case Map():
                entries = [(entry, self.check(entry[0], scope), self.check(entry[1], scope)) for entry in node.entries]
                key = self._join_types(node, [(entry[0], False, kind) for entry, kind, _ in entries])
                value = self._join_types(node, [(entry[1], entry[2], kind) for entry, _, kind in entries])
                return Type("map", (key, value))
        return self._type_of_loop(node, scope)

    def _refuse(self, node: Node, message: str, hint: str = "") -> NoReturn:
        error = InvalidExpressionError(f"{message} at {position_of(self.text, node.at)}")
        error.hint = hint
        raise error

    def _variable(self) -> Type:
        self.fresh += 1
        return Type(f"_{self.fresh}")

    def _type_of_field(self, node: Select, base: Type) -> Type:
        """The type of a field."""
        is_optional = base.name == "optional_type"
        base = base.of[0] if is_optional else base
        field_type = DYN
        if base.name == "map":
            field_type = base.of[1]
        elif base.name in self.environment.fields:
            if node.field not in self.environment.fields[base.name]:
                near = did_you_mean(node.field, self.environment.fields[base.name])
                self._refuse(node, f"undefined field {node.field!r}", near)
            field_type = self.environment.fields[base.name][node.field]
        elif values.is_variable(base):
            self.unifier.unify([DYN], [base])
        elif base != DYN:
            self._refuse(node, f"type {_spell(base)!r} does not support field selection")
        return Type("optional_type", (field_type,)) if is_optional or node.optional else field_type

    def _type_of_call(self, node: Call, scope: Mapping[str, Type]) -> Type:
        self.inside_format += node.function == "format"
        parts = _parts(node)
        kinds = [self.check(part, scope) for part in parts]
        self.inside_format -= node.function == "format"
        self.calls.append(node)
        if node.function in ("_&&_", "_||_"):
            for part, kind in zip(parts, kinds, strict=True):
                if not self.unifier.unify([kind], [BOOL]):
                    self._refuse(part, f"expected type 'bool' but found {_spell(self._final_type(kind))!r}")
            return BOOL
        result = self._resolve_overload(self._overloads(node), kinds)
        if result is None:
            spelled = [_spell(self._final_type(kind)) for kind in kinds]
            applied = f"({', '.join(spelled)})" if node.target is None else f"{spelled[0]}.({', '.join(spelled[1:])})"
            self._refuse(node, f"found no matching overload for {node.function!r} applied to {applied!r}")
        return result

    def _resolve_overload(self, overloads: Sequence[Overload], kinds: Sequence[Type]) -> Type | None:
        """The type of a call: that of the overload that fits, `dyn` if several do with different types."""
        result: Type | None = None
        for overload in overloads:
            fresh = {name: self._variable() for name in sorted(_parameters((*overload.arguments, overload.result)))}
            if self.unifier.unify(kinds, [substitute(kind, fresh) for kind in overload.arguments]):
                candidate = self.unifier.substitute(substitute(overload.result, fresh))
                if result is None:
                    result = candidate
                elif result.name != "dyn" and candidate != result:
                    result = DYN
        return result

    def _overloads(self, node: Call) -> Sequence[Overload]:
        overloads = FUNCTIONS.get(node.function)
        if overloads is None:
            self._refuse(node, f"undeclared reference to {node.function!r}")
        # An API server refuses new policies that the minor before it could not read.
        available = [overload for overload in overloads if overload.since < self.environment.minor]
        if not available:
            raise UnsupportedError(
                f"{node.function}() can be used from Kubernetes 1.{overloads[0].since + 1} on, and policies are evaluated "
                f"for 1.{self.environment.minor}"
            )
        return [overload for overload in available if overload.is_method == (node.target is not None)]

    def _final_type(self, kind: Type) -> Type:
        return self.unifier.substitute(kind, free=DYN)

    def _join_types(self, node: Node, parts: Sequence[tuple[Node, bool, Type]]) -> Type:
        """The type of the items of a list, or of the keys or values of a map."""
        kinds = []
        for part, optional, kind in parts:
            if optional and kind.name not in ("optional_type", "dyn"):
                self._refuse(part, f"expected type 'optional_type({_spell(kind)})' but found {_spell(kind)!r}")
            kinds.append(kind.of[0] if optional and kind.name == "optional_type" else kind)
        if not self.inside_format:
            self.literals.append((node, [part for part, _, _ in parts], kinds))
        joined: Type | None = None
        for kind in kinds:
            if joined is None:
                joined = kind
            else:
                joined = values.most_general(joined, kind) if self.unifier.unify([joined], [kind]) else DYN
        return self._variable() if joined is None else joined

    def _type_of_loop(self, node: Comprehension, scope: Mapping[str, Type]) -> Type:
        items = self.check(node.items, scope)
        start = self.check(node.start, scope)
        items = self.unifier.substitute(items)
        two = len(node.variables) == 2
        if items.name == "list":
            kinds = (INT, items.of[0]) if two else (items.of[0],)
        elif items.name == "map":
            kinds = (items.of[0], items.of[1]) if two else (items.of[0],)
        elif items == DYN or values.is_variable(items):
            self.unifier.unify([DYN], [items])
            kinds = (DYN, DYN) if two else (DYN,)
        else:
            problem = f"expression of type {_spell(items)!r} cannot be range of a comprehension"
            self._refuse(node.items, f"{problem} (must be list, map, or dynamic)")
        inner = {**scope, node.result: start}
        loop = {**inner, **dict(zip(node.variables, kinds, strict=True))}
        for part, expected in ((node.condition, BOOL), (node.step, start)):
            kind = self.check(part, loop)
            if not self.unifier.unify([expected], [kind]):
                mismatch = (
                    f"expected type {_spell(self._final_type(expected))!r} but found {_spell(self._final_type(kind))!r}"
                )
                self._refuse(part, mismatch)
        return self.unifier.substitute(self.check(node.end, inner))

    def validate(self) -> None:
        """Check what depends on the final types. Raises InvalidExpressionError."""
        for _, parts, kinds in self.literals:
            final = [self._final_type(kind) for kind in kinds]
            for part, kind in zip(parts, final, strict=True):
                if kind != final[0]:
                    self._refuse(part, f"expected type {_spell(final[0])!r} but found {_spell(kind)!r}")
        for node in self.calls:
            self._check_format(node)
            self._check_constants(node)

    def _check_format(self, node: Call) -> None:
        """Check a format string that is a constant against a list of arguments."""
        if node.function != "format" or not isinstance(node.target, Literal) or not isinstance(node.arguments[0], List):
            return
        items = node.arguments[0].items
        count = 0
        try:
            for part in clauses(node.target.value):
                if isinstance(part, str):
                    continue
                index, clause, _ = part
                if index < len(items):
                    self._check_clause(clause, items[index])
                else:
                    self._refuse(node, f"index {index} out of range")
                count += 1
        except FormatError as error:
            self._refuse(node, str(error))
        if count < len(items):
            self._refuse(node, f"too many arguments supplied to string.format (expected {count}, got {len(items)})")

    def _check_clause(self, clause: str, node: Node) -> None:
        parts: list[Node] = [node]
        while parts:
            part = parts.pop()
            kind = self._final_type(self.kinds[id(part)]).name
            # A string may spell a number that is none, which only its value says.
            if not (kind == "dyn" or fits_clause(clause, kind) or (clause in "fe" and kind == "string")):
                raise FormatError(f"error during formatting: {refusal(clause, _ERROR_NAMES.get(kind, kind))}")
            if isinstance(part, List):
                parts += part.items
            elif isinstance(part, Map):
                parts += (inner for entry in part.entries for inner in entry[:2])

    def _check_constants(self, node: Call) -> None:
        """Evaluate what the API server evaluates when a policy is created."""
        parts = _parts(node)
        constants = [part.value for part in parts if isinstance(part, Literal)]
        try:
            if node.function in _CONVERSIONS and node.target is None and len(parts) == len(constants) == 1:
                apply(node.function, constants, Budget(1_000_000), is_method=False)
            position = _REGEX_ARGUMENT.get(node.function)
            if position is not None and len(parts) > position:
                regex = parts[position]
                if isinstance(regex, Literal) and isinstance(regex.value, str):
                    compile_regex(regex.value)
        except (EvaluationError, ValueError) as error:
            self._refuse(node, str(error))
        except UnknownError:
            pass


def _parts(node: Call) -> tuple[Node, ...]:
    return node.arguments if node.target is None else (node.target, *node.arguments)


def _parameters(kinds: Sequence[Type]) -> set[str]:
    parameters: set[str] = set()
    for kind in kinds:
        parameters |= {kind.name} if len(kind.name) == 1 else _parameters(kind.of)
    return parameters


def _spell(kind: Type) -> str:
    """A type in the text of an error."""
    name = _ERROR_NAMES.get(kind.name, kind.name)
    return f"{name}({', '.join(map(_spell, kind.of))})" if kind.of else name


TYPE_NAMES: Mapping[str, Type] = {
    **{name: Type(name) for name in ("bool", "bytes", "double", "int", "null_type", "string", "uint", "type")},
    **{name: Type(name) for name in ("google.protobuf.Duration", "google.protobuf.Timestamp", "net.IP", "net.CIDR")},
    **{parse_type(kind).name: parse_type(kind) for kind in ("list(dyn)", "map(dyn, dyn)", "optional_type(dyn)")},
}


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

    def other_numbers(self, last: Path) -> Iterator[Path]:
        """The paths of the numbers that were read, if the last field is one of them or a quantity."""
        if str(documents.value_at(self.subject, last))[:1].isdigit():
            paths = paths_of(self.subject)
            for base, steps in self.reads:
                if id(base) in paths and type(documents.value_at(base, steps)) is int:
                    yield (*paths[id(base)], *steps)

    def value(self, node: Node, scope: Scope) -> Any:
        """The value of a node. Raises EvaluationError, UnknownError or CostExceededError."""
        self.budget.charge()
        match node:
            case Literal():
                return node.value
            case Name():
                return require_known(scope[node.word] if node.word in scope else Type(node.word))
            case Select():
                return self._select(node, self.value(node.base, scope))
            case Call():
                return self._call(node, scope)
            case List():
                items = (self.value(item, scope) for item in node.items)
                return [item for i, value in enumerate(items) for item in _present(value, i in node.optional)]
            case Map():
                result: dict[Any, Any] = {}
                for key, item, optional in node.entries:
                    name = map_key(self.value(key, scope))
                    for value in _present(self.value(item, scope), optional):
                        result[name] = value
                return result
            case Comprehension():
                return self._loop(node, scope)

    def _select(self, node: Select, base: Any) -> Any:
        if isinstance(base, Lazy):
            return node.test or base.get(node.field)
        is_optional = isinstance(base, Maybe)
        if is_optional:
            if not base.is_set:
                return False if node.test else NONE
            base = require_known(base.value)
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
        return require_known(base[node.field])

    def _call(self, node: Call, scope: Scope) -> Any:
        function = node.function
        if function in _ABSORBS:
            return self._decide(node, scope, decides=function == "_||_")
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
            return target if function == "or" else require_known(target.value)
        self._note(target)
        arguments = [target, *(self.value(argument, scope) for argument in node.arguments)]
        return apply(function, arguments, self.budget, is_method=True)

    def _decide(self, node: Call, scope: Scope, *, decides: bool) -> bool:
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
        for variables in _loop_variables(items, node.variables):
            self.budget.charge()
            inner.update(variables)
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


def _loop_variables(base: Any, variables: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The variables of a loop for each item. For maps: one variable gets the key, two get key and value."""
    if not isinstance(base, list | dict):
        raise EvaluationError(f"unsupported comprehension range type: {type_of(base)}")
    if len(variables) == 1:
        yield from ({variables[0]: item} for item in base)
        return
    pairs = base.items() if isinstance(base, dict) else enumerate(base)
    yield from ({variables[0]: key, variables[1]: value} for key, value in pairs)


def paths_of(value: Any) -> dict[int, Path]:
    """The path of each list and map of a value, by identity."""
    paths: dict[int, Path] = {}
    stack: list[tuple[Any, Path]] = [(value, ())]
    while stack:
        part, path = stack.pop()
        if isinstance(part, dict | list):
            paths[id(part)] = path
            items = part.items() if isinstance(part, dict) else enumerate(part)
            stack += [(inner, (*path, step)) for step, inner in items]
    return paths
