"""Where each field of the output comes from."""

from trainc.explain import place
from trainc.explain.model import ExplainedField, Explanation, NoMatch, Origin, QueryError, choose
from trainc.explain.replay import Recorder, explanation
from trainc.explain.text import describe_origin

__all__ = [
    "ExplainedField",
    "Explanation",
    "NoMatch",
    "Origin",
    "QueryError",
    "Recorder",
    "choose",
    "describe_origin",
    "explanation",
    "place",
]
