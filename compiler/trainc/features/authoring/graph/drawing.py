"""Draw the graph as an SVG that follows the reader's light or dark theme.

Importing this raises ModuleNotFoundError if svg.py (extra `graph`) is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import Literal

import svg

from trainc.api.findings import escape_xml
from trainc.api.jobs import Dependency
from trainc.api.records import dataclass, replace
from trainc.features.authoring.graph.model import Graph, Step, gang, layers, size, total

# The layout of the drawing: a card for each step, a column for each layer, a frame around the gang.
#
# All lengths are in pixels. Text widths are estimated, since no font metrics are available, and long text is
# shortened.


WIDTH = 396
MARGIN = 28
HEADER = 58
GAP = 112
SPACE = 34
STACKED_SPACE = 72
PADDING = 16
FRAME = 16
FRAME_TITLE = 20
LINE = 18
DOT = 9
DOT_GAP = 3
DOTS_IN_ROW = 28
_ROWS = 2
# The left edge of the values, to the right of the longest label.
VALUES = 80
_VALUE_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Card:
    """The position of a step. Each of `dots` stands for `pods_per_dot` pods; `facts` are (label, value) lines."""

    step: Step
    x: int
    y: int
    height: int
    dots: int
    pods_per_dot: int
    facts: tuple[tuple[str, str], ...]

    @property
    def middle(self) -> int:
        """The vertical center, where connecting lines attach."""
        return self.y + self.height // 2


@dataclass(frozen=True, slots=True)
class Frame:
    """The rectangle around the gang."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """The layout of the whole picture. `frame` is None if no rectangle contains exactly the members of the gang."""

    width: int
    height: int
    cards: tuple[Card, ...]
    frame: Frame | None


def lay_out(graph: Graph, *, stacked: bool = False) -> Drawing:
    """Lay out one column per layer, centered on the tallest; or a single column if `stacked`."""
    graph = _joined(graph)
    columns = [[_card_of(step) for step in layer] for layer in layers(graph)]
    if stacked:
        columns = [[card for column in columns for card in column]]
    space = STACKED_SPACE if stacked else SPACE
    heights = [sum(card.height + space for card in column) - space for column in columns]
    framed = graph.gang is not None and any(step.gang for step in graph.steps)
    top = MARGIN + HEADER + (FRAME + FRAME_TITLE if framed else 0)
    tallest = max(heights, default=0)
    placed: list[Card] = []
    for i, (column, height) in enumerate(zip(columns, heights, strict=True)):
        y = top + (tallest - height) // 2
        for card in column:
            placed.append(replace(card, x=MARGIN + (FRAME if framed else 0) + i * (WIDTH + GAP), y=y))
            y += card.height + space
    frame = _frame(placed) if framed else None
    width = max((card.x + WIDTH for card in placed), default=WIDTH) + MARGIN + (FRAME if framed else 0)
    return Drawing(width, top + tallest + MARGIN + (FRAME if framed else 0), tuple(placed), frame)


def _joined(graph: Graph) -> Graph:
    """The graph with lines from an MPI launcher to the steps on which it starts processes, where none waits."""
    launcher = next((s for s in graph.steps if any(r.source.startswith("hostfile") for r in s.rendezvous)), None)
    if launcher is None or any(dependency.status == "Ready" for dependency in launcher.depends_on):
        return graph
    waits = {step.name for step in graph.steps if any(d.step == launcher.name for d in step.depends_on)}
    apart = {launcher.name, *waits, *(d.step for d in launcher.depends_on)}
    return replace(
        graph,
        steps=tuple(
            step
            if step.name in apart or step.job.ancestor.endswith("initializer")
            else replace(step, depends_on=(*step.depends_on, Dependency(launcher.name, launcher.runs or "MPI")))
            for step in graph.steps
        ),
    )


def _card_of(step: Step) -> Card:
    per_dot, power = 1, 0  # The pods of a dot: 1, 2, 5, 10, 20 and so on.
    while (dots := -(-step.job.pods // per_dot)) > DOTS_IN_ROW * _ROWS:
        per_dot = (1, 2, 5)[power % 3] * 10 ** (power // 3)
        power += 1
    facts = tuple((label, _fitting(label, value)) for label, value in _facts(step))
    rows = -(-dots // DOTS_IN_ROW)
    body = rows * (DOT + DOT_GAP) + 8 + len(facts) * LINE
    return Card(step, 0, 0, PADDING + 46 + body + PADDING - 4, dots, per_dot, facts)


def _facts(step: Step) -> list[tuple[str, str]]:
    facts = [("image", step.job.image.rpartition("/")[2])] if step.job.image else []
    requested = [", ".join(texts) for texts in step.job.request_texts() if texts]
    facts += [("" if i else "per pod", amounts) for i, amounts in enumerate(requested)]
    if step.hosts:
        facts.append(("hosts", step.hosts))
    facts += [("rendezvous", meeting.address) for meeting in step.rendezvous]
    facts += [("" if i else "volumes", f"{v.name} · {v.source}") for i, v in enumerate(step.volumes[:4])]
    if len(step.volumes) > 4:
        facts.append(("", f"and {len(step.volumes) - 4} more"))
    return facts


def _fitting(label: str, value: str) -> str:
    """A value shortened to fit. An address keeps its host and port, not its domain; digests and volumes their start."""
    if len(value) > _VALUE_CHARACTERS and label in ("hosts", "rendezvous") and "." in value:
        host, _, domain = value.partition(".")
        port = f":{domain.rpartition(':')[2]}" if ":" in domain else ""
        return f"{shorten(host, _VALUE_CHARACTERS - 2 - len(port))}.…{port}"
    if len(value) > _VALUE_CHARACTERS and ((label == "image" and "@" in value) or label in ("volumes", "")):
        return value[: _VALUE_CHARACTERS - 1] + "…"
    return shorten(value, _VALUE_CHARACTERS)


def _frame(cards: list[Card]) -> Frame | None:
    members = [card for card in cards if card.step.gang]
    left, right = min(c.x for c in members), max(c.x for c in members) + WIDTH
    top, bottom = min(c.y for c in members), max(c.y + c.height for c in members)
    for card in cards:
        is_clear = card.x + WIDTH < left or card.x > right or card.y + card.height < top or card.y > bottom
        if not card.step.gang and not is_clear:
            return None
    return Frame(
        left - FRAME, top - FRAME - FRAME_TITLE, right - left + 2 * FRAME, bottom - top + 2 * FRAME + FRAME_TITLE
    )


def shorten(text: str, characters: int) -> str:
    """Shorten text by cutting out the middle."""
    if len(text) <= characters:
        return text
    tail = (characters - 1) // 2
    return f"{text[: characters - 1 - tail]}…{text[len(text) - tail :]}"


_STYLE = "\n" + files(__package__).joinpath("style.css").read_text("utf-8")
_ROLE_CHARACTERS = 20


def graph_svg(graph: Graph, *, stacked: bool = False) -> str:
    """Return the picture as one SVG document, `stacked` for narrow screens."""
    drawing = lay_out(graph, stacked=stacked)
    title = f"JobSet {'/'.join(filter(None, (graph.namespace, graph.name)))}"
    head = svg.Path(d=[svg.MoveTo(0, 0), svg.LineTo(8, 4), svg.LineTo(0, 8), svg.ClosePath()], class_=["head"])
    arrow = svg.Marker(id="head", refX=7, refY=4, orient="auto", elements=[head], markerUnits="userSpaceOnUse")
    arrow.markerWidth = arrow.markerHeight = 8
    picture = svg.SVG(
        width=drawing.width,
        height=drawing.height,
        viewBox=svg.ViewBoxSpec(0, 0, drawing.width, drawing.height),
        elements=[
            svg.Title(elements=[], text=escape(title)),
            svg.Style(text=_STYLE),
            svg.Defs(elements=[arrow]),
            svg.Rect(x=0, y=0, width=drawing.width, height=drawing.height, rx=10, class_=["page"]),
            _text(MARGIN, MARGIN + 14, shorten(title, (drawing.width - 2 * MARGIN) // 11), "title"),
            _text(MARGIN, MARGIN + 36, total(graph), "faint"),
            *_gang(graph, drawing),
            *_edges(drawing),
            *(element for card in drawing.cards for element in _card(card, framed=drawing.frame is not None)),
        ],
    )
    return escape_xml(str(picture).replace("><", ">\n<")) + "\n"


def _text(x: int, y: int, text: str, *classes: str, anchor: Literal["start", "middle", "end"] = "start") -> svg.Text:
    """A line of text. svg.py does not escape text, so it is escaped here."""
    return svg.Text(x=x, y=y, text=escape(text), class_=list(classes), text_anchor=anchor)


def _gang(graph: Graph, drawing: Drawing) -> Iterator[svg.Element]:
    frame = drawing.frame
    if graph.gang is None or frame is None:
        if graph.gangs:
            about = "; ".join(map(gang, graph.gangs))
            yield _text(drawing.width - MARGIN, MARGIN + 36, about, "gang", anchor="end")
        return
    yield svg.Rect(x=frame.x, y=frame.y, width=frame.width, height=frame.height, rx=14, class_=["frame"])
    yield _text(frame.x + FRAME, frame.y + 23, gang(graph.gang), "gang")


def _edges(drawing: Drawing) -> Iterator[svg.Element]:
    cards = {card.step.name: card for card in drawing.cards}
    for card, dependency in ((other, d) for other in drawing.cards for d in other.step.depends_on):
        source = cards.get(dependency.step)
        if source is None:
            continue
        if source.x < card.x:
            start, end = source.x + WIDTH, card.x
            bend = (end - start) // 2
            curve = svg.CubicBezier(start + bend, source.middle, end - bend, card.middle, end - 1, card.middle)
            line: list[svg.PathData] = [svg.MoveTo(start, source.middle), curve]
            x, y = (start + end) // 2, (source.middle + card.middle) // 2
        elif any(source.y < other.y < card.y and other.x == card.x for other in drawing.cards):
            x = card.x - MARGIN // 2  # beside the cards between them
            corners = [svg.LineTo(x, source.middle), svg.LineTo(x, card.middle)]
            line = [svg.MoveTo(source.x, source.middle), *corners, svg.LineTo(card.x - 1, card.middle)]
            x, y = card.x + 36, card.y - 36
        elif source.x == card.x and source.y + source.height < card.y:
            x, y = source.x + WIDTH // 2, card.y - 36
            line = [svg.MoveTo(x, source.y + source.height), svg.LineTo(x, card.y - 1)]
        else:
            continue
        yield svg.Path(d=line, class_=["edge"], marker_end="url(#head)")
        yield svg.Rect(x=x - 31, y=y - 10, width=62, height=20, rx=10, class_=["pill"])
        yield _text(x, y + 4, shorten(dependency.status, 9), "status", anchor="middle")


def _card(card: Card, *, framed: bool) -> Iterator[svg.Element]:
    step = card.step
    classes = ["card", *(["trainer"] if step.job.ancestor == "trainer" else [])]
    if step.gang and not framed:
        classes.append("member")
    left, y = card.x + PADDING, card.y + PADDING
    yield svg.Rect(x=card.x, y=card.y, width=WIDTH, height=card.height, rx=9, class_=classes)
    yield _text(left, y + 13, shorten(step.name, 30), "name")
    if step.job.ancestor and step.job.ancestor != step.name:
        role = shorten(step.job.ancestor, _ROLE_CHARACTERS)
        yield _text(card.x + WIDTH - PADDING, y + 12, role, "label", anchor="end")
    legend = f"   (■ = {card.pods_per_dot:,} pods)" if card.pods_per_dot > 1 else ""
    yield _text(left, y + 34, size(step) + legend, "faint")
    y += 46
    for i in range(card.dots):
        row, column = divmod(i, DOTS_IN_ROW)
        at_x, at_y = left + column * (DOT + DOT_GAP), y + row * (DOT + DOT_GAP)
        kind = "gpu" if step.accelerators else "dot"
        yield svg.Rect(x=at_x, y=at_y, width=DOT, height=DOT, rx=2, class_=[kind])
    y += -(-card.dots // DOTS_IN_ROW) * (DOT + DOT_GAP) + 8
    for i, (label, value) in enumerate(card.facts):
        yield _text(left, y + i * LINE + 11, label, "label")
        yield _text(left + VALUES, y + i * LINE + 11, value, "value")
