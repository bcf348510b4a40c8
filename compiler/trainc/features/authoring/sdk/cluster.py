"""A stand-in for the API server behind the Kubernetes client: it has runtimes, keeps what is created, and runs nothing.

Whatever library sends a request (CustomObjectsApi, the dynamic client, the Kubeflow SDK, NeMo-Run), and whatever version
of the Kubernetes client, it passes urllib3's PoolManager, which is all that is replaced.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from inspect import currentframe
from io import BytesIO
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from urllib3 import HTTPResponse, PoolManager

from trainc.api.documents import Document
from trainc.api.editing import check_rendered
from trainc.api.findings import CompileError, has_errors, sort_diagnostics
from trainc.api.jobs import Compilation, functions
from trainc.api.kube import Manifest, releases
from trainc.api.output import dump_yaml
from trainc.api.records import dataclass
from trainc.api.settings import Options

HOST = "https://trainc.invalid"
WRITTEN = "# Written by trainc from "
_TRAINER, _JOBSET = "/apis/trainer.kubeflow.org/v1alpha1", "/apis/jobset.x-k8s.io/v1alpha2"
# API group and version -> plural -> kind: what discovery shows.
_SERVED = {
    _TRAINER: {
        "trainjobs": "TrainJob",
        "trainingruntimes": "TrainingRuntime",
        "clustertrainingruntimes": "ClusterTrainingRuntime",
    },
    _JOBSET: {"jobsets": "JobSet"},
}
_JOBS = ("TrainJob", "JobSet")
_NOT_FOUND, _CONFLICT = 404, 409
_HASH_BYTES = 6
# A letter and random hexadecimal digits, as clients name jobs for which nobody chose a name.
_MACHINE_MADE = re.compile(r"[a-z][0-9a-f]{11}")
_EPOCH = "1970-01-01T00:00:00Z"
# Clients wait for a job or a pod; these end the waiting.
_DONE = {
    "phase": "Succeeded",
    "conditions": [
        {"type": kind, "status": "True", "reason": "NothingRuns", "message": "", "lastTransitionTime": _EPOCH}
        for kind in ("Complete", "Completed")
    ],
}
# A namespace, a kind and a name.
_Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Job:
    """A TrainJob or JobSet that was created, what it compiles to, and the place of the call."""

    document: Manifest
    compilation: Compilation
    origin: str

    @property
    def text(self) -> str:
        """The document as YAML, after the line that names its origin."""
        return f"{WRITTEN}{self.origin}. Change that instead.\n{dump_yaml([_with_whole_numbers(self.document)])}"


class Cluster:
    """The objects of the stand-in. `base` names jobs whose names are random: BASE-HASH, by their content."""

    def __init__(self, runtimes: Sequence[Manifest], options: Options, base: str, origin: Callable[[], str]) -> None:
        provided = {(runtime.get("kind"), runtime["metadata"]["name"]) for runtime in runtimes}
        shipped = functions.catalog(options.release or releases.NEWEST_RELEASE)
        self.runtimes = [*runtimes, *(r for r in shipped if (r["kind"], r["metadata"]["name"]) not in provided)]
        self.jobs: list[Job] = []
        self.base = base
        self._options, self._origin = options, origin
        self._objects: dict[_Key, Manifest] = {}
        self._sent_as: dict[str, str] = {}
        for runtime in self.runtimes:
            metadata = runtime["metadata"]
            self._objects[metadata.get("namespace", ""), runtime["kind"], metadata["name"]] = runtime

    @property
    def others(self) -> list[str]:
        """The kinds of other objects that were created, one for each."""
        return [kind for _, kind, _ in self._objects if kind not in (*_JOBS, *_SERVED[_TRAINER].values())]

    @property
    def compilation(self) -> Compilation:
        """The compilation of all jobs."""
        compilations = [job.compilation for job in self.jobs]
        jobs = sorted((job for each in compilations for job in each.jobs), key=lambda job: (job.namespace, job.name))
        diagnostics = dict.fromkeys(found for each in compilations for found in each.diagnostics)
        sessions = tuple(session for each in compilations for session in each.sessions)
        return Compilation(tuple(jobs), sort_diagnostics(list(diagnostics)), sessions)

    def answer(self, method: str, path: str, body: Any) -> Any:
        """The answer to a request. Raises RequestError, and CompileError for a job that is refused."""
        place = re.fullmatch(r"(/apis/[^/]+/[^/]+|/api/v1)(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+)(?:/.+)?)?", path)
        if place is None or (place[3] == "namespaces" and place[2] is None):
            return _discovery(path)
        prefix, namespace, plural, name = place[1], place[2] or "", place[3], place[4]
        kind = _SERVED.get(prefix, {}).get(plural) or plural
        if method == "POST" and name is None:
            return self._create(namespace, kind, body)
        found = [
            item for (space, k, _), item in self._objects.items() if k == kind and namespace in ("", space or namespace)
        ]
        if name is None:
            items = [copy.deepcopy(item) for item in found]
            version = prefix.removeprefix("/apis/").removeprefix("/api/")
            return {"apiVersion": version, "kind": f"{kind}List", "metadata": {}, "items": items}
        for item in found:
            if item["metadata"].get("name") == self._sent_as.get(name, name):
                return copy.deepcopy(
                    {**item, **body} if method in ("PUT", "PATCH") and isinstance(body, dict) else item
                )
        raise RequestError(_NOT_FOUND, f"there is no {kind} {name}")

    def _create(self, namespace: str, kind: str, body: Any) -> Any:
        document = copy.deepcopy(body)
        metadata = {key: value for key, value in (document.get("metadata") or {}).items() if value is not None}
        requested = str(metadata.get("name") or "")
        metadata["name"] = (
            self._name(metadata, document) if kind in _JOBS else requested or metadata.pop("generateName", kind)
        )
        document["metadata"] = {**metadata, **({"namespace": namespace} if namespace else {})}
        key = namespace, kind, str(metadata["name"])
        if key in self._objects:
            raise RequestError(_CONFLICT, f"{kind} {key[2]} already exists")
        if kind in _JOBS:
            compilation = (
                functions.compile_trainjob(document, self.runtimes, self._options)
                if kind == "TrainJob"
                else _checked(document, self._options)
            )
            self.jobs.append(Job(document, compilation, self._origin()))
        # The client may ask for it under the name that it sent.
        self._sent_as[requested] = key[2]
        created = {**metadata, "namespace": namespace, "uid": "0", "creationTimestamp": _EPOCH}
        self._objects[key] = {**document, "metadata": created, "status": _DONE}
        return copy.deepcopy(self._objects[key])

    def _name(self, metadata: Mapping[str, Any], document: Manifest) -> str:
        """The requested name, or for a random one BASE-HASH, with a number if it is taken."""
        name = str(metadata.get("name") or metadata.get("generateName") or "")
        if metadata.get("name") and not _MACHINE_MADE.fullmatch(name):
            return name
        content = json.dumps(document.get("spec"), sort_keys=True, default=str).encode()
        base = name.rstrip("-") if not metadata.get("name") and name else self.base
        name = f"{base}-{hashlib.sha256(content).hexdigest()[:_HASH_BYTES]}"
        taken = {job.document["metadata"]["name"] for job in self.jobs}
        return next(each for each in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if each not in taken)


class RequestError(Exception):
    """A request that an API server answers with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _checked(jobset: Manifest, options: Options) -> Compilation:
    """What there is to say about a JobSet that no TrainJob stands behind. Raises CompileError if it is refused."""
    diagnostics = list(check_rendered([Document.of(jobset)], options))
    if has_errors(diagnostics):
        raise CompileError(diagnostics)
    return Compilation((), diagnostics)


