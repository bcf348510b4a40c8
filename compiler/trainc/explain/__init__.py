"""Explanations: who set each field of the output, and from what; as text, as JSON, and as places of diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.diagnostics import Diagnostic
    from trainc.options import Options
    from trainc.pipeline.compiler import Result
    from trainc.pipeline.valid_document import ValidDocument
    from trainc.reading.document import Document


def place(result: Result, home: ValidDocument, others: Sequence[Document], options: Options) -> list[Diagnostic]:
    """What a `Session` finds places with. The explainer is imported for the first finding about a built object."""
    from trainc.explain.placing import place_built

    return place_built(result, home, others, options)
