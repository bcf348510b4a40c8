"""The leaves that a patch sets, in the JobSet's paths, and where in the TrainJob each of them is written."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.api.field_path import FieldPath, Item, leaves
from trainc.diagnostics import Path
from trainc.ir.patch import Patch, PatchedJob

_POD: Path = ("spec", "template")


def patch_leaves(patch: Patch) -> Mapping[FieldPath, Path]:
    """Each leaf's path in the JobSet, with its path in the TrainJob."""
    found: dict[FieldPath, Path] = {}
    metadata: Path = (*patch.path, "trainingRuntimeSpec", "template", "metadata")
    for field, values in (("labels", patch.labels), ("annotations", patch.annotations)):
        found.update({("metadata", field, key): (*metadata, field, key) for key in values})
    for patched in patch.jobs:
        found["spec", "replicatedJobs", Item(patched.name), "name"] = (*patched.path, "name")
        job = ("spec", "replicatedJobs", Item(patched.name), "template")
        for path, leaf in leaves(patched.template or {}).items():
            found[*job, *path] = _written_at(patch, patched, leaf.index)
    return found


def _written_at(patch: Patch, patched: PatchedJob, index: Path) -> Path:
    """Only runtimePatches spell out the whole JobTemplateSpec; overrides begin at the pod template or its spec."""
    if patch.manager is not None:
        return (*patched.path, "template", *index)
    if index[:3] == (*_POD, "spec"):
        return (*patched.pod_path, *index[3:])
    return (*patch.path, *index[2:])
