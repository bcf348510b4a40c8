"""The passes of initializers: pass the sources of the dataset and the model to the jobs that download them.

Source: kubeflow/trainer pkg/runtime/framework/plugins/jobset (Validate in jobset.go, Initializer in builder.go).
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.info import Container, Info, PodSet
from trainc.ir.provenance import derived
from trainc.ir.trainjob import InitializerStep, TrainJob, carry_over, literal
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.plugins.plugin import Passes
from trainc.startup.records import replace

# The catalog's runtime that serves a dataset from memory.
_CACHING = "torch-distributed-with-cache"


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield errors if a configured initializer has no job, no container or, since 2.3, no mount of the shared volume."""
    for step in names.INITIALIZERS:
        initializer = job.initializer(step)
        if initializer is not None and (problem := _missing(info.pod_set(step), step, info)):
            caches = (initializer.storage_uri or "").lower().startswith("cache:")
            name = _CACHING if caches else info.release.sharing_runtime
            message = f"the TrainJob configures the {step}, but {problem}"
            hint = (
                f"use a runtime with this job whose trainer sees what it provides, as in runtimeRef: {{name: {name}}}, "
                f"or remove spec.initializer.{step.partition('-')[0]}"
            )
            yield Finding("InitializerNotInRuntime", "error", message, hint, ("spec", "runtimeRef"))


def _missing(pod_set: PodSet | None, step: str, info: Info) -> str:
    if pod_set is None:
        return f"the runtime has no replicated job {step!r}"
    if pod_set.container(step) is None:
        return f"the runtime's job {step!r} has no container {step!r}"
    mounts = [m["name"] for c in pod_set.containers if c.name == step for m in c.mounts]
    if info.release.initializer_needs_mount and names.INITIALIZER_VOLUME not in mounts:
        return f"container {step!r} does not mount the volume {names.INITIALIZER_VOLUME!r} that it fills"
    return ""


def pre_build_sync(job: TrainJob, policy: Json, info: Info) -> Info:
    """Set the source on each initializer, which is identified by its ancestor label and not by its name."""
    for pod_set in info.pod_sets:
        step = job.initializer(pod_set.ancestor) if pod_set.ancestor in names.INITIALIZERS else None
        if step is not None:
            info = info.with_pod_set(_configure(pod_set, step, info))
    return info


def _configure(pod_set: PodSet, step: InitializerStep, info: Info) -> PodSet:
    def configure(container: Container) -> Container:
        uri = () if step.storage_uri is None else (literal(derived("STORAGE_URI", step.storage_uri), step.storage_uri),)
        container = container.with_env((*uri, *carry_over(step.env, info.semantics)))
        if step.secret is None:
            return container
        sources = [*container.fields.get("envFrom", ()), {"secretRef": {"name": step.secret}}]
        return container.with_fields(envFrom=sources)

    configured = tuple(configure(c) if c.name == pod_set.ancestor else c for c in pod_set.containers)
    return replace(pod_set, containers=configured)


PASSES = Passes(validate=validate, pre_build_sync=pre_build_sync)
