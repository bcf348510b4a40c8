"""Convert one v1 job, alone or inside another document, to the documents that replace it, and report the differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias

from trainc.api.documents import check, enclosed
from trainc.api.findings import Finding, Path, format_path, has_errors
from trainc.api.kube import Json, documents, mapping, names, releases, value_at
from trainc.api.records import dataclass, replace
from trainc.features.migration.v1.v1 import documents as old, mpi
from trainc.features.migration.v1.v1.admission import admit
from trainc.features.migration.v1.v1.documents import main_name
from trainc.features.migration.v1.v1.job import (
    DATA,
    LABELS,
    UNKNOWN_NAME,
    Job,
    Kind,
    Layout,
    changes,
    differs,
    excess,
    job_of,
    layout_of,
    pod_labels,
    renaming,
    stuck,
    unreadable,
)
from trainc.features.migration.v1.v1.variables import Launch, Variables, launch_of

# "runtime" for one of the job's own, "catalog" for one that trainc ships, or the name of another.
Into: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Converted:
    """The result for one job: TrainJob, runtime, and a ConfigMap if needed; empty if it is refused.

    `pods` is a short description of which pods become which. `layout` is how they are arranged; None if the job is not
    one that v1 would run. `counts` says that variables of its pods have the number of nodes, too. `shorter` is a name
    that would fit, if that of the job is too long.
    """

    documents: tuple[dict[str, Any], ...]
    findings: tuple[Finding, ...]
    pods: str = ""
    layout: Layout | None = None
    counts: bool = False
    shorter: str = ""


class Choices(NamedTuple):
    """How jobs are converted, as the options of `migrate` say."""

    release: str
    into: Into
    variables: Variables
    # The runtime that `into` names.
    runtime: Json | None = None


def convert(kind: Kind, document: Json, choices: Choices, *, is_named: bool = True) -> Converted:
    """Convert a document of a v1 kind. Paths of findings refer to that document.

    Without `is_named`, its name is only as long as that of the jobs that are made from it.
    """
    document, findings = admit(kind, document, choices.release)
    if has_errors(findings):
        return Converted((), tuple(findings))
    layout = layout_of(job_of(kind, document))
    findings += _impossible(layout.job)
    shorter = _shorter(layout.job.name, excess(layout)) if excess(layout) > 0 else ""
    findings += [_too_long(layout, shorter, is_named)] if shorter else unreadable(layout)
    if not is_named:
        layout = replace(layout, job=replace(layout.job, name=UNKNOWN_NAME))
        if kind.is_mpi and not mpi.has_policy(layout):
            hosts = "its hosts, which begin with a name that only the cluster knows"
            message = f"such an MPIJob needs a ConfigMap with {hosts}"
            findings.append(stuck(("spec",), message, "run it outside of the Experiment, or with Open MPI"))
    if has_errors(findings):
        return Converted((), tuple(findings), layout=layout, shorter=shorter)
    rename, launch = renaming(layout), launch_of(layout, choices.variables)
    config_maps = (mpi.config_map(layout),) if kind.is_mpi and not mpi.has_policy(layout) else ()
    results: tuple[dict[str, Any], ...] = (*old.documents_of(layout, rename, launch), *config_maps)
    if choices.into == "catalog":
        results, catalog_findings = _on_catalog(layout, launch, results, choices.release)
        findings += catalog_findings
    elif choices.runtime is not None:
        from trainc.features.migration.v1.onto import on_runtime

        patched = _with_patch(results[0], results[1], choices.into)
        results, runtime_findings = on_runtime(layout, results, patched, choices.runtime, choices.release)
        findings += runtime_findings
    findings += (*old.differences(layout, rename), *_differences(layout, launch, choices.variables))
    before = " + ".join(f"{role.name} {role.replicas}" for role in layout.job.roles)
    after = " + ".join(f"{group.name} {len(group.pods)}" for group in layout.groups)
    counts = layout.is_single and layout.job.size > 1 and not launch.has_policy
    return Converted(results, tuple(findings), f"{before} -> {after}", layout, counts)


def _impossible(job: Job) -> Iterator[Finding]:
    for role in job.roles:
        for index, container in enumerate(role.containers):
            if container.get("name") == names.NODE and index != job.main(role):
                path = (*role.path, "template", "spec", "containers", index)
                message = "a sidecar is called node, the name that Trainer expects of the main container"
                yield stuck(path, message, "rename the container, then migrate again")


def _shorter(name: str, by: int) -> str:
    """A name with fewer characters: it ends between two words if that leaves most of it."""
    most = max(len(name) - by, 1)
    cut = name[:most]
    words = cut.rpartition("-")[0] if name[most : most + 1] != "-" else cut
    return (words if len(words) * 3 >= most * 2 else cut).rstrip("-")


def _too_long(layout: Layout, shorter: str, is_named: bool) -> Finding:
    name, by = layout.job.name, excess(layout)
    message = f"the pods of {name} would have names that are {by} characters too long for a host name"
    hint = f"call the job {shorter}, or another name of at most {len(name) - by} characters; --rename does that"
    if not is_named:
        hint = f"make the name of what creates these jobs {by} characters shorter"
    return stuck(("metadata", "name"), message, hint)


def _differences(layout: Layout, launch: Launch, choice: Variables) -> Iterator[Finding]:
    job = layout.job
    for field, (message, hint) in DATA["leftOut"].items():
        if job.metadata.get(field):
            yield differs(("metadata", field), message, hint)
    yield from old.lifecycle_differences(layout)
    if job.kind.is_mpi:
        yield from mpi.differences(layout)
    elastic = job.spec.get("elasticPolicy") or {}
    if elastic.get("metrics"):
        message = "v1 created a HorizontalPodAutoscaler from the metrics, which scaled the workers"
        hint = "set a fixed number of replicas: a running JobSet cannot be scaled"
        yield differs(("spec", "elasticPolicy", "metrics"), message, hint)
    if elastic.get("minReplicas") != elastic.get("maxReplicas") and job.kind.name == "PyTorchJob":
        message = "torchrun gets the same range of nodes; the number of pods stays at replicas"
        hint = "no action needed: torchrun continues with the remaining nodes, down to minReplicas"
        yield changes(("spec", "elasticPolicy"), message, hint)
    if job.spec.get("enableDynamicWorker"):
        message = "with enableDynamicWorker, workers could join a running job; the number of pods of a JobSet is fixed"
        hint = "set replicas to the largest number that the job may need"
        yield differs(("spec", "enableDynamicWorker"), message, hint)
    if names.QUEUE_LABEL in (job.metadata.get("labels") or {}):
        message = f"Kueue now queues a JobSet instead of this {job.kind.name}"
        hint = "make sure that Kueue's integrations include jobset.x-k8s.io/jobset (the default)"
        yield changes(("metadata", "labels", names.QUEUE_LABEL), message, hint)
    manager = job.policy.get("managedBy")
    if manager not in (None, names.MULTIKUEUE_MANAGED_BY):
        message = f"managedBy {manager} is removed: Trainer's controller manages the job, or under GitOps no controller"
        yield changes(("spec", "runPolicy", "managedBy"), message, "no action needed")
    if choice == "torchrun" and job.kind.name == "PyTorchJob" and not launch.has_policy:
        message = "the job keeps v1's environment variables: its command is not `python x`, or torchrun would start it differently"
        yield changes(("spec", job.kind.replicas), message, "to use torchrun, change the command by hand")


# Shipped runtimes: a job that refers to a runtime of the catalog, with a patch for what that lacks.

# (runtime, the releases that have it)
_CATALOG = {
    "PyTorchJob": ("torch-distributed", releases.Span("2.0")),
    "JAXJob": ("jax-distributed", releases.Span("2.2")),
    "XGBoostJob": ("xgboost-distributed", releases.Span("2.2")),
}
_MANAGER = f"migrated.{names.TRAINER_GROUP}/1"
# The main container in a patch: the rest of it stands in the TrainJob's trainer.
_PATCHED = ("name", "env", "volumeMounts", "securityContext")


def _on_catalog(
    layout: Layout, launch: Launch, own_documents: tuple[dict[str, Any], ...], release: str
) -> tuple[tuple[dict[str, Any], ...], list[Finding]]:
    """A job's TrainJob alone, on a runtime of the catalog; with its own runtime where none fits, and why."""
    job, runtime, *_ = own_documents
    name, serving = _CATALOG.get(layout.job.kind.name, ("", releases.Span("2.0")))
    path = ("spec", layout.job.kind.replicas)
    starts_alike = layout.is_single and (launch.has_policy or layout.job.kind.name != "PyTorchJob")
    if not name or release not in serving or not starts_alike:
        message = "no built-in runtime starts such a job as v1 did; the job gets a runtime of its own"
        return own_documents, [changes(path, message, "no action needed")]
    unfit = list(_mismatches(runtime, layout.job.kind.port_name))
    patched = _with_patch(job, runtime, name)
    unfit = unfit or [format_path(f.path) for f in check(patched, "TrainJob", release)[1] if f.severity == "error"]
    if unfit:
        message = f"the built-in runtime {name} does not fit, because a TrainJob cannot patch {', '.join(unfit)}; the job gets a runtime of its own"
        hint = "no action needed; to use the built-in runtime, remove these fields"
        return own_documents, [changes(path, message, hint)]
    return (patched,), list(_lost_settings(layout, runtime, name))


