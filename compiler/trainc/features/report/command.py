"""What `trainc report` does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import Files, Paint, kept_in, text_report
from trainc.api.documents import Document
from trainc.api.findings import CompileError, Diagnostic, counted, escape_xml, has_errors
from trainc.api.jobs import OneJob, enabled
from trainc.api.output import dump_yaml
from trainc.api.records import replace
from trainc.api.settings import Options, Settings, environment_name, environments_of, merge_diagnostics, settings_of
from trainc.explain.select_job import compile_every, explain_job
from trainc.features.graph.formats import graph_text
from trainc.features.graph.model import Graph, read_graph
from trainc.features.report.page import Job, Link, link_into, objects_of, page, row_of


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile every job under observation and write the page."""
    if arguments.source_url and not arguments.source_url.startswith(("https://", "http://")):
        raise UsageError(f"argument --source-url: {arguments.source_url!r} does not start with https://")
    link = link_into(arguments.source_url, "" if arguments.output == "-" else os.path.dirname(arguments.output))
    try:
        every = {environment_name(each): settings_of(each) for each in environments_of(arguments)}
    except CompileError as error:
        return _refused({"": error.diagnostics}, arguments, streams)
    jobs: list[Job] = []
    diagnostics: dict[str, list[Diagnostic]] = {}
    refused: dict[str, list[Diagnostic]] = {}
    for name, settings in every.items():
        try:
            inputs = settings.read(streams.stdin, step=streams.progress.step)
            keeping = kept_in(settings.output, settings, inputs.documents)
            compiled, diagnostics[name] = compile_every(inputs, settings.options, settings.policy(), keeping)
        except CompileError as error:
            refused[name] = error.diagnostics
            continue
        fit, options = _fits(compiled, inputs.documents, settings), settings.options
        shown = streams.progress.over("drawing", compiled)
        made = (_job(len(jobs) + at, one, options, fit, link) for at, one in enumerate(shown))
        jobs += [replace(job, environment=name) for job in made]
    streams.progress.clear()
    if refused:
        return _refused({name: refused.get(name, ()) for name in every}, arguments, streams)
    found = merge_diagnostics(diagnostics)
    status = _refused({"": [d for d in found if d.severity == "error" or d.code == "LeftOut"]}, arguments, streams)
    status = status if has_errors(found) else Status.DONE
    text = escape_xml(page(jobs, found, _printable(arguments.title), link))
    if arguments.output == "-":
        streams.out.write(text.encode("utf-8", "backslashreplace"))
        return status
    with open(arguments.output, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    if not arguments.quiet:
        streams.err.write(f"{arguments.output}: {counted(len(jobs), 'job')}\n")
    return status


def _refused(found: Mapping[str, Sequence[Diagnostic]], arguments: Arguments, streams: Streams) -> Status:
    paint = Paint(arguments.color, streams.err)
    streams.err.write(text_report(merge_diagnostics(found), Files(), paint, quiet=arguments.quiet))
    return Status.DIAGNOSED


def _fits(compiled: Sequence[OneJob], documents: Sequence[Document], settings: Settings) -> Mapping[str, str]:
    """Whether each job fits the cluster that trainc.yaml names; empty without one or if its snapshot is incomplete."""
    cluster = settings.configuration.cluster
    if cluster is None:
        return {}
    from trainc.features.fits.forms import fits_by_job
    from trainc.features.fits.judging import judge_jobs

    found = judge_jobs([one.compiled for one in compiled], documents, cluster, settings.options)
    return {} if found.answers is None else fits_by_job(found.answers)


def _job(number: int, one: OneJob, options: Options, fit: Mapping[str, str], link: Link) -> Job:
    explained = explain_job(one, options)
    name = f"{one.compiled.namespace}/{one.compiled.name}" if one.compiled.namespace else one.compiled.name
    graph = read_graph(one.compiled.manifests, enabled(options.plugins))
    return Job(
        anchor=f"job-{number + 1}",
        row=row_of(one.compiled.name, graph, explained.runtime.rpartition(" ")[2], one.compiled.manifests),
        explanation=explained,
        graph=graph,
        picture=_picture(graph),
        tall=_picture(graph, stacked=True),
        tree=graph_text(graph),
        objects=objects_of(explained, [dump_yaml([manifest]) for manifest in one.compiled.manifests], link),
        diagnostics=tuple(one.diagnostics),
        fit=fit.get(name, ""),
    )


def _picture(graph: Graph, *, stacked: bool = False) -> str:
    """The picture, or an empty string if the extra for it is not installed."""
    from trainc.features.graph.drawing import graph_svg

    try:
        return graph_svg(graph, stacked=stacked)
    except ModuleNotFoundError as missing:
        if missing.name != "svg":
            raise
        return ""


def _printable(title: str) -> str:
    """A title that can be encoded as UTF-8, whatever bytes the shell passed."""
    return title.encode("utf-8", "backslashreplace").decode()