def _discovery(path: str) -> Any:
    """What the server serves, as the dynamic client asks for it."""
    if path == "/version":
        return {"major": "1", "minor": "36", "gitVersion": "v1.36.0"}
    if path == "/apis":
        names = [prefix.removeprefix("/apis/") for prefix in _SERVED]
        groups = [{"groupVersion": name, "version": name.partition("/")[2]} for name in names]
        return {
            "kind": "APIGroupList",
            "groups": [
                {"name": name.partition("/")[0], "versions": [group], "preferredVersion": group}
                for name, group in zip(names, groups, strict=True)
            ],
        }
    if path in _SERVED:
        resources = [
            {
                "name": plural,
                "kind": kind,
                "namespaced": not kind.startswith("Cluster"),
                "verbs": ["create", "get", "list"],
            }
            for plural, kind in _SERVED[path].items()
        ]
        return {"kind": "APIResourceList", "groupVersion": path.removeprefix("/apis/"), "resources": resources}
    if path in ("/api", "/api/v1"):
        return {"kind": "APIVersions", "versions": ["v1"], "resources": [], "groupVersion": "v1"}
    raise RequestError(_NOT_FOUND, f"the stand-in for a cluster does not serve {path}")


class Pool(PoolManager):
    """Connections of the Kubernetes client that end at the stand-in."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self._cluster = cluster

    def urlopen(self, method: str, url: str, redirect: bool = True, **request: Any) -> Any:  # type: ignore[override]  # noqa: ARG002
        """Answer a request as an API server would."""
        return respond(self._cluster, method, url, request)


def respond(cluster: Cluster, method: str, url: str, request: Mapping[str, Any]) -> HTTPResponse:
    """Return the stand-in's response. Raises CompileError for a job that the cluster would refuse or that cannot run."""
    address, sent = urlsplit(url), request.get("body")
    status, reason = (201, "Created") if method == "POST" else (200, "OK")
    try:
        found = cluster.answer(method, address.path.rstrip("/") or "/", json.loads(sent) if sent else None)
        watched = "watch" in parse_qs(address.query)
        events = [{"type": "ADDED", "object": item} for item in found.get("items", ())] if watched else [found]
        texts = [f"{json.dumps(event)}\n" for event in events]
    except RequestError as error:
        status, reason = error.status, str(error)
        texts = [json.dumps({"kind": "Status", "status": "Failure", "message": reason, "code": status})]
    return HTTPResponse(
        BytesIO("".join(texts).encode()),
        {"Content-Type": "application/json"},
        status,
        reason=reason,
        preload_content=bool(request.get("preload_content", True)),
    )


