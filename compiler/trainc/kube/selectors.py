"""Label selectors: what a requirement means, and the two forms in which selectors are written.

Source: kubernetes/apimachinery pkg/labels/selector.go, pkg/apis/meta/v1/helpers.go, v0.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trainc.kube.documents import Json
from trainc.kube.names import is_label_key, is_label_value
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass
from trainc.startup.typing import Any, TypeAlias

# Operator -> the fewest and the most values that it takes. Gt and Lt are for the labels of nodes only.
OPERATORS: Mapping[str, tuple[int, int | None]] = {
    "In": (1, None),
    "NotIn": (1, None),
    "Exists": (0, 0),
    "DoesNotExist": (0, 0),
    "Gt": (1, 1),
    "Lt": (1, 1),
}
LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")

_Test: TypeAlias = Callable[[Any, Sequence[str]], bool]
_INTEGER = pattern(r"([+-]?)([0-9]+)")
_TEXT_FORMS = (
    pattern(r"(?P<key>\S+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)"),
    pattern(r"(?P<key>[^\s=!]+)\s*(?P<op>==|=|!=)\s*(?P<values>[^\s=!]*)"),
    pattern(r"(?P<op>!?)\s*(?P<key>[^\s=!()]+)(?P<values>)"),
)
_OPERATOR_OF = {"in": "In", "=": "In", "==": "In", "notin": "NotIn", "!=": "NotIn", "": "Exists", "!": "DoesNotExist"}
# Splits at commas, except inside parentheses, where they separate values.
_PARTS = pattern(r"(?:[^,()]+|\([^()]*\)|[()])+")


class MalformedSelector(ValueError):
    """A requirement that Kubernetes cannot parse, such as `Gt` with a value that is not a number."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on a label or annotation."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, Any]) -> bool:
        """Return whether it is met. A label that is missing meets every negated condition."""
        return _TESTS[self.operator](labels.get(self.key), self.values)


def matches_selector(selector: Json | None, labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector matches: a missing one matches nothing, an empty one everything.

    Raises MalformedSelector if Kubernetes cannot parse it.
    """
    if selector is None:
        return False
    expected = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in expected.items()):
        return False
    return all(read_requirement(expression).holds(labels) for expression in selector.get("matchExpressions") or ())


def read_requirement(expression: Json) -> Requirement:
    """Read an item of `matchExpressions`. Raises MalformedSelector if Kubernetes cannot parse it."""
    key, operator = str(expression.get("key", "")), str(expression.get("operator"))
    values = tuple(str(value) for value in expression.get("values") or ())
    fewest, most = OPERATORS.get(operator, (1, 0))
    readable = len(values) >= fewest and (most is None or len(values) <= most)
    if operator in ("Gt", "Lt"):
        readable = readable and int64(values[0]) is not None
    if not readable or not is_label_key(key) or not all(map(is_label_value, values)):
        raise MalformedSelector(f"{key} {operator} {list(values)}")
    return Requirement(key, operator, values)


def parse_selector(text: str) -> tuple[Requirement, ...]:
    """Parse the form of kubectl: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, separated by commas.

    Raises ValueError for anything else.
    """
    return tuple(_parse_requirement(part.strip()) for part in _PARTS.findall(text) if part.strip())


def _parse_requirement(text: str) -> Requirement:
    parsed = next((match for form in _TEXT_FORMS if (match := form.fullmatch(text))), None)
    if parsed is None:
        raise ValueError(f"{text!r} is not a valid selector requirement")
    operator = _OPERATOR_OF[parsed["op"]]
    values = tuple(value.strip() for value in parsed["values"].split(",")) if OPERATORS[operator][0] else ()
    return Requirement(parsed["key"], operator, values)


def int64(text: object) -> int | None:
    """Parse like Go's strconv.ParseInt(text, 10, 64); None on error. Python's int() fails for thousands of digits."""
    match = _INTEGER.fullmatch(text) if isinstance(text, str) else None
    if match is None or len(digits := match[2].lstrip("0") or "0") > 19:
        return None
    number = int(match[1] + digits)
    return number if -(2**63) <= number < 2**63 else None


def _is_less(left: object, right: object) -> bool:
    """Return whether both are integers, and the first one is less."""
    lesser, greater = int64(left), int64(right)
    return lesser is not None and greater is not None and lesser < greater


_TESTS: Mapping[str, _Test] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _is_less(values[0], value),
    "Lt": lambda value, values: _is_less(value, values[0]),
}
