"""Patches: the TrainJob's changes to its runtime's template, applied in order.

Source: kubeflow/trainer pkg/runtime/core/trainingruntime.go (mergeRuntimePatches and its predecessors).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api.documents import Json
from trainc.api.merge_keys import MERGE_KEYS, MERGED_SETS
from trainc.api.strategic_merge import PatchFailedError, strategic_merge
from trainc.diagnostics import Finding, Path
from trainc.ir.release import Release
from trainc.ir.trainjob import Patch, PatchedJob


def read_patches(spec: Json) -> tuple[Patch, ...]:
    """Return the patches of a TrainJob's spec, from the field of any release."""
    return (
        *_overrides(spec, "podSpecOverrides"),
        *_overrides(spec, "podTemplateOverrides"),
        *_runtime_patches(spec),
    )


def _runtime_patches(spec: Json) -> Iterator[Patch]:
    for i, item in enumerate(spec.get("runtimePatches", ())):
        path: Path = ("spec", "runtimePatches", i)
        template = (item.get("trainingRuntimeSpec") or {}).get("template") or {}
        metadata = template.get("metadata") or {}
        jobs_path = (*path, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        jobs = tuple(
            PatchedJob(
                job["name"],
                job.get("template"),
                (*jobs_path, j),
                (*jobs_path, j, "template", "spec", "template", "spec"),
            )
            for j, job in enumerate((template.get("spec") or {}).get("replicatedJobs", ()))
        )
        yield Patch(item["manager"], jobs, path, metadata.get("labels", {}), metadata.get("annotations", {}))


def _overrides(spec: Json, field: str) -> Iterator[Patch]:
    for i, item in enumerate(spec.get(field, ())):
        path: Path = ("spec", field, i)
        pod_template, pod_path = _pod_template_patch(item, field, path)
        template = {"spec": {"template": pod_template}}
        jobs = tuple(
            PatchedJob(target["name"], template, (*path, "targetJobs", j), pod_path)
            for j, target in enumerate(item["targetJobs"])
        )
        yield Patch(None, jobs, path)


def _pod_template_patch(item: Json, field: str, path: Path) -> tuple[Json, Path]:
    if field == "podSpecOverrides":
        return {"spec": {key: value for key, value in item.items() if key != "targetJobs"}}, path
    metadata = {k: v for k, v in (item.get("metadata") or {}).items() if k in ("labels", "annotations")}
    patch = {"metadata": metadata} if metadata else {}
    return ({**patch, "spec": item["spec"]} if item.get("spec") else patch), (*path, "spec")


def apply_patches(template: Json, patches: tuple[Patch, ...], release: Release) -> dict[str, Any]:
    """Return the JobSetSpec with all patches merged in, and its replicated jobs in the template's order.

    Raises PatchFailedError, with the patch's path in the TrainJob, if a patch cannot be merged.
    """
    jobs: list[Any] = list(template.get("replicatedJobs", ()))
    if not patches:
        return {**template, "replicatedJobs": jobs}
    order = {job["name"]: i for i, job in enumerate(jobs)}
    for patch in patches:
        jobs = _patch_jobs(jobs, patch, release)
    jobs = [_without_blank_account(job) for job in jobs]
    if any(_has_empty_list(patched.template) for patch in patches for patched in patch.jobs):
        jobs = _without_empty_lists(jobs)
    # A job that only a patch has sorts with the first one: the controller looks its name up in a Go map and gets 0.
    return {**template, "replicatedJobs": sorted(jobs, key=lambda job: order.get(job["name"], 0))}


def _without_blank_account(job: Json) -> Json:
    """Remove `serviceAccountName: ""`, with which a patch clears the template's. Go's PodSpec omits it."""
    template = job["template"]
    job_spec = template.get("spec") or {}
    pod_template = job_spec.get("template") or {}
    pod_spec = pod_template.get("spec") or {}
    if pod_spec.get("serviceAccountName") != "":
        return job
    kept = {field: value for field, value in pod_spec.items() if field != "serviceAccountName"}
    return {**job, "template": {**template, "spec": {**job_spec, "template": {**pod_template, "spec": kept}}}}


def _has_empty_list(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_empty_list, value.values()))
    return isinstance(value, list) and (not value or any(map(_has_empty_list, value)))


