"""Reads sweep files and creates the documents of their trials, with positions of where each value was written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from trainc.features.sweeps.grid import MOST_TRIALS, NAME, Assignment, read_assignments
from trainc.features.sweeps.trials import Trial, check_base, make_trials, too_many_trials
from trainc.findings import Diagnostic, Finding, Path, Source, has_errors
from trainc.kube.documents import FieldPath, mapping, stable_path
from trainc.options import Limits
from trainc.project.overlays.overlay import TypedFields
from trainc.project.overlays.patterns import Edited, Origin, identity
from trainc.reading.document import Document, label_of
from trainc.reading.files import read_paths
from trainc.reading.opening import OUTSIDE_HINT, is_inside, root_around
from trainc.startup.records import dataclass, replace

# Reads an OptimizationJob with `searchAlgorithm: {grid: {}}`, whose trials are known in advance, as a sweep.
#
# Source: kubeflow/trainer pkg/apis/trainer/v1alpha1/optimizationjob_types.go, which is not in any release yet.


OPTIMIZATION_JOB_API, OPTIMIZATION_JOB_KIND = "trainer.kubeflow.org/v1alpha1", "OptimizationJob"
_SPEC_FIELDS = ("objectives", "searchAlgorithm", "parameters", "numTrials", "parallelTrials", "trainJobTemplate")
_TEMPLATE: Path = ("spec", "trainJobTemplate")


def read_grid(document: Document) -> tuple[Document, list[Assignment], list[Diagnostic]]:
    """Return the template's TrainJob, the assignments of the grid in order, and all problems."""
    fields = TypedFields(document, label_of(document.data), "InvalidSweep")
    spec = mapping(document.data.get("spec"))
    fields.unknown(spec, _SPEC_FIELDS, ("spec",))
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


