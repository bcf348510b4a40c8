"""Lints for valid values that have no effect: another value replaces them, or nothing reads them."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Path, Severity, remove
from trainc.ir.info import Info, PodSet
from trainc.ir.trainjob import TrainJob
from trainc.kube.documents import Json
from trainc.plugins.registry import enabled

_TEMPLATE: Path = ("spec", "template", "spec")


def processes_ignored(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for numProcPerNode with a policy that does not use it."""
    if job.trainer.num_proc_per_node is None:
        return
    # XGBoost derives the number of workers from the GPUs.
    several = [plugin for plugin in enabled(info.plugins) if plugin.reads_processes]
    if not any(plugin.policy_of(job, info) is not None for plugin in several):
        *others, last = (plugin.policy for plugin in several)
        message = f"numProcPerNode has no effect: the runtime's mlPolicy is not {', '.join(others)} or {last}"
        hint = remove("remove it, or use a runtime whose framework starts several processes per node")
        yield Finding("FieldIgnored", "warning", message, hint=hint, path=("spec", "trainer", "numProcPerNode"))


def values_overridden(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield findings for sizes and `suspend` of the template that are overridden. Runs on sized jobs."""
    written = info.template.get("suspend")
    if written is not None and written != bool(job.suspend):
        message = (
            f"suspend is {str(written).lower()} in the template and {str(bool(job.suspend)).lower()} in the JobSet"
        )
        hint = remove("remove it here, and set spec.suspend of the TrainJob, which wins")
        yield Finding("ValueOverridden", "info", message, hint=hint, path=(*_TEMPLATE, "suspend"), about="runtime")
    yield from _clamped(job, info)
    for index, (template, pod_set) in enumerate(zip(info.template["replicatedJobs"], info.pod_sets, strict=True)):
        path = (*_TEMPLATE, "replicatedJobs", index, "template", "spec")
        job_spec = template["template"].get("spec", {})
        impossible = list(_below_zero(job_spec, path)) if info.gitops else []
        yield from impossible or _sizes(job_spec, pod_set, path)


def _below_zero(job_spec: Json, path: Path) -> Iterator[Finding]:
    """Yield findings for negative counts, which are a mistake even though another number replaces them."""
    for name in ("parallelism", "completions"):
        if isinstance(count := job_spec.get(name), int) and count < 0:
            hint = remove("remove it: numNodes of the TrainJob or of the mlPolicy sets it")
            yield Finding(
                "OutOfRange", "error", f"{name} cannot be {count}", hint=hint, path=(*path, name), about="runtime"
            )


def _clamped(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a finding if the runtime's numNodes is below 1 and the TrainJob has none: all releases treat it as 1."""
    nodes = (info.ml_policy or {}).get("numNodes")
    decides = job.trainer.num_nodes is None
    if info.gitops and info.policy("mpi") is not None:
        return  # There it is the number of hosts, unchanged.
    if nodes is not None and nodes < 1 and decides and info.trainer is not None and info.trainer.count != nodes:
        message = f"numNodes is {nodes} in the mlPolicy, and {info.trainer.count} in the output"
        hint = "write 1 or more; to hold a job back, set suspend: true in the TrainJob"
        path: Path = ("spec", "mlPolicy", "numNodes")
        yield Finding("ValueOverridden", "warning", message, hint=hint, path=path, about="runtime")


def _sizes(job_spec: Json, pod_set: PodSet, path: Path) -> Iterator[Finding]:
    completions, parallelism = job_spec.get("completions"), job_spec.get("parallelism")
    if parallelism is not None and parallelism != pod_set.count:
        message = f"parallelism is {parallelism} in the template and {pod_set.count} in the output"
        hint = remove("remove it here: numNodes of the TrainJob or of the mlPolicy sets it")
        yield Finding("ValueOverridden", "info", message, hint=hint, path=(*path, "parallelism"), about="runtime")
    if completions is not None and completions != pod_set.count:
        # A Job with more completions than pods works through them in turn, which is lost here.
        severity: Severity = "info" if completions == parallelism else "warning"
        message = f"completions is {completions} in the template and {pod_set.count} in the output"
        hint = remove(
            "remove it here: Trainer runs each pod once, all at the same time, so completions is always the number of pods"
        )
        yield Finding("ValueOverridden", severity, message, hint=hint, path=(*path, "completions"), about="runtime")
