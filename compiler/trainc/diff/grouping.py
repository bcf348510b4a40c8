"""The order and the headings under which changes and ways are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trainc.api.field_path import FieldPath
from trainc.diff.changes import Change
from trainc.diff.model import ObjectDiff
from trainc.diff.outcomes import LABELS, Outcome
from trainc.diff.ways import WAYS, Way

# How deep a heading reaches into a JobSet: the Job's spec, the pod's spec, a container.
_JOB, _POD, _CONTAINER = 5, 7, 9


def under_headings(diff: ObjectDiff) -> Iterator[tuple[FieldPath, list[tuple[int, Change]]]]:
    """An object's changes with their numbers, under the path that they share; first those that share none."""
    groups: dict[FieldPath, list[tuple[int, Change]]] = {(): []}
    for number, change in enumerate(diff.changes):
        groups.setdefault(_heading(change.path), []).append((number, change))
    yield from ((heading, changes) for heading, changes in groups.items() if changes)


def _heading(path: FieldPath) -> FieldPath:
    if path[:2] != ("spec", "replicatedJobs") or path[3:5] != ("template", "spec") or len(path) <= _JOB:
        return ()
    if path[5:7] != ("template", "spec") or len(path) <= _POD:
        return path[:_JOB]
    in_container = path[_POD] in ("containers", "initContainers") and len(path) > _CONTAINER
    return path[:_CONTAINER] if in_container else path[:_POD]


def by_outcome(outcomes: Mapping[str, Outcome]) -> list[tuple[Outcome, list[Way]]]:
    """Which ways have which outcome, from harmless to harmful."""
    found = [(outcome, [way for way in WAYS if outcomes[way.id] == outcome]) for outcome in LABELS]
    return [(outcome, ways) for outcome, ways in found if ways]


def names_of(ways: Sequence[Way], chosen: Way) -> str:
    """The ways' labels; the chosen one is marked."""
    return "; ".join(f"{way.label} (*)" if way == chosen else way.label for way in ways)
