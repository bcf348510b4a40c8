"""kubeflow.org/v2alpha1, which was called trainer.kubeflow.org/v2alpha1 for one day.

Source: kubeflow/trainer pkg/apis/kubeflow.org/v2alpha1 v1.9.0, the only minor that has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.findings import Finding, Path, remove
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.kube.releases import NEWEST_RELEASE
from trainc.project.dialects import V2ALPHA1_API, V2ALPHA1_GROUP
from trainc.project.dialects.dialect import Conversion, DialectContext, Move
from trainc.project.dialects.shape import (
    ANY,
    OBJECT,
    RUNTIME_REF,
    RUNTIME_SPEC,
    TRAINER,
    Shape,
    check_shape,
    convert_runtime,
    convert_runtime_ref,
    convert_trainer,
)
from trainc.startup.records import replace

_MANAGED_BY = "kubeflow.org/trainjob-controller"
_RUNTIME: Shape = {**OBJECT, "spec": RUNTIME_SPEC}
_SOURCE: Shape = {"storageUri": ANY, "env": ANY, "secretRef": ANY}
_TRAINJOB: Shape = {
    **OBJECT,
    "spec": {
        **dict.fromkeys(("labels", "annotations", "podSpecOverrides", "suspend", "managedBy"), ANY),
        "runtimeRef": RUNTIME_REF,
        "trainer": TRAINER,
        "datasetConfig": _SOURCE,
        "modelConfig": {"input": _SOURCE, "output": ANY},
    },
}
_NOT_PATCHABLE = ("command", "args", "envFrom")


def convert(document: Json, kind: str, context: DialectContext) -> Conversion:
    """Convert a v2alpha1 document to trainer.kubeflow.org/v1alpha1."""
    api = str(document.get("apiVersion"))
    converted = _trainjob(document, api) if kind == "TrainJob" else convert_runtime(document, kind, api, _RUNTIME)
    message = f"{api} was replaced by {names.TRAINER_API} in February 2025; the document is compiled as that"
    hint = "run `trainc migrate` on the file to convert it"
    notice = Finding("DeprecatedAPIVersion", "warning", message, hint, ("apiVersion",))
    return replace(converted, findings=(notice, *(_of_newer_api(finding, kind) for finding in converted.findings)))


def _of_newer_api(finding: Finding, kind: str) -> Finding:
    """A finding about an unknown field; if today's API has it, the version is what is wrong."""
    if finding.code != "UnknownField":
        return finding
    from trainc.schema.field_homes import has_field

    is_newer = has_field(kind, finding.path, NEWEST_RELEASE)
    return replace(finding, hint=f"write `apiVersion: {names.TRAINER_API}`, which has it") if is_newer else finding


def _trainjob(document: Json, api: str) -> Conversion:
    fitting, findings = check_shape(document, _TRAINJOB, api)
    data = {**fitting, "apiVersion": names.TRAINER_API, "kind": "TrainJob"}
    if "spec" not in fitting:
        return Conversion(data, (), tuple(findings))
    spec = dict(fitting["spec"])
    initializer, moves = _initializer(spec.pop("datasetConfig", None), spec.get("modelConfig") or {})
    if initializer:
        spec["initializer"] = initializer
    if spec.get("managedBy") == _MANAGED_BY:
        spec["managedBy"] = names.CONTROLLER_MANAGED_BY
    if "runtimeRef" in spec and api == V2ALPHA1_API:
        # The short-lived variant already used Trainer's group, so `kubeflow.org` has no special meaning there.
        spec["runtimeRef"] = convert_runtime_ref(spec["runtimeRef"], V2ALPHA1_GROUP)
    if "trainer" in spec:
        spec["trainer"], problems = convert_trainer(spec["trainer"])
        findings += problems
    findings += _without_counterpart(spec)
    if isinstance(spec.get("podSpecOverrides"), list):
        spec["podSpecOverrides"] = [_override(item) for item in spec["podSpecOverrides"]]
    spec.pop("modelConfig", None)
    return Conversion({**data, "spec": spec}, moves, tuple(findings))


def _initializer(dataset: Json | None, model_config: Json) -> tuple[dict[str, Any], tuple[Move, ...]]:
    result: dict[str, Any] = {}
    moves = [Move(("spec", "initializer"), ("spec",), derived=True)]
    for step, value, was in (
        ("dataset", dataset, ("spec", "datasetConfig")),
        ("model", model_config.get("input"), ("spec", "modelConfig", "input")),
    ):
        if value is not None:
            result[step] = value
            moves.append(Move(("spec", "initializer", step), was))
    return result, tuple(moves) if result else ()


def _without_counterpart(spec: Json) -> list[Finding]:
    """Report fields that v1alpha1 lacks. The v2alpha1 controller did not read them either."""
    paths: list[Path] = []
    if "output" in (spec.get("modelConfig") or {}):
        paths.append(("spec", "modelConfig", "output"))
    overrides = spec.get("podSpecOverrides")
    for i, item in enumerate(overrides if isinstance(overrides, list) else ()):
        for kind, containers in _containers(item):
            for j, container in enumerate(containers):
                fields = [name for name in _NOT_PATCHABLE if isinstance(container, Mapping) and name in container]
                paths += [("spec", "podSpecOverrides", i, kind, j, name) for name in fields]
    return [
        Finding(
            "FieldWithoutCounterpart",
            "warning",
            f"{path[-1]} is ignored: {names.TRAINER_API} has no field for it, and {V2ALPHA1_API}'s controller never read it",
            remove("remove it, or move what it does to the training program or the runtime"),
            path,
        )
        for path in paths
    ]


def _override(item: Any) -> Any:
    changed = {
        kind: [
            {k: v for k, v in c.items() if k not in _NOT_PATCHABLE} if isinstance(c, Mapping) else c for c in containers
        ]
        for kind, containers in _containers(item)
    }
    return {**item, **changed} if changed else item


def _containers(item: Any) -> list[tuple[str, Sequence[Any]]]:
    if not isinstance(item, Mapping):
        return []
    return [(kind, item[kind]) for kind in ("containers", "initContainers") if isinstance(item.get(kind), list)]
