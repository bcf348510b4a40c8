"""Convert a document of Trainer or of Kueue to the newest API, and report what that API cannot express."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from trainc.api.documents import check, dialects
from trainc.api.findings import Finding, Path
from trainc.api.kube import POD_SPEC, Json, documents, names, quantity, releases, value_at
from trainc.api.records import dataclass
from trainc.api.rewriting import patches
from trainc.features.migration.v1.v1.job import changes

# Raised by code that expects valid fields. `build` validates the document against a single release first, but here it
# may belong to any release.
_OF_WRONG_SHAPES = (AttributeError, IndexError, KeyError, TypeError, ValueError)
# The kind and name of a runtime.
_Runtime: TypeAlias = tuple[str, str]

_TORCH: Path = ("spec", "mlPolicy", "torch")
_TORCH_PROCESSES: Path = (*_TORCH, "numProcPerNode")
_INT32_DIGITS = 9  # Numbers of more may not fit the field.
MANAGER_DOMAIN = f"migrated.{names.TRAINER_GROUP}"


@dataclass(frozen=True, slots=True)
class Around:
    """What the migration of one document needs to know about the others: model storage and migrated runtimes.

    `counting` has the (kind, name) of runtimes whose torch policy sets a number of processes; `renamed` has those whose
    jobs are renamed: by its old name, the role that is a job's new name, and the container that becomes `node`.
    """

    context: dialects.DialectContext = dialects.DialectContext()
    counting: frozenset[_Runtime] = frozenset()
    renamed: Mapping[_Runtime, patches.Roles] = MappingProxyType({})


def around_of(documents: Iterable[Json]) -> Around:
    """Collect from these documents what the migration of any of them may need."""
    all_documents = list(documents)
    context = dialects.dialect_context(all_documents)
    counting = (d for d in all_documents if value_at(d, _TORCH_PROCESSES) not in (None, "auto"))
    migrated = ((d, migrate_document(d, Around(context))) for d in all_documents if dialects.dialect_of(d) is not None)
    renamed = {_runtime_of(document): result.renamed for document, result in migrated if result.renamed}
    return Around(context, frozenset(map(_runtime_of, counting)), renamed)


def _runtime_of(document: Json) -> _Runtime:
    return str(document.get("kind")), str(value_at(document, ("metadata", "name")))


def _referred_to(trainjob: Json) -> _Runtime:
    reference = trainjob["spec"].get("runtimeRef") or {}
    return str(reference.get("kind", "ClusterTrainingRuntime")), str(reference.get("name"))


@dataclass(frozen=True, slots=True)
class Migrated:
    """A document in the newest API. Paths in `findings` refer to the original; `renamed` is keyed by old names."""

    data: Json
    findings: tuple[Finding, ...] = ()
    renamed: patches.Roles = MappingProxyType({})


def migrate_document(document: Json, around: Around = Around()) -> Migrated:
    """Like `_migrate`, but returns a malformed document, which `build` would refuse, unchanged and with findings.

    An exception for a document that some release accepts is a defect and is not caught.
    """
    try:
        return _migrate(document, around)
    except _OF_WRONG_SHAPES:
        kind = document.get("kind")
        if dialects.dialect_of(document) is None and kind in names.KINDS:
            errors = (
                [f for f in check(document, kind, release)[1] if f.severity == "error"] for release in releases.RELEASES
            )
            fewest = min(errors, key=len)
            if not fewest:
                raise
            return Migrated(document, tuple(fewest))
        message, hint = "a field is missing or of the wrong type", "run `trainc check` on it and fix the errors first"
        return Migrated(document, (Finding("CannotMigrate", "error", message, hint, ("spec",)),))


def _migrate(document: Json, around: Around) -> Migrated:
    """Convert a TrainJob or runtime of any dialect and release to the newest API.

    A document that is current already, or of another kind, is returned unchanged. Fields that cannot be expressed stay
    as written and are reported; if the result would be refused because of them, the whole document stays unchanged.
    """
    dialect = dialects.dialect_of(document)
    data: Json = document
    findings: list[Finding] = []
    renamed: patches.Roles = {}
    if dialect is not None:
        kind = dialect.kinds[document["kind"]]
        conversion = dialect.convert(document, kind, around.context)
        problems = [f for f in conversion.findings if f.severity == "error"]
        unsupported = [*_unsupported_values(document), *_unfilled_volumes(conversion)]
        if problems or unsupported:
            return Migrated(document, (*problems, *unsupported))
        data = conversion.data
        findings += [f for f in conversion.findings if f.code not in ("DeprecatedAPIVersion", "UnreleasedAPI")]
    elif document.get("apiVersion") != names.TRAINER_API or not isinstance(document.get("spec"), Mapping):
        return Migrated(document)
    if data.get("kind") == "TrainJob":
        data, field_findings = _trainjob(data, around)
    else:
        if dialect is not None:
            data, name_findings, renamed = _with_standard_names(data, dialect.naming)
            findings += name_findings
        data, field_findings = _runtime(data)
    return Migrated(data, (*findings, *field_findings), renamed)


def _trainjob(document: Json, around: Around) -> tuple[Json, list[Finding]]:
    spec = dict(document["spec"])
    patches = list(_patches_of(spec, around.renamed.get(_referred_to(document), {})))
    for field in ("labels", "annotations", "podSpecOverrides", "podTemplateOverrides"):
        spec.pop(field, None)
    if patches:
        existing = spec.get("runtimePatches") or ()
        managers = (str(patch.get("manager", "")).partition("/") for patch in existing)
        used = (
            quantity.whole_number(number, _INT32_DIGITS) or 0
            for domain, _, number in managers
            if domain == MANAGER_DOMAIN
        )
        numbered = [
            {"manager": f"{MANAGER_DOMAIN}/{number}", "trainingRuntimeSpec": {"template": patch}}
            for number, patch in enumerate(patches, start=max(used, default=0) + 1)
        ]
        # Spec labels and overrides were applied before patches, so existing patches stay last.
        spec["runtimePatches"] = [*numbered, *existing]
    findings: list[Finding] = []
    trainer = spec.get("trainer")
    if isinstance(trainer, Mapping) and isinstance(trainer.get("numProcPerNode"), str):
        counted = _referred_to(document) in around.counting
        spec["trainer"], findings = _with_process_number(trainer, counted)
    return {**document, "spec": spec}, findings


def _patches_of(spec: Json, renamed: patches.Roles) -> Iterator[Json]:
    metadata = {field: spec[field] for field in ("labels", "annotations") if spec.get(field)}
    if metadata:
        yield {"metadata": metadata}
    overrides = [
        (override["targetJobs"], {"spec": documents.without_path(override, ("targetJobs",))})
        for override in spec.get("podSpecOverrides") or ()
    ]
    overrides += [(override["targetJobs"], override) for override in spec.get("podTemplateOverrides") or ()]
    for jobs, override in overrides:
        pod = {field: override[field] for field in ("metadata", "spec") if override.get(field)}
        template = {"template": {"spec": {"template": pod}}} if pod else {}
        yield {"spec": {"replicatedJobs": [_retarget({"name": job["name"], **template}, renamed) for job in jobs]}}


def _with_process_number(trainer: Json, counted: bool) -> tuple[Json, list[Finding]]:
    """The trainer with a number, or without `auto`, which is the default unless the runtime itself is `counted`."""
    requested = trainer["numProcPerNode"]
    if (number := quantity.whole_number(requested, _INT32_DIGITS)) is not None:
        return {**trainer, "numProcPerNode": number}, []
    if requested == "auto" and not counted:
        return {field: value for field, value in trainer.items() if field != "numProcPerNode"}, []
    message = f"numProcPerNode {requested!r} has had no counterpart since Trainer 2.2"
    hint = "write the number of processes, or drop the field to take it from the node's resources"
    if counted:
        hint = "write the number of processes, or drop the runtime's own numProcPerNode first"
    return trainer, [_refuse(("spec", "trainer", "numProcPerNode"), message, hint)]


def _runtime(document: Json) -> tuple[Json, list[Finding]]:
    torch = value_at(document, _TORCH)
    if not isinstance(torch, Mapping):
        return document, []
    findings: list[Finding] = []
    if torch.get("numProcPerNode") == "auto":
        document = documents.without_path(document, _TORCH_PROCESSES)
    elif "numProcPerNode" in torch:
        hint = "set spec.trainer.numProcPerNode in the TrainJobs of this runtime"
        message = "since Trainer 2.2, a runtime has no number of processes for torch"
        findings.append(_refuse(_TORCH_PROCESSES, message, hint))
    if "elasticPolicy" in torch:
        hint = "keep it for trainc's gitops semantics, which honor it, or set the size of the job with numNodes"
        message = "Trainer has had no elastic policy since 2.2"
        findings.append(_refuse((*_TORCH, "elasticPolicy"), message, hint))
    return document, findings


def _refuse(path: Path, message: str, hint: str) -> Finding:
    return Finding("CannotMigrate", "warning", message, hint=hint, path=path)


# What the newest API would refuse of an older dialect, which therefore stays; located in the original document.


def _unsupported_values(document: Json) -> Iterator[Finding]:
    spec = document.get("spec") or {}
    policy, gang = spec.get("mlPolicy") or {}, spec.get("podGroupPolicy") or {}
    implementation = (policy.get("mpi") or {}).get("mpiImplementation")
    if implementation not in (None, "", "OpenMPI"):
        message = f"Trainer runs OpenMPI only, not {implementation}"
        hint = "keep the document as it is: trainc compiles it under gitops"
        yield _refuse(("spec", "mlPolicy", "mpi", "mpiImplementation"), message, hint)
    for field in ("minMember", "queue", "priorityClassName"):
        if field in (gang.get("volcano") or {}):
            message = f"Trainer's volcano policy has no {field}"
            hint = "annotate the queue as scheduling.volcano.sh/queue-name, and set priorityClassName in the pods"
            yield _refuse(("spec", "podGroupPolicy", "volcano", field), message, hint)


def _unfilled_volumes(conversion: dialects.Conversion) -> Iterator[Finding]:
    """Initializers that Trainer's API refuses: it requires a volume named `initializer`, the dialect accepts any."""
    jobs = value_at(conversion.data, documents.JOBS)
    for index, job in enumerate(jobs if isinstance(jobs, list) else ()):
        containers = value_at(job, (*POD_SPEC, "containers"))
        for at, container in enumerate(containers if isinstance(containers, list) else ()):
            step = container.get("name") if isinstance(container, Mapping) else None
            if step not in names.INITIALIZERS or value_at(job, ("name",)) != step:
                continue
            mounts = container.get("volumeMounts") or ()
            if not any(isinstance(mount, Mapping) and mount.get("name") == "initializer" for mount in mounts):
                message = f"Trainer's {step} writes to a volume called initializer, which this container does not mount"
                hint = "rename its volume and the mounts of it to initializer, then migrate again"
                path = (*documents.JOBS, index, *POD_SPEC, "containers", at)
                yield _refuse(dialects.original_path(path, conversion.moves), message, hint)


