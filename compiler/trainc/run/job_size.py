"""Scale a job down before it is planned, and list the programs that it would start."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api.documents import Json, value_at, with_value
from trainc.diagnostics import Finding, Path
from trainc.ir.devices import is_gpu
from trainc.run.places import Folders
from trainc.startup.records import dataclass

_TRAINER: Path = ("spec", "trainer")


@dataclass(frozen=True, slots=True)
class Size:
    """The trainer's number of nodes and processes per node; None keeps the job's own value."""

    pods: int | None = None
    procs: int | None = None


def scale_job(job: Json, size: Size) -> tuple[Json, list[Finding]]:
    """Scale a TrainJob of Trainer's own API; return it with an info for each changed field.

    The job is then compiled at that size, so that all counts, ranks and addresses are consistent.
    """
    findings: list[Finding] = []
    for path, value in _changes(job, size):
        old = value_at(job, path)
        if str(old) != str(value):
            before = "the runtime's value" if old is None else str(old)
            flag = f"--pods {size.pods}" if path[-1] == "numNodes" else f"--procs {size.procs}"
            message = f"{flag}: this run uses {value} instead of {before}"
            findings.append(Finding("ScaledForRun", "info", message, path=path))
            job = with_value(job, path, value)
    return job, findings


def _changes(job: Json, size: Size) -> Iterator[tuple[Path, Any]]:
    if size.pods is not None:
        yield (*_TRAINER, "numNodes"), size.pods
    if size.procs is not None:
        yield (*_TRAINER, "numProcPerNode"), size.procs
        for kind in ("limits", "requests"):
            amounts = value_at(job, (*_TRAINER, "resourcesPerNode", kind)) or {}
            for name in amounts:
                if is_gpu(name):
                    yield (*_TRAINER, "resourcesPerNode", kind, name), size.procs


def containers(job: Json) -> Iterator[tuple[Path, Json]]:
    """The containers of a replicated job's pods, init containers first, with their paths in the pod spec."""
    spec = pod_spec(job)
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field, ())):
            yield (field, index), container


def pod_spec(job: Json) -> Json:
    """The pod spec of a replicated job."""
    spec: Json = job["template"].get("spec", {}).get("template", {}).get("spec", {})
    return spec


def requested_programs(manifests: Sequence[Json], places: Mapping[str, str]) -> set[str]:
    """The first word of every command, as in the image and as a local path, and the programs that may replace it."""
    folders = Folders(places)
    jobset = next(manifest for manifest in manifests if manifest["kind"] == "JobSet")
    words = [
        str(container["command"][0])
        for job in jobset["spec"].get("replicatedJobs", ())
        for _, container in containers(job)
        if container.get("command")
    ]
    return {form for word in words for form in (word, folders.localized(word), os.path.basename(word))}
