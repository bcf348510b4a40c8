"""A client of the SDK whose jobs are compiled before they are sent: what would be refused or hang never leaves here."""

from __future__ import annotations

import copy
import warnings
from typing import Any, TypeVar

from trainc.api.jobs import functions
from trainc.api.kube import Manifest
from trainc.api.settings import Options
from trainc.features.authoring.sdk.backend import unwrapped_errors

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
