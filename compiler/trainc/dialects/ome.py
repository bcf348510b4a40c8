"""ome.io/v1beta1: the training kinds that Open Model Engine documented and never released.

Source: sgl-project/ome pkg/apis/ome/v1beta1/training_runtime.go as proposed in pull request 5, which was never merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.api import names
from trainc.diagnostics import Finding
from trainc.dialects import OME_API, OME_GROUP
from trainc.dialects.dialect import Conversion, Surroundings
from trainc.dialects.ome_job import converted_job, ome_field_ignored
from trainc.dialects.runtime import OBJECT, RUNTIME_SPEC, converted_runtime
from trainc.dialects.shape import ANY, Shape
from trainc.startup.records import replace

Json = Mapping[str, Any]

_RUNTIME: Shape = {**OBJECT, "spec": {**RUNTIME_SPEC, "labels": ANY, "annotations": ANY, "compartmentID": ANY}}
_RUNTIME_TYPE = "ome.io/training-runtime-type"


def convert(document: Json, kind: str, surroundings: Surroundings) -> Conversion:
    """A document of OME's as trainer.kubeflow.org/v1alpha1 would have it."""
    is_job = kind == "TrainJob"
    converted = converted_job(document, OME_API, OME_GROUP, surroundings) if is_job else _runtime(document, kind)
    notice = Finding(
        "UnreleasedAPI",
        "warning",
        f"the training kinds of {OME_API} were never released; the document is compiled as Kubeflow Trainer's",
        f"move it to {names.TRAINER_API} with `trainc migrate`",
        ("apiVersion",),
    )
    return replace(converted, findings=(notice, *converted.findings))


def _runtime(document: Json, kind: str) -> Conversion:
    converted = converted_runtime(document, kind, OME_API, _RUNTIME)
    spec = converted.data.get("spec")
    if spec is None:
        return converted
    kept = {name: value for name, value in spec.items() if name in RUNTIME_SPEC}
    findings = (*converted.findings, *_ignored(spec), *_pruned(spec))
    return replace(converted, data={**converted.data, "spec": kept}, findings=findings)


def _ignored(spec: Json) -> Iterator[Finding]:
    annotations = spec.get("annotations")
    # The runtime's type only chose among OME's own mounts and sidecars.
    informational = isinstance(annotations, Mapping) and set(annotations) == {_RUNTIME_TYPE}
    for name in ("labels", "annotations", "compartmentID"):
        if name in spec and not (name == "annotations" and informational):
            hint = "remove it" if name == "compartmentID" else f"write template.metadata.{name} for the JobSet's"
            yield ome_field_ignored(("spec", name), "OME hands it to nothing", hint)


def _pruned(spec: Json) -> Iterator[Finding]:
    metadata = (spec.get("template") or {}).get("metadata")
    for name in ("labels", "annotations"):
        if isinstance(metadata, Mapping) and metadata.get(name):
            yield Finding(
                "OMEMetadataPruned",
                "warning",
                f"the JobSet gets these {name}; OME's own CRD would have dropped them",
                f"nothing, if they are meant; else remove template.metadata.{name}",
                ("spec", "template", "metadata", name),
            )
