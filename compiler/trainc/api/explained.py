"""Where each field of the output comes from, and what the log of a run says."""

from trainc.explain import expressions, place
from trainc.explain.model import ExplainedField, Explanation, Origin
from trainc.explain.placing import explained_jobset, source_of
from trainc.explain.replay import Recorder
from trainc.explain.text import describe_origin, explanation_text, format_value, shorten_value
from trainc.findings import as_html

__all__ = [
    "ExplainedField",
    "Explanation",
    "Origin",
    "Recorder",
    "as_html",
    "describe_origin",
    "explained_jobset",
    "explanation_text",
    "expressions",
    "format_value",
    "place",
    "shorten_value",
    "source_of",
]
