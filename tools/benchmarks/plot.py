"""Plot wall time against the number of jobs, with logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log10
from typing import Literal

import svg

from benchmarks.processes import Run

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 380, 70, 50
_COLORS = {"kustomize": "#c2410c", "trainc": "#1d4ed8"}
_LABELS = {"kustomize": "kubectl kustomize"}
_LEAST, _MOST = -2.0, 1.6  # Exponents of ten, in seconds.


def plot(processes: Mapping[int, Mapping[str, Run]]) -> str:
    """The plot as SVG."""
    elements: list[svg.Element] = [svg.Rect(width=_WIDTH, height=_HEIGHT, fill="#ffffff"), *_grid(list(processes))]
    for row, (name, color) in enumerate(_COLORS.items()):
        points = [(_x(count), _y(runs[name].wall)) for count, runs in processes.items() if name in runs]
        if points:
            elements += _line(points, color)
            elements.append(_text(_LEFT + 14, 24 + 18 * row, _LABELS.get(name, name), "start", color))
    return (
        str(
            svg.SVG(
                width=_WIDTH,
                height=_HEIGHT,
                viewBox=svg.ViewBoxSpec(0, 0, _WIDTH, _HEIGHT),
                elements=elements,
            )
        )
        + "\n"
    )


def _grid(counts: list[int]) -> Iterator[svg.Element]:
    for power in (-2, -1, 0, 1):
        yield svg.Line(x1=_LEFT, x2=_WIDTH - 20, y1=_y(10**power), y2=_y(10**power), stroke="#d4d4d8", stroke_width=1)
        yield _text(_LEFT - 8, _y(10**power) + 4, f"{10**power:g} s", "end")
    for count in counts:
        yield _text(_x(count), _HEIGHT - _BOTTOM + 20, f"{count:,}", "middle")
    yield _text((_LEFT + _WIDTH - 20) / 2, _HEIGHT - 10, "jobs", "middle")


def _line(points: list[tuple[float, float]], color: str) -> Iterator[svg.Element]:
    yield svg.Polyline(points=[svg.Point(x, y) for x, y in points], fill="none", stroke=color, stroke_width=2)
    for x, y in points:
        yield svg.Circle(cx=x, cy=y, r=3, fill=color)


def _text(x: float, y: float, text: str, anchor: Literal["start", "middle", "end"], color: str = "#3f3f46") -> svg.Text:
    return svg.Text(
        x=round(x, 1), y=round(y, 1), text=text, text_anchor=anchor, font_size=13, font_family="sans-serif", fill=color
    )


def _x(count: int) -> float:
    return round(_LEFT + 20 + (_WIDTH - _LEFT - 60) * log10(count) / 4, 1)


def _y(seconds: float) -> float:
    share = (log10(seconds) - _LEAST) / (_MOST - _LEAST)
    return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - 20), 1)
