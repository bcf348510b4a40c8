"""Templates: any text renders or is refused with a diagnostic, within its steps, and changes nothing of its values.

The limits on time are out of action, so that what stops a template is counted; libFuzzer's own limit is the bound.
"""

from __future__ import annotations

import json
from typing import Any

from trainc.options import Limits
from trainc.reading.templates import TemplateFailedError, read_template, render

LIMITS = Limits(
    document_bytes=100_000, documents=20, template_steps=20_000, template_bytes=10_000_000, template_seconds=1_000_000
)
_VALUES: dict[str, Any] = {
    "image": "example.com/train:1",
    "n": 3,
    "rates": [0.1, 0.2, 0.3],
    "cfg": {"a": {"b": ["c", None, True]}, "text": "line\n" * 40},
    "many": list(range(500)),
}
_WRITTEN = json.dumps(_VALUES)


def check(data: bytes) -> None:
    """AssertionError where a template reaches its values or renders in two ways, any other exception where it breaks us."""
    text = data.decode(errors="surrogateescape")
    try:
        output = render(text, "t.yaml.j2", _VALUES, LIMITS)
    except TemplateFailedError as failed:
        assert failed.diagnostic.message
        assert failed.diagnostic.source is not None
        output = None
    assert json.dumps(_VALUES) == _WRITTEN, "a template changes the values of others"
    if output is not None:
        assert render(text, "t.yaml.j2", _VALUES, LIMITS) == output, "a template is not the same twice"
        documents, _ = read_template(data, "t.yaml.j2", _VALUES, LIMITS)
        for document in documents:
            document.locate(("metadata", "name"))
