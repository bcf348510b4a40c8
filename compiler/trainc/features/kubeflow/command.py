"""What `trainc sdk` does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import report
from trainc.api.findings import CompileError, Diagnostic, escape_report, sort_diagnostics
from trainc.api.settings import Limits, Options

if TYPE_CHECKING:
    from trainc.api.kube import Manifest
    from trainc.features.kubeflow.preflight import ScriptResult

_EXTRA = ("kubeflow", "kubernetes", "kubeflow_trainer_api")


def run(arguments: Arguments, streams: Streams) -> Status:
    """Run the script, then write its jobs."""
    try:
        from trainc.features.kubeflow.backend import OfflineBackend
        from trainc.features.kubeflow.preflight import ScriptError, run_script
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _EXTRA:
            raise
        streams.err.write("trainc sdk: this needs the extra `kubeflow`; run: pip install 'kubeflow>=0.3,<0.6'\n")
        return Status.USAGE
    options = Options(release=arguments.release)
    try:
        runtimes = _runtimes(arguments.runtimes)

        def backend_of(namespace: str | None) -> OfflineBackend:
            return OfflineBackend(namespace or arguments.namespace, runtimes, options)

        ran = run_script(arguments.script, arguments.words, backend_of, streams.err)
    except CompileError as error:
        return _refused(error.diagnostics, arguments, streams)
    except ScriptError as error:
        streams.err.write(escape_report(f"trainc sdk: {error}\n"))
        return Status.DIAGNOSED
    _report((d for backend in ran.backends for d in backend.compilation.diagnostics), arguments, streams)
    if not ran.trainjobs:
        streams.err.write(f"trainc sdk: {arguments.script} submits no TrainJob\n")
        return Status.DIAGNOSED
    return _written(ran, arguments, streams)


def _runtimes(folders: list[str]) -> list[Manifest]:
    """Every runtime in the folders. Raises CompileError for files that cannot be read."""
    from trainc.api.documents import read_paths

    documents, diagnostics = read_paths(folders, Limits()) if folders else ([], [])
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        raise CompileError(diagnostics)
    return [document.data for document in documents if str(document.data.get("kind", "")).endswith("TrainingRuntime")]


def _written(ran: ScriptResult, arguments: Arguments, streams: Streams) -> Status:
    if arguments.output is None:
        text = "---\n".join(backend.to_yaml() for backend in ran.backends if backend.trainjobs)
        streams.out.write(text.encode("utf-8", "backslashreplace"))
    else:
        try:
            paths = [path for backend in ran.backends for path in backend.write(arguments.output)]
        except FileExistsError as error:
            raise UsageError(str(error)) from None
        if arguments.verbose:
            streams.err.write("".join(f"wrote {path}\n" for path in paths))
    return Status(min(ran.status, 1))


def _refused(diagnostics: Iterable[Diagnostic], arguments: Arguments, streams: Streams) -> Status:
    _report(diagnostics, arguments, streams)
    return Status.DIAGNOSED


def _report(diagnostics: Iterable[Diagnostic], arguments: Arguments, streams: Streams) -> None:
    report(sort_diagnostics(list(dict.fromkeys(diagnostics))), arguments, streams)
