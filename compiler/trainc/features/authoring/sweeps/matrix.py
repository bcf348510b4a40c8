"""Creates the trials of a sweep: a TrainJob per assignment, with the same names and variables as an OptimizationJob.

Source: kubeflow/trainer KEP-3562 and pull request 3828 (constructTrainJob): `<name>-trial-<index>`, the variable
KUBEFLOW_TRAINER_OPT_<NAME>, the annotation opt-param-<name>. Katib's `${trialParameters.<name>}` is substituted too.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.api.documents import Document, label_of, opening
from trainc.api.findings import (
    CompileError,
    Diagnostic,
    Finding,
    Path,
    Severity,
    Source,
    did_you_mean,
    has_errors,
    write,
)
from trainc.api.kube import Json, Manifest, documents, identity_of, mapping, names
from trainc.api.records import dataclass, field, pattern, replace
from trainc.api.schema import document_kinds
from trainc.api.settings import Limits, patterns
from trainc.features.authoring.sweeps import grid
from trainc.features.authoring.sweeps.grid import Assignment

_GROUP = "trainer.kubeflow.org"
_REFERENCE = pattern(r"\$\{(trialParameters|trialSpec)\.([^}]*)\}")
_ENV: Path = ("spec", "trainer", "env")
# Below these fields, values are always strings.
_TEXTS = frozenset(("annotations", "args", "command", "env", "labels"))
_OF_TRIAL = ("Name", "Namespace")
# A sweep that was passed as data has no lines.
_NOWHERE = Document.of({})


@dataclass(frozen=True, slots=True)
class Trial:
    """A TrainJob of a sweep. `parameter_fields` lists the paths of fields that depend on a parameter, with its name."""

    job: Manifest
    parameter_fields: tuple[tuple[Path, str], ...]


def sweep(
    base: Mapping[str, Any],
    parameters: Mapping[str, Any],
    *,
    exclude: Sequence[Mapping[str, Any]] = (),
    include: Sequence[Mapping[str, Any]] = (),
    name: str = "",
) -> list[dict[str, Any]]:
    """Create a TrainJob per combination of values: `sweep(job, {"lr": [1e-4, 3e-4], "batch": [32, 64]})`.

    `base` is a TrainJob as a dict; it is not modified. Instead of a list, a parameter can have a range such as {"min":
    1e-5, "max": 1e-1, "count": 5, "scale": "log"}. `exclude` drops combinations with the given values, and `include`
    adds complete combinations.

    Trials are named `<name>-trial-<index>`; `name` defaults to the name of `base`. Their values are in the variables
    KUBEFLOW_TRAINER_OPT_<NAME>, in annotations, and replace ${trialParameters.<name>} anywhere in `base`.

    Raises CompileError with all problems of the sweep. The jobs themselves are not validated.
    """
    data = {
        "parameters": {str(name): _plain(values) for name, values in parameters.items()},
        "exclude": [dict(row) for row in exclude],
        "include": [dict(row) for row in include],
    }
    _, findings = grid.GRID.check(data)
    assignments, more = ([], findings) if findings else grid.read_assignments(data)
    problems = [_NOWHERE.diagnose(finding, "sweep") for finding in more if finding.severity == "error"]
    if len(assignments) > grid.MOST_TRIALS:
        problems.append(_NOWHERE.diagnose(too_many_trials(len(assignments), grid.MOST_TRIALS), "sweep"))
    problems += [_NOWHERE.diagnose(finding, "base") for finding in check_base(base, assignments, name)]
    if problems:
        raise CompileError(problems)
    return [trial.job for trial in make_trials(base, assignments, name)]


def _plain(values: Any) -> Any:
    """Return a sequence of another type as a list, and a mapping as a dict."""
    if isinstance(values, Mapping):
        return dict(values)
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str) else values


def too_many_trials(count: int, most: int) -> Finding:
    """Create the error for a sweep with more trials than allowed."""
    message = f"the sweep has {count:,} trials, which is more than {most:,}"
    hint = "list fewer values, or exclude combinations"
    if count <= grid.MOST_ASKED:
        hint = f"list fewer values, exclude combinations, or write maxTrials: {count}"
    return Finding("TooManyTrials", "error", message, hint, ("parameters",))


def make_trials(base: Json, assignments: Sequence[Assignment], name: str = "") -> Iterator[Trial]:
    """Yield the trials of the job `base` in order; `name` overrides the name that they are derived from."""
    sweep_name = name or _name_of(base)
    for index, assignment in enumerate(assignments):
        name = names.trial_name(sweep_name, index)
        yield _Filling(base, assignment, assignment.texts, sweep_name, name).trial()


def _name_of(base: Json) -> str:
    name = mapping(base.get("metadata")).get("name")
    return name if isinstance(name, str) else ""


def check_base(base: Json, assignments: Sequence[Assignment], name: str = "") -> Iterator[Finding]:
    """Report a missing name, and each `${trialParameters.x}` that is not a parameter of the sweep."""
    if not name and not _name_of(base):
        message = "the base TrainJob needs a name: the names of the trials are derived from it"
        yield Finding("InvalidSweep", "error", message, "set metadata.name here or in the sweep", ("metadata",))
    parameters = assignments[0].values if assignments else {}
    for path, text in _strings(base, ()):
        for kind, requested in _REFERENCE.findall(text):
            names: Collection[str] = _OF_TRIAL if kind == "trialSpec" else parameters
            if requested not in names:
                noun = "value" if kind == "trialSpec" else "parameter"
                message = f"the sweep has no {noun} for ${{{kind}.{requested}}}"
                hint = did_you_mean(requested, names) or f"it has {', '.join(names)}"
                yield Finding("UnknownParameter", "error", message, hint, path)


def referred_parameters(base: Json) -> set[str]:
    """Return the names in `${trialParameters.x}` of a base."""
    return {name for _, text in _strings(base, ()) for kind, name in _REFERENCE.findall(text) if kind != "trialSpec"}


def mentioned(documents: Iterable[Document]) -> set[str]:
    """Return what may be names of parameters, in capitals, in the variables that strings of the documents mention."""
    texts = (text for document in documents for _, text in _strings(document.data, ()))
    behind = (part for text in texts for part in text.split(grid.VARIABLE)[1:])
    return {part[:length] for part in behind for length in range(1, grid.LONGEST_NAME + 1)}


def _strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _strings(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(inner, (*path, index))


@dataclass(slots=True)
class _Filling:
    """Builds one trial. `texts` are the values as they are passed to the program."""

    base: Json
    assignment: Assignment
    texts: Mapping[str, str]
    sweep: str
    name: str
    parameter_fields: list[tuple[Path, str]] = field(default_factory=list)

    def trial(self) -> Trial:
        """Return the TrainJob; fields of the wrong type are left for the schema check to report."""
        job = {key: self._filled(value, (key,)) for key, value in self.base.items()}
        metadata = job.get("metadata", {})
        if isinstance(metadata, dict):
            job["metadata"] = self._metadata(metadata)
        spec = job.get("spec")
        trainer = spec.get("trainer") or {} if isinstance(spec, dict) else None
        if isinstance(trainer, dict) and isinstance(trainer.get("env") or [], list):
            job["spec"] = {**job["spec"], "trainer": {**trainer, "env": self._env(trainer.get("env") or [])}}
        return Trial(job, tuple(self.parameter_fields))

    def _metadata(self, metadata: Manifest) -> Manifest:
        existing = {field: metadata.get(field) or {} for field in ("labels", "annotations")}
        added = {f"{_GROUP}/opt-param-{name}": text for name, text in self.texts.items()}
        self.parameter_fields += [
            (("metadata", "annotations", key), name) for key, name in zip(added, self.assignment.values, strict=True)
        ]
        result: Manifest = {**metadata, "name": self.name}
        result.pop("generateName", None)
        # Selects all trials of a sweep, as it does the TrainJobs of an OptimizationJob.
        if isinstance(existing["labels"], dict):
            result["labels"] = {**existing["labels"], f"{_GROUP}/optimizationjob-name": self.sweep}
        if isinstance(existing["annotations"], dict):
            result["annotations"] = {**existing["annotations"], **added}
        return result

    def _env(self, env: Sequence[Any]) -> list[Any]:
        """Return the variables of the job with those of the parameters added; they replace existing ones in place."""
        injected = {grid.variable_name(name): name for name in self.assignment.values}
        there = [str(mapping(variable).get("name")) for variable in env]
        known = set(there)
        names = [*there, *(name for name in injected if name not in known)]
        result = [*env, *({} for _ in range(len(names) - len(env)))]
        for index, name in enumerate(names):
            if name in injected:
                result[index] = {"name": name, "value": self.texts[injected[name]]}
                self.parameter_fields.append(((*_ENV, index), injected[name]))
        return result

    def _filled(self, value: Any, path: Path) -> Any:
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, dict):
            return {key: self._filled(inner, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._filled(inner, (*path, index)) for index, inner in enumerate(value)]
        return value

    def _text(self, text: str, path: Path) -> Any:
        match = _REFERENCE.fullmatch(text)
        if match and match[1] == "trialParameters" and match[2] in self.assignment.values:
            self.parameter_fields.append((path, match[2]))
            value = self.assignment.values[match[2]]
            return grid.value_text(value) if _TEXTS.intersection(map(str, path)) else value
        return _REFERENCE.sub(lambda reference: self._value(reference[1], reference[2], reference[0], path), text)

    def _value(self, kind: str, name: str, reference: str, path: Path) -> str:
        if kind == "trialSpec":
            namespace = mapping(self.base.get("metadata")).get("namespace")
            return {"Name": self.name, "Namespace": str(namespace or "")}.get(name, reference)
        if name not in self.assignment.values:
            return reference
        self.parameter_fields.append((path, name))
        return self.texts[name]


# Reads an OptimizationJob with `searchAlgorithm: {grid: {}}`, whose trials are known in advance, as a sweep.
#
# Source: kubeflow/trainer pkg/apis/trainer/v1alpha1/optimizationjob_types.go, which is not in any release yet.

OPTIMIZATION_JOB_API, OPTIMIZATION_JOB_KIND = "trainer.kubeflow.org/v1alpha1", "OptimizationJob"
_TEMPLATE: Path = ("spec", "trainJobTemplate")


OPTIMIZATION_JOB = document_kinds.DocumentKind(
    OPTIMIZATION_JOB_KIND, "an OptimizationJob", grid.CODE, grid.SCHEMAS["OptimizationJob"]
)


def read_grid(document: Document) -> tuple[Document, list[Assignment], list[Finding]]:
    """Return the template's TrainJob, the assignments of the grid in order, and all problems."""
    spec = mapping(document.data.get("spec"))
    if "grid" not in mapping(spec.get("searchAlgorithm")):
        message = "its trials are drawn at random in the cluster, and are not known before"
        hint = "write searchAlgorithm: {grid: {}}, and all values under `categorical`"
        return document, [], [Finding(grid.CODE, "error", message, hint, ("spec", "searchAlgorithm"))]
    _, findings = OPTIMIZATION_JOB.check(document_kinds.without_nulls(OPTIMIZATION_JOB.schema, document.data))
    if findings:
        return document, [], findings
    paths: dict[str, Path] = {}
    values: dict[str, list[str]] = {}
    for index, parameter in enumerate(documents.items(spec["parameters"])):
        name = parameter["name"]
        paths[name] = ("spec", "parameters", index, "searchSpace", "categorical", "choices")
        values[name] = parameter["searchSpace"]["categorical"]["choices"]
    assignments, findings = grid.read_assignments({"parameters": values})
    findings = [replace(finding, path=_home(finding.path, paths)) for finding in findings]
    trials = spec.get("numTrials", 1)
    if assignments and trials != len(assignments):
        message = f"numTrials is {trials}, and the grid has {len(assignments)} combinations"
        hint = write(len(assignments), ", so that all of them are tried", field="numTrials")
        findings.append(Finding(grid.CODE, "error", message, hint, ("spec", "numTrials")))
    at_home = [replace(a, paths={name: _home(path, paths) for name, path in a.paths.items()}) for a in assignments]
    return _template(document, spec), at_home, findings