# The names that Trainer's controller expects: the jobs `node` and `launcher`, with a container `node`.
_CONTAINERS: Path = (*POD_SPEC, "containers")


def _with_standard_names(runtime: Json, naming: dialects.NamingConvention) -> tuple[Json, list[Finding], patches.Roles]:
    """A converted runtime with explicit ancestor labels and standard names for its main jobs and containers.

    The last result has the roles of the main jobs, which are their new names, by the old ones.
    """
    spec = runtime.get("spec") or {}
    template = spec.get("template") or {}
    if not isinstance(template.get("spec"), Mapping):
        return runtime, [], {}
    inferred, doubts = patches.infer_roles(template["spec"], spec.get("mlPolicy"), naming)
    if errors := [doubt for doubt in doubts if doubt.severity == "error"]:
        return runtime, errors, {}
    renamed = {job: patches.Role(role.role or names.NODE, role.main) for job, role in inferred.roles.items()}
    new_names = {old: new.role for old, new in renamed.items()}
    jobs = []
    for job in inferred.spec["replicatedJobs"]:
        depends_on = [{**d, "name": new_names.get(d["name"], d["name"])} for d in job.get("dependsOn", ())]
        jobs.append(_retarget({**job, "dependsOn": depends_on} if depends_on else job, renamed))
    job_set = _with_references({**inferred.spec, "replicatedJobs": jobs}, new_names)
    changed = {**runtime, "spec": {**spec, "template": {**template, "spec": job_set}}}
    return changed, list(_name_findings(renamed)), renamed


