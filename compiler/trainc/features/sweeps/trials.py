"""Creates the trials of a sweep: a TrainJob per assignment, with the same names and variables as an OptimizationJob.

Source: kubeflow/trainer KEP-3562 and pull request 3828 (constructTrainJob): `<name>-trial-<index>`, the variable
KUBEFLOW_TRAINER_OPT_<NAME>, the annotation opt-param-<name>. Katib's `${trialParameters.<name>}` is substituted too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api.findings import CompileError, Diagnostic, Finding, Path, did_you_mean, format_path
from trainc.api.kube import Json, Manifest, mapping
from trainc.api.records import dataclass, field, pattern
from trainc.features.sweeps.grid import GRID, MOST_TRIALS, Assignment, read_assignments, value_text, variable_name
from trainc.kube.names import trial_name

_GROUP = "trainer.kubeflow.org"
_REFERENCE = pattern(r"\$\{(trialParameters|trialSpec)\.([^}]*)\}")
_ENV: Path = ("spec", "trainer", "env")
# Below these fields, values are always strings.
_TEXTS = frozenset(("annotations", "args", "command", "env", "labels"))
_OF_TRIAL = ("Name", "Namespace")


@dataclass(frozen=True, slots=True)
class Trial:
    """A TrainJob of a sweep. `written` lists the paths of fields that depend on a parameter, with its name."""

    job: Manifest
    written: tuple[tuple[Path, str], ...]


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
    _, findings = GRID.check(data)
    found, more = ([], findings) if findings else read_assignments(data)
    problems = [_placed(finding, "sweep") for finding in more if finding.severity == "error"]
    if len(found) > MOST_TRIALS:
        problems.append(_placed(too_many_trials(len(found), MOST_TRIALS), "sweep"))
    problems += [_placed(finding, "base") for finding in check_base(base, found, name)]
    if problems:
        raise CompileError(problems)
    return [trial.job for trial in make_trials(base, found, name)]


def _plain(values: Any) -> Any:
    """Return a sequence of another type as a list, and a mapping as a dict."""
    if isinstance(values, Mapping):
        return dict(values)
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str) else values


def _placed(finding: Finding, label: str) -> Diagnostic:
    return Diagnostic(finding.code, finding.severity, finding.message, finding.hint, label, format_path(finding.path))


def too_many_trials(count: int, most: int) -> Finding:
    """Create the error for a sweep with more trials than allowed."""
    message = f"the sweep has {count:,} trials, which is more than {most:,}"
    hint = f"list fewer values, exclude combinations, or write maxTrials: {count}"
    return Finding("TooManyTrials", "error", message, hint, ("parameters",))


def make_trials(base: Json, found: Sequence[Assignment], name: str = "") -> Iterator[Trial]:
    """Yield the trials of the job `base` in order; `name` overrides the name that they are derived from."""
    named = name or _name_of(base)
    for index, assignment in enumerate(found):
        yield _Filling(base, assignment, named, trial_name(named, index)).trial()


def _name_of(base: Json) -> str:
    name = mapping(base.get("metadata")).get("name")
    return name if isinstance(name, str) else ""


def check_base(base: Json, found: Sequence[Assignment], name: str = "") -> Iterator[Finding]:
    """Report a missing name, and each `${trialParameters.x}` that is not a parameter of the sweep."""
    if not name and not _name_of(base):
        message = "the base TrainJob needs a name: the names of the trials are derived from it"
        yield Finding("InvalidSweep", "error", message, "set metadata.name here or in the sweep", ("metadata",))
    known = list(found[0].values) if found else []
    for path, text in _strings(base, ()):
        for kind, requested in _REFERENCE.findall(text):
            names = _OF_TRIAL if kind == "trialSpec" else known
            if requested not in names:
                message = (
                    f"the sweep has no {'parameter' if kind != 'trialSpec' else 'value'} for ${{{kind}.{requested}}}"
                )
                hint = did_you_mean(requested, names) or f"it has {', '.join(names)}"
                yield Finding("UnknownParameter", "error", message, hint, path)


def referred_parameters(base: Json) -> set[str]:
    """Return the names in `${trialParameters.x}` of a base."""
    return {name for _, text in _strings(base, ()) for kind, name in _REFERENCE.findall(text) if kind != "trialSpec"}


def mentions(document: Json, text: str) -> bool:
    """Return whether any string of a document contains `text`."""
    return any(text in each for _, each in _strings(document, ()))


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
    """Builds one trial."""

    base: Json
    assignment: Assignment
    sweep: str
    name: str
    written: list[tuple[Path, str]] = field(default_factory=list)

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
        return Trial(job, tuple(self.written))

    def _metadata(self, metadata: Manifest) -> Manifest:
        given = {field: metadata.get(field) or {} for field in ("labels", "annotations")}
        added = {f"{_GROUP}/opt-param-{name}": text for name, text in self.assignment.texts.items()}
        self.written += [
            (("metadata", "annotations", key), name) for key, name in zip(added, self.assignment.values, strict=True)
        ]
        made: Manifest = {**metadata, "name": self.name}
        made.pop("generateName", None)
        # Selects all trials of a sweep, as it does the TrainJobs of an OptimizationJob.
        if isinstance(given["labels"], dict):
            made["labels"] = {**given["labels"], f"{_GROUP}/optimizationjob-name": self.sweep}
        if isinstance(given["annotations"], dict):
            made["annotations"] = {**given["annotations"], **added}
        return made

    def _env(self, env: Sequence[Any]) -> list[Any]:
        """Return the variables of the job with those of the parameters added; they replace existing ones in place."""
        injected = {variable_name(name): name for name in self.assignment.values}
        there = [variable.get("name") if isinstance(variable, dict) else None for variable in env]
        names = [*there, *(name for name in injected if name not in there)]
        made = [*env, *({} for _ in range(len(names) - len(env)))]
        for index, name in enumerate(names):
            if name in injected:
                made[index] = {"name": name, "value": self.assignment.texts[injected[name]]}
                self.written.append(((*_ENV, index), injected[name]))
        return made

    def _filled(self, value: Any, path: Path) -> Any:
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, dict):
            return {key: self._filled(inner, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._filled(inner, (*path, index)) for index, inner in enumerate(value)]
        return value

    def _text(self, text: str, path: Path) -> Any:
        whole = _REFERENCE.fullmatch(text)
        if whole and whole[1] == "trialParameters" and whole[2] in self.assignment.values:
            self.written.append((path, whole[2]))
            value = self.assignment.values[whole[2]]
            return value_text(value) if _TEXTS.intersection(map(str, path)) else value
        return _REFERENCE.sub(lambda found: self._value(found[1], found[2], found[0], path), text)

    def _value(self, kind: str, name: str, reference: str, path: Path) -> str:
        if kind == "trialSpec":
            namespace = mapping(self.base.get("metadata")).get("namespace")
            return {"Name": self.name, "Namespace": str(namespace or "")}.get(name, reference)
        if name not in self.assignment.values:
            return reference
        self.written.append((path, name))
        return self.assignment.texts[name]
