"""Jobs inside AppWrappers and Katib Experiments: how they are read, and what encloses them after the migration.

An AppWrapper counts and places pods by the templates in its components, which the TrainingRuntime has. Katib makes a
job of its own for each trial, so that the runtime stands beside the Experiment, and only the cluster knows the job's name.
Source: project-codeflare/appwrapper api/v1beta2 and internal/webhook, kubeflow/katib pkg/apis/controller/experiments/v1beta1
(v0.19.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy

from trainc.api.findings import Finding, Path
from trainc.api.kube import Json, names, value_at, with_value, without_path
from trainc.api.records import replace
from trainc.features.migrate.v1.conversion import Converted
from trainc.features.migrate.v1.documents import main_name
from trainc.features.migrate.v1.job import LABELS, changes, differs, stuck
from trainc.features.migrate.v1.labels import pod_labels
from trainc.features.migrate.v1.layout import Layout
from trainc.project.dialects.enclosed import Enclosed

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
    """Whether a document is an AppWrapper whose components can be migrated."""
    return document.get("kind") == "AppWrapper" and str(document.get("apiVersion")).startswith(_WRAPPERS)


def is_experiment(document: Json) -> bool:
    """Whether a document is a Katib Experiment whose trial can be migrated."""
    return document.get("kind") == "Experiment" and document.get("apiVersion") == _EXPERIMENTS


def job_in(document: Json, job: Enclosed) -> Json | None:
    """A job inside a document as one of its own, with a name and namespace; None where it cannot be migrated."""
    if job.document is None:
        return None
    metadata = job.document.get("metadata")
    own = dict(metadata) if isinstance(metadata, Mapping) else {}
    namespace = value_at(document, ("metadata", "namespace"))
    around = {"namespace": namespace} if namespace else {}
    if is_wrapper(document) and job.path[:2] == _COMPONENTS and job.path[3:] == ("template",):
        return {**job.document, "metadata": {**around, **own}}
    if is_experiment(document) and job.path == _TRIAL_SPEC:
        return {**job.document, "metadata": {**own, **around, "name": f"{_experiment(document)}{_TRIAL_SUFFIX}"}}
    return None


def _experiment(document: Json) -> str:
    name = value_at(document, ("metadata", "name")) or value_at(document, ("metadata", "generateName"))
    return str(name or "experiment").rstrip("-")


def cannot(document: Json, job: Enclosed) -> Finding:
    """Why a job in this place is not migrated, and what to do with it."""
    place = "in the text of" if job.document is None else "inside"
    message = f"the {job.kind} of v1 {place} this {document.get('kind', 'document')} is not migrated"
    hint = "copy the job to a file, run `trainc migrate` on that, and put what it writes in the place of the job"
    return stuck(job.path, message, hint)


def replaced(
    document: Json, inside: Sequence[Enclosed], converted: Sequence[Converted]
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
        made = [d if is_named or not value_at(d, path) else without_path(d, path) for d in result.documents]
        job, runtime, *others = made[0], _with_resources(made[1], made[0]), *made[2:]
        components += ({"template": other} for other in others)
        pods = {group.name: len(group.pods) for group in result.layout.groups}
        pod_sets = [
            {"replicas": pods[each["name"]], "path": _POD_TEMPLATE.format(at)}
            for at, each in enumerate(runtime["spec"]["template"]["spec"]["replicatedJobs"])
        ]
        components.append({"podSets": pod_sets, "template": runtime})
        kept = {field: value for field, value in component.items() if field not in ("podSets", "podSetInfos")}
        components.append({**kept, "template": job})
        message = "the job is now two components: the runtime, whose podSets Kueue counts, and the TrainJob"
        hint = "allow AppWrapper's controller, and the people who use it, to create trainjobs and trainingruntimes of trainer.kubeflow.org"
        findings.append(differs((*_COMPONENTS, index, "template"), message, hint))
    return with_value(document, _COMPONENTS, components), findings


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


def named_runtime(document: Json, converted: Converted) -> Converted:
    """The documents of an Experiment's job, with its runtime called like the Experiment."""
    if not converted.documents:
        return converted
    job, runtime, *others = converted.documents
    if _PARAMETER in str(runtime):
        message = "its roles differ, so their commands are part of a runtime, where Katib fills in no parameters"
        found = stuck((), message, "give all roles the same template, then migrate again")
        return replace(converted, documents=(), findings=(*converted.findings, found))
    runtime = {**runtime, "metadata": {**runtime["metadata"], "name": _experiment(document)}}
    return replace(converted, documents=(job, runtime, *others))


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
    return with_value(document, _TRIAL, changed), [changes(_TRIAL, message, hint)]


def _primary(template: Json, layout: Layout) -> tuple[dict[str, str], str]:
    """The labels and the main container of the pod that reports the metrics of a trial."""
    given = template.get("primaryPodLabels") or {"job-role": "master"}
    # Katib before 0.13 had v1's labels without their prefix.
    short = ("job-role", "replica-type", "replica-index")
    labels = {f"{LABELS}{key}" if key in short else key: value for key, value in given.items()}
    group, selecting = pod_labels(labels, layout)
    old = layout.job.main_of(group.role).get("name")
    chosen = template.get("primaryContainerName")
    return selecting, main_name(layout, group) if chosen in (None, old) else str(chosen)
