"""The page as HTML: data into the template, style and script put inside, nothing fetched from anywhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files

from trainc.diagnostics import Diagnostic
from trainc.explain.phrases import place
from trainc.graph.words import counted
from trainc.report.model import Job


def page(jobs: Sequence[Job], beside: Sequence[Diagnostic], title: str) -> str:
    """One HTML document. It reads in full without JavaScript; the script adds the search.

    `beside` is what there is to say of the input as a whole, and of runtimes.
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
