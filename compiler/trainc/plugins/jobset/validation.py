"""Validation of a TrainJob's patches, with the field paths of upstream's webhook.

Source: kubeflow/trainer pkg/runtime/framework/plugins/jobset/jobset.go (Validate) at each release's tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.api import names
from trainc.api.documents import Json
from trainc.diagnostics import Finding, Path
from trainc.ir.info import Info
from trainc.ir.trainjob import Patch, PatchedJob, TrainJob
from trainc.startup.patterns import pattern

_MAIN_CONTAINERS = (names.NODE, names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
# kubernetes/apimachinery pkg/util/validation IsDomainPrefixedPath: a DNS subdomain, a slash, an HTTP path.
_DOMAIN_PREFIXED_PATH = pattern(
    rf"(?a)(?=[^/]{{1,253}}/){_DNS_LABEL}(?:\.{_DNS_LABEL})*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
)


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield errors for managers, jobs, containers and variables of patches."""
    for patch in job.patches:
        yield from _manager(patch)
        for patched in patch.jobs:
            yield from _patched_job(patch, patched, info)
    yield from _repeated_jobs(job, info)


def _manager(patch: Patch) -> Iterator[Finding]:
    if patch.manager is not None and not _DOMAIN_PREFIXED_PATH.fullmatch(patch.manager):
        yield Finding(
            "InvalidManager",
            "error",
            f"manager {patch.manager!r} is not a domain with a path",
            "write <domain>/<name>, such as team-a.example.com/defaults",
            ("spec", "runtimePatches", "manager"),
            source_path=(*patch.path, "manager"),
        )


def _patched_job(patch: Patch, patched: PatchedJob, info: Info) -> Iterator[Finding]:
    pod_set = info.pod_set(patched.name)
    # Upstream checks the template after merging the patch, so that since 2.3 the patch itself has created the job.
    if pod_set is None or (info.gitops and patched.name not in info.runtime_jobs):
        yield Finding(
            "UnknownPatchedJob",
            "error",
            f"the patch is for job {patched.name!r}, which the runtime does not have",
            f"use one of the runtime's jobs: {', '.join(sorted(info.runtime_jobs)) or '(it has none)'}",
            patched.path,
        )
        return
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(patched.pod_spec.get(kind, ())):
            path = (*patched.pod_path, kind, index)
            if info.gitops and container["name"] not in info.runtime_jobs[patched.name]:
                yield _unknown_container(container["name"], patched.name, info, path)
            yield from _mounts_at_one_path(container.get("volumeMounts", ()), info, (*path, "volumeMounts"))
            if kind == "containers" and container.get("env") and container["name"] in _MAIN_CONTAINERS:
                yield Finding(
                    "PatchedTrainerEnv",
                    "error",
                    f"a patch cannot set env of container {container['name']!r}",
                    "set them in spec.trainer.env, spec.initializer.dataset.env or spec.initializer.model.env",
                    (*path, "env"),
                )


def _mounts_at_one_path(mounts: Sequence[Json], info: Info, path: Path) -> Iterator[Finding]:
    """Yield an error for two mounts of a patch at the same path.

    The API identifies a patch's mounts by volume, but the merge identifies them by path, and mixes the two.
    """
    first: dict[str, int] = {}
    for index, mount in enumerate(mounts):
        place = mount["mountPath"]
        if place in first:
            yield Finding(
                "DuplicateItem",
                "error" if info.gitops else "warning",
                f"mountPath {place!r} is in this list twice; the first is item {first[place]}, and they are merged into one",
                "remove one of them, or mount it at another path",
                (*path, index, "mountPath"),
            )
        first.setdefault(place, index)


def _unknown_container(name: str, job: str, info: Info, path: Path) -> Finding:
    known = info.runtime_jobs[job]
    return Finding(
        "UnknownPatchedContainer",
        "error",
        f"the patch is for container {name!r}, which the runtime's job {job!r} does not have, so it would add a container",
        f"use one of the job's containers: {', '.join(known)}",
        path,
    )


def _repeated_jobs(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error for a job with several overrides: v2.0.1 allows only one."""
    if not info.release.patched_job_twice_refused:
        return
    seen: set[str] = set()
    for patched in (patched for patch in job.patches for patched in patch.jobs):
        if patched.name in seen:
            yield Finding(
                "RepeatedTargetJob",
                "error",
                f"more than one override is for job {patched.name!r}",
                "merge them into one override",
                patched.path,
            )
        seen.add(patched.name)