def _retarget(target: Json, renamed: patches.Roles) -> Json:
    new = renamed.get(target["name"])
    if new is None:
        return target
    containers = value_at(target, _CONTAINERS)
    if isinstance(containers, list):
        renamed_containers = [{**c, "name": names.NODE} if c.get("name") == new.main else c for c in containers]
        target = documents.with_value(target, _CONTAINERS, renamed_containers)
    return {**target, "name": new.role}


def _with_references(job_set: Json, new_names: Mapping[str, str]) -> Json:

    def retarget(policy: Json) -> Json:
        targets = policy.get("targetReplicatedJobs")
        return {**policy, "targetReplicatedJobs": [new_names.get(t, t) for t in targets]} if targets else policy

    changed = dict(job_set)
    if "successPolicy" in changed:
        changed["successPolicy"] = retarget(changed["successPolicy"])
    failure = changed.get("failurePolicy") or {}
    if "rules" in failure:
        changed["failurePolicy"] = {**failure, "rules": [retarget(rule) for rule in failure["rules"]]}
    return changed


def _name_findings(renamed: patches.Roles) -> Iterator[Finding]:
    path, why = documents.JOBS, "the name that Trainer's controller expects"
    for old, new in renamed.items():
        if old != new.role:
            message = f"job {old!r} becomes {new.role!r}, {why}; pod names and addresses change with it"
            hint = "update what refers to the pods by name, such as dashboards and log queries"
            yield Finding("JobRenamed", "info", message, hint, path)
        if new.main != names.NODE:
            hint = "update what names the container, such as `kubectl logs -c` and dashboards"
            message = f"the container {new.main!r} of job {old!r} becomes 'node', {why}"
            yield Finding("JobRenamed", "info", message, hint, path)


