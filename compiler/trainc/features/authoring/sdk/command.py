"""What `trainc sdk` does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import report
from trainc.api.documents import files, opening
from trainc.api.findings import CompileError, escape_report, has_errors, sort_diagnostics
from trainc.api.settings import Limits, Options

if TYPE_CHECKING:
    from trainc.features.authoring.sdk.cluster import Cluster

_EXTRA = ("kubernetes", "urllib3")


def run(arguments: Arguments, streams: Streams) -> Status:
    """Run the script, then write its jobs."""
    try:
        from trainc.features.authoring.sdk.script import ScriptError, run_script
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _EXTRA:
            raise
        streams.err.write(
            "trainc sdk: this needs the Kubernetes client, which the extra `kubeflow` brings; "
            "run: pip install 'kubeflow>=0.3,<0.6'\n"
        )
        return Status.USAGE
    documents, diagnostics = files.read_paths(arguments.runtimes, Limits()) if arguments.runtimes else ([], [])
    if has_errors(diagnostics):
        return report(sort_diagnostics(diagnostics), arguments, streams)
    runtimes = [
        document.data for document in documents if str(document.data.get("kind", "")).endswith("TrainingRuntime")
    ]
    options = Options(release=arguments.release)
    try:
        cluster, status = run_script(
            arguments.script, arguments.words, runtimes, options, arguments.namespace, streams.err
        )
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    except ScriptError as error:
        streams.err.write(escape_report(f"trainc sdk: {error}\n"))
        return Status.DIAGNOSED
    report(sort_diagnostics(cluster.compilation.diagnostics), arguments, streams)
    if not cluster.jobs:
        streams.err.write(f"trainc sdk: {arguments.script} submits no TrainJob or JobSet\n")
        return Status.DIAGNOSED
    if cluster.others and not arguments.quiet:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(cluster.others).items()))
        streams.err.write(f"trainc sdk: the script also creates other objects, which are not written: {counts}\n")
    _write(cluster, arguments, streams)
    return Status(min(status, 1))


def _write(cluster: Cluster, arguments: Arguments, streams: Streams) -> None:
    from trainc.features.authoring.sdk.cluster import write

    if arguments.output is None:
        streams.write("---\n".join(job.text for job in cluster.jobs))
        return
    try:
        paths = write(cluster.jobs, arguments.output, opening.write_file)
    except FileExistsError as error:
        raise UsageError(str(error)) from None
    if arguments.verbose:
        streams.err.write("".join(f"wrote {path}\n" for path in paths))
