"""ome.io/v1beta1: training APIs that Open Model Engine documented but never released.

Source: sgl-project/ome pkg/apis/ome/v1beta1/training_runtime.go as proposed in pull request 5, which was never merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.findings import Finding, Path, remove
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.project.dialects import OME_API, OME_GROUP
from trainc.project.dialects.dialect import Conversion, DialectContext, Move
from trainc.project.dialects.shape import (
    ANY,
    OBJECT,
    RUNTIME_REF,
    RUNTIME_SPEC,
    SCALARS,
    TEXT,
    TRAINER,
    Shape,
    check_shape,
    convert_runtime,
    convert_runtime_ref,
    convert_trainer,
)
from trainc.startup.records import replace

_RUNTIME: Shape = {**OBJECT, "spec": {**RUNTIME_SPEC, "labels": ANY, "annotations": ANY, "compartmentID": ANY}}
_RUNTIME_TYPE = "ome.io/training-runtime-type"


def convert(document: Json, kind: str, context: DialectContext) -> Conversion:
    """Convert an OME document to trainer.kubeflow.org/v1alpha1."""
    is_job = kind == "TrainJob"
    converted = convert_job(document, context) if is_job else _runtime(document, kind)
    message = (
        f"the training kinds of {OME_API} were never released; the document is compiled as a Kubeflow Trainer document"
    )
    hint = f"run `trainc migrate` to convert it to {names.TRAINER_API}"
    notice = Finding("UnreleasedAPI", "warning", message, hint, ("apiVersion",))
    return replace(converted, findings=(notice, *converted.findings))


def _runtime(document: Json, kind: str) -> Conversion:
    converted = convert_runtime(document, kind, OME_API, _RUNTIME)
    spec = converted.data.get("spec")
    if spec is None:
        return converted
    fields = {name: value for name, value in spec.items() if name in RUNTIME_SPEC}
    findings = (*converted.findings, *_ignored_fields(spec), *_pruned_metadata(spec))
    return replace(converted, data={**converted.data, "spec": fields}, findings=findings)


def _ignored_fields(spec: Json) -> Iterator[Finding]:
    annotations = spec.get("annotations")
    # The runtime type only selected OME's own mounts and sidecars.
    informational = isinstance(annotations, Mapping) and set(annotations) == {_RUNTIME_TYPE}
    for name in ("labels", "annotations", "compartmentID"):
        if name in spec and not (name == "annotations" and informational):
            hint = remove() if name == "compartmentID" else f"use template.metadata.{name} for the JobSet's {name}"
            yield ome_field_ignored(("spec", name), "OME does not pass it on", hint)


def _pruned_metadata(spec: Json) -> Iterator[Finding]:
    metadata = (spec.get("template") or {}).get("metadata")
    for name in ("labels", "annotations"):
        if isinstance(metadata, Mapping) and metadata.get(name):
            message = f"the JobSet gets these {name}; OME's own CRD would drop them"
            hint = f"remove template.metadata.{name} if the JobSet should not have them"
            yield Finding("OMEMetadataPruned", "warning", message, hint, ("spec", "template", "metadata", name))


# Converts OME's TrainingJob to a TrainJob. Source: sgl-project/ome pkg/apis/ome/v1beta1/training_job.go as proposed in
# pull request 5, which was never merged.


_UNUSED_DATASET_FIELDS = ("path", "schemaPath", "nodeSelector", "nodeAffinity")
_STORAGE: Shape = {**dict.fromkeys((*_UNUSED_DATASET_FIELDS, "storageUri"), ANY), "parameters": SCALARS, "key": TEXT}
_SPEC: Shape = {
    **dict.fromkeys(("suspend", "labels", "annotations", "compartmentID", "hyperParameterTuningConfig"), ANY),
    "runtimeRef": RUNTIME_REF,
    "trainer": TRAINER,
    "modelConfig": {"inputModel": TEXT, "outputModel": ANY},
    "datasets": _STORAGE,
}
_COPIED = ("suspend", "labels", "annotations")
_DATASETS: Path = ("spec", "datasets")
_MODEL: Path = ("spec", "modelConfig")
_INPUT_MODEL: Path = (*_MODEL, "inputModel")
_INITIALIZER: Path = ("spec", "initializer")


def convert_job(document: Json, context: DialectContext) -> Conversion:
    """Convert a TrainingJob to a TrainJob; drops fields that OME itself never read, with a warning."""
    fitting, findings = check_shape(document, {**OBJECT, "spec": _SPEC}, OME_API)
    data = {**fitting, "apiVersion": names.TRAINER_API, "kind": "TrainJob"}
    if "spec" not in fitting:
        return Conversion(data, (), tuple(findings))
    old: Json = fitting["spec"]
    spec = {name: old[name] for name in _COPIED if name in old}
    if "runtimeRef" in old:
        spec["runtimeRef"] = convert_runtime_ref(old["runtimeRef"], OME_GROUP)
    if "trainer" in old:
        spec["trainer"], problems = convert_trainer(old["trainer"])
        findings += problems
    dataset, moves = _dataset(old.get("datasets") or {})
    model, model_moves, problems = _model((old.get("modelConfig") or {}).get("inputModel"), context)
    initializer = {step: value for step, value in (("dataset", dataset), ("model", model)) if value}
    if initializer:
        spec["initializer"] = initializer
    findings += [*problems, *_ignored_in_job(document, old)]
    everything = (Move(_INITIALIZER, ("spec",), derived=True), *moves, *model_moves)
    return Conversion({**data, "spec": spec}, everything, tuple(findings))


def _dataset(datasets: Json) -> tuple[dict[str, Any], tuple[Move, ...]]:
    """Return the dataset initializer: storage URI, a variable per parameter, and the storage key."""
    step = (*_INITIALIZER, "dataset")
    variables = [
        ({"name": name, "value": _text(value)}, (*_DATASETS, "parameters", name))
        for name, value in sorted((datasets.get("parameters") or {}).items(), key=lambda entry: str(entry[0]))
    ]
    if "key" in datasets:
        # Only pass on this key of the Secret; secretRef would pass on all of them.
        source = {"secretKeyRef": {"name": datasets["key"], "key": "key"}}
        variables.append(({"name": "STORAGE_KEY", "valueFrom": source}, (*_DATASETS, "key")))
    result = {name: datasets[name] for name in ("storageUri",) if name in datasets}
    if variables:
        result["env"] = [variable for variable, _ in variables]
    moves = [Move((*step, "env", i), was, derived=True) for i, (_, was) in enumerate(variables)]
    return result, (Move(step, _DATASETS), Move((*step, "env"), _DATASETS, derived=True), *moves)


def _text(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _model(name: str | None, context: DialectContext) -> tuple[dict[str, Any], Sequence[Move], list[Finding]]:
    """Return the model initializer: the name of the model, and its storage URI if the input contains it."""
    if name is None:
        return {}, (), []
    result: dict[str, Any] = {"env": [{"name": "MODEL_NAME", "value": name}]}
    moves = [Move((*_INITIALIZER, "model"), _INPUT_MODEL, derived=True)]
    if name in context.base_models:
        return {"storageUri": context.base_models[name], **result}, moves, []
    message = f"no ClusterBaseModel {name!r} is in the input, so the model initializer gets its name without an address"
    hint = "add the ClusterBaseModel to the input, or use an initializer that knows the model by name"
    return result, moves, [Finding("BaseModelNotFound", "warning", message, hint, _INPUT_MODEL)]


def _ignored_in_job(document: Json, spec: Json) -> Iterator[Finding]:
    for name in _UNUSED_DATASET_FIELDS:
        if name in (spec.get("datasets") or {}):
            yield ome_field_ignored((*_DATASETS, name), "OME never read it", remove())
    if "outputModel" in (spec.get("modelConfig") or {}):
        hint = "have the training program write its result to a volume or an object store"
        yield ome_field_ignored((*_MODEL, "outputModel"), "Trainer has no field for the result of a job", hint)
    if "compartmentID" in spec:
        yield ome_field_ignored(("spec", "compartmentID"), "OME never read it", remove())
    annotations = (
        (document.get("metadata") or {}).get("annotations") if isinstance(document.get("metadata"), Mapping) else None
    )
    if isinstance(annotations, Mapping) and str(annotations.get("kueue-enabled")).lower() == "true":
        path = ("metadata", "annotations", "kueue-enabled")
        hint = f"set the queue with the label {names.QUEUE_LABEL}"
        yield ome_field_ignored(path, "only OME's controller turns it into a Kueue queue", hint)
    if "hyperParameterTuningConfig" in spec:
        message = "this is compiled as one job with fixed parameters: OME's hyperparameter search was never implemented"
        hint = "run the search with Katib, with a TrainJob per trial that gets its parameters in spec.trainer.args"
        yield Finding("OMEHyperParametersIgnored", "warning", message, hint, ("spec", "hyperParameterTuningConfig"))


def ome_field_ignored(path: Path, reason: str, hint: str) -> Finding:
    """Create the warning about an OME field that has no effect."""
    return Finding("OMEFieldIgnored", "warning", f"{path[-1]} is left out: {reason}", hint, path)
