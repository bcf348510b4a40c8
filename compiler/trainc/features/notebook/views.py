"""Views of a compilation as text and HTML: summary, pictures, explanations and differences."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trainc.api.jobs import Compilation, CompiledJob
from trainc.api.output import dump_yaml
from trainc.api.records import dataclass
from trainc.features.graph.formats import graph_text
from trainc.features.graph.model import Graph, read_graph, summary, total
from trainc.findings.as_html import MONOSPACE, count_severities, diagnostics_html, html_text

if TYPE_CHECKING:
    from trainc.api.jobs import Session, ValidDocument

# Nobody looks at the pictures of more jobs than this.
_MOST_JOBS = 20
_BOX = "border:1px solid rgba(128,128,128,0.4);border-radius:6px;padding:8px 12px;margin:6px 0"
_SCROLL = f"{MONOSPACE};line-height:1.35;overflow:auto;max-height:480px;margin:4px 0;background:transparent"


@dataclass(frozen=True, slots=True)
class View:
    """A view: `print` shows the text, a notebook shows the HTML."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def view_compilation(compilation: Compilation) -> View:
    """The size, picture, diagnostics and YAML of the jobs, limited to the first twenty."""
    found, shown = list(_graphs(compilation)), compilation.jobs[:_MOST_JOBS]
    graphs = dict(found)
    heads = [_headline(job, graphs.get(index)) for index, job in enumerate(compilation.jobs)]
    counts = count_severities(compilation.diagnostics)
    lines = [*heads, *([counts] if counts else []), *(str(d) for d in compilation.diagnostics)]
    boxes = [
        f'<div style="{_BOX}"><b>{html_text(heads[index])}</b>'
        f"{_picture(graphs[index]) if index in graphs else ''}{_folded_yaml(job)}</div>"
        for index, job in enumerate(shown)
    ]
    html = f"<div>{''.join(boxes)}{_others(compilation)}{diagnostics_html(compilation.diagnostics)}</div>"
    return View("\n".join(lines or ["no jobs"]), html)


def view_graph(compilation: Compilation) -> View:
    """The picture of each job; in text form, its tree."""
    graphs = [graph for _, graph in _graphs(compilation)]
    pictures = "".join(_picture(graph) for graph in graphs[:_MOST_JOBS])
    return View("\n".join(map(graph_text, graphs)), f"<div>{pictures}{_others(compilation)}</div>")


def view_explanation(compilation: Compilation, field: str | None, job: str | None) -> View:
    """The origins of the fields that `field` selects, as in `trainc explain`. Raises ValueError if nothing matches."""
    from trainc.api.explained import NoMatch, QueryError, Recorder, choose, explanation
    from trainc.explain.text import explanation_text

    session, chosen = _choose_job(compilation, job)
    recorder = Recorder()
    session.compile(chosen, recorder)
    try:
        found = choose(explanation(recorder), field)
    except QueryError as error:
        raise ValueError(str(error)) from None
    if not isinstance(found, NoMatch):
        return _as_lines(explanation_text(found))
    near = f"did you mean {' or '.join(found.near)}?" if found.near else "omit it to see all fields"
    made = f"this input sets {', '.join(found.made[:4])}" if found.made else near
    raise ValueError(f"no such field: {field}; {made}")


def _choose_job(compilation: Compilation, wanted: str | None) -> tuple[Session, ValidDocument]:
    sessions: Sequence[Session] = compilation.sessions
    known = {_name(job): (session, job) for session in sessions for job in session.jobs}
    if not known:
        raise ValueError("this cannot be explained: it was not compiled from TrainJobs in this process")
    names = [name for name in known if wanted in (None, name, name.rpartition("/")[2])]
    if len(names) != 1:
        reason = f"there is no job {wanted}" if wanted is not None and not names else "there are several jobs"
        raise ValueError(f"{reason}; choose one of {', '.join(list(known)[:5])}: explain(field, job=...)")
    return known[names[0]]


def _name(job: ValidDocument) -> str:
    metadata = job.data["metadata"]
    return "/".join(filter(None, (metadata.get("namespace", ""), metadata["name"])))


def view_diff(before: Compilation, after: Compilation) -> View:
    """The changes between two compilations and their effect on the cluster, as in `trainc diff`."""
    from trainc.api.kube import NEWEST_RELEASE
    from trainc.api.settings import Options
    from trainc.features.diff.comparison import compare
    from trainc.features.diff.delivery import chosen_method
    from trainc.features.diff.model import Side
    from trainc.features.diff.sides import names_of
    from trainc.features.diff.text import diff_text
    from trainc.features.diff.verdicts import JobSetRules

    sessions: Sequence[Session] = after.sessions or before.sessions
    options = sessions[0].options if sessions else Options()
    release = options.release or NEWEST_RELEASE
    left = Side("before", before.manifests, names_of(before.jobs))
    right = Side("after", after.manifests, names_of(after.jobs))
    found = compare(left, right, JobSetRules(release), [chosen_method(options)], release)
    return _as_lines(diff_text(found, lambda _, text: text))


def _as_lines(text: str) -> View:
    return View(text, f'<pre style="{_SCROLL}">{html_text(text)}</pre>')


def _graphs(compilation: Compilation) -> Iterator[tuple[int, Graph]]:
    for index, job in enumerate(compilation.jobs):
        if any(manifest["kind"] == "JobSet" for manifest in job.manifests):
            yield index, read_graph(job.manifests)


def _headline(job: CompiledJob, graph: Graph | None) -> str:
    name = "/".join(filter(None, (job.namespace, job.name)))
    if graph is None:
        return f"{name}: no JobSet"
    return f"{name}: {summary(graph.steps) or total(graph)}"


def _picture(graph: Graph) -> str:
    """An <img>, to isolate the styles and ids of the SVG; the tree if svg.py is not installed."""
    tree = graph_text(graph)
    try:
        from trainc.features.graph.drawing import graph_svg

        drawn = b64encode(graph_svg(graph).encode()).decode()
    except ModuleNotFoundError as missing:
        if missing.name != "svg":
            raise
        return f'<pre style="{_SCROLL}" title="pip install trainc[graph] draws it">{html_text(tree)}</pre>'
    alt = html_text(tree).replace("\n", "&#10;")
    return (
        f'<img alt="{alt}" src="data:image/svg+xml;base64,{drawn}" style="display:block;max-width:100%;margin:6px 0"/>'
    )


def _folded_yaml(job: CompiledJob) -> str:
    text = dump_yaml(job.manifests)
    kinds = ", ".join(manifest["kind"] for manifest in job.manifests)
    about = f"{kinds}: {len(text.splitlines()):,} lines of YAML"
    return f'<details><summary>{html_text(about)}</summary><pre style="{_SCROLL}">{html_text(text)}</pre></details>'


def _others(compilation: Compilation) -> str:
    more = len(compilation.jobs) - _MOST_JOBS
    return f"<p>and {more:,} more jobs</p>" if more > 0 else ""
