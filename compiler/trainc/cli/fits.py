"""Check whether Kueue's queues and the cluster's nodes can ever admit each job.

Each job is tried alone on the idle cluster, then all jobs together, in order.
Jobs without a queue are matched against the nodes, as kube-scheduler does. The
answer is never "yes, now": running workloads, preemption, fair sharing and
admission checks are unknown. --cluster holds the output of

  kubectl get clusterqueues,localqueues,cohorts,resourceflavors,topologies,nodes,namespaces,limitranges,runtimeclasses -A -o yaml > cluster/all.yaml

Examples:
  trainc fits jobs/ --cluster cluster/
  trainc fits --format github

Exit code: 0 every job fits, 1 a job can never be admitted, or the input is wrong.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

from trainc.cli.arguments import FOLDER, add_input, add_limits, add_reporting, add_shaping, add_strict, completed_by
from trainc.cli.cluster import Judged, judged
from trainc.cli.command import Arguments, Status, Streams, UsageError
from trainc.cli.compiling import fails, paint_for, read_stdin, start
from trainc.cli.report_text import Files, text_report
from trainc.cli.settings import settings_of
from trainc.diagnostics import CompileError, Diagnostic, has_errors, in_order
from trainc.diagnostics.spelled_out import unobeyed

FORMATS = ("text", "json", "github")


def add_arguments(parser: ArgumentParser) -> None:
    """Input, the cluster, and the form of the answer."""
    add_input(parser)
    help_text = "file or folder with the cluster's objects (default: `cluster` in trainc.yaml)"
    completed_by(parser.add_argument("--cluster", metavar="DIR", help=help_text), FOLDER)
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    add_shaping(parser)
    add_limits(parser)
    add_reporting(parser)
    add_strict(parser)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile, ask, and print the answers; what is wrong goes to stderr."""
    try:
        settings = settings_of(arguments)
    except CompileError as error:
        return _refused(error.diagnostics, Files(), arguments, streams)
    cluster = arguments.cluster or settings.configuration.cluster
    if cluster is None:
        raise UsageError("--cluster DIR is missing, and trainc.yaml has no `cluster:`")
    compiling = start(settings, read_stdin(settings, streams))
    manifests = [manifest for job in compiling.jobs() for manifest in job.manifests]
    if has_errors(compiling.diagnostics):
        return _refused(compiling.diagnostics, compiling.files, arguments, streams)
    found = judged(manifests, compiling.inputs.documents, cluster, settings.options)
    diagnostics = compiling.session.rules(found.diagnostics, found.answers is None)
    if found.answers is not None:
        _print(found, arguments, streams)
    return _refused(diagnostics, compiling.files, arguments, streams)


def _print(found: Judged, arguments: Arguments, streams: Streams) -> None:
    from trainc.fits.forms import fits_json, fits_text

    assert found.answers is not None
    if arguments.format == "text":
        streams.out.write(unobeyed(fits_text(found.answers)).encode("utf-8", "backslashreplace"))
    elif arguments.format == "json":
        import json

        streams.out.write((json.dumps(fits_json(found.answers), indent=2) + "\n").encode())


def _refused(diagnostics: Sequence[Diagnostic], files: Files, arguments: Arguments, streams: Streams) -> Status:
    """Show what there is to say; the status is that of its errors."""
    found = in_order(diagnostics)
    if arguments.format == "github":
        from trainc.cli.report_formats import github_report

        streams.out.write(github_report(found).encode("utf-8", "backslashreplace"))
    else:
        streams.err.write(text_report(found, files, paint_for(arguments, streams), quiet=arguments.quiet))
    return Status.DIAGNOSED if fails(found, arguments) else Status.DONE
