"""The layout of the drawing: a card for each step, a column for each layer, a frame around the gang.

All lengths are in pixels. Text widths are estimated, since no font metrics are available, and long text is shortened.
"""

from __future__ import annotations

from trainc.graph.model import Graph, Step, cpu_and_memory, devices, layers, size
from trainc.startup.records import dataclass

WIDTH = 376
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
VALUES = 66
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


def place(graph: Graph, *, stacked: bool = False) -> Drawing:
    """Lay out one column per layer, centered on the tallest; or a single column if `stacked`."""
    columns = [[_card(step) for step in layer] for layer in layers(graph)]
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
            placed.append(_at(card, MARGIN + (FRAME if framed else 0) + i * (WIDTH + GAP), y))
            y += card.height + space
    frame = _frame(placed) if framed else None
    width = max((card.x + WIDTH for card in placed), default=WIDTH) + MARGIN + (FRAME if framed else 0)
    return Drawing(width, top + tallest + MARGIN + (FRAME if framed else 0), tuple(placed), frame)


def _card(step: Step) -> Card:
    dots, each = _dots(step.all_pods)
    facts = tuple((label, _fitting(label, value)) for label, value in _facts(step))
    rows = -(-dots // DOTS_IN_ROW)
    body = rows * (DOT + DOT_GAP) + 8 + len(facts) * LINE
    return Card(step, 0, 0, PADDING + 46 + body + PADDING - 4, dots, each, facts)


def _at(card: Card, x: int, y: int) -> Card:
    return Card(card.step, x, y, card.height, card.dots, card.pods_per_dot, card.facts)


def _dots(pods: int) -> tuple[int, int]:
    """The number of dots, and the pods that each represents: 1, 2, 5, 10, 20 and so on."""
    each, step = 1, 0
    while -(-pods // each) > DOTS_IN_ROW * _ROWS:
        each = (1, 2, 5)[step % 3] * 10 ** (step // 3)
        step += 1
    return -(-pods // each), each


def _facts(step: Step) -> list[tuple[str, str]]:
    facts = [("image", step.image.rpartition("/")[2])] if step.image else []
    requested = [*filter(None, (devices(step), cpu_and_memory(step)))]
    facts += [("" if i else "per pod", amounts) for i, amounts in enumerate(requested)]
    if step.hosts:
        facts.append(("hosts", step.hosts))
    facts += [("rendezvous", meeting.address) for meeting in step.rendezvous]
    facts += [("" if i else "volumes", f"{v.name} · {v.source}") for i, v in enumerate(step.volumes[:4])]
    if len(step.volumes) > 4:
        facts.append(("", f"and {len(step.volumes) - 4} more"))
    return facts


def _fitting(label: str, value: str) -> str:
    """A value shortened to fit. An address keeps its host and port at the expense of its domain."""
    if len(value) > _VALUE_CHARACTERS and label in ("hosts", "rendezvous") and "." in value:
        host, _, domain = value.partition(".")
        port = f":{domain.rpartition(':')[2]}" if ":" in domain else ""
        return f"{shorten(host, _VALUE_CHARACTERS - 2 - len(port))}.…{port}"
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


def caption(card: Card) -> str:
    """The line below the step's name."""
    text = size(card.step)
    return f"{text}   (■ = {card.pods_per_dot:,} pods)" if card.pods_per_dot > 1 else text