def _home(path: Path, paths: Mapping[str, Path]) -> Path:
    """Translate a path in the sweep to the OptimizationJob."""
    if len(path) > 1 and path[1] in paths:
        return (*paths[str(path[1])], *path[2:])
    return ("spec", "parameters")


def _template(document: Document, spec: Json) -> Document:
    """Return the TrainJob template with the name and namespace of the OptimizationJob."""
    template = mapping(spec.get("trainJobTemplate"))
    metadata = mapping(document.data.get("metadata"))
    identity = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
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


# Reads sweep files and creates the documents of their trials, with positions of where each value was written.

_MATRIX_GROUP = "trainer.kubeflow.org/"
SWEEP = document_kinds.DocumentKind("Sweep", "a sweep", grid.CODE, grid.SCHEMAS["Sweep"])


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a sweep, and the assumed duration of a trial in hours; None if not set."""

    gpu_hours: float | None = None
    hours_per_trial: float | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """A sweep file.

    `path` is the file of the base, and `job` selects one of its TrainJobs (empty if there is only one). `template` is
    the base itself if the sweep contains it. `ends_job` says that the base may have been a job.
    """

    document: Document
    path: str
    job: str
    name: str
    assignments: tuple[Assignment, ...]
    budget: Budget = Budget()
    template: Document | None = None
    ends_job: bool = False


def read_matrix(document: Document, limits: Limits) -> tuple[Matrix, list[Diagnostic]]:
    """Read a sweep and its diagnostics; with errors, it has no trials."""
    if document.data.get("kind") == OPTIMIZATION_JOB_KIND:
        template, assignments, findings = read_grid(document)
        job = identity_of(template.data)[1]
        matrix = Matrix(document, document.file, job, "", tuple(assignments), Budget(), template)
        problems = [document.diagnose(finding, label_of(document.data)) for finding in findings]
    else:
        matrix, problems = _read_sweep(document, limits)
    return (replace(matrix, assignments=()) if has_errors(problems) else matrix), problems


def _read_sweep(document: Document, limits: Limits) -> tuple[Matrix, list[Diagnostic]]:
    data, findings = SWEEP.check({"apiVersion": "", **document_kinds.without_nulls(SWEEP.schema, document.data)})
    given = data.get("base", "")
    base, _, job = (given if isinstance(given, str) else given.get("file", "")).partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(document.file), base)) if base else document.file
    assignments: list[Assignment] = []
    if grid.GRID_FIELDS.keys().isdisjoint(str(finding.path[0]) for finding in findings):
        assignments, more = grid.read_assignments(data)
        findings += more
    most = data.get("maxTrials", grid.MOST_TRIALS)
    if len(assignments) > most:
        findings.append(too_many_trials(len(assignments), most))
    budget = Budget(*(data.get("budget", {}).get(key) for key in ("gpuHours", "hoursPerTrial")))
    ends_job = isinstance(given, dict) and given.get("endsJob") is True
    name = data.get("metadata", {}).get("name", "")
    matrix = Matrix(document, path, job, name, tuple(assignments), budget, ends_job=ends_job)
    root = opening.root_around(os.path.dirname(document.file) or os.curdir)
    if not limits.allow_outside and not opening.is_inside(path, root):
        message = f"{path} is outside the repository"
        findings.append(Finding("OutsideRoot", "error", message, opening.OUTSIDE_HINT, ("base",)))
    return matrix, list(map(document.diagnose, findings))


def base_among(documents: Sequence[Document], matrix: Matrix) -> tuple[Document | None, list[Diagnostic]]:
    """Return the base of a sweep among the documents of its file, before overlays, and what is wrong with `base`."""
    jobs = [document for document in documents if is_trainjob(document)]
    chosen = [document for document in jobs if matrix.job in _names(document)] if matrix.job else jobs
    return (chosen[0], []) if len(chosen) == 1 else (None, [matrix.document.diagnose(_not_one(matrix, chosen or jobs))])


def trial_documents(matrix: Matrix, before: Document, base: Document) -> tuple[list[Document], list[Diagnostic]]:
    """Return the trials of a sweep, and problems with its base, which was `before` the overlays."""
    name = matrix.name
    if name and (old := identity_of(before.data)[1]):
        # An overlay adds a prefix to the base only.
        name = identity_of(base.data)[1].replace(old, name, 1)
    if not matrix.assignments:
        return [], []
    wrong = [base.diagnose(finding) for finding in check_base(base.data, matrix.assignments, name)]
    if wrong:
        return [], [_at_parameter(d, matrix, referred_parameters(base.data)) for d in wrong]
    pairs = zip(make_trials(base.data, matrix.assignments, name), matrix.assignments, strict=True)
    return [_document(base, matrix, trial, assignment) for trial, assignment in pairs], []


def _at_parameter(d: Diagnostic, matrix: Matrix, referred: Collection[str]) -> Diagnostic:
    """Say of a name that is almost that of a parameter, which the base mentions nowhere, where the sweep has that."""
    for fix in d.fixes:
        path = matrix.assignments[0].paths.get(fix.text, ())
        at = matrix.document.locate(path[:-1] if isinstance(path[-1], int) else path) if path else None
        if at is not None and fix.text not in referred:
            return replace(d, hint=at.refusing(f"{d.hint} The sweep has it at {at.file}:{at.line}"))
    return d


def unused_parameters(matrix: Matrix, base: Document, of_runtimes: set[str]) -> Iterator[Diagnostic]:
    """Report the parameters that the base and the runtimes mention nowhere, by reference or as a variable.

    A program may read its variables by itself: if the base refers to none of the parameters, this is most likely meant.
    """
    if len(matrix.assignments) < 2:
        return
    referred, used = referred_parameters(base.data), of_runtimes | mentioned([base])
    for name in matrix.assignments[0].values:
        if name in referred or name.upper() in used:
            continue
        value_path = matrix.assignments[0].paths[name]
        path = value_path[:-1] if isinstance(value_path[-1], int) else value_path
        message = f"the TrainJob mentions neither ${{trialParameters.{name}}} nor {grid.variable_name(name)}"
        if referred:
            message += "; unless the program reads the variable, trials that differ in nothing else are identical"
        else:
            message += "; the program has to read the variable, or all trials are identical"
        hint = f'pass it to the program, as in "--{name}=${{trialParameters.{name}}}"'
        severity: Severity = "warning" if referred else "info"
        yield matrix.document.diagnose(Finding("UnusedParameter", severity, message, hint, path))


def is_trainjob(document: Document) -> bool:
    """Return whether a document is a TrainJob of Trainer's own API, of which trials can be made."""
    api = str(document.data.get("apiVersion") or "")
    return document.data.get("kind") == "TrainJob" and api.startswith(_MATRIX_GROUP)


