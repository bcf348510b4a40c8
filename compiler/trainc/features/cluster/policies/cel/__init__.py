"""The Common Expression Language as a Kubernetes API server compiles and evaluates it.

`syntax` parses, `evaluation` finds what the API server would refuse, and evaluates. `functions`, `strings` and
`kubernetes` define the functions; importing this package registers them.

Sources: cel-spec doc/langdef.md; cel-go v0.26 and v0.27; kubernetes apiserver pkg/cel/environment/base.go, v1.32 to
v1.37.
"""

from trainc.features.cluster.policies.cel import functions, kubernetes, strings
from trainc.features.cluster.policies.cel.evaluation import Environment, Evaluation, Lazy
from trainc.features.cluster.policies.cel.syntax import InvalidExpressionError, Node, UnsupportedError, is_identifier
from trainc.features.cluster.policies.cel.values import (
    Budget,
    CostExceededError,
    EvaluationError,
    Type,
    Unknown,
    UnknownError,
    parse_type,
)

__all__ = [
    "Budget", "CostExceededError", "Environment", "Evaluation", "EvaluationError", "InvalidExpressionError", "Lazy", "Node",
    "Type", "Unknown", "UnknownError", "UnsupportedError", "functions", "is_identifier", "kubernetes", "parse_type", "strings",
]  # fmt: skip
