"""Explanations: who set each field of the output, and from what; as text, as JSON, and as places of diagnostics."""

from __future__ import annotations

from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.findings import Diagnostic
    from trainc.pipeline.compiler import Result


def place(result: Result) -> list[Diagnostic]:
    """Locate findings about built objects for a `Session`. The explainer is imported only when first needed."""
    from trainc.explain.placing import place_built

    return place_built(result)
