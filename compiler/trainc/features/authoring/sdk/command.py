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


import contextlib
import os
import re
import runpy
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO
from unittest import mock

from kubernetes.config import kube_config
from urllib3 import PoolManager

from trainc.api.arguments import command
from trainc.api.kube import Manifest
from trainc.api.output import dump_yaml
from trainc.features.authoring.sdk.cluster import HOST, Cluster, place_of_call, refusal_behind, respond

_EXTRA = ("kubernetes", "urllib3")


def run(arguments: Arguments, streams: Streams) -> Status:
    """Run the script, then write its jobs."""
    try:
        from trainc.features.authoring.sdk.command import ScriptError, run_script
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


_NAME_BYTES = 40


class ScriptError(Exception):
    """What a script raised; the message has its place and its words."""


def run_script(  # noqa: PLR0913, PLR0917 - what the command is given
    path: str, words: Sequence[str], runtimes: Sequence[Manifest], options: Options, namespace: str, out: TextIO
) -> tuple[Cluster, int]:
    """Run the script as `python PATH WORDS` would; return what it created, and its exit status. It prints to `out`.

    Raises CompileError for a job that is refused, and ScriptError for whatever else the script does not catch.
    """
    script = os.path.abspath(path)
    stem = re.sub(r"[^a-z0-9]+", "-", os.path.splitext(os.path.basename(path))[0].lower()).strip("-")[:_NAME_BYTES]
    base = stem if stem[:1].isalpha() else f"job-{stem}".strip("-")
    cluster = Cluster(runtimes, options, base, lambda: place_of_call(lambda file, _: os.path.abspath(file) == script))
    with contextlib.ExitStack() as stack:
        kubeconfig = os.path.join(stack.enter_context(command.temporary_folder("trainc-sdk-")), "config")
        opening.write_file(kubeconfig, dump_yaml([_kubeconfig(namespace)]), new=True)
        stack.enter_context(mock.patch.dict(os.environ, {"KUBECONFIG": kubeconfig}))
        # The module has read the variable when it was imported.
        stack.enter_context(mock.patch.object(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", kubeconfig))
        stack.enter_context(mock.patch.object(PoolManager, "urlopen", _opening(cluster)))
        stack.enter_context(mock.patch.object(sys, "argv", [path, *words]))
        stack.enter_context(mock.patch.object(sys, "path", [os.path.dirname(script), *sys.path]))
        stack.enter_context(contextlib.redirect_stdout(out))
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as left:
            if left.code is None or isinstance(left.code, int):
                return cluster, int(left.code or 0)
            out.write(f"{left.code}\n")  # As Python itself takes the argument of sys.exit.
            return cluster, 1
        except Exception as error:
            if (refused := refusal_behind(error)) is not None:
                raise refused from None
            raise ScriptError(_message(error, path)) from error
    return cluster, 0


def _opening(cluster: Cluster) -> Callable[..., Any]:
    """urllib3's way to send a request, but for those to the stand-in."""
    elsewhere = PoolManager.urlopen

    def urlopen(manager: PoolManager, method: str, url: str, redirect: bool = True, **request: Any) -> Any:
        if url.startswith(HOST):
            return respond(cluster, method, url, request)
        return elsewhere(manager, method, url, redirect, **request)

    return urlopen


def _kubeconfig(namespace: str) -> Manifest:
    """The configuration of a cluster that nobody can reach, should a request take another way."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "trainc",
        "clusters": [{"name": "trainc", "cluster": {"server": HOST}}],
        "users": [{"name": "trainc", "user": {}}],
        "contexts": [{"name": "trainc", "context": {"cluster": "trainc", "user": "trainc", "namespace": namespace}}],
    }


def _message(error: Exception, path: str) -> str:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = path if line is None else f"{path}:{line}"
    return f"{where}: {type(error).__name__}: {error}"
