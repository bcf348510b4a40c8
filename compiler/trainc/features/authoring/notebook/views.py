"""Views of a compilation as text and HTML: summary, pictures, explanations and differences."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from trainc.api.explained import as_html
from trainc.api.jobs import Compilation, CompiledJob
from trainc.api.kube import documents, identity_of
from trainc.api.output import dump_yaml
from trainc.api.records import dataclass
from trainc.features import ask

if TYPE_CHECKING:
    from trainc.api.jobs import Session, ValidDocument

# Nobody looks at the pictures of more jobs than this.
_MOST_JOBS = 20
_BOX = "border:1px solid rgba(128,128,128,0.4);border-radius:6px;padding:8px 12px;margin:6px 0"
_SCROLL = f"{as_html.MONOSPACE};line-height:1.35;overflow:auto;max-height:480px;margin:4px 0;background:transparent"


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
    heads = list(map(_headline, compilation.jobs))
    counts = as_html.count_severities(compilation.diagnostics)
    lines = [*heads, *([counts] if counts else []), *(str(d) for d in compilation.diagnostics)]
    boxes = [
        f'<div style="{_BOX}"><b>{as_html.html_text(heads[index])}</b>'
        f"{_picture(job) if _is_drawn(job) else ''}{_folded_yaml(job)}</div>"
        for index, job in enumerate(compilation.jobs[:_MOST_JOBS])
    ]
    html = f"<div>{''.join(boxes)}{_more_jobs(compilation)}{as_html.diagnostics_html(compilation.diagnostics)}</div>"
    return View("\n".join(lines or ["no jobs"]), html)


def view_graph(compilation: Compilation) -> View:
    """The picture of each job; in text form, its tree."""
    text_of = _ask("graph", "text")
    drawn = [job for job in compilation.jobs if _is_drawn(job)]
    pictures = "".join(map(_picture, drawn[:_MOST_JOBS]))
    text = "\n".join(text_of(job.manifests) for job in drawn)
    return View(text, f"<div>{pictures}{_more_jobs(compilation)}</div>")


def view_explanation(compilation: Compilation, field: str | None, job: str | None) -> View:
    """The origins of the fields that `field` selects, as in `trainc explain`. Raises ValueError if nothing matches."""
    from trainc.api.explained import Explanation, Recorder, explanation_text, expressions

    session, chosen = _choose_job(compilation, job)
    recorder = Recorder()
    session.compile(chosen, recorder)
    selection = expressions.choose(recorder.explanation(expressions.names_of(field)), field)
    if isinstance(selection, Explanation):
        return _as_lines(explanation_text(selection))
    near = f"did you mean {' or '.join(selection.near)}?" if selection.near else "omit it to see all fields"
    reason = f"this input sets {', '.join(selection.derived[:4])}" if selection.derived else near
    raise ValueError(f"no such field: {field}; {reason}")


def _choose_job(compilation: Compilation, requested: str | None) -> tuple[Session, ValidDocument]:
    sessions: Sequence[Session] = compilation.sessions
    jobs = ((session, job) for session in sessions for job in session.jobs)
    by_name = {documents.qualified(*identity_of(job.data)): (session, job) for session, job in jobs}
    if not by_name:
        raise ValueError("this cannot be explained: it was not compiled from TrainJobs in this process")
    names = [name for name in by_name if requested in (None, name, name.rpartition("/")[2])]
    if len(names) != 1:
        reason = f"there is no job {requested}" if requested is not None and not names else "there are several jobs"
        raise ValueError(f"{reason}; choose one of {', '.join(list(by_name)[:5])}: explain(field, job=...)")
    return by_name[names[0]]


def view_diff(before: Compilation, after: Compilation) -> View:
    """The changes between two compilations and their effect on the cluster, as in `trainc diff`."""
    return _as_lines(_ask("diff", "text")(before, after))


def _as_lines(text: str) -> View:
    return View(text, f'<pre style="{_SCROLL}">{as_html.html_text(text)}</pre>')


def _ask(feature: str, point: str) -> Callable[..., str]:
    function: Callable[..., str] | None = ask(feature, point)
    if function is None:
        raise AttributeError(f"this installation of trainc has no feature {feature}")
    return function


def _is_drawn(job: CompiledJob) -> bool:
    return ask("graph", "text") is not None and _has_jobset(job)


def _has_jobset(job: CompiledJob) -> bool:
    return any(manifest["kind"] == "JobSet" for manifest in job.manifests)


def _headline(job: CompiledJob) -> str:
    name = documents.qualified(job.namespace, job.name)
    if not _has_jobset(job):
        return f"{name}: no JobSet"
    headline_of = ask("graph", "headline")
    return name if headline_of is None else f"{name}: {headline_of(job.manifests)}"


def _picture(job: CompiledJob) -> str:
    """An <img>, to isolate the styles and ids of the SVG; the tree if svg.py is not installed."""
    tree = _ask("graph", "text")(job.manifests)
    drawn = b64encode(_ask("graph", "svg")(job.manifests).encode()).decode()
    if not drawn:
        return f'<pre style="{_SCROLL}" title="pip install svg.py draws it">{as_html.html_text(tree)}</pre>'
    alt = as_html.html_text(tree).replace("\n", "&#10;")
    style = "display:block;max-width:100%;margin:6px 0"
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{drawn}" style="{style}"/>'


def _folded_yaml(job: CompiledJob) -> str:
    text = dump_yaml(job.manifests)
    kinds = ", ".join(manifest["kind"] for manifest in job.manifests)
    about = f"{kinds}: {len(text.splitlines()):,} lines of YAML"
    return f'<details><summary>{as_html.html_text(about)}</summary><pre style="{_SCROLL}">{as_html.html_text(text)}</pre></details>'


def _more_jobs(compilation: Compilation) -> str:
    more = len(compilation.jobs) - _MOST_JOBS
    return f"<p>and {more:,} more jobs</p>" if more > 0 else ""
