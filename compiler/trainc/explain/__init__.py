"""Explanations: who set each field of the output, and from what; as text, as JSON, and as places of diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.findings import Diagnostic
    from trainc.options import Options
    from trainc.pipeline.compiler import Result
    from trainc.pipeline.valid_document import ValidDocument
    from trainc.reading.document import Document


def place(result: Result, home: ValidDocument, others: Sequence[Document], options: Options) -> list[Diagnostic]:
    """Locate findings about built objects for a `Session`. The explainer is imported only when first needed."""
    from trainc.explain.placing import place_built

    return place_built(result, home, others, options)
