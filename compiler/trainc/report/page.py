"""The HTML report: its data for each job, and the page itself."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files

from trainc.api.field_path import format_field
from trainc.diagnostics import Diagnostic
from trainc.explain.model import ExplainedField, ExplainedObject, Explanation
from trainc.explain.phrases import format_value, place
from trainc.graph.model import Graph, counted, per_pod
from trainc.report.links import Link, Piece, linked
from trainc.report.rows import NOTHING, Row, device_columns, readable, totals
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Earlier:
    """A replaced value and its origin."""

    value: str
    origin: list[Piece]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: its value, a description of its latest origin, and its earlier values."""

    path: str
    value: str
    kind: str
    origin: list[Piece]
    earlier: tuple[Earlier, ...]


@dataclass(frozen=True, slots=True)
class Object:
    """An object of a job with all its fields, and as YAML."""

    kind: str
    name: str
    yaml: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One job. The pictures are SVG documents, empty if they could not be drawn; `tree` is the text version.

    `tall` is the picture for narrow screens. `fit` describes whether the cluster configured in trainc.yaml can admit
    the job, and `environment` is the one the job is compiled for; both are empty if trainc.yaml configures none.
    """

    anchor: str
    row: Row
    explanation: Explanation
    graph: Graph
    picture: str
    tall: str
    tree: str
    objects: tuple[Object, ...]
    diagnostics: tuple[Diagnostic, ...]
    fit: str = ""
    environment: str = ""

    @property
    def findings(self) -> str:
        """`1 warning, 2 infos`; empty if there are none."""
        return severities(self.diagnostics)

    @property
    def rank(self) -> int:
        """The sort key for findings: one warning counts more than any number of infos."""
        found = Counter(diagnostic.severity for diagnostic in self.diagnostics)
        return found["warning"] * 10_000 + found["info"]


def severities(found: Sequence[Diagnostic]) -> str:
    """`1 warning, 2 infos`."""
    counts = Counter(diagnostic.severity for diagnostic in found)
    return ", ".join(counted(counts[name], name) for name in ("error", "warning", "info") if counts[name])


def objects_of(explanation: Explanation, yaml: Sequence[str], link: Link) -> tuple[Object, ...]:
    """The objects of a job with descriptions of their origins; `yaml` has the text of each, in the same order."""
    found = zip(explanation.objects, yaml, strict=True)
    return tuple(Object(one.name.kind, one.name.name, text, _fields(one, link)) for one, text in found)


def _fields(found: ExplainedObject, link: Link) -> tuple[Field, ...]:
    return tuple(_field(field, link) for field in found.fields)


def _field(field: ExplainedField, link: Link) -> Field:
    earlier = tuple(Earlier(format_value(origin.value), linked(origin, link)) for origin in field.origins[1:])
    origin = linked(field.origin, link)
    return Field(format_field(field.path), format_value(field.value), field.origin.kind, origin, earlier)


def page(jobs: Sequence[Job], others: Sequence[Diagnostic], title: str, link: Link) -> str:
    """Return the HTML document. It is complete without JavaScript, which only adds sorting, filters and copying.

    `others` are findings about runtimes and about the input as a whole.
    """
    # Imported here because nothing else in a report needs a template.
    from jinja2 import Environment, StrictUndefined, select_autoescape
    from markupsafe import Markup

    environment = Environment(
        autoescape=select_autoescape(default=True), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_resource("page.html.j2"))
    return template.render(
        jobs=jobs,
        others=others,
        counted=counted,
        devices=device_columns([job.row for job in jobs]),
        link=link,
        per_pod=per_pod,
        place=place,
        readable=readable,
        severities=severities,
        sum=sum((job.row.size for job in jobs), NOTHING),
        totals=totals([job.row for job in jobs]),
        title=title,
        # These are trainc's own files and contain no input.
        style=Markup(_resource("style.css")),  # noqa: S704
        script=Markup(_resource("page.js")),  # noqa: S704
        picture=_as_address,
    )


def _resource(name: str) -> str:
    return files("trainc.report").joinpath(name).read_text(encoding="utf-8")


def _as_address(svg: str) -> str:
    """Encode a picture as a data URL, in which scripts would not run."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