def _job_of(runtime: Json) -> dict[str, Any]:
    job: dict[str, Any] = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]
    return job


def _mismatches(runtime: Json, port_name: str) -> Iterator[str]:
    """What of the pods neither the TrainJob nor a patch of it can say."""
    pod = _job_of(runtime)["spec"]["template"]["spec"]
    yield from (field for field in ("initContainers",) if pod.get(field))
    for container in pod["containers"]:
        if container["name"] != names.NODE:
            yield f"containers[{container['name']}]"
            continue
        for field, value in container.items():
            is_default_port = field == "ports" and all(port.get("name") == port_name for port in value)
            if field not in (*_PATCHED, "image") and not is_default_port:
                yield field


def _with_patch(job: Json, runtime: Json, name: str) -> dict[str, Any]:
    """The TrainJob on a shipped runtime, with what its pods have beyond the trainer as a patch."""
    template = _job_of(runtime)["spec"]["template"]
    pod = {field: value for field, value in template["spec"].items() if field != "restartPolicy" and value}
    main = next(container for container in pod.pop("containers") if container["name"] == names.NODE)
    container = {field: main[field] for field in _PATCHED if field in main}
    if len(container) > 1:
        pod["containers"] = [container]
    metadata = {"metadata": template["metadata"]} if template.get("metadata") else {}
    spec = {**job["spec"], "runtimeRef": {"name": name}}
    if pod or metadata:
        change = {"template": {**metadata, **({"spec": pod} if pod else {})}}
        jobs = [{"name": names.NODE, "template": {"spec": change}}]
        patch = {"template": {"spec": {"replicatedJobs": jobs}}}
        spec["runtimePatches"] = [{"manager": _MANAGER, "trainingRuntimeSpec": patch}]
    return {**job, "spec": spec}


