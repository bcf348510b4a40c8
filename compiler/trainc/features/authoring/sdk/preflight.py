"""A client of the SDK whose jobs are compiled before they are sent: what would be refused or hang never leaves here."""

from __future__ import annotations

import contextlib
import copy
import importlib
import os
import pkgutil
import runpy
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO, TypeVar
from unittest import mock

import kubeflow
from kubeflow.trainer import TrainerClient

from trainc.api.findings import CompileError
from trainc.api.jobs import functions
from trainc.api.kube import Manifest
from trainc.api.records import dataclass
from trainc.api.settings import Options
from trainc.features.authoring.sdk.backend import OfflineBackend, unwrapped_errors

Client = TypeVar("Client")
_GROUP, _VERSION = "trainer.kubeflow.org", "v1alpha1"
# What the API server adds, and no author writes.
_SERVERS_OWN = ("managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink")


class PreflightWarning(UserWarning):
    """A warning of trainc about a job that is sent all the same."""


def preflight(client: Client, options: Options = Options()) -> Client:
    """A copy of a TrainerClient whose train() compiles each TrainJob against the runtime that the cluster has, then sends it.

    train() raises CompileError, with hints, before anything is sent, where the job would be refused or could not run;
    warnings are shown as PreflightWarning. TypeError for a client without a cluster behind it.
    """
    backend = getattr(client, "backend", None)
    if not hasattr(backend, "custom_api"):
        raise TypeError("preflight needs the TrainerClient of a cluster; the backend of this one has no custom_api")
    checked, checking = copy.copy(client), copy.copy(backend)
    checking.custom_api = _Checking(backend.custom_api, options)  # type: ignore[union-attr]
    submit = checking.train  # type: ignore[union-attr]

    def train(*arguments: Any, **keywords: Any) -> Any:
        with unwrapped_errors():
            return submit(*arguments, **keywords)

    checking.train = train  # type: ignore[union-attr]
    checked.backend = checking  # type: ignore[attr-defined]
    return checked


class _Checking:
    """The cluster's API, with a look at each TrainJob on its way there."""

    def __init__(self, api: Any, options: Options) -> None:
        self._api, self._options = api, options

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def create_namespaced_custom_object(self, *arguments: Any, **keywords: Any) -> Any:
        """Compile, then create: the arguments are the group, the version, the namespace, the plural and the body."""
        *_, namespace, plural, body = arguments
        if plural == "trainjobs":
            job = copy.deepcopy(body)
            job["metadata"] = {**job["metadata"], "namespace": namespace}
            result = functions.compile_trainjob(
                job, [self._runtime(namespace, job["spec"]["runtimeRef"])], self._options
            )
            for diagnostic in result.diagnostics:
                if diagnostic.severity == "warning":
                    hint = f"; {diagnostic.hint}" if diagnostic.hint else ""
                    warnings.warn(f"{diagnostic}{hint}", PreflightWarning, stacklevel=2)
        return self._api.create_namespaced_custom_object(*arguments, **keywords)

    def _runtime(self, namespace: str, reference: Manifest) -> Manifest:
        name = reference["name"]
        if reference.get("kind", "ClusterTrainingRuntime") == "TrainingRuntime":
            runtime = self._api.get_namespaced_custom_object(_GROUP, _VERSION, namespace, "trainingruntimes", name)
        else:
            runtime = self._api.get_cluster_custom_object(_GROUP, _VERSION, "clustertrainingruntimes", name)
        metadata = {key: value for key, value in runtime["metadata"].items() if key not in _SERVERS_OWN}
        return {**{key: value for key, value in runtime.items() if key != "status"}, "metadata": metadata}


# A script that uses the SDK, run with its client replaced: every TrainerClient that it makes compiles and keeps its
# jobs.


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """What a script left: the backends of its clients in order, and its exit status."""

    backends: list[OfflineBackend]
    status: int


def run_script(
    path: str, script_arguments: Sequence[str], backend_of: Callable[[str | None], OfflineBackend], out: TextIO
) -> ScriptResult:
    """Run the script as `python PATH SCRIPT_ARGUMENTS` would. What it prints goes to `out`.

    `backend_of` makes the backend of a client, which may name a namespace. Raises CompileError for a refused job, and
    ScriptError for whatever else the script raises and does not catch.
    """
    backends: list[OfflineBackend] = []

    def replaced(client: Any, backend_config: Any = None) -> None:
        client.backend = backend_of(getattr(backend_config, "namespace", None))
        backends.append(client.backend)

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(TrainerClient, "__init__", replaced))
        for client in _other_clients():
            stack.enter_context(mock.patch.object(client, "__init__", _refuse))
        folder = os.path.dirname(os.path.abspath(path))
        stack.enter_context(mock.patch.object(sys, "argv", [path, *script_arguments]))
        stack.enter_context(mock.patch.object(sys, "path", [folder, *sys.path]))
        stack.enter_context(contextlib.redirect_stdout(out))
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as left:
            if left.code is None or isinstance(left.code, int):
                return ScriptResult(backends, int(left.code or 0))
            out.write(f"{left.code}\n")  # As Python itself takes the argument of sys.exit.
            return ScriptResult(backends, 1)
        except CompileError:
            raise
        except Exception as error:
            raise ScriptError(_script_error_message(error, path)) from error
    return ScriptResult(backends, 0)


def _other_clients() -> Iterator[type]:
    """The SDK's clients for anything but training, as far as this installation can import them."""
    for module in pkgutil.iter_modules(kubeflow.__path__):
        if module.name not in ("common", "trainer"):
            with contextlib.suppress(ImportError):
                members = vars(importlib.import_module(f"kubeflow.{module.name}")).items()
                yield from (member for name, member in members if isinstance(member, type) and name.endswith("Client"))


def _refuse(client: object, *_: object, **__: object) -> None:
    name = type(client).__name__
    instead = "; write its search as a Sweep (trainc help sweeps)" if name == "OptimizerClient" else ""
    raise RuntimeError(f"{name} would connect to a cluster, and trainc sdk replaces TrainerClient only{instead}")


class ScriptError(Exception):
    """What a script raised; the message has its place and its words."""


def _script_error_message(error: Exception, path: str) -> str:
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = path if line is None else f"{path}:{line}"
    return f"{where}: {type(error).__name__}: {error}"
