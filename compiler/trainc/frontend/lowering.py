"""Lowering: a valid TrainJob and its patched runtime become the typed middle that plugins work on.

Source: kubeflow/trainer pkg/runtime/core/trainingruntime.go (newRuntimeInfo) and pkg/runtime/runtime.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.frontend import node_resources
from trainc.frontend.patches import read_patches
from trainc.ir import names
from trainc.ir.container import Container
from trainc.ir.info import Info
from trainc.ir.podset import PodSet
from trainc.ir.release import Release
from trainc.ir.requests import pod_requests
from trainc.ir.trainjob import InitializerStep, Trainer, TrainJob
from trainc.options import Options, Semantics

Json = Mapping[str, Any]


def lower_job(document: Json) -> TrainJob:
    """A defaulted TrainJob document as a TrainJob."""
    metadata, spec = document["metadata"], document["spec"]
    reference = spec["runtimeRef"]
    initializer = spec.get("initializer") or {}
    return TrainJob(
        name=metadata.get("name", ""),
        namespace=metadata.get("namespace", ""),
        runtime_name=reference["name"],
        runtime_kind=reference["kind"],
        trainer=_trainer(spec["trainer"]) if spec.get("trainer") is not None else None,
        dataset=_step(initializer.get("dataset")),
        model=_step(initializer.get("model")),
        suspend=spec.get("suspend"),
        managed_by=spec.get("managedBy", names.CONTROLLER_MANAGED_BY),
        active_deadline_seconds=spec.get("activeDeadlineSeconds"),
        labels=metadata.get("labels", {}),
        annotations=metadata.get("annotations", {}),
        spec_labels=spec.get("labels", {}),
        spec_annotations=spec.get("annotations", {}),
        patches=read_patches(spec),
    )


def _trainer(spec: Json) -> Trainer:
    return Trainer(
        image=spec.get("image"),
        command=_words(spec.get("command")),
        args=_words(spec.get("args")),
        env=tuple(spec.get("env", ())),
        num_nodes=spec.get("numNodes"),
        num_proc_per_node=spec.get("numProcPerNode"),
        resources_per_node=spec.get("resourcesPerNode"),
    )


def _words(words: list[str] | None) -> tuple[str, ...] | None:
    return None if words is None else tuple(words)


def _step(spec: Json | None) -> InitializerStep | None:
    if spec is None:
        return None
    secret = spec.get("secretRef")
    return InitializerStep(
        storage_uri=spec.get("storageUri"),
        env=tuple(spec.get("env", ())),
        secret=None if secret is None else secret.get("name", ""),
    )


def lower(job: TrainJob, runtime: Json, template: Json, release: Release, options: Options) -> Info:
    """The Info of a job: `runtime` is the defaulted document, `template` its JobSetSpec with patches applied."""
    semantics = options.semantics
    spec = runtime["spec"]
    ml_policy = spec.get("mlPolicy")
    labels, annotations = _job_set_metadata(job, spec.get("template", {}).get("metadata") or {})
    pod_sets = tuple(
        _pod_set(replicated_job, job, ml_policy, release, semantics)
        for replicated_job in template.get("replicatedJobs", ())
    )
    return Info(
        release=release,
        semantics=semantics,
        cluster_domain=options.cluster_domain,
        template=template,
        pod_sets=pod_sets,
        runtime_jobs=_containers_by_job(spec.get("template", {}).get("spec") or {}),
        ml_policy=ml_policy,
        pod_group_policy=spec.get("podGroupPolicy"),
        labels=labels,
        annotations=annotations,
        command=job.trainer.command if job.trainer else None,
        args=job.trainer.args if job.trainer else None,
    )


def _job_set_metadata(job: TrainJob, template: Json) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and annotations of the JobSet: the template's, then the TrainJob's spec, then each patch's."""
    labels = {**template.get("labels", {}), **job.spec_labels}
    annotations = {**template.get("annotations", {}), **job.spec_annotations}
    for patch in job.patches:
        labels.update(patch.labels)
        annotations.update(patch.annotations)
    return labels, annotations


def _pod_set(
    replicated_job: Json, job: TrainJob, ml_policy: Json | None, release: Release, semantics: Semantics
) -> PodSet:
    template = replicated_job["template"]
    pod_spec = _pod_spec(replicated_job)
    ancestor = (template.get("metadata") or {}).get("labels", {}).get(names.ANCESTOR_LABEL)
    count = template.get("spec", {}).get("parallelism", 1)
    if ancestor == names.TRAINER and ml_policy is not None:
        count = ml_policy.get("numNodes", 1)
    name = replicated_job["name"]
    asked = job.trainer.resources_per_node if job.trainer else None
    requesting = pod_spec
    if asked is not None and node_resources.concerns(name, ancestor, ml_policy, release, semantics):
        requesting = node_resources.with_node_resources(pod_spec, asked, names.NODE, release, semantics)
    running = requesting if release.resources == "merge" or semantics == "gitops" else pod_spec
    return PodSet(
        name=name,
        ancestor=ancestor,
        count=max(count, 1),
        replicas=replicated_job.get("replicas", 1),
        containers=tuple(Container(fields) for fields in running.get("containers", ())),
        init_containers=tuple(Container(fields) for fields in running.get("initContainers", ())),
        volumes=tuple(running.get("volumes", ())),
        requests=pod_requests(requesting, limits_count=semantics == "gitops"),
        role=name if name in (names.NODE, names.LAUNCHER) else "",
        # So that `kubectl logs -l` finds the pods of a step without knowing the job's name.
        labels={names.ANCESTOR_LABEL: ancestor} if ancestor and semantics == "gitops" else {},
    )


def _containers_by_job(template: Json) -> dict[str, tuple[str, ...]]:
    return {
        replicated_job["name"]: tuple(
            container["name"]
            for kind in ("initContainers", "containers")
            for container in _pod_spec(replicated_job).get(kind, ())
        )
        for replicated_job in template.get("replicatedJobs", ())
    }


def _pod_spec(replicated_job: Json) -> Json:
    job_spec = replicated_job.get("template", {}).get("spec", {})
    spec: Json = job_spec.get("template", {}).get("spec", {})
    return spec