API, KIND = "trainc/v1alpha1", "Sweep"
_HEAD = ("apiVersion", "kind", "metadata")
_FIELDS = ("base", "parameters", "exclude", "include", "maxTrials", "budget")
_GROUP = "trainer.kubeflow.org/"
_LABEL = "Sweep"


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a sweep, and the assumed duration of a trial in hours; None if not set."""

    gpu_hours: float | None = None
    hours_per_trial: float | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """A sweep file.

    `path` is the file of the base, and `job` selects one of its TrainJobs (empty if there is only one). `template` is
    the base itself if the sweep contains it.
    """

    document: Document
    path: str
    job: str
    name: str
    assignments: tuple[Assignment, ...]
    budget: Budget = Budget()
    template: Document | None = None


def read_matrix(path: str, limits: Limits) -> tuple[Matrix | None, list[Diagnostic]]:
    """Read the sweep at `path`; return it (None if there are errors) and its diagnostics."""
    documents, diagnostics = read_paths([path], limits)
    found = [document for document in documents if str(document.data.get("kind")) in _READERS]
    if has_errors(diagnostics):
        return None, diagnostics
    api, read = _READERS[found[0].data["kind"]] if found else ("", _read)
    if len(found) != 1 or found[0].data.get("apiVersion") != api:
        message = f"{path} has {len(found) or 'no'} sweeps"
        place = found[-1].locate(("kind",)) if found else None
        hint = f"start the sweep with the lines `apiVersion: {API}` and `kind: {KIND}`; a file contains one sweep"
        return None, [*diagnostics, Diagnostic("InvalidSweep", "error", message, hint, _LABEL, "", place)]
    matrix, problems = read(found[0], limits)
    return (None if has_errors(problems) else matrix), [*diagnostics, *problems]


def _read(document: Document, limits: Limits) -> tuple[Matrix, list[Diagnostic]]:
    data = {name: value for name, value in document.data.items() if value is not None}
    fields = TypedFields(document, _LABEL, "InvalidSweep")
    fields.unknown(data, (*_HEAD, *_FIELDS), ())
    metadata = data.get("metadata", {})
    name = fields.text(metadata, "name", ("metadata",)) if fields.is_mapping(metadata, ("metadata",)) else None
    path, job = _base(fields.text(data, "base") or "", document.file)
    found, findings = read_assignments(data, fields.report)
    most = _most(data, fields)
    if len(found) > most:
        findings.append(too_many_trials(len(found), most))
    matrix = Matrix(document, path, job, name or "", tuple(found), _budget(data, fields))
    problems = [*fields.diagnostics, *(document.place(finding, _LABEL) for finding in findings)]
    return matrix, [*problems, *_outside(matrix, limits)]


def _read_optimization_job(document: Document, _: Limits) -> tuple[Matrix, list[Diagnostic]]:
    template, found, problems = read_grid(document)
    return Matrix(document, document.file, identity(template.data)[1], "", tuple(found), Budget(), template), problems


_READERS: Mapping[str, tuple[str, Callable[[Document, Limits], tuple[Matrix, list[Diagnostic]]]]] = {
    KIND: (API, _read),
    OPTIMIZATION_JOB_KIND: (OPTIMIZATION_JOB_API, _read_optimization_job),
}


def _base(text: str, file: str) -> tuple[str, str]:
    """Return the path from the current directory and the job after `#`; defaults to the sweep file itself."""
    path, _, job = text.partition("#")
    return (os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file), job


def _outside(matrix: Matrix, limits: Limits) -> Iterator[Diagnostic]:
    root = root_around(os.path.dirname(matrix.document.file) or os.curdir)
    if not limits.allow_outside and not is_inside(matrix.path, root):
        finding = Finding("OutsideRoot", "error", f"{matrix.path} is outside the repository", OUTSIDE_HINT, ("base",))
        yield matrix.document.place(finding, _LABEL)


def _most(data: Mapping[str, Any], fields: TypedFields) -> int:
    most = data.get("maxTrials", MOST_TRIALS)
    if isinstance(most, int) and not isinstance(most, bool) and most > 0:
        return most
    fields.report(("maxTrials",), f"maxTrials is {most!r}", "write a positive number")
    return MOST_TRIALS


def _budget(data: Mapping[str, Any], fields: TypedFields) -> Budget:
    budget = data.get("budget", {})
    if not fields.is_mapping(budget, ("budget",)):
        return Budget()
    fields.unknown(budget, ("gpuHours", "hoursPerTrial"), ("budget",))
    hours = {name: budget.get(name) for name in ("gpuHours", "hoursPerTrial")}
    for name, value in hours.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
            fields.report(("budget", name), f"{name} is {value!r}", "write a positive number of hours")
    return Budget(hours["gpuHours"], hours["hoursPerTrial"])


def replace_base(matrix: Matrix, documents: Sequence[Document]) -> tuple[list[Document], list[Diagnostic]]:
    """Return the documents with the trials instead of their TrainJobs, and problems with the base."""
    jobs = [document for document in documents if _is_trainjob(document)]
    others = [each for each in documents if not _is_trainjob(each) and str(each.data.get("kind")) not in _READERS]
    chosen = [document for document in jobs if matrix.job in _names(document)] if matrix.job else jobs
    if len(chosen) != 1:
        return others, [matrix.document.place(_not_one(matrix, chosen or jobs), _LABEL)]
    base = chosen[0]
    wrong = [base.place(finding) for finding in check_base(base.data, matrix.assignments, matrix.name)]
    if wrong:
        return others, wrong
    every = zip(make_trials(base.data, matrix.assignments, matrix.name), matrix.assignments, strict=True)
    return [*others, *(_document(base, matrix, trial, assignment) for trial, assignment in every)], []


def _is_trainjob(document: Document) -> bool:
    api = str(document.data.get("apiVersion") or "")
    return document.data.get("kind") == "TrainJob" and api.startswith(_GROUP)


def _names(document: Document) -> tuple[str, str]:
    namespace, name = identity(document.data)
    return name, f"{namespace}/{name}"


def _not_one(matrix: Matrix, found: Sequence[Document]) -> Finding:
    if not found:
        message = f"{matrix.path} has no TrainJob of Trainer's own API"
        return Finding(
            "InvalidSweep", "error", message, "use the file that has it, as in base: jobs/llm.yaml", ("base",)
        )
    names = ", ".join(_names(document)[0] for document in found[:5])
    what = f"no TrainJob {matrix.job}" if matrix.job else f"{len(found)} TrainJobs"
    hint = f"choose one after #, as in base: {os.path.basename(matrix.path)}#{_names(found[0])[0]}; it has {names}"
    return Finding("InvalidSweep", "error", f"{matrix.path} has {what}", hint, ("base",))


def _document(base: Document, matrix: Matrix, trial: Trial, assignment: Assignment) -> Document:
    """Return the document of a trial; positions of parameter values are in the sweep, all others in the base."""
    made = Edited.of(base).with_data(trial.job, _written(matrix.document, trial, assignment)).finished()
    return replace(made, file=matrix.document.file)


def _written(document: Document, trial: Trial, assignment: Assignment) -> Iterator[tuple[FieldPath, Origin]]:
    for path, parameter in trial.written:
        yield stable_path(path, trial.job), Origin(document, assignment.places[parameter])


# The JSON Schema of sweeps for editors: what `read_matrix` accepts, with descriptions of the fields.


Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_VALUE: Schema = {"type": ["string", "number", "boolean"]}
_ROWS: Schema = {"type": "array", "items": {"type": "object", "additionalProperties": _VALUE, "minProperties": 1}}


def _object(properties: Schema, **more: Any) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def _about(description: str, schema: Schema) -> Schema:
    return {"description": description, **schema}


def sweep_schema(dialect: str) -> Schema:
    """Return the schema; `dialect` is the URI of the JSON Schema dialect. It is the same for all releases."""
    ends: Schema = {
        "min": _about("The first value.", _NUMBER),
        "max": _about("No value is above it; the last value, with `count`.", _NUMBER),
    }
    step = _about("The distance from one value to the next.", {"type": "number", "exclusiveMinimum": 0})
    count = _about("How many values there are.", {"type": "integer", "minimum": 2})
    scale = _about("log: each value is a multiple of the one before.", {"enum": ["linear", "log"]})
    steps = _object({**ends, "step": step}, required=["min", "max", "step"])
    counted = _object({**ends, "count": count, "scale": scale}, required=["min", "max", "count"])
    values: Schema = {"anyOf": [{"type": "array", "items": _VALUE, "minItems": 1, "uniqueItems": True}, steps, counted]}
    hours: Schema = {"type": "number", "exclusiveMinimum": 0}
    budget = {
        "gpuHours": _about("More GPU-hours are an error.", hours),
        "hoursPerTrial": _about("How long a trial runs, where its activeDeadlineSeconds are more.", hours),
    }
    parameters: Schema = {
        "type": "object",
        "propertyNames": {"pattern": f"^{NAME}$"},
        "additionalProperties": values,
    }
    properties = {
        "apiVersion": {"const": API},
        "kind": {"const": KIND},
        "metadata": _about("`name` is what trials are named after, instead of the base.", _object({"name": _TEXT})),
        "base": _about("The TrainJob, as PATH or PATH#[NAMESPACE/]NAME, relative to the file.", _TEXT),
        "parameters": _about("A list of values or a range for each parameter.", parameters),
        "exclude": _about("Combinations to skip, each with some of the parameters.", _ROWS),
        "include": _about("Additional combinations, each with all parameters.", _ROWS),
        "maxTrials": _about(f"More trials are an error; {MOST_TRIALS} by default.", {"type": "integer", "minimum": 1}),
        "budget": _about(
            "`gpuHours`: more are an error; `hoursPerTrial`: how long a trial runs.",
            _object(budget),
        ),
    }
    return {"$schema": dialect, "title": "trainc sweep", **_object(properties, required=["apiVersion", "kind"])}
