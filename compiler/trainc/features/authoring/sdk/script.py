"""Run a script with a stand-in for the cluster; needs the extra `kubeflow`."""

from __future__ import annotations

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
from trainc.api.documents import opening
from trainc.api.kube import Manifest
from trainc.api.output import dump_yaml
from trainc.api.settings import Options
from trainc.features.authoring.sdk.cluster import HOST, Cluster, place_of_call, refusal_behind, respond

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
