"""The stages after building: what shaping takes over from the TrainJob, admission fills in, and delivery adds."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.api import names
from trainc.api.field_path import FieldPath, Item, Leaf
from trainc.diagnostics import Path
from trainc.explain.model import InputDocument, Origin
from trainc.explain.sources import input_of, schema_path
from trainc.ir.carried_metadata import carried
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.options import Options
from trainc.startup.records import dataclass

# The fields that JobSet's webhook fills in; all other defaults are the CRD's.
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
class Moved:
    """A field of the TrainJob that goes to the JobSet under `gitops`."""

    path: Path
    deviation: str


def moved(job: TrainJob, info: Info) -> Mapping[FieldPath, Moved]:
    """What the TrainJob alone carries, by its place in the JobSet; its own patches win over its metadata."""
    found: dict[FieldPath, Moved] = {}
    for field, own, spec_own in (
        ("labels", job.labels, job.spec_labels),
        ("annotations", job.annotations, job.spec_annotations),
    ):
        patched = {*spec_own, *(key for patch in job.patches for key in getattr(patch, field))}
        for key in carried(own):
            if key not in patched:
                path = ("metadata", field, key)
                found[path] = Moved(path, "metadata-moves-to-jobset")
    if job.managed_by == names.MULTIKUEUE_MANAGED_BY:
        found["spec", "managedBy"] = Moved(("spec", "managedBy"), "managed-by-moves-to-jobset")
    if job.active_deadline_seconds and info.trainer is not None:
        deadline = ("spec", "activeDeadlineSeconds")
        place = ("spec", "replicatedJobs", Item(info.trainer.name), "template", *deadline)
        found[place] = Moved(deadline, "deadline-moves-to-trainer")
    return found


def by_move(trainjob: InputDocument, move: Moved, leaf: Leaf) -> Origin:
    """A leaf that was the TrainJob's."""
    inputs = (input_of(trainjob, move.path),)
    return Origin("trainjob", trainjob.label, leaf.value, deviation=move.deviation, inputs=inputs)


def by_stage(stage: str, options: Options, leaf: Leaf) -> Origin:
    """A leaf that any other stage set."""
    if stage == "admission":
        field = schema_path(leaf.path)
        if field in _WEBHOOK:
            rule, deviation = f"default of JobSet {field}", "admission-defaults"
            return Origin("admission", "JobSet webhook", leaf.value, rule=rule, deviation=deviation)
        return Origin("admission", "JobSet CRD", leaf.value, rule=f"default of JobSet {field}")
    if stage == "delivery":
        return Origin("delivery", _TOOLS[options.delivery], leaf.value, rule=f"--delivery {options.delivery}")
    return Origin("deviation", stage, leaf.value, deviation=stage)
