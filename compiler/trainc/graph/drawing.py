"""Draw the graph as an SVG with svg.py that follows the reader's light or dark theme."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Literal

from trainc.diagnostics.escaping import escape_xml
from trainc.graph.cards import (
    DOT,
    DOT_GAP,
    DOTS_IN_ROW,
    FRAME,
    LINE,
    MARGIN,
    PADDING,
    VALUES,
    WIDTH,
    Card,
    Drawing,
    caption,
    place,
    shorten,
)
from trainc.graph.model import Graph, gang, total

if TYPE_CHECKING:
    import svg

_STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
.page { fill: #ffffff; }
.title { font-size: 19px; font-weight: 600; }
.name { font-size: 16px; font-weight: 600; }
.faint, .label { fill: #59636e; }
.label { font-size: 11px; }
.value { font: 11.5px ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; }
.card { fill: #f6f8fa; stroke: #d1d9e0; stroke-width: 1.5; }
.trainer { stroke: #0969da; stroke-width: 2; }
.member { stroke: #8250df; stroke-dasharray: 7 5; }
.dot { fill: #8c959f; }
.gpu { fill: #0969da; }
.frame { fill: none; stroke: #8250df; stroke-width: 1.5; stroke-dasharray: 7 5; }
.gang { fill: #8250df; font-size: 12px; }
.edge { fill: none; stroke: #818b98; stroke-width: 1.75; }
.head { fill: #818b98; }
.pill { fill: #ffffff; stroke: #d1d9e0; }
.status { font-size: 11px; fill: #59636e; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.page { fill: #0d1117; }
.faint, .label, .status { fill: #9198a1; }
.card { fill: #151b23; stroke: #3d444d; }
.trainer { stroke: #4493f8; }
.dot { fill: #656c76; }
.gpu { fill: #4493f8; }
.frame, .member { stroke: #ab7df8; }
.gang { fill: #ab7df8; }
.edge { stroke: #656c76; }
.head { fill: #656c76; }
.pill { fill: #0d1117; stroke: #3d444d; }
}
"""
_ROLE_CHARACTERS = 20


