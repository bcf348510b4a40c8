"""Reads sweep files and creates the documents of their trials, with positions of where each value was written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from trainc.api.documents import Document, DocumentKind, is_inside, label_of, root_around, struct
from trainc.api.findings import Diagnostic, Finding, Path, Severity, Source, has_errors, write
from trainc.api.kube import RUNTIME_KINDS, FieldPath, Json, identity_of, mapping, stable_path
from trainc.api.records import dataclass, replace
from trainc.api.settings import Limits
from trainc.features.sweeps.grid import CODE, GRID_FIELDS, MOST_TRIALS, Assignment, read_assignments, variable_name
from trainc.features.sweeps.trials import (
    Trial,
    check_base,
    make_trials,
    mentions,
    referred_parameters,
    too_many_trials,
)
from trainc.project.overlays.patterns import Edited, Origin
from trainc.reading.opening import OUTSIDE_HINT
from trainc.schema.document_kinds import TEXT, Schema, about, list_of, without_nulls

# Reads an OptimizationJob with `searchAlgorithm: {grid: {}}`, whose trials are known in advance, as a sweep.
#
# Source: kubeflow/trainer pkg/apis/trainer/v1alpha1/optimizationjob_types.go, which is not in any release yet.


OPTIMIZATION_JOB_API, OPTIMIZATION_JOB_KIND = "trainer.kubeflow.org/v1alpha1", "OptimizationJob"
_TEMPLATE: Path = ("spec", "trainJobTemplate")


def _within(*fields: str, schema: Schema) -> Schema:
    """Return the schema of a value below fields that are required and have others beside them."""
    for field in reversed(fields):
        schema = {"type": "object", "required": [field], "properties": {field: schema}, "errorMessage": _PARAMETER}
    return schema


_PARAMETER = "write it as {name: lr, searchSpace: {categorical: {choices: ['0.1', '0.01']}}}"
_CHOICES = _within("searchSpace", "categorical", "choices", schema=list_of(TEXT))
_SPEC = struct(
    {
        "objectives": {},
        "searchAlgorithm": {},
        "parameters": list_of(
            {**_CHOICES, "required": ["name", "searchSpace"], "properties": {"name": TEXT, **_CHOICES["properties"]}}
        ),
        "numTrials": {"type": "integer"},
        "parallelTrials": {},
        "trainJobTemplate": {"type": "object"},
    },
    required=["parameters"],
)
OPTIMIZATION_JOB = DocumentKind(
    OPTIMIZATION_JOB_KIND, "an OptimizationJob", CODE, {"type": "object", "properties": {"spec": _SPEC}}
)


def read_grid(document: Document) -> tuple[Document, list[Assignment], list[Finding]]:
    """Return the template's TrainJob, the assignments of the grid in order, and all problems."""
    spec = mapping(document.data.get("spec"))
    if "grid" not in mapping(spec.get("searchAlgorithm")):
        message = "its trials are drawn at random in the cluster, and are not known before"
        hint = "write searchAlgorithm: {grid: {}}, and all values under `categorical`"
        return document, [], [Finding(CODE, "error", message, hint, ("spec", "searchAlgorithm"))]
    _, findings = OPTIMIZATION_JOB.check(without_nulls(OPTIMIZATION_JOB.schema, document.data))
    if findings:
        return document, [], findings
    places: dict[str, Path] = {}
    values: dict[str, list[str]] = {}
    for index, parameter in enumerate(spec["parameters"]):
        name = parameter["name"]
        places[name] = ("spec", "parameters", index, "searchSpace", "categorical", "choices")
        values[name] = parameter["searchSpace"]["categorical"]["choices"]
    found, findings = read_assignments({"parameters": values})
    findings = [replace(finding, path=_home(finding.path, places)) for finding in findings]
    trials = spec.get("numTrials", 1)
    if found and trials != len(found):
        message = f"numTrials is {trials}, and the grid has {len(found)} combinations"
        hint = write(len(found), ", so that all of them are tried", field="numTrials")
        findings.append(Finding(CODE, "error", message, hint, ("spec", "numTrials")))
    at_home = [
        replace(each, places={name: _home(path, places) for name, path in each.places.items()}) for each in found
    ]
    return _template(document, spec), at_home, findings


def _home(path: Path, places: Mapping[str, Path]) -> Path:
    """Translate a path in the sweep to the OptimizationJob."""
    if len(path) > 1 and path[1] in places:
        return (*places[str(path[1])], *path[2:])
    return ("spec", "parameters")


def _template(document: Document, spec: Json) -> Document:
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
_GROUP = "trainer.kubeflow.org/"
_HOURS: Schema = {"type": "number", "exclusiveMinimum": 0}
SWEEP = DocumentKind(
    KIND,
    "a sweep",
    CODE,
    struct(
        {
            "apiVersion": {"const": API, "errorMessage": f"write apiVersion: {API}"},
            "kind": {"const": KIND},
            "metadata": about(
                "`name` is what trials are named after, instead of the base.",
                {"type": "object", "properties": {"name": TEXT}},
            ),
            "base": about("The TrainJob, as PATH or PATH#[NAMESPACE/]NAME, relative to the file.", TEXT),
            **GRID_FIELDS,
            "maxTrials": about(
                f"More trials are an error; {MOST_TRIALS} by default.", {"type": "integer", "minimum": 1}
            ),
            "budget": about(
                "`gpuHours`: more are an error; `hoursPerTrial`: how long a trial runs.",
                struct(
                    {
                        "gpuHours": about("More GPU-hours are an error.", _HOURS),
                        "hoursPerTrial": about(
                            "Expected duration of a trial, if shorter than activeDeadlineSeconds.", _HOURS
                        ),
                    }
                ),
            ),
        },
        required=["apiVersion", "kind"],
    ),
)


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


