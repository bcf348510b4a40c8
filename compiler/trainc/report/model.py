"""What the page shows of each job."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.field_path import format_field
from trainc.diagnostics import Diagnostic
from trainc.explain.model import ExplainedObject, Explanation
from trainc.explain.phrases import phrase
from trainc.explain.values import whole
from trainc.graph.model import Graph
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: its value, who set it last in words, and who had set it before."""

    path: str
    value: str
    origin: str
    kind: str
    earlier: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Object:
    """An object of a job with all its fields."""

    kind: str
    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `picture` is an SVG document, empty where none could be drawn; `tree` says the same as text."""

    anchor: str
    explanation: Explanation
    graph: Graph
    picture: str
    tree: str
    objects: tuple[Object, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def pods(self) -> int:
        """Pods of all steps."""
        return sum(step.all_pods for step in self.graph.steps)

    @property
    def gpus(self) -> int:
        """Devices of all pods, of whichever kind."""
        return sum(step.all_pods * step.gpus_per_pod for step in self.graph.steps)

    @property
    def warnings(self) -> int:
        """How many warnings there are."""
        return sum(diagnostic.severity == "warning" for diagnostic in self.diagnostics)


def objects_of(explanation: Explanation) -> tuple[Object, ...]:
    """The objects of a job, their origins in words."""
    return tuple(Object(found.name.kind, found.name.name, tuple(_fields(found))) for found in explanation.objects)


def _fields(found: ExplainedObject) -> Sequence[Field]:
    return [
        Field(
            format_field(field.path),
            whole(field.value),
            phrase(field.origin),
            field.origin.kind,
            tuple(f"{whole(origin.value)} by {phrase(origin)}" for origin in field.origins[1:]),
        )
        for field in found.fields
    ]
