"""Environment variables: the shapes that plugins inject, and how the controller carries a TrainJob's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trainc.api import names
from trainc.ir.trainjob import TrainJob
from trainc.options import Semantics

EnvVar = Mapping[str, Any]


def literal(name: str, value: str | int) -> EnvVar:
    """A variable with a fixed value."""
    return {"name": name, "value": str(value)}


def completion_index(name: str) -> EnvVar:
    """A variable that holds the pod's completion index, which is its rank. Needs an Indexed job."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": names.COMPLETION_INDEX}}}


def trainer_env(job: TrainJob, semantics: Semantics) -> tuple[EnvVar, ...]:
    """The variables of `spec.trainer.env` as they are written into a container."""
    return carried(job.trainer.env, semantics) if job.trainer else ()


def carried(variables: Iterable[EnvVar], semantics: Semantics) -> tuple[EnvVar, ...]:
    """A TrainJob's variables as they are written into a container.

    The controller rebuilds each one from the sources it knows, so `fieldRef.apiVersion` and `fileKeyRef` are lost
    and a resource divisor becomes explicit (kubeflow/trainer pkg/apply/apply.go EnvVar, all releases). `gitops`
    keeps them.
    """
    return tuple(_carried(v, semantics == "gitops") for v in variables)


_KNOWN_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
_ALL_SOURCES = (*_KNOWN_SOURCES, "fileKeyRef")


def _carried(variable: EnvVar, whole: bool) -> EnvVar:
    source = variable.get("valueFrom")
    if source is None:
        return {"name": variable["name"], "value": variable.get("value", "")}
    sources = _ALL_SOURCES if whole else _KNOWN_SOURCES
    kept = {kind: _reference(kind, source[kind], whole) for kind in sources if kind in source}
    return {"name": variable["name"], "valueFrom": kept}


def _reference(kind: str, reference: EnvVar, whole: bool) -> EnvVar:
    if kind == "fieldRef" and not whole:
        return {"fieldPath": reference["fieldPath"]}
    if kind == "resourceFieldRef":
        return {"containerName": "", "divisor": "0", **reference}
    return reference