def write(jobs: Sequence[Job], folder: str | os.PathLike[str], write_file: Callable[[str, str], None]) -> list[str]:
    """Write each job to FOLDER/<name>.yaml; FileExistsError for a file with another first line than trainc's."""
    os.makedirs(folder, exist_ok=True)
    files = {os.path.join(folder, f"{job.document['metadata']['name']}.yaml"): job for job in jobs}
    for path in filter(os.path.lexists, files):
        with open(path, encoding="utf-8", errors="replace") as file:
            if not file.readline().startswith(WRITTEN):
                raise FileExistsError(f"{path} was not written by trainc; move it, or give the job another name")
    for path, job in files.items():
        write_file(path, job.text)
    return list(files)


def place_of_call(accepts: Callable[[str, str], bool]) -> str:
    """`train.py:12`: the innermost call on its way whose file and module `accepts`."""
    frame = currentframe()
    while frame is not None and not accepts(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return "a script" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def refusal_behind(error: BaseException | None) -> CompileError | None:
    """The CompileError that libraries have wrapped in exceptions of their own."""
    while error is not None and not isinstance(error, CompileError):
        error = error.__cause__ or error.__context__
    return error


def _with_whole_numbers(value: Any) -> Any:
    """`value` with 8 instead of 8.0, because clients convert amounts to floats."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
