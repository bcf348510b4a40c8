"""Why jobs change: the lines of the input that set the fields which differ, as `explain` knows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.api.explained import ExplainedField, Explanation, Recorder, explanation
from trainc.api.findings import Source
from trainc.api.kube import NEWEST_RELEASE
from trainc.api.records import replace
from trainc.features.diff.changes import Change
from trainc.features.diff.model import Group, JobDiff
from trainc.features.diff.sides import ReadSide


class SidesExplained:
    """Both sides of a comparison, asked for the causes of what changes in a group of jobs."""

    def __init__(self, before: ReadSide, after: ReadSide) -> None:
        self._before, self._after = before, after
        self._sources = before.found.trainjobs, after.found.trainjobs

    def causes(self, group: Group) -> tuple[tuple[Source, ...], str]:
        """The lines that are the cause, without duplicates; or else a reason in words."""
        if group.first.status in ("added", "removed"):
            return (), self._file(group)
        explained = [self._explain(number, group.first) for number in (0, 1)]
        if explained[1] is None:
            return (), ""
        found: dict[Source, None] = {}
        for one in group.first.objects:
            kind = one.key.kind
            sides = [
                next((o.fields for o in each.objects if o.name.kind == kind), ()) if each else () for each in explained
            ]
            for change in one.changes:
                found |= dict.fromkeys(_sources_of(change, sides[0], sides[1]))
        lines = tuple(source for source in found if source.origin != "catalog")
        return lines, "" if lines else self._reason()

    def _file(self, group: Group) -> str:
        """The file that holds all jobs of a group that come or go, such as the trials of a sweep."""
        side = self._after if group.first.status == "added" else self._before
        keys = [(job.namespace, job.name) for _, job in group.members]
        homes = dict(side.found.homes)
        files = {homes[key] for key in keys if homes.get(key)}
        return next(iter(files)) if len(files) == 1 and len(keys) > 1 else ""

    def _reason(self) -> str:
        releases = [side.options.release or NEWEST_RELEASE for side in (self._before, self._after)]
        if releases[0] != releases[1]:
            return f"Trainer {releases[0]} → {releases[1]}"
        return "" if self._before.options == self._after.options else "the settings in trainc.yaml"

    def _explain(self, number: int, job: JobDiff) -> Explanation | None:
        side, key = (self._before, self._after)[number], (job.namespace, job.name)
        document = self._sources[number].get(key)
        if document is None or side.found.session is None:
            return None
        recorder = Recorder()
        replace(side.found.session, hold=None).compile(document, recorder)
        return explanation(recorder) if recorder.stages else None


def _sources_of(change: Change, before: Sequence[ExplainedField], after: Sequence[ExplainedField]) -> Iterator[Source]:
    """The inputs that differ between the sides; where none does, all of those that set the field now."""
    was, now = (dict(_inputs(fields, change)) for fields in (before, after))
    differing = [source for key, source in now.items() if key not in was]
    yield from differing or [source for key, source in was.items() if key not in now] or now.values()


def _inputs(fields: Sequence[ExplainedField], change: Change) -> Iterator[tuple[tuple[str, str, str], Source]]:
    """What the fields at and below a change were made from: the object, the field there and the value, with its line."""
    path = tuple(map(str, change.path))
    for field in fields:
        for given in field.origin.inputs if tuple(map(str, field.path[: len(path)])) == path else ():
            if given.source is not None:
                yield (given.object, str(given.path), repr(given.value)), given.source
