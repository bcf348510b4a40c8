"""The HTML report: what it shows of each job, and the page itself."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files

from trainc.api.field_path import format_field
from trainc.diagnostics import Diagnostic
from trainc.explain.model import ExplainedObject, Explanation
from trainc.explain.phrases import phrase, place, whole
from trainc.graph.model import Graph, counted
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
    """One job. `picture` is an SVG document, empty where none could be drawn; `tree` says the same as text.

    `fit` is whether the cluster of trainc.yaml can admit it, in words; empty where there is none.
    """

    anchor: str
    explanation: Explanation
    graph: Graph
    picture: str
    tree: str
    objects: tuple[Object, ...]
    diagnostics: tuple[Diagnostic, ...]
    fit: str = ""

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


def page(jobs: Sequence[Job], beside: Sequence[Diagnostic], title: str) -> str:
    """One HTML document. It reads in full without JavaScript; the script adds the search.

    `beside` are findings about the input as a whole, and about runtimes.
    """
    # Imported here: no other part of a report needs a template.
    from jinja2 import Environment, StrictUndefined, select_autoescape
    from markupsafe import Markup

    environment = Environment(
        autoescape=select_autoescape(default=True), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_resource("page.html.j2"))
    return template.render(
        jobs=jobs,
        beside=beside,
        counted=counted,
        place=place,
        title=title,
        # Our own files, which hold no input.
        style=Markup(_resource("style.css")),  # noqa: S704
        script=Markup(_resource("search.js")),  # noqa: S704
        picture=_as_address,
    )


def _resource(name: str) -> str:
    return files("trainc.report").joinpath(name).read_text(encoding="utf-8")


def _as_address(svg: str) -> str:
    """A picture as a data address: scripts inside it, were there any, would not run."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
