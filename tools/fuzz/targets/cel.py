"""Expressions of policies: any text compiles or is refused, and evaluates to a value or to an error of CEL's."""

from __future__ import annotations

from trainc.features.cluster.policies.cel import (
    Budget,
    CostExceededError,
    Environment,
    Evaluation,
    EvaluationError,
    InvalidExpressionError,
    UnknownError,
    UnsupportedError,
)
from trainc.features.cluster.policies.cel.values import DYN

OBJECT = {
    "metadata": {"name": "llm", "labels": {"team": "vision"}},
    "spec": {"numbers": [1, 2, 3], "memory": "1Gi", "containers": [{"name": "node", "image": "example.com/a:1"}]},
}
_NAMES = Environment({"object": DYN, "oldObject": DYN}, {}, 36)


def check(data: bytes) -> None:
    """Raise an exception for an expression that breaks the engine."""
    text = data.decode(errors="replace")
    try:
        node, _ = _NAMES.compile(text, ())
        Evaluation(Budget(20_000), OBJECT).value(node, {"object": OBJECT, "oldObject": None})
    except (InvalidExpressionError, UnsupportedError, EvaluationError, UnknownError, CostExceededError) as refused:
        assert str(refused) or isinstance(refused, CostExceededError)
