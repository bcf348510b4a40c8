"""The SDK's own Kubernetes backend over the stand-in for a cluster: unmodified SDK code gives TrainJobs, compiled."""

from __future__ import annotations

import copy
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from kubeflow.trainer import TrainerClient
from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend
from kubernetes.client import ApiClient, Configuration, CoreV1Api, CustomObjectsApi

from trainc.api.documents import opening
from trainc.api.jobs import Compilation, functions
from trainc.api.kube import Manifest
from trainc.api.settings import Options
from trainc.features.authoring.sdk.cluster import HOST, Cluster, Pool, place_of_call, refusal_behind, write

_ON_THE_WAY = ("trainc", "kubeflow", "kubernetes", "urllib3", "pydantic")
_NAME_BYTES = 40


def offline_client(
    namespace: str = "default", runtimes: Sequence[Manifest] = (), options: Options = Options()
) -> TrainerClient:
    """Return a TrainerClient whose train() compiles instead of submitting; its `backend` is an OfflineBackend.

    `runtimes` are documents; others come from the catalog of the release that `options` names. train() raises
    CompileError, with hints, for jobs that the cluster would refuse or that cannot run.
    """
    # The constructor accepts the configurations of three backends, but no backend.
    client = TrainerClient.__new__(TrainerClient)
    client.backend = OfflineBackend(namespace, runtimes, options)
    return client


class OfflineBackend(KubernetesBackend):
    """A TrainerClient backend that needs neither a cluster nor a kubeconfig.

    A job without a `Name` option is named after its function and its content, so that a script always produces the same
    names. To code that waits for them, jobs are complete immediately; they have no logs.
    """

    def __init__(
        self, namespace: str = "default", runtimes: Sequence[Manifest] = (), options: Options = Options()
    ) -> None:
        self.namespace = namespace
        self.cluster = Cluster(runtimes, options, "job", _caller)
        client = ApiClient(Configuration(host=HOST))
        client.rest_client.pool_manager = Pool(self.cluster)
        self.custom_api, self.core_api = CustomObjectsApi(client), CoreV1Api(client)

    @property
    def trainjobs(self) -> list[Manifest]:
        """The TrainJobs that would have been submitted, in order, each with its namespace."""
        return [job.document for job in self.cluster.jobs]

    @property
    def compilation(self) -> Compilation:
        """The compilation of these TrainJobs."""
        return self.cluster.compilation

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write each TrainJob to FOLDER/<name>.yaml and return the paths.

        The first line names the train() call that it comes from. Raises FileExistsError for a file with another first
        line, which trainc did not write.
        """
        return write(self.cluster.jobs, folder, opening.write_file)

    def to_yaml(self) -> str:
        """Return all TrainJobs as one YAML stream, each after a line that names its train() call."""
        return "---\n".join(job.text for job in self.cluster.jobs)

    def train(self, runtime: Any = None, initializer: Any = None, trainer: Any = None, options: Any = None) -> str:
        """Like the SDK's method, up to the request. Raises CompileError if the TrainJob is refused."""
        function = getattr(getattr(trainer, "func", None), "__name__", None) or type(trainer).__name__
        label = re.sub(r"[^a-z0-9]+", "-", function.lower()).strip("-")[:_NAME_BYTES].strip("-")
        self.cluster.base = label if label[:1].isalpha() else f"job-{label}".strip("-")
        before = len(self.cluster.jobs)
        with unwrapped_errors():
            requested: str = super().train(runtime, initializer, trainer, options)
        created = self.cluster.jobs[before:]
        return str(created[0].document["metadata"]["name"]) if created else requested


@contextmanager
def unwrapped_errors() -> Iterator[None]:
    """Raise a CompileError as it is: the SDK wraps any exception from a request in its own."""
    try:
        yield
    except Exception as error:
        if (refused := refusal_behind(error)) is not None:
            raise refused from None
        raise


def _caller() -> str:
    return place_of_call(lambda _, module: module.partition(".")[0] not in _ON_THE_WAY)


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