def graph_svg(graph: Graph, *, stacked: bool = False) -> str:
    """Return the picture as one SVG document, `stacked` for narrow screens.

    Raises ImportError if svg.py (extra `graph`) is not installed.
    """
    import svg

    drawing = place(graph, stacked=stacked)
    title = f"JobSet {'/'.join(filter(None, (graph.namespace, graph.name)))}"
    picture = svg.SVG(
        width=drawing.width,
        height=drawing.height,
        viewBox=svg.ViewBoxSpec(0, 0, drawing.width, drawing.height),
        elements=[
            svg.Title(elements=[], text=escape(title)),
            svg.Style(text=_STYLE),
            svg.Defs(elements=[_arrow()]),
            svg.Rect(x=0, y=0, width=drawing.width, height=drawing.height, rx=10, class_=["page"]),
            _text(MARGIN, MARGIN + 14, shorten(title, (drawing.width - 2 * MARGIN) // 11), "title"),
            _text(MARGIN, MARGIN + 36, _about(graph), "faint"),
            *_gang(graph, drawing),
            *_edges(drawing),
            *(element for card in drawing.cards for element in _card(card, framed=drawing.frame is not None)),
        ],
    )
    return escape_xml(str(picture).replace("><", ">\n<")) + "\n"


def _text(x: int, y: int, text: str, *classes: str, anchor: Literal["start", "middle", "end"] = "start") -> svg.Text:
    """A line of text. svg.py does not escape text, so it is escaped here."""
    import svg

    return svg.Text(x=x, y=y, text=escape(text), class_=list(classes), text_anchor=anchor)


def _about(graph: Graph) -> str:
    return total(graph) + (", suspended" if graph.suspended else "")


def _arrow() -> svg.Marker:
    import svg

    head = svg.Path(d=[svg.MoveTo(0, 0), svg.LineTo(8, 4), svg.LineTo(0, 8), svg.ClosePath()], class_=["head"])
    return svg.Marker(
        id="head",
        markerWidth=8,
        markerHeight=8,
        refX=7,
        refY=4,
        orient="auto",
        elements=[head],
        markerUnits="userSpaceOnUse",
    )


def _gang(graph: Graph, drawing: Drawing) -> Iterator[svg.Element]:
    import svg

    frame = drawing.frame
    if graph.gang is None or frame is None:
        if graph.gangs:
            about = "; ".join(map(gang, graph.gangs))
            yield _text(drawing.width - MARGIN, MARGIN + 36, about, "gang", anchor="end")
        return
    yield svg.Rect(x=frame.x, y=frame.y, width=frame.width, height=frame.height, rx=14, class_=["frame"])
    yield _text(frame.x + FRAME, frame.y + 23, gang(graph.gang), "gang")


def _edges(drawing: Drawing) -> Iterator[svg.Element]:
    import svg

    cards = {card.step.name: card for card in drawing.cards}
    for card in drawing.cards:
        for dependency in card.step.depends_on:
            source = cards.get(dependency.step)
            if source is None:
                continue
            if source.x >= card.x:
                yield from _down(source, card, dependency.status)
                continue
            start, end = source.x + WIDTH, card.x
            bend = (end - start) // 2
            yield svg.Path(
                d=[
                    svg.MoveTo(start, source.middle),
                    svg.CubicBezier(start + bend, source.middle, end - bend, card.middle, end - 1, card.middle),
                ],
                class_=["edge"],
                marker_end="url(#head)",
            )
            x, y = (start + end) // 2, (source.middle + card.middle) // 2
            yield from _pill(x, y, dependency.status)


def _down(source: Card, card: Card, status: str) -> Iterator[svg.Element]:
    """A line to the card below, if both are in the same column."""
    import svg

    x, start, end = source.x + WIDTH // 2, source.y + source.height, card.y
    if source.x == card.x and start < end:
        yield svg.Path(d=[svg.MoveTo(x, start), svg.LineTo(x, end - 1)], class_=["edge"], marker_end="url(#head)")
        yield from _pill(x, end - 36, status)


def _pill(x: int, y: int, status: str) -> Iterator[svg.Element]:
    """The condition that a line stands for, at its middle."""
    import svg

    yield svg.Rect(x=x - 31, y=y - 10, width=62, height=20, rx=10, class_=["pill"])
    yield _text(x, y + 4, status, "status", anchor="middle")


def _card(card: Card, *, framed: bool) -> Iterator[svg.Element]:
    import svg

    step = card.step
    classes = ["card", *(["trainer"] if step.role == "trainer" else [])]
    if step.gang and not framed:
        classes.append("member")
    left, y = card.x + PADDING, card.y + PADDING
    yield svg.Rect(x=card.x, y=card.y, width=WIDTH, height=card.height, rx=9, class_=classes)
    yield _text(left, y + 13, shorten(step.name, 30), "name")
    if step.role and step.role != step.name:
        role = shorten(step.role, _ROLE_CHARACTERS)
        yield _text(card.x + WIDTH - PADDING, y + 12, role, "label", anchor="end")
    yield _text(left, y + 34, caption(card), "faint")
    y += 46
    for i in range(card.dots):
        row, column = divmod(i, DOTS_IN_ROW)
        yield svg.Rect(
            x=left + column * (DOT + DOT_GAP),
            y=y + row * (DOT + DOT_GAP),
            width=DOT,
            height=DOT,
            rx=2,
            class_=["gpu" if step.accelerators else "dot"],
        )
    y += -(-card.dots // DOTS_IN_ROW) * (DOT + DOT_GAP) + 8
    for i, (label, value) in enumerate(card.facts):
        yield _text(left, y + i * LINE + 11, label, "label")
        yield _text(left + VALUES, y + i * LINE + 11, value, "value")
