"""Where each field of the output comes from."""

from trainc.explain import place
from trainc.explain.model import ExplainedField, Explanation, Origin
from trainc.explain.replay import Recorder, explanation
from trainc.explain.text import describe_origin, explanation_text, format_value, shorten_value

__all__ = [
    "ExplainedField",
    "Explanation",
    "Origin",
    "Recorder",
    "describe_origin",
    "explanation",
    "explanation_text",
    "format_value",
    "place",
    "shorten_value",
]
