"""The stages after building: shaping copies TrainJob fields, admission fills in defaults, delivery adds fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api import names
from trainc.api.field_path import FieldPath, Item, Leaf, leaves
from trainc.diagnostics import Path
from trainc.explain.attribute import row_for, rows_of
from trainc.explain.model import InputDocument, Origin
from trainc.explain.sources import Sources, input_of, schema_path
from trainc.ir.info import Info
from trainc.ir.trainjob import Patch, PatchedJob, TrainJob, carried
from trainc.options import Options
from trainc.plugins.registry import enabled
from trainc.plugins.rows import Situation
from trainc.startup.records import dataclass, replace

# The fields that JobSet's webhook fills in; all other defaults are in the CRD.
_WEBHOOK = frozenset(
    {
        "spec.successPolicy.operator",
        "spec.startupPolicy.startupPolicyOrder",
        "spec.network.enableDNSHostnames",
        "spec.network.publishNotReadyAddresses",
        "spec.replicatedJobs[].template.spec.completionMode",
        "spec.replicatedJobs[].template.spec.template.spec.restartPolicy",
        "spec.failurePolicy.rules[].name",
        "spec.volumeClaimPolicies[].retentionPolicy.whenDeleted",
    }
)
_TOOLS = {"argocd": "Argo CD", "flux": "Flux CD", "kubectl": "kubectl"}


@dataclass(frozen=True, slots=True)
class MovedField:
    """A field of the TrainJob that moves to the JobSet under `gitops`."""

    path: Path
    deviation: str


def moved_fields(job: TrainJob, info: Info) -> Mapping[FieldPath, MovedField]:
    """The fields that only the TrainJob has, by their path in the JobSet; its patches win over its metadata."""
    found: dict[FieldPath, MovedField] = {}
    for field, own, spec_own in (
        ("labels", job.labels, job.spec_labels),
        ("annotations", job.annotations, job.spec_annotations),
    ):
        patched = {*spec_own, *(key for patch in job.patches for key in getattr(patch, field))}
        for key in carried(own):
            if key not in patched:
                path = ("metadata", field, key)
                found[path] = MovedField(path, "metadata-moves-to-jobset")
    if job.managed_by == names.MULTIKUEUE_MANAGED_BY:
        found["spec", "managedBy"] = MovedField(("spec", "managedBy"), "managed-by-moves-to-jobset")
    if job.active_deadline_seconds and info.trainer is not None:
        deadline = ("spec", "activeDeadlineSeconds")
        place = ("spec", "replicatedJobs", Item(info.trainer.name), "template", *deadline)
        found[place] = MovedField(deadline, "deadline-moves-to-trainer")
    return found


def by_move(trainjob: InputDocument, move: MovedField, leaf: Leaf) -> Origin:
    """The origin of a leaf that was moved from the TrainJob."""
    inputs = (input_of(trainjob, move.path),)
    return Origin("trainjob", trainjob.label, leaf.value, deviation=move.deviation, inputs=inputs)


def by_stage(stage: str, options: Options, leaf: Leaf) -> Origin:
    """The origin of a leaf set by any other stage."""
    if stage == "admission":
        field = schema_path(leaf.path)
        if field in _WEBHOOK:
            rule, deviation = f"default of JobSet {field}", "admission-defaults"
            return Origin("admission", "JobSet webhook", leaf.value, rule=rule, deviation=deviation)
        return Origin("admission", "JobSet CRD", leaf.value, rule=f"default of JobSet {field}")
    if stage == "delivery":
        return Origin("delivery", _TOOLS[options.delivery], leaf.value, rule=f"--delivery {options.delivery}")
    return Origin("deviation", stage, leaf.value, deviation=stage)


# The objects that a secrets mode adds: the fields that the job determines, and those copied from a sealed Secret.


# The fields that mode `sealed` copies; the others are generated.
_CIPHERTEXT: tuple[FieldPath, ...] = (
    ("spec", "encryptedData"),
    ("spec", "template", "immutable"),
    ("spec", "template", "metadata", "annotations"),
    ("metadata", "annotations"),
)


def by_secrets_mode(
    situation: Situation, sources: Sources, options: Options, sealed: InputDocument | None, leaf: Leaf
) -> Origin:
    """The origin of a leaf in an object that a secrets mode adds; `sealed` is its source document, if any."""
    flag = f"--secrets {options.secrets}"
    if sealed is not None and any(leaf.path[: len(field)] == field for field in _CIPHERTEXT):
        return Origin("delivery", "Secrets", leaf.value, rule=flag, inputs=(input_of(sealed, _carried(leaf)),))
    s = replace(situation, path=leaf.path, value=leaf.value)
    row = row_for((row for plugin in enabled(options.plugins) for row in rows_of(plugin, "secrets")), s)
    inputs = sources.inputs(row.refs(s)) if row is not None else ()
    rule = "; ".join((flag, *(given.rule for given in inputs if given.rule)))
    return Origin("delivery", "Secrets", leaf.value, rule=rule, inputs=tuple(i for i in inputs if not i.rule))


def sealed_of(documents: Sequence[InputDocument], manifest: Mapping[str, Any]) -> InputDocument | None:
    """The input document from which a SealedSecret of the output was copied."""
    if manifest["kind"] != "SealedSecret":
        return None
    wanted = _identity(manifest)
    return next((d for d in documents if d.raw.get("kind") == "SealedSecret" and _identity(d.raw) == wanted), None)


def _identity(document: Mapping[str, Any]) -> tuple[Any, Any]:
    metadata = document.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    return known.get("name"), known.get("namespace") or ""


def _carried(leaf: Leaf) -> Path:
    """The leaf's path in the document; the scope of the template is that of the document itself."""
    return leaf.index[2:] if leaf.index[:3] == ("spec", "template", "metadata") else leaf.index


# The leaves that a patch sets, as paths in the JobSet, with their paths in the TrainJob.


_POD: Path = ("spec", "template")


def patch_leaves(patch: Patch) -> Mapping[FieldPath, Path]:
    """Map each leaf's path in the JobSet to its path in the TrainJob."""
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
    """Only runtimePatches contain a whole JobTemplateSpec; overrides start at the pod template or its spec."""
    if patch.manager is not None:
        return (*patched.path, "template", *index)
    if index[:3] == (*_POD, "spec"):
        return (*patched.pod_path, *index[3:])
    return (*patch.path, *index[2:])