def _lost_settings(layout: Layout, runtime: Json, name: str) -> Iterator[Finding]:
    template, job = runtime["spec"]["template"], _job_of(runtime)["spec"]
    lost = [field for field in ("backoffLimit", "podFailurePolicy", "successPolicy") if field in job]
    lost += [field for field in ("ttlSecondsAfterFinished",) if field in template["spec"]]
    lost += ["podGroupPolicy"] if "podGroupPolicy" in runtime["spec"] else []
    if job["template"]["spec"]["restartPolicy"] != "OnFailure":
        lost.insert(0, "restartPolicy Never")
    if lost:
        message = f"the built-in runtime {name} does not set {', '.join(lost)}, which the job had in v1"
        yield differs(("spec", layout.job.kind.replicas), message, "migrate with --into runtime to keep them")


# Jobs inside AppWrappers and Katib Experiments: how they are read, and what encloses them after the migration.
#
# An AppWrapper counts and places pods by the templates in its components, which the TrainingRuntime has. Katib makes
# a job of its own for each trial, so that the runtime stands beside the Experiment, and only the cluster knows the
# job's name. Source: project-codeflare/appwrapper api/v1beta2 and internal/webhook, kubeflow/katib
# pkg/apis/controller/experiments/v1beta1 (v0.19.0).

