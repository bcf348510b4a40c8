"""What the newest API cannot express of an older dialect, said of the document as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.api import names
from trainc.api.documents import Json, value_at
from trainc.diagnostics import Finding, Path
from trainc.dialects import Conversion
from trainc.dialects.dialect import as_written
from trainc.dialects.initializer_job import JOBS

_STEPS = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)


def refusals(document: Json, conversion: Conversion) -> Iterator[Finding]:
    """Why `document` must stay in its dialect: what Trainer's own API would refuse of its conversion."""
    yield from _refused_elsewhere(document)
    yield from _unfilled_volumes(conversion)


def cannot(path: Path, message: str, hint: str) -> Finding:
    """One thing that stays as it was written, and what to do about it."""
    return Finding("CannotMigrate", "warning", message, hint=hint, path=path)


def _refused_elsewhere(document: Json) -> Iterator[Finding]:
    """What Trainer's own API would refuse, so that the document must stay in its dialect."""
    spec = document.get("spec") or {}
    policy, gang = spec.get("mlPolicy") or {}, spec.get("podGroupPolicy") or {}
    implementation = (policy.get("mpi") or {}).get("mpiImplementation")
    if implementation not in (None, "", "OpenMPI"):
        message = f"Trainer runs OpenMPI only, not {implementation}"
        hint = "keep the document as it is: trainc compiles it under gitops"
        yield cannot(("spec", "mlPolicy", "mpi", "mpiImplementation"), message, hint)
    for field in ("minMember", "queue", "priorityClassName"):
        if field in (gang.get("volcano") or {}):
            hint = "name the queue by annotation scheduling.volcano.sh/queue-name, the priority class in the pods"
            message = f"Trainer's volcano policy has no {field}"
            yield cannot(("spec", "podGroupPolicy", "volcano", field), message, hint)


def _unfilled_volumes(conversion: Conversion) -> Iterator[Finding]:
    """Initializers that Trainer's own API refuses: there they fill a volume called `initializer`, here one of any name."""
    jobs = value_at(conversion.data, JOBS)
    for index, job in enumerate(jobs if isinstance(jobs, list) else ()):
        containers = value_at(job, ("template", "spec", "template", "spec", "containers"))
        for at, container in enumerate(containers if isinstance(containers, list) else ()):
            step = container.get("name") if isinstance(container, Mapping) else None
            if step not in _STEPS or value_at(job, ("name",)) != step:
                continue
            mounts = container.get("volumeMounts") or ()
            if not any(isinstance(mount, Mapping) and mount.get("name") == "initializer" for mount in mounts):
                message = f"Trainer's {step} fills a volume called initializer, and this container mounts none"
                hint = "call the volume initializer wherever it is mounted, then migrate"
                path = (*JOBS, index, "template", "spec", "template", "spec", "containers", at)
                yield cannot(as_written(path, conversion.moves), message, hint)
