"""What reviewers of a change need to know of sweeps."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence

from trainc.api.documents import Document
from trainc.api.findings import first_of
from trainc.api.kube import mapping, value_at
from trainc.features.gitops.diff.places import Place
from trainc.features.gitops.diff.sides import ReadSide

SWEEP_CODES = ("SweepSize", "OverBudget")


def of_sweeps(before: ReadSide, after: ReadSide, _: Collection[tuple[str, str]]) -> Iterator[str]:
    """Yield the size and cost of sweeps that are new or have changed, and which of their trials have another number."""
    was = {(d.source and d.source.file, d.message) for d in before.manifest_set.diagnostics if d.code in SWEEP_CODES}
    for diagnostic in after.manifest_set.diagnostics:
        file = diagnostic.source and diagnostic.source.file
        if diagnostic.code in SWEEP_CODES and (file, diagnostic.message) not in was:
            over = " This is over its budget." if diagnostic.code == "OverBudget" else ""
            yield f"{file or 'sweep'}: {diagnostic.message}.{over}"
    sides = [_numbers(before), _numbers(after)]
    for file, numbers in sides[1].items():
        pairs = [(old, numbers[values]) for values, old in sides[0].get(file, {}).items() if values in numbers]
        if moved := [f"{old} is now {new}" for old, new in pairs if old != new]:
            yield (
                f"{file}: numbers of trials have moved: {first_of(moved, 5)}. What runs under a number restarts with other "
                "values; only combinations at the end, under `include`, leave the numbers of the others as they are."
            )


def _numbers(side: ReadSide) -> dict[str, dict[str, str]]:
    """The numbers of the trials of each sweep by their values."""
    files = {sweep.file for sweep in side.sweeps}
    numbers: dict[str, dict[str, str]] = {}
    for (_, name), job in side.manifest_set.trainjobs.items():
        if (values := values_of(job.document)) and job.document.file in files:
            number = name[name.rfind("trial-") :]
            numbers.setdefault(os.path.normpath(job.document.file), {})[str(sorted(values.items()))] = number
    return numbers


def values_of(trial: Document) -> dict[str, str]:
    """Return the values of a trial, none of what is no trial."""
    notes = mapping(mapping(trial.data.get("metadata")).get("annotations"))
    return {name: str(value) for name, value in notes.items() if "/opt-param-" in name}


def of_trials(places: Sequence[Place], trials: Sequence[Document]) -> Sequence[Place]:
    """Leave out combinations under `include` of other trials than this one, which is given before and after."""

    def is_other(place: Place) -> bool:
        n, sweep, path = place
        item = value_at(sweep.data, path[:2])
        texts = {json.dumps(value).strip('"') for value in mapping(item).values()}
        return path[:1] == ("include",) and texts != {*values_of(trials[n]).values()}

    return [place for place in places if not is_other(place)] or places


def base_of(sweep: Document) -> str:
    """Return the file of the job that is the base of a sweep, and therefore none itself."""
    base = sweep.data.get("base")
    file = base.get("file") if isinstance(base, Mapping) else base
    return os.path.normpath(os.path.join(os.path.dirname(sweep.file), str(file).partition("#")[0]))