# Kueue's own objects: from v1beta1, which Kueue 0.20 no longer serves, to v1beta2, in the spelling that is stored.
#
# Kueue's webhooks write quantities back in canonical form, so that any other spelling shows up as drift in git.
# Source: kubernetes-sigs/kueue apis/kueue/v1beta1 (*_conversion.go) and apis/kueue/v1alpha1 (v0.19.0).

_KUEUE_NEW = "kueue.x-k8s.io/v1beta2"
_KUEUE_OLD = ("kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1alpha1")
_AMOUNTS = ("nominalQuota", "borrowingLimit", "lendingLimit", "weight")
_POLICIES = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}


def is_old_queue(document: Json) -> bool:
    """Return whether a document is of an older version of Kueue, other than a Workload, which Kueue converts."""
    kind, version = document.get("kind"), document.get("apiVersion")
    is_served = version == _KUEUE_OLD[0] or (version in _KUEUE_OLD and kind in ("Cohort", "Topology"))
    return is_served and kind in _KUEUE_KINDS


def migrate_queue(document: Json) -> tuple[Json, list[Finding]]:
    """An object of Kueue in v1beta2; paths of findings refer to the older one."""
    changed: dict[str, Any] = {**document, "apiVersion": _KUEUE_NEW}
    spec = document.get("spec")
    findings: list[Finding] = []
    if isinstance(spec, Mapping):
        stored = {field: _canonical_amounts(value, field) for field, value in spec.items()}
        changed["spec"] = _KUEUE_KINDS[document["kind"]](stored)
        if document["kind"] == "AdmissionCheck" and "retryDelayMinutes" in spec:
            message = "retryDelayMinutes is gone from v1beta2; it has had no effect since Kueue 0.8"
            findings.append(changes(("spec", "retryDelayMinutes"), message, "no action needed"))
    return changed, findings


def _canonical_amounts(value: Any, field: str) -> Any:
    """A value with all quotas and weights in it as Kueue stores them; `field` is where it stands."""
    if isinstance(value, Mapping):
        return {name: _canonical_amounts(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_canonical_amounts(item, "") for item in value]
    if field not in _AMOUNTS or not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return value
    try:
        return quantity.canonical(str(value))
    except ValueError:
        return value


def _cluster_queue(spec: dict[str, Any]) -> dict[str, Any]:
    spec = _rename_fields(spec, cohort="cohortName", admissionChecks="admissionChecksStrategy")
    checks, fungibility = spec.get("admissionChecksStrategy"), spec.get("flavorFungibility")
    if isinstance(checks, list):
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check} for check in checks]}
    if isinstance(fungibility, Mapping):
        spec["flavorFungibility"] = {field: _POLICIES.get(str(value), value) for field, value in fungibility.items()}
    return spec


def _rename_fields(spec: dict[str, Any], **names: str) -> dict[str, Any]:
    """A mapping with new names of fields, in their places; a field that has the new name already stays."""
    return {names.get(field, field) if names.get(field) not in spec else field: value for field, value in spec.items()}


def _multikueue_cluster(spec: dict[str, Any]) -> dict[str, Any]:
    sources = {field: spec[field] for field in ("kubeConfig", "clusterProfileRef") if field in spec}
    others = {field: value for field, value in spec.items() if field not in sources}
    return {**others, "clusterSource": sources} if sources else spec


# What becomes of the spec of each kind.
_KUEUE_KINDS: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    **dict.fromkeys(("LocalQueue", "MultiKueueConfig", "ProvisioningRequestConfig", "ResourceFlavor"), dict),
    **dict.fromkeys(("Topology", "WorkloadPriorityClass"), dict),
    "AdmissionCheck": lambda spec: documents.without_path(spec, ("retryDelayMinutes",)),
    "ClusterQueue": _cluster_queue,
    "Cohort": lambda spec: _rename_fields(spec, parent="parentName"),
    "MultiKueueCluster": _multikueue_cluster,
}