_WRAPPERS = "workload.codeflare.dev/"
_EXPERIMENTS = "kubeflow.org/v1beta1"
_COMPONENTS: Path = ("spec", "components")
_TRIAL: Path = ("spec", "trialTemplate")
_TRIAL_SPEC: Path = (*_TRIAL, "trialSpec")
_POD_TEMPLATE = "template.spec.template.spec.replicatedJobs[{}].template.spec.template"
# Katib adds as many random characters, and a dash, to the name of an Experiment.
_TRIAL_SUFFIX = "-12345678"
_PARAMETER = "${trial"
_CONDITION = 'status.conditions.#(type=="{}")#|#(status=="True")#'


def is_wrapper(document: Json) -> bool:
    """Return whether a document is an AppWrapper whose components can be migrated."""
    return document.get("kind") == "AppWrapper" and str(document.get("apiVersion")).startswith(_WRAPPERS)


def is_experiment(document: Json) -> bool:
    """Return whether a document is a Katib Experiment whose trial can be migrated."""
    return document.get("kind") == "Experiment" and document.get("apiVersion") == _EXPERIMENTS


def job_in(document: Json, job: enclosed.Enclosed) -> Json | None:
    """A job inside a document as one of its own, with a name and namespace; None where it cannot be migrated."""
    if job.document is None:
        return None
    own_metadata = mapping(job.document.get("metadata"))
    namespace = value_at(document, ("metadata", "namespace"))
    enclosing = {"namespace": namespace} if namespace else {}
    if is_wrapper(document) and job.path[:2] == _COMPONENTS and job.path[3:] == ("template",):
        return {**job.document, "metadata": {**enclosing, **own_metadata}}
    if is_experiment(document) and job.path == _TRIAL_SPEC:
        name = f"{_experiment(document)}{_TRIAL_SUFFIX}"
        return {**job.document, "metadata": {**own_metadata, **enclosing, "name": name}}
    return None


def _experiment(document: Json) -> str:
    name = value_at(document, ("metadata", "name")) or value_at(document, ("metadata", "generateName"))
    return str(name or "experiment").rstrip("-")


def cannot(document: Json, job: enclosed.Enclosed) -> Finding:
    """Why a job in this place is not migrated, and what to do with it."""
    where = "in the text of" if job.document is None else "inside"
    message = f"the {job.kind} of v1 {where} this {document.get('kind', 'document')} is not migrated"
    hint = "copy the job to a file, run `trainc migrate` on that, and put what it writes in the place of the job"
    return stuck(job.path, message, hint)


def replace_enclosing(
    document: Json, inside: Sequence[enclosed.Enclosed], converted: Sequence[Converted]
) -> tuple[tuple[Json, ...], list[Finding]]:
    """The documents that replace one with jobs inside, each of which has been converted."""
    if is_wrapper(document):
        by_component = {int(job.path[2]): result for job, result in zip(inside, converted, strict=True)}
        wrapper, findings = _with_components(document, by_component)
        return (wrapper,), findings
    experiment, findings = _with_trial(document, converted[0])
    return (experiment, *converted[0].documents[1:]), findings


