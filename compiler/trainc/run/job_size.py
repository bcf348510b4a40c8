"""What is asked of a job before it is planned: to be smaller than it is, and which programs it would start."""

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
    """Nodes of the trainer and processes of each; None leaves what the job says."""

    pods: int | None = None
    procs: int | None = None


def scale_job(job: Json, size: Size) -> tuple[Json, list[Finding]]:
    """A TrainJob of Trainer's own API in that size, and an info for each field that is changed.

    It is compiled anew in that size, so that every count, rank and address agrees with the others.
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
    """The containers of a replicated job's pods, those of the initialization first, with their places in the pod."""
    spec = pod_spec(job)
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field, ())):
            yield (field, index), container


def pod_spec(job: Json) -> Json:
    """The spec of a replicated job's pods."""
    spec: Json = job["template"].get("spec", {}).get("template", {}).get("spec", {})
    return spec


def requested_programs(manifests: Sequence[Json], places: Mapping[str, str]) -> set[str]:
    """The first word of every command, as the image has it and as it is here, and what may stand in for it."""
    folders = Folders(places)
    jobset = next(manifest for manifest in manifests if manifest["kind"] == "JobSet")
    words = [
        str(container["command"][0])
        for job in jobset["spec"].get("replicatedJobs", ())
        for _, container in containers(job)
        if container.get("command")
    ]
    return {form for word in words for form in (word, folders.localized(word), os.path.basename(word))}
