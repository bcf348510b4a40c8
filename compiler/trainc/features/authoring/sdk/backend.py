"""The SDK's Kubernetes backend over a stand-in for the cluster: unmodified SDK code gives TrainJobs, compiled."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from inspect import currentframe
from types import SimpleNamespace
from typing import Any

from kubeflow.trainer import TrainerClient
from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend
from kubeflow.trainer.options import Name
from kubeflow.trainer.types import types

from trainc.api.documents import opening
from trainc.api.findings import CompileError, sort_diagnostics
from trainc.api.jobs import Compilation, functions
from trainc.api.kube import Manifest, releases
from trainc.api.output import dump_yaml
from trainc.api.settings import Options

# A stand-in for the API server that the SDK talks to: it has runtimes, and keeps the TrainJobs that it is sent.


_RUNTIMES, _CLUSTER_RUNTIMES = "trainingruntimes", "clustertrainingruntimes"
_KINDS = {_RUNTIMES: "TrainingRuntime", _CLUSTER_RUNTIMES: "ClusterTrainingRuntime"}
_NOT_FOUND = 404


class OfflineObjects:
    """The methods of kubernetes.client.CustomObjectsApi that the SDK calls for runtimes and new TrainJobs."""

    def __init__(self, runtimes: Sequence[Manifest], create: Callable[[str, Manifest], Manifest]) -> None:
        """`create` is told the namespace and the body of each new TrainJob."""
        self._runtimes, self._create = runtimes, create

    # The client's methods take the group and the version first, then what is asked for.

    def get_cluster_custom_object(self, *arguments: str, **requested: Any) -> Any:
        """A ClusterTrainingRuntime by its plural and name, or the API server's 404."""
        *_, plural, name = arguments
        return _answered(lambda: self._find(plural, name, ""), requested)

    def get_namespaced_custom_object(self, *arguments: str, **requested: Any) -> Any:
        """A TrainingRuntime by namespace, plural and name, or the API server's 404."""
        *_, namespace, plural, name = arguments
        return _answered(lambda: self._find(plural, name, namespace), requested)

    def list_cluster_custom_object(self, *arguments: str, **requested: Any) -> Any:
        """All ClusterTrainingRuntimes."""
        return _answered(lambda: self._list(arguments[-1], ""), requested)

    def list_namespaced_custom_object(self, *arguments: str, **requested: Any) -> Any:
        """The TrainingRuntimes of a namespace."""
        *_, namespace, plural = arguments
        return _answered(lambda: self._list(plural, namespace), requested)

    def create_namespaced_custom_object(self, *arguments: Any, **requested: Any) -> Any:
        """Keep a TrainJob, by namespace, plural and body. Raises CompileError where it is refused."""
        *_, namespace, _, body = arguments
        return _answered(lambda: self._create(namespace, copy.deepcopy(body)), requested)

    def _find(self, plural: str, name: str, namespace: str) -> Manifest:
        matches = (item for item in self._list(plural, namespace)["items"] if item["metadata"]["name"] == name)
        for item in matches:
            return item  # type: ignore[no-any-return]
        from kubernetes.client import ApiException

        raise ApiException(status=_NOT_FOUND, reason=f"there is no {_KINDS.get(plural, plural)} {name}")

    def _list(self, plural: str, namespace: str) -> Manifest:
        items = [
            copy.deepcopy(runtime)
            for runtime in self._runtimes
            if runtime.get("kind") == _KINDS.get(plural)
            if not namespace or runtime["metadata"].get("namespace", namespace) == namespace
        ]
        kind = f"{_KINDS.get(plural, 'Object')}List"
        return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "metadata": {}, "items": items}


def _answered(ask: Callable[[], Any], requested: dict[str, Any]) -> Any:
    return SimpleNamespace(get=lambda _timeout=None: ask()) if requested.get("async_req") else ask()


