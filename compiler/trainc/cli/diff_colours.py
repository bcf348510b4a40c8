"""The colours of `trainc diff`: green is harmless, yellow is refused, red restarts or ends a training."""

from __future__ import annotations

from trainc.cli.colour import Paint
from trainc.cli.colour import Part as Colour
from trainc.diff.text import Paint as PaintPart
from trainc.diff.text import Part

_COLOURS: dict[Part, Colour] = {
    "title": "heading",
    "added": "added",
    "removed": "removed",
    "changed": "plugin",
    "harmless": "help",
    "refused": "warning",
    "harmful": "error",
    "quiet": "faint",
    "note": "info",
}


def painter(paint: Paint) -> PaintPart:
    """What paints the parts of a comparison."""
    return lambda part, text: paint(_COLOURS[part], text)
