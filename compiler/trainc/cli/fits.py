"""Say whether each job under PATH can ever be admitted by the Kueue queues and nodes in --cluster, and why not.

The cluster is a folder or file with what this one command prints:

  kubectl get clusterqueues,localqueues,cohorts,resourceflavors,topologies,nodes,namespaces,limitranges,runtimeclasses -A -o yaml > cluster/all.yaml

TrainJobs are compiled as `trainc build` would; JobSets that are there already are taken as they are. Each job is looked at alone on
the idle cluster, then all of them in order, as if none ever ended. For a job without a queue the nodes are asked, as kube-scheduler
would. It never says "yes, now": what runs in the cluster, preemption, fair sharing and admission checks are not known.

Examples:
  trainc fits jobs/ --cluster cluster/
  trainc fits --format github
  trainc fits jobs/ --cluster cluster/ --format json

Exit status: 0 every job fits; 1 a job is refused, inactive or can never be admitted, or the input or the snapshot is wrong;
2 wrong usage; 3 a defect in trainc.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

from trainc.cli.arguments import FOLDER, add_input, add_limits, add_reporting, add_shaping, completed_by
from trainc.cli.cluster import Judged, judged
from trainc.cli.command import Arguments, Status, Streams, UsageError
from trainc.cli.compiling import paint_for, read_stdin, start
from trainc.cli.report_text import Files, text_report
from trainc.cli.settings import settings_of
from trainc.diagnostics import CompileError, Diagnostic, has_errors, in_order
from trainc.diagnostics.spelled_out import unobeyed

FORMATS = ("text", "json", "github")


def add_arguments(parser: ArgumentParser) -> None:
    """Input, the cluster, and the form of the answer."""
    add_input(parser)
    help_text = "folder or file with the objects of the cluster (default: `cluster` of trainc.yaml)"
    completed_by(parser.add_argument("--cluster", metavar="DIR", help=help_text), FOLDER)
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    add_shaping(parser)
    add_limits(parser)
    add_reporting(parser)


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
    if found.answers is None:
        return _refused(found.diagnostics, compiling.files, arguments, streams)
    _print(found, arguments, streams)
    return _refused(found.diagnostics, compiling.files, arguments, streams)


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
    return Status.DIAGNOSED if has_errors(found) else Status.DONE