def _with_components(document: Json, converted: Mapping[int, Converted]) -> tuple[Json, list[Finding]]:
    """An AppWrapper with the documents of each job as components; the runtime's says which pods there are."""
    components: list[Json] = []
    findings: list[Finding] = []
    for index, component in enumerate(document["spec"]["components"]):
        result = converted.get(index)
        if result is None:
            components.append(component)
            continue
        assert result.layout is not None
        is_named = value_at(component, ("template", "metadata", "namespace")) is not None
        path = ("metadata", "namespace")
        replacements = [
            d if is_named or not value_at(d, path) else documents.without_path(d, path) for d in result.documents
        ]
        job, runtime, *rest = replacements[0], _with_resources(replacements[1], replacements[0]), *replacements[2:]
        components += ({"template": other} for other in rest)
        pods = {group.name: len(group.pods) for group in result.layout.groups}
        pod_sets = [
            {"replicas": pods[replicated_job["name"]], "path": _POD_TEMPLATE.format(at)}
            for at, replicated_job in enumerate(runtime["spec"]["template"]["spec"]["replicatedJobs"])
        ]
        components.append({"podSets": pod_sets, "template": runtime})
        fields = {field: value for field, value in component.items() if field not in ("podSets", "podSetInfos")}
        components.append({**fields, "template": job})
        message = "the job is now two components: the runtime, whose podSets Kueue counts, and the TrainJob"
        hint = "allow AppWrapper's controller, and the people who use it, to create trainjobs and trainingruntimes of trainer.kubeflow.org"
        findings.append(differs((*_COMPONENTS, index, "template"), message, hint))
    return documents.with_value(document, _COMPONENTS, components), findings


def _with_resources(runtime: Json, job: Json) -> Json:
    """The runtime with the resources that the TrainJob asks for, which an AppWrapper sees in pod templates only."""
    resources = value_at(job, ("spec", "trainer", "resourcesPerNode"))
    if not resources:
        return runtime
    runtime = deepcopy(runtime)
    (replicated,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    containers = replicated["template"]["spec"]["template"]["spec"]["containers"]
    next(container for container in containers if container["name"] == names.NODE)["resources"] = resources
    return runtime


def name_runtime(document: Json, converted: Converted) -> Converted:
    """The documents of an Experiment's job, with its runtime called like the Experiment."""
    if not converted.documents:
        return converted
    job, runtime, *rest = converted.documents
    if _PARAMETER in str(runtime):
        message = "its roles differ, so their commands are part of a runtime, where Katib fills in no parameters"
        finding = stuck((), message, "give all roles the same template, then migrate again")
        return replace(converted, documents=(), findings=(*converted.findings, finding))
    runtime = {**runtime, "metadata": {**runtime["metadata"], "name": _experiment(document)}}
    return replace(converted, documents=(job, runtime, *rest))


def _with_trial(document: Json, converted: Converted) -> tuple[Json, list[Finding]]:
    """An Experiment whose trials are TrainJobs: Katib follows their conditions and the pod that was the primary one."""
    template, trainjob, layout = document["spec"]["trialTemplate"], converted.documents[0], converted.layout
    assert layout is not None
    metadata = {field: value for field, value in trainjob["metadata"].items() if field not in ("name", "namespace")}
    spec = {field: value for field, value in {**trainjob, "metadata": metadata}.items() if value}
    primary, container = _primary(template, layout)
    changed = {
        **template,
        "primaryContainerName": container,
        "trialSpec": spec,
        "successCondition": _CONDITION.format("Complete"),
        "failureCondition": _CONDITION.format("Failed"),
        "primaryPodLabels": primary,
        "retain": True,
    }
    message = "Katib follows the conditions of the TrainJob, keeps it when the trial is over, and reads the metrics of its first pod"
    hint = "use Katib 0.19 or newer; an older one needs TrainJob.v1alpha1.trainer.kubeflow.org in its trialResources, and the permission to create it"
    return documents.with_value(document, _TRIAL, changed), [changes(_TRIAL, message, hint)]


def _primary(template: Json, layout: Layout) -> tuple[dict[str, str], str]:
    """The labels and the main container of the pod that reports the metrics of a trial."""
    primary_labels = template.get("primaryPodLabels") or {"job-role": "master"}
    # Katib before 0.13 had v1's labels without their prefix.
    unprefixed = ("job-role", "replica-type", "replica-index")
    labels = {f"{LABELS}{key}" if key in unprefixed else key: value for key, value in primary_labels.items()}
    group, selecting = pod_labels(labels, layout)
    old = layout.job.main_of(group.role).get("name")
    container = template.get("primaryContainerName")
    return selecting, main_name(layout, group) if container in (None, old) else str(container)
