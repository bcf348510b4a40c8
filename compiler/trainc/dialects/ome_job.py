"""OME's TrainingJob as a TrainJob.

Source: sgl-project/ome pkg/apis/ome/v1beta1/training_job.go as proposed in pull request 5, which was never merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api import names
from trainc.diagnostics import Finding, Path
from trainc.dialects.dialect import Conversion, Surroundings
from trainc.dialects.moves import Move
from trainc.dialects.runtime import OBJECT
from trainc.dialects.shape import ANY, SCALARS, TEXT, Shape, conform
from trainc.dialects.trainer_fields import RUNTIME_REF, TRAINER, converted_runtime_ref, converted_trainer

Json = Mapping[str, Any]

_UNUSED_DATASET_FIELDS = ("path", "schemaPath", "nodeSelector", "nodeAffinity")
_STORAGE: Shape = {
    **dict.fromkeys((*_UNUSED_DATASET_FIELDS, "storageUri"), ANY),
    "parameters": SCALARS,
    "key": TEXT,
}
_SPEC: Shape = {
    **dict.fromkeys(("suspend", "labels", "annotations", "compartmentID", "hyperParameterTuningConfig"), ANY),
    "runtimeRef": RUNTIME_REF,
    "trainer": TRAINER,
    "modelConfig": {"inputModel": TEXT, "outputModel": ANY},
    "datasets": _STORAGE,
}
_KEPT = ("suspend", "labels", "annotations")
_DATASETS: Path = ("spec", "datasets")
_MODEL: Path = ("spec", "modelConfig")
_INPUT_MODEL: Path = (*_MODEL, "inputModel")
_INITIALIZER: Path = ("spec", "initializer")


def converted_job(document: Json, api: str, group: str, surroundings: Surroundings) -> Conversion:
    """A TrainingJob as a TrainJob. What OME itself never read is left out with a warning."""
    fitting, findings = conform(document, {**OBJECT, "spec": _SPEC}, api)
    data = {**fitting, "apiVersion": names.TRAINER_API, "kind": "TrainJob"}
    if "spec" not in fitting:
        return Conversion(data, (), tuple(findings))
    old: Json = fitting["spec"]
    spec = {name: old[name] for name in _KEPT if name in old}
    if "runtimeRef" in old:
        spec["runtimeRef"] = converted_runtime_ref(old["runtimeRef"], group)
    if "trainer" in old:
        spec["trainer"], found = converted_trainer(old["trainer"])
        findings += found
    dataset, moves = _dataset(old.get("datasets") or {})
    model, model_moves, found = _model((old.get("modelConfig") or {}).get("inputModel"), surroundings)
    initializer = {step: value for step, value in (("dataset", dataset), ("model", model)) if value}
    if initializer:
        spec["initializer"] = initializer
    findings += [*found, *_ignored(document, old)]
    everything = (Move(_INITIALIZER, ("spec",), whole=True), *moves, *model_moves)
    return Conversion({**data, "spec": spec}, everything, tuple(findings))


def _dataset(datasets: Json) -> tuple[dict[str, Any], tuple[Move, ...]]:
    """The dataset initializer: where the data is, a variable for each parameter, and the key to the store."""
    step = (*_INITIALIZER, "dataset")
    variables = [
        ({"name": name, "value": _text(value)}, (*_DATASETS, "parameters", name))
        for name, value in sorted((datasets.get("parameters") or {}).items(), key=lambda entry: str(entry[0]))
    ]
    if "key" in datasets:
        # Only the one key of the Secret is handed over; a secretRef would hand over all of them.
        source = {"secretKeyRef": {"name": datasets["key"], "key": "key"}}
        variables.append(({"name": "STORAGE_KEY", "valueFrom": source}, (*_DATASETS, "key")))
    result = {name: datasets[name] for name in ("storageUri",) if name in datasets}
    if variables:
        result["env"] = [variable for variable, _ in variables]
    moves = [Move((*step, "env", i), was, whole=True) for i, (_, was) in enumerate(variables)]
    return result, (Move(step, _DATASETS), Move((*step, "env"), _DATASETS, whole=True), *moves)


def _text(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _model(name: str | None, surroundings: Surroundings) -> tuple[dict[str, Any], Sequence[Move], list[Finding]]:
    """The model initializer: the model's name, and where it is if the input says so."""
    if name is None:
        return {}, (), []
    result: dict[str, Any] = {"env": [{"name": "MODEL_NAME", "value": name}]}
    moves = [Move((*_INITIALIZER, "model"), _INPUT_MODEL, whole=True)]
    if name in surroundings.base_models:
        return {"storageUri": surroundings.base_models[name], **result}, moves, []
    message = f"no ClusterBaseModel {name!r} is in the input, so the model initializer is told its name and no address"
    hint = "add the ClusterBaseModel to the input, or use an initializer that knows the model by name"
    return result, moves, [Finding("BaseModelNotFound", "warning", message, hint, _INPUT_MODEL)]


def _ignored(document: Json, spec: Json) -> Iterator[Finding]:
    for name in _UNUSED_DATASET_FIELDS:
        if name in (spec.get("datasets") or {}):
            yield ome_field_ignored((*_DATASETS, name), "OME never read it", "remove it")
    if "outputModel" in (spec.get("modelConfig") or {}):
        hint = "let the training program write its result to a volume or store of its own"
        yield ome_field_ignored((*_MODEL, "outputModel"), "Trainer has no field for a job's result", hint)
    if "compartmentID" in spec:
        yield ome_field_ignored(("spec", "compartmentID"), "OME never read it", "remove it")
    annotations = (
        (document.get("metadata") or {}).get("annotations") if isinstance(document.get("metadata"), Mapping) else None
    )
    if isinstance(annotations, Mapping) and str(annotations.get("kueue-enabled")).lower() == "true":
        path = ("metadata", "annotations", "kueue-enabled")
        hint = f"name the queue with the label {names.QUEUE_LABEL}"
        yield ome_field_ignored(path, "only OME's controller turns it into a Kueue queue", hint)
    if "hyperParameterTuningConfig" in spec:
        yield Finding(
            "OMEHyperParametersIgnored",
            "warning",
            "one job with fixed parameters is compiled: nothing ever ran OME's hyperparameter search",
            "run the search with Katib, each trial as a TrainJob, and pass parameters through spec.trainer.args",
            ("spec", "hyperParameterTuningConfig"),
        )


def ome_field_ignored(path: Path, reason: str, hint: str) -> Finding:
    """A field of OME's that goes nowhere."""
    return Finding("OMEFieldIgnored", "warning", f"{path[-1]} is left out: {reason}", hint, path)
