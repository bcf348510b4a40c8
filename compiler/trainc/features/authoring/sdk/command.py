"""What `trainc sdk` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import report
from trainc.api.documents import files
from trainc.api.findings import CompileError, escape_report, has_errors, sort_diagnostics
from trainc.api.settings import Limits, Options

if TYPE_CHECKING:
    from trainc.features.authoring.sdk.backend import OfflineBackend

_EXTRA = ("kubeflow", "kubernetes", "kubeflow_trainer_api")


def run(arguments: Arguments, streams: Streams) -> Status:
    """Run the script, then write its jobs."""
    try:
        from trainc.features.authoring.sdk.backend import OfflineBackend
        from trainc.features.authoring.sdk.preflight import ScriptError, run_script
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _EXTRA:
            raise
        streams.err.write("trainc sdk: this needs the extra `kubeflow`; run: pip install 'kubeflow>=0.3,<0.6'\n")
        return Status.USAGE
    options = Options(release=arguments.release)
    documents, diagnostics = files.read_paths(arguments.runtimes, Limits()) if arguments.runtimes else ([], [])
    if has_errors(diagnostics):
        return report(sort_diagnostics(diagnostics), arguments, streams)
    runtimes = [
        document.data for document in documents if str(document.data.get("kind", "")).endswith("TrainingRuntime")
    ]
    try:

        def backend_of(namespace: str | None) -> OfflineBackend:
            return OfflineBackend(namespace or arguments.namespace, runtimes, options)

        ran = run_script(arguments.script, arguments.words, backend_of, streams.err)
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    except ScriptError as error:
        streams.err.write(escape_report(f"trainc sdk: {error}\n"))
        return Status.DIAGNOSED
    about_jobs = (d for backend in ran.backends for d in backend.compilation.diagnostics)
    report(sort_diagnostics(about_jobs), arguments, streams)
    if not any(backend.trainjobs for backend in ran.backends):
        streams.err.write(f"trainc sdk: {arguments.script} submits no TrainJob\n")
        return Status.DIAGNOSED
    _write(ran.backends, arguments, streams)
    return Status(min(ran.status, 1))


def _write(backends: Sequence[OfflineBackend], arguments: Arguments, streams: Streams) -> None:
    if arguments.output is None:
        text = "---\n".join(backend.to_yaml() for backend in backends if backend.trainjobs)
        streams.write(text)
        return
    try:
        paths = [path for backend in backends for path in backend.write(arguments.output)]
    except FileExistsError as error:
        raise UsageError(str(error)) from None
    if arguments.verbose:
        streams.err.write("".join(f"wrote {path}\n" for path in paths))