def read_matrix(document: Document, limits: Limits) -> tuple[Matrix, list[Diagnostic]]:
    """Read a sweep and its diagnostics; with errors, it has no trials."""
    read = _read_optimization_job if document.data.get("kind") == OPTIMIZATION_JOB_KIND else _read
    matrix, problems = read(document, limits)
    return (replace(matrix, assignments=()) if has_errors(problems) else matrix), problems


def _read(document: Document, limits: Limits) -> tuple[Matrix, list[Diagnostic]]:
    data, findings = SWEEP.check({"apiVersion": "", **without_nulls(SWEEP.schema, document.data)})
    path, job = _base(data.get("base", ""), document.file)
    found: list[Assignment] = []
    if GRID_FIELDS.keys().isdisjoint(str(finding.path[0]) for finding in findings):
        found, more = read_assignments(data)
        findings += more
    most = data.get("maxTrials", MOST_TRIALS)
    if len(found) > most:
        findings.append(too_many_trials(len(found), most))
    budget = data.get("budget", {})
    matrix = Matrix(
        document,
        path,
        job,
        data.get("metadata", {}).get("name", ""),
        tuple(found),
        Budget(budget.get("gpuHours"), budget.get("hoursPerTrial")),
    )
    return matrix, [*(document.place(finding) for finding in findings), *_outside(matrix, limits)]


def _read_optimization_job(document: Document, _: Limits) -> tuple[Matrix, list[Diagnostic]]:
    template, found, findings = read_grid(document)
    label = label_of(document.data)
    matrix = Matrix(document, document.file, identity_of(template.data)[1], "", tuple(found), Budget(), template)
    return matrix, [document.place(finding, label) for finding in findings]


def _base(text: str, file: str) -> tuple[str, str]:
    """Return the path from the current directory and the job after `#`; defaults to the sweep file itself."""
    path, _, job = text.partition("#")
    return (os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file), job


def _outside(matrix: Matrix, limits: Limits) -> Iterator[Diagnostic]:
    root = root_around(os.path.dirname(matrix.document.file) or os.curdir)
    if not limits.allow_outside and not is_inside(matrix.path, root):
        finding = Finding("OutsideRoot", "error", f"{matrix.path} is outside the repository", OUTSIDE_HINT, ("base",))
        yield matrix.document.place(finding)


def base_among(documents: Sequence[Document], matrix: Matrix) -> tuple[Document | None, list[Diagnostic]]:
    """Return the base of a sweep among the documents of its file, before overlays, and what is wrong with `base`."""
    jobs = [document for document in documents if is_trainjob(document)]
    chosen = [document for document in jobs if matrix.job in _names(document)] if matrix.job else jobs
    return (chosen[0], []) if len(chosen) == 1 else (None, [matrix.document.place(_not_one(matrix, chosen or jobs))])


def trial_documents(matrix: Matrix, before: Document, base: Document) -> tuple[list[Document], list[Diagnostic]]:
    """Return the trials of a sweep, and problems with its base, which was `before` the overlays."""
    name = matrix.name
    if name and (old := identity_of(before.data)[1]):
        # An overlay adds a prefix to the base only.
        name = identity_of(base.data)[1].replace(old, name, 1)
    if not matrix.assignments:
        return [], []
    wrong = [base.place(finding) for finding in check_base(base.data, matrix.assignments, name)]
    if wrong:
        return [], wrong
    every = zip(make_trials(base.data, matrix.assignments, name), matrix.assignments, strict=True)
    return [_document(base, matrix, trial, assignment) for trial, assignment in every], []


def unused_parameters(matrix: Matrix, base: Document, others: Sequence[Document]) -> Iterator[Diagnostic]:
    """Report the parameters that the base and its runtime mention nowhere, by reference or as a variable.

    A program may read its variables by itself: if the base refers to none of the parameters, this is most likely meant.
    """
    referred = referred_parameters(base.data)
    for name in matrix.assignments[0].values if len(matrix.assignments) > 1 else ():
        variable = variable_name(name)
        if name in referred or any(mentions(d.data, variable) for d in (base, *filter(_is_runtime, others))):
            continue
        place = matrix.assignments[0].places[name]
        path = place[:-1] if isinstance(place[-1], int) else place
        message = f"the TrainJob mentions neither ${{trialParameters.{name}}} nor {variable}"
        if referred:
            message += "; unless the program reads the variable, trials that differ in nothing else are identical"
        else:
            message += "; the program has to read the variable, or all trials are identical"
        hint = f'pass it to the program, as in "--{name}=${{trialParameters.{name}}}"'
        severity: Severity = "warning" if referred else "info"
        yield matrix.document.place(Finding("UnusedParameter", severity, message, hint, path))


def _is_runtime(document: Document) -> bool:
    return document.data.get("kind") in RUNTIME_KINDS


def is_trainjob(document: Document) -> bool:
    """Return whether a document is a TrainJob of Trainer's own API, of which trials can be made."""
    api = str(document.data.get("apiVersion") or "")
    return document.data.get("kind") == "TrainJob" and api.startswith(_GROUP)


def _names(document: Document) -> tuple[str, str]:
    namespace, name = identity_of(document.data)
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