_COMPLETE = "Complete"
_WRITTEN = "# Written by trainc from "
_ON_THE_WAY = frozenset(("trainc", "kubeflow"))
_NAME_BYTES, _HASH_BYTES = 40, 6


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
        provided = {(runtime.get("kind"), runtime["metadata"]["name"]) for runtime in runtimes}
        shipped = functions.catalog(options.release or releases.NEWEST_RELEASE)
        from_catalog = [r for r in shipped if (r["kind"], r["metadata"]["name"]) not in provided]
        self._runtimes = [*runtimes, *from_catalog]
        self._options = options
        self._jobs: dict[str, tuple[Manifest, Compilation, str]] = {}
        self._base: str | None = None
        self.custom_api = OfflineObjects(self._runtimes, self._create)
        self.core_api = None

    @property
    def trainjobs(self) -> list[Manifest]:
        """The TrainJobs that would have been submitted, in order, each with its namespace."""
        return [job for job, _, _ in self._jobs.values()]

    @property
    def compilation(self) -> Compilation:
        """The compilation of these TrainJobs."""
        compilations = [compilation for _, compilation, _ in self._jobs.values()]
        jobs = sorted(
            (job for compilation in compilations for job in compilation.jobs), key=lambda job: (job.namespace, job.name)
        )
        diagnostics = dict.fromkeys(
            diagnostic for compilation in compilations for diagnostic in compilation.diagnostics
        )
        sessions = tuple(session for compilation in compilations for session in compilation.sessions)
        return Compilation(tuple(jobs), sort_diagnostics(list(diagnostics)), sessions)

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write each TrainJob to FOLDER/<name>.yaml and return the paths.

        The first line names the train() call that it comes from. Raises FileExistsError for a file with another first
        line, which trainc did not write.
        """
        os.makedirs(folder, exist_ok=True)
        files = {os.path.join(folder, f"{name}.yaml"): name for name in self._jobs}
        for path in filter(os.path.lexists, files):
            with open(path, encoding="utf-8", errors="replace") as file:
                if not file.readline().startswith(_WRITTEN):
                    raise FileExistsError(f"{path} was not written by trainc; move it, or give the job another Name")
        for path, name in files.items():
            job, _, origin = self._jobs[name]
            opening.write_file(path, file_text(job, origin))
        return list(files)

    def to_yaml(self) -> str:
        """Return all TrainJobs as one YAML stream, each after a line that names its train() call."""
        return "---\n".join(file_text(job, origin) for job, _, origin in self._jobs.values())

    def train(self, runtime: Any = None, initializer: Any = None, trainer: Any = None, options: Any = None) -> str:
        """Like the SDK's method, up to the request. Raises CompileError if the TrainJob is refused."""
        has_name = any(isinstance(option, Name) for option in options or ())
        self._base = None if has_name else _base_name(trainer)
        before = set(self._jobs)
        with unwrapped_errors():
            requested: str = super().train(runtime, initializer, trainer, options)
        return next((name for name in self._jobs if name not in before), requested)

    def get_job(self, name: str) -> types.TrainJob:
        """Return a submitted job, as complete."""
        if name not in self._jobs:
            raise RuntimeError(f"there is no TrainJob {name}")
        spec = self._jobs[name][0]["spec"]
        runtime = self.get_runtime(spec["runtimeRef"]["name"])
        nodes = (spec.get("trainer") or {}).get("numNodes") or runtime.trainer.num_nodes
        created = datetime.fromtimestamp(0, UTC)
        job = {"steps": [], "num_nodes": nodes, "creation_timestamp": created, "status": _COMPLETE}
        return types.TrainJob(name, runtime=runtime, **job)

    def list_jobs(self, runtime: Any = None) -> list[types.TrainJob]:
        """Return all jobs, or those of a runtime."""
        jobs = [self.get_job(name) for name in self._jobs]
        return [job for job in jobs if runtime is None or job.runtime.name == getattr(runtime, "name", runtime)]

    def wait_for_job_status(self, name: str, *_: Any, **__: Any) -> types.TrainJob:
        """Return the job immediately."""
        return self.get_job(name)

    def get_job_logs(self, *_: Any, **__: Any) -> Iterator[str]:
        """Return no logs, because nothing has run."""
        return iter(())

    def get_job_events(self, *_: Any, **__: Any) -> list[Any]:
        """Return no events, because nothing has run."""
        return []

    def get_runtime_packages(self, *_: Any, **__: Any) -> None:
        """Do nothing, because listing packages requires a pod."""

    def delete_job(self, name: str) -> None:
        """Keep the job, because it would have been submitted anyway."""

    def _create(self, namespace: str, body: Manifest) -> Manifest:
        metadata = {key: value for key, value in body["metadata"].items() if value is not None}
        metadata["name"] = self._name(body)
        job = {**body, "metadata": {**metadata, "namespace": namespace}}
        if metadata["name"] in self._jobs:
            raise ValueError(f"TrainJob {metadata['name']} already exists")
        self._jobs[metadata["name"]] = (job, functions.compile_trainjob(job, self._runtimes, self._options), _caller())
        return job

    def _name(self, body: Manifest) -> str:
        """The requested name, or one derived from the content, with a number if it is taken."""
        if self._base is None:
            return str(body["metadata"]["name"])
        content = json.dumps(body["spec"], sort_keys=True, default=str).encode()
        name = f"{self._base}-{hashlib.sha256(content).hexdigest()[:_HASH_BYTES]}"
        numbered = (name, *(f"{name}-{number}" for number in range(2, len(self._jobs) + 2)))
        return next(candidate for candidate in numbered if candidate not in self._jobs)


@contextmanager
def unwrapped_errors() -> Iterator[None]:
    """Raise a CompileError as it is: the SDK wraps any exception from a request in its own."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error.__cause__, CompileError):
            raise error.__cause__ from None
        raise


def file_text(job: Manifest, origin: str) -> str:
    """A TrainJob as YAML, after the line that names its origin."""
    return f"{_WRITTEN}{origin}. Change that instead.\n{dump_yaml([_with_whole_numbers(job)])}"


def _with_whole_numbers(value: Any) -> Any:
    """`value` with 8 instead of 8.0, because the SDK converts amounts to floats."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _base_name(trainer: Any) -> str:
    """The base of a generated name: that of the function, or the kind of the trainer."""
    function = getattr(trainer, "func", None)
    name = getattr(function, "__name__", None) or type(trainer).__name__
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_NAME_BYTES].strip("-")
    return label if label[:1].isalpha() else f"job-{label}".strip("-")


def _caller() -> str:
    """`train.py:12`: the call outside the SDK and trainc that is on its way."""
    frame = currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _ON_THE_WAY:
        frame = frame.f_back
    if frame is None:
        return "the Kubeflow SDK"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
