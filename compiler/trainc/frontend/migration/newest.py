"""What a document looks like in the newest release's API, and what of it that API cannot express."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainc.diagnostics import Finding, Path
from trainc.frontend.dialects import Conversion, Surroundings, dialect_of, surroundings_of
from trainc.frontend.dialects.initializer_job import JOBS
from trainc.frontend.dialects.moves import as_written
from trainc.frontend.migration.renaming import with_standard_names
from trainc.frontend.nested import value_at
from trainc.ir import names
from trainc.records import dataclass

Json = Mapping[str, Any]

_TORCH_PROCESSES: Path = ("spec", "mlPolicy", "torch", "numProcPerNode")
_STEPS = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)
MANAGER_DOMAIN = f"migrated.{names.TRAINER_GROUP}"


@dataclass(frozen=True, slots=True)
class Around:
    """What a migration may know of the other documents: where models are stored, and which runtimes count processes.

    `counting` holds the kinds and names of runtimes whose torch policy asks for a number of processes.
    """

    surroundings: Surroundings = Surroundings()
    counting: frozenset[tuple[str, str]] = frozenset()


def around_of(documents: Iterable[Json]) -> Around:
    """What these documents say that the migration of one of them may need."""
    known = list(documents)
    counting = {
        (str(document.get("kind")), str(value_at(document, ("metadata", "name"))))
        for document in known
        if value_at(document, _TORCH_PROCESSES) not in (None, "auto")
    }
    return Around(surroundings_of(known), frozenset(counting))


@dataclass(frozen=True, slots=True)
class Migrated:
    """A document in the newest API. Paths of `findings` lie in the document as written."""

    data: Json
    findings: tuple[Finding, ...] = ()


def in_newest_api(document: Json, around: Around = Around()) -> Migrated:
    """A TrainJob or runtime of any dialect and release in the newest API.

    A document that is there already, or is none of ours, comes back as it is. What cannot be expressed stays as it
    was written and is reported; a document that would be refused with it is not touched at all.
    """
    dialect = dialect_of(document)
    data: Json = document
    findings: list[Finding] = []
    if dialect is not None:
        kind = dialect.kinds[document["kind"]]
        conversion = dialect.convert(document, kind, around.surroundings)
        problems = [f for f in conversion.findings if f.severity == "error"]
        refused = [*_refused_elsewhere(document), *_unfilled_volumes(conversion)]
        if problems or refused:
            return Migrated(document, (*problems, *refused))
        data = conversion.data
        findings += [f for f in conversion.findings if f.code not in ("DeprecatedAPIVersion", "UnreleasedAPI")]
    elif document.get("apiVersion") != names.TRAINER_API or not isinstance(document.get("spec"), Mapping):
        return Migrated(document)
    if data.get("kind") == "TrainJob":
        data, found = _trainjob(data, around)
    else:
        if dialect is not None:
            data, renamed = with_standard_names(data, dialect.naming)
            findings += renamed
        data, found = _runtime(data)
    return Migrated(data, (*findings, *found))


def _trainjob(document: Json, around: Around) -> tuple[Json, list[Finding]]:
    spec = dict(document["spec"])
    patches = list(_patches_of(spec))
    for field in ("labels", "annotations", "podSpecOverrides", "podTemplateOverrides"):
        spec.pop(field, None)
    if patches:
        numbered = [
            {"manager": f"{MANAGER_DOMAIN}/{number}", "trainingRuntimeSpec": {"template": patch}}
            for number, patch in enumerate(patches, start=_first_free(spec))
        ]
        # Labels of the spec and overrides were applied before patches: patches that are there already stay last.
        spec["runtimePatches"] = [*numbered, *spec.get("runtimePatches", ())]
    findings: list[Finding] = []
    trainer = spec.get("trainer")
    if isinstance(trainer, Mapping) and isinstance(trainer.get("numProcPerNode"), str):
        reference = spec.get("runtimeRef") or {}
        counted = (str(reference.get("kind", "ClusterTrainingRuntime")), str(reference.get("name"))) in around.counting
        spec["trainer"], findings = _with_process_number(trainer, counted)
    return {**document, "spec": spec}, findings


def _first_free(spec: Json) -> int:
    used = [
        int(number)
        for domain, _, number in (str(p.get("manager", "")).partition("/") for p in spec.get("runtimePatches", ()))
        if domain == MANAGER_DOMAIN and number.isdecimal()
    ]
    return max(used, default=0) + 1


def _patches_of(spec: Json) -> Iterator[Json]:
    metadata = {field: spec[field] for field in ("labels", "annotations") if spec.get(field)}
    if metadata:
        yield {"metadata": metadata}
    for override in spec.get("podSpecOverrides") or ():
        pod_spec = {field: value for field, value in override.items() if field != "targetJobs"}
        yield _patch(override, {"spec": pod_spec} if pod_spec else {})
    for override in spec.get("podTemplateOverrides") or ():
        yield _patch(override, {field: override[field] for field in ("metadata", "spec") if override.get(field)})


def _patch(override: Json, pod_template: Json) -> Json:
    template = {"template": {"spec": {"template": pod_template}}} if pod_template else {}
    return {"spec": {"replicatedJobs": [{"name": job["name"], **template} for job in override["targetJobs"]]}}


def _with_process_number(trainer: Json, counted: bool) -> tuple[Json, list[Finding]]:
    """The trainer with a number, or without `auto`, which is the default unless the runtime has `counted` itself."""
    asked = trainer["numProcPerNode"]
    if asked.isdecimal():
        return {**trainer, "numProcPerNode": int(asked)}, []
    if asked == "auto" and not counted:
        return {field: value for field, value in trainer.items() if field != "numProcPerNode"}, []
    message = f"numProcPerNode {asked!r} has no counterpart since Trainer 2.2"
    hint = "write the number of processes, or drop the field to take it from the node's resources"
    if counted:
        hint = "write the number of processes, or drop the runtime's own numProcPerNode first"
    return trainer, [_cannot(("spec", "trainer", "numProcPerNode"), message, hint)]


def _runtime(document: Json) -> tuple[Json, list[Finding]]:
    spec = document.get("spec")
    policy = spec.get("mlPolicy") if isinstance(spec, Mapping) else None
    torch = policy.get("torch") if isinstance(policy, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(policy, Mapping) or not isinstance(torch, Mapping):
        return document, []
    findings: list[Finding] = []
    kept = dict(torch)
    if kept.get("numProcPerNode") == "auto":
        del kept["numProcPerNode"]
    elif "numProcPerNode" in kept:
        hint = "set spec.trainer.numProcPerNode in the TrainJobs of this runtime"
        message = "a runtime has no number of processes for torch since Trainer 2.2"
        findings.append(_cannot(("spec", "mlPolicy", "torch", "numProcPerNode"), message, hint))
    if "elasticPolicy" in kept:
        hint = "keep it for trainc's gitops semantics, which honours it, or size the job with numNodes"
        message = "Trainer has no elastic policy since 2.2"
        findings.append(_cannot(("spec", "mlPolicy", "torch", "elasticPolicy"), message, hint))
    return {**document, "spec": {**spec, "mlPolicy": {**policy, "torch": kept}}}, findings


def _refused_elsewhere(document: Json) -> Iterator[Finding]:
    """What Trainer's own API would refuse, so that the document must stay in its dialect."""
    spec = document.get("spec") or {}
    policy, gang = spec.get("mlPolicy") or {}, spec.get("podGroupPolicy") or {}
    implementation = (policy.get("mpi") or {}).get("mpiImplementation")
    if implementation not in (None, "", "OpenMPI"):
        message = f"Trainer runs OpenMPI only, not {implementation}"
        hint = "keep the document as it is: trainc compiles it under gitops"
        yield _cannot(("spec", "mlPolicy", "mpi", "mpiImplementation"), message, hint)
    for field in ("minMember", "queue", "priorityClassName"):
        if field in (gang.get("volcano") or {}):
            hint = "name the queue by annotation scheduling.volcano.sh/queue-name, the priority class in the pods"
            message = f"Trainer's volcano policy has no {field}"
            yield _cannot(("spec", "podGroupPolicy", "volcano", field), message, hint)


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
                yield _cannot(as_written(path, conversion.moves), message, hint)


def _cannot(path: Path, message: str, hint: str) -> Finding:
    return Finding("CannotMigrate", "warning", message, hint, path)