def _names(document: Document) -> tuple[str, str]:
    namespace, name = identity_of(document.data)
    return name, f"{namespace}/{name}"


def _not_one(matrix: Matrix, candidates: Sequence[Document]) -> Finding:
    if not candidates:
        message = f"{matrix.path} has no TrainJob of Trainer's own API"
        hint = "use the file that has it, as in base: jobs/llm.yaml"
        return Finding("InvalidSweep", "error", message, hint, ("base",))
    names = ", ".join(_names(document)[0] for document in candidates[:5])
    contents = f"no TrainJob {matrix.job}" if matrix.job else f"{len(candidates)} TrainJobs"
    hint = f"choose one after #, as in base: {os.path.basename(matrix.path)}#{_names(candidates[0])[0]}; it has {names}"
    return Finding("InvalidSweep", "error", f"{matrix.path} has {contents}", hint, ("base",))


def _document(base: Document, matrix: Matrix, trial: Trial, assignment: Assignment) -> Document:
    """Return the document of a trial; positions of parameter values are in the sweep, all others in the base."""
    edited = patterns.Edited.of(base)
    for path, name in trial.parameter_fields:
        at = documents.stable_path(path, trial.job)
        # A text of the base that mentions a parameter has a part in what is made of both.
        around = [patterns.Origin(base, path)] if isinstance(documents.value_at(base.data, path), str) else []
        edited.origins.add(at, patterns.Origin(matrix.document, assignment.paths[name]), *around)
    return replace(edited.with_data(trial.job, ()).to_document(), file=matrix.document.file)
