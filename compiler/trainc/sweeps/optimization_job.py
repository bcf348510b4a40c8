"""Reads an OptimizationJob with `searchAlgorithm: {grid: {}}`, whose trials are known in advance, as a sweep.

Source: kubeflow/trainer pkg/apis/trainer/v1alpha1/optimizationjob_types.go, which is not in any release yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.api.documents import mapping
from trainc.diagnostics import Diagnostic, Path, Source
from trainc.overlays.read import TypedFields
from trainc.reading.document import Document, label_of
from trainc.startup.records import replace
from trainc.sweeps.grid import Assignment, read_assignments

API, KIND = "trainer.kubeflow.org/v1alpha1", "OptimizationJob"
_FIELDS = ("objectives", "searchAlgorithm", "parameters", "numTrials", "parallelTrials", "trainJobTemplate")
_TEMPLATE: Path = ("spec", "trainJobTemplate")


def read_grid(document: Document) -> tuple[Document, list[Assignment], list[Diagnostic]]:
    """Return the template's TrainJob, the assignments of the grid in order, and all problems."""
    fields = TypedFields(document, label_of(document.data), "InvalidSweep")
    spec = mapping(document.data.get("spec"))
    fields.unknown(spec, _FIELDS, ("spec",))
    if "grid" not in mapping(spec.get("searchAlgorithm")):
        message = "its trials are drawn at random in the cluster, and are not known before"
        hint = "write searchAlgorithm: {grid: {}}, and all values under `categorical`"
        fields.report(("spec", "searchAlgorithm"), message, hint)
        return document, [], fields.diagnostics
    places = dict(_places(spec, fields))
    values = {name: value for name, (_, value) in places.items()}

    def report(path: Path, message: str, hint: str) -> None:
        fields.report(_home(path, places), message, hint)

    found, _ = read_assignments({"parameters": values}, report) if not fields.diagnostics else ([], [])
    wanted = spec.get("numTrials", 1)
    if found and wanted != len(found):
        message = f"numTrials is {wanted}, and the grid has {len(found)} combinations"
        fields.report(("spec", "numTrials"), message, f"write numTrials: {len(found)}, so that all of them are tried")
    at_home = [
        replace(each, places={name: _home(path, places) for name, path in each.places.items()}) for each in found
    ]
    return _template(document, spec), at_home, fields.diagnostics


def _places(spec: Mapping[str, Any], fields: TypedFields) -> Iterator[tuple[str, tuple[Path, Any]]]:
    """Yield (name, (path, values)) of each parameter."""
    parameters = spec.get("parameters")
    if not isinstance(parameters, list):
        fields.report(
            ("spec", "parameters"), "there are no parameters", "list them, each with `name` and `searchSpace`"
        )
        return
    for index, parameter in enumerate(parameters):
        path: Path = ("spec", "parameters", index)
        space = mapping(mapping(parameter).get("searchSpace"))
        choices = mapping(space.get("categorical")).get("choices")
        name = mapping(parameter).get("name")
        place: Path = (*path, "searchSpace", "categorical", "choices")
        if not isinstance(name, str) or not isinstance(choices, list):
            shown = "{name: lr, searchSpace: {categorical: {choices: ['0.1', '0.01']}}}"
            fields.report(path, "a parameter of a grid has a name and categorical choices", f"write it as {shown}")
            continue
        for at, choice in enumerate(choices):
            if not isinstance(choice, str):
                fields.report((*place, at), f"{choice!r} is not a string", "put it in quotes")
        yield name, (place, choices)


def _home(path: Path, places: Mapping[str, tuple[Path, Any]]) -> Path:
    """Translate a path in the sweep to the OptimizationJob."""
    if len(path) > 1 and path[1] in places:
        return (*places[str(path[1])][0], *path[2:])
    return ("spec", "parameters")


def _template(document: Document, spec: Mapping[str, Any]) -> Document:
    """Return the TrainJob template with the name and namespace of the OptimizationJob."""
    template = mapping(spec.get("trainJobTemplate"))
    own = mapping(document.data.get("metadata"))
    identity = {name: own[name] for name in ("name", "namespace") if name in own}
    data = {
        "apiVersion": document.data["apiVersion"],
        "kind": "TrainJob",
        "metadata": {**mapping(template.get("metadata")), **identity},
        "spec": template.get("spec"),
    }

    def locate(path: Path) -> Source | None:
        is_own = path[:1] != ("spec",) and path[1:2] in ((), ("name",), ("namespace",))
        return document.locate(path if is_own else (*_TEMPLATE, *path))

    return Document(data, document.file, locate)
