"""Dialects: APIs other than trainer.kubeflow.org/v1alpha1 that existing documents use."""

from __future__ import annotations

from collections.abc import Iterable

from trainc.findings.text import correct_spelling, edit_distance
from trainc.kube.documents import Json, value_at
from trainc.kube.names import KINDS, RUNTIME_KINDS, TRAINER_API, TRAINER_GROUP
from trainc.project.dialects.dialect import (
    Conversion as Conversion,
    Dialect as Dialect,
    DialectContext as DialectContext,
    NamingConvention as NamingConvention,
    original_path as original_path,
)

OME_GROUP = "ome.io"
OME_API = f"{OME_GROUP}/v1beta1"
V2ALPHA1_GROUP = "kubeflow.org"
V2ALPHA1_API = f"{V2ALPHA1_GROUP}/v2alpha1"
_BASE_MODEL_KIND = "ClusterBaseModel"
_RUNTIMES = {kind: kind for kind in RUNTIME_KINDS}
_TRAINJOB = {"TrainJob": "TrainJob", **_RUNTIMES}

OME = Dialect("ome", OME_GROUP, (OME_API,), {"TrainingJob": "TrainJob", **_RUNTIMES}, needs_initializers=True)
V2ALPHA1 = Dialect("v2alpha1", V2ALPHA1_GROUP, (V2ALPHA1_API,), _TRAINJOB)
# The name of the API for one day.
ONE_DAY_V2ALPHA1 = Dialect("v2alpha1", TRAINER_GROUP, (f"{TRAINER_GROUP}/v2alpha1",), _TRAINJOB)
DIALECTS = (OME, V2ALPHA1, ONE_DAY_V2ALPHA1)
# How many letters a misspelt group may differ by: `trainer.kubefow.org`, `trainer.kubeflow.io`.
_MISSPELT_BY = {TRAINER_GROUP: 4, V2ALPHA1_GROUP: 2}
# Jobs of the Training Operator and the MPI Operator, Trainer's predecessors, and of the operators before these, with the
# groups that they have had; only `trainc migrate` reads them.
LEGACY_KINDS = {
    **dict.fromkeys(("PyTorchJob", "TFJob", "JAXJob", "MPIJob", "MXJob"), (V2ALPHA1_GROUP,)),
    "XGBoostJob": (V2ALPHA1_GROUP, "xgboostjob.kubeflow.org"),
    "PaddleJob": (V2ALPHA1_GROUP, "batch.paddlepaddle.org"),
}


def dialect_of(document: Json) -> Dialect | None:
    """Return the dialect of a document, or None for Trainer's own API and anything else."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if version == TRAINER_API or not isinstance(kind, str):
        return None
    return next((d for d in DIALECTS if version in d.api_versions and kind in d.kinds), None)


def claimed_by(document: Json) -> Dialect | None:
    """Return the dialect whose group and kind a document uses, even if the version does not exist."""
    group, _, version = str(document.get("apiVersion", "")).partition("/")
    kind = str(document.get("kind"))
    return next((d for d in DIALECTS if version and group == d.group and kind in d.kinds), None)


def is_legacy(document: Json) -> bool:
    """Return whether a document is a job of Trainer's predecessors, in any API version."""
    kind = document.get("kind")
    groups = LEGACY_KINDS.get(kind, ()) if isinstance(kind, str) else ()
    return str(document.get("apiVersion")).partition("/")[0] in groups


def is_trainer_document(document: Json) -> bool:
    """Return whether a document is, or is meant to be, a TrainJob or runtime of any dialect.

    One of our kinds under a misspelt group is meant to be ours: without an error, its job would silently end.
    """
    version, kind = document.get("apiVersion"), document.get("kind")
    if version == TRAINER_API:
        return True
    group = str(version or "").partition("/")[0]
    if group == TRAINER_GROUP or (kind in KINDS and (not group or group.endswith("kubeflow.org"))):
        return True
    if claimed_by(document) is not None:
        return True
    if kind not in KINDS:
        return False
    return any(edit_distance(group.lower(), name, most) <= most for name, most in _MISSPELT_BY.items())


def is_sweep(document: Json) -> bool:
    """Return whether a document is, or is meant to be, a sweep: several TrainJobs, which a feature makes of it."""
    kind, group = document.get("kind"), str(document.get("apiVersion") or "").partition("/")[0]
    if kind == "Sweep" or group == "trainc":
        is_kind = kind in ("Sweep", None) or correct_spelling(str(kind), ["Sweep"])
        return bool(is_kind and (group in ("", "trainc") or correct_spelling(group, ["trainc"])))
    return kind == "OptimizationJob" and group == TRAINER_GROUP


def dialect_context(documents: Iterable[Json]) -> DialectContext:
    """Collect what the conversion of a document may need from the rest of the input."""
    models: dict[str, str] = {}
    for document in documents:
        if document.get("kind") == _BASE_MODEL_KIND and document.get("apiVersion") == OME_API:
            uri = value_at(document, ("spec", "storage", "storageUri"))
            name = value_at(document, ("metadata", "name"))
            if isinstance(name, str) and isinstance(uri, str):
                models[name] = uri
    return DialectContext(models)