def _without_empty_lists(value: Any) -> Any:
    """Remove empty lists, with which a patch may replace required ones. Go's apply configurations omit them."""
    if isinstance(value, Mapping):
        return {name: _without_empty_lists(item) for name, item in value.items() if item != []}
    return [_without_empty_lists(item) for item in value] if isinstance(value, list) else value


def _patch_jobs(jobs: list[Any], patch: Patch, release: Release) -> list[Any]:
    if release.patch_scope == "job set":
        items = [{"name": p.name, **({"template": p.template} if p.template else {})} for p in patch.jobs]
        try:
            merged = strategic_merge({"replicatedJobs": jobs}, {"replicatedJobs": items} if items else {})
        except PatchFailedError as failed:
            # The six steps are replicatedJobs[i].template.spec.template.spec: all lists that merge by key are below it.
            raise failed.at((*patch.jobs[int(failed.path[1])].pod_path, *failed.path[6:])) from None
        return [job if "template" in job else {**job, "template": _EMPTY_JOB} for job in merged["replicatedJobs"]]
    for patched in patch.jobs:
        jobs = [_merge_job(job, patched) if job["name"] == patched.name else job for job in jobs]
    return jobs


def _merge_job(job: Json, patched: PatchedJob) -> Json:
    try:
        return {**job, "template": strategic_merge(job["template"], patched.template or {})}
    except PatchFailedError as failed:
        # The three steps are spec.template.spec, relative to the job's template.
        raise failed.at((*patched.pod_path, *failed.path[3:])) from None


_EMPTY_JOB: Json = {"spec": {"template": {"spec": {}}}}


# Lists that a patch always replaces on purpose.
_MEANT = frozenset(("command", "args"))


def replaced_lists(template: Mapping[str, Any], patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield a warning for each list of a JobSetSpec from which a patch removes items."""
    jobs = {job["name"]: job for job in template.get("replicatedJobs") or ()}
    for patch in patches:
        for patched in patch.jobs:
            job = jobs.get(patched.name)
            if job is None or not patched.pod_spec:
                continue
            job_spec = (job.get("template") or {}).get("spec") or {}
            spec = (job_spec.get("template") or {}).get("spec") or {}
            yield from _replaced(spec, patched.pod_spec, patched.pod_path)


def _replaced(base: Mapping[str, Any], patch: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    for key, value in patch.items():
        before, here = base.get(key), (*path, key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            yield from _replaced(before, value, here)
        elif isinstance(value, list) and isinstance(before, list) and key not in MERGED_SETS | _MEANT:
            yield from (
                _merged_items(before, value, here, MERGE_KEYS[key])
                if key in MERGE_KEYS
                else _lost_items(before, value, here, key)
            )


def _merged_items(before: list[Any], value: list[Any], path: Path, merge_key: str) -> Iterator[Finding]:
    known = {item.get(merge_key): item for item in before if isinstance(item, Mapping)}
    for i, item in enumerate(value):
        if isinstance(item, Mapping) and item.get(merge_key) in known:
            yield from _replaced(known[item.get(merge_key)], item, (*path, i))


def _lost_items(before: list[Any], value: list[Any], path: Path, key: str) -> Iterator[Finding]:
    lost = [item for item in before if item not in value]
    if lost:
        message = f"a patch replaces {key} whole: {len(lost)} of the runtime's {len(before)} are gone: {_shown(lost)}"
        yield Finding("ListReplaced", "warning", message, hint="repeat in the patch the items to keep", path=path)


def _shown(items: list[Any]) -> str:
    import json

    text = ", ".join(json.dumps(item, sort_keys=True) for item in items[:2])
    return (text[:97] + "...") if len(text) > 100 else text
