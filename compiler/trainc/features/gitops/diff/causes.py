"""Why jobs change: the differences between the two sides that have a part in what changes.

What made a field is asked of both sides, as `explain` knows it, and only what differs between them is a cause: a line
that is the same on both sides is never one. A line is named where it is now; one that is gone, where it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import Any, TypeAlias

from trainc.api.documents import Document, files, label_of
from trainc.api.explained import ExplainedField, Recorder
from trainc.api.findings import Path, Source, differences
from trainc.api.jobs import Session, ValidDocument
from trainc.api.kube import documents, identity_of, names, releases, value_at
from trainc.api.records import dataclass, field, replace
from trainc.api.settings import Options
from trainc.features.gitops.diff.model import Cause, JobDiff
from trainc.features.gitops.diff.places import (
    Different,
    Filling,
    Place,
    Record,
    Template,
    Why,
    by_holder,
    by_label,
    compiled,
    is_on_one_line,
    pending_line,
    smallest,
)
from trainc.features.gitops.diff.sides import ReadSide
from trainc.features.gitops.diff.sweeps import base_of, of_trials, values_of

Key: TypeAlias = tuple[str, str]
# What of the settings and of an overlay decides which jobs there are.
_CHOOSING = ("sources", "exclude", "select", "overlay")
# The compile options, by the names of their fields, as trainc.yaml and overlays have them.
_OPTIONS = {name: name[0] + name.title().replace("_", "")[1:] for name in Options.__match_args__}
_IDENTITY = ("name", "namespace")
_NAMING = ("namespace", "namePrefix", "nameSuffix")
# Of the changes of a job, those whose fields are asked for; of more, all that differs is a cause.
_MOST_ASKED = 1_000
# What of a sweep says nothing about its trials.
_LIMITING = ("metadata", "budget", "maxTrials")


@dataclass(slots=True)
class _Known:
    """One side, with what was asked of it so far. Of documents of one label, the first one counts, in all files and in each."""

    side: ReadSide
    session: Session | None
    jobs: Mapping[Key, ValidDocument]
    by_label: dict[str, Document] = field(default_factory=dict)
    by_file: dict[str, dict[str, Document]] = field(default_factory=dict)

    @classmethod
    def of(cls, side: ReadSide) -> _Known:
        known = cls(side, side.manifest_set.session, side.manifest_set.trainjobs)
        for document in _documents(side, known.session):
            label = label_of(document.data)
            known.by_file.setdefault(os.path.normpath(document.file), {}).setdefault(label, document)
            known.by_label.setdefault(label, document)
        return known

    def record(self, key: Key, changed: AbstractSet[str]) -> Record | None:
        """Return how a job is made, or None if this side has no such job; of very many fields, those that have changed."""
        return self.made_of(self.jobs[key], changed) if key in self.jobs else None

    def made_of(self, job: ValidDocument, changed: AbstractSet[str] = frozenset()) -> Record | None:
        """Return how a job is made on this side, or would be if it is one of the other side."""
        if self.session is None:
            return None
        recorder = Recorder()
        replace(self.session, keeping=None, judge=None, errors_only=True).compile(job, recorder)
        result = recorder.result
        if result is None or result.runtime is None or not recorder.stages:
            return None
        named = {checked.label: checked.document for checked in (result.job, result.runtime)}
        return Record(
            recorder.explanation(changed.__contains__), {**self.session.index.around.gathered(by_label), **named}
        )

    def like(self, document: Document) -> Document | None:
        """Return the same document of this side, in its file or, of what has a name, in another one."""
        label = label_of(document.data)
        same = self.by_file.get(os.path.normpath(document.file), {}).get(label)
        return same or (self.by_label.get(label) if identity_of(document.data)[1] else None)

    def alone(self, other: _Known) -> dict[tuple[str, ...], list[Document]]:
        """Return what the other side does not have: by file and kind in that file, by kind and name in none."""
        found: dict[tuple[str, ...], list[Document]] = {}
        for file, labels in self.by_file.items():
            for label, one in labels.items():
                if label not in other.by_file.get(file, ()):
                    found.setdefault((file, str(one.data.get("kind"))), []).append(one)
        for label, one in self.by_label.items():
            if label not in other.by_label:
                found.setdefault(("", str(one.data.get("kind")), identity_of(one.data)[1]), []).append(one)
        return found

    @property
    def overlays(self) -> list[Any]:
        """The overlays of the side and their bases."""
        return [loaded for overlay in self.side.overlays for loaded in overlay.in_order]


def _documents(side: ReadSide, session: Session | None) -> Iterator[Document]:
    if session is not None:
        index = session.index
        checked = (*index.jobs, *index.runtimes.values(), *index.shipped.values())
        for document in (*(one.document for one in checked), *index.around.documents, *side.all_documents):
            # A trial is made from a base that overlays have changed.
            yield [*_made_of(document)][-1]
    for overlay in side.overlays:
        for loaded in overlay.in_order:
            yield loaded.overlay.document
            yield from (patch.document for patch in loaded.patches)
    yield from side.sweeps
    if side.settings is not None:
        yield side.settings


def _made_of(document: Document | None) -> Iterator[Document]:
    """Yield a document, what it was before overlays, and of a trial its base."""
    while document is not None:
        yield document
        document = document.before


class Causes:
    """Both sides of a comparison, asked why a job changes."""

    def __init__(self, before: ReadSide, after: ReadSide) -> None:
        was, now = self._sides = _Known.of(before), _Known.of(after)
        self._only = was.alone(now), now.alone(was)
        self._variants: dict[str, Session] = {}
        self._shared: dict[object, Why] = {}
        self._places: documents.Places = {}
        # Lists that were compared, and their differences by index.
        self._hunks: dict[tuple[int, int], tuple[Any, Any, dict[int, differences.Hunk]]] = {}
        self._templates: dict[str, Template] = {}
        # Of the values that fill templates, those that differ, and where overlays set them.
        self._different: Different | None = None
        self._set: dict[tuple[int, Path], list[list[Place]]] = {}

    def of(self, job: JobDiff, content: str = "") -> Why:
        """Return why a job changes. Jobs with the same `content` that did not change themselves share the answer."""
        key = job.namespace, job.name
        # Of lists by their identity, which those of another job may have after them.
        self._places.clear()
        if job.status in ("added", "removed"):
            return self._why(self._existence(key, int(job.status == "added")))
        alike = self._alike(key)
        if alike is not None and (content, alike) in self._shared:
            return self._shared[content, alike]
        why = self._changed(job, key)
        if alike is not None:
            self._shared[content, alike] = why
        return why

    def shared(self, job: JobDiff, why: Why) -> object:
        """Return the causes with what is in the job's own file as the text that it has there."""
        return tuple(("own", cause.side, cause.path) if self._is_own(job, cause) else cause for cause in why.lines)

    def _is_own(self, job: JobDiff, cause: Cause) -> bool:
        document = self._sides[cause.side == "after"].jobs.get((job.namespace, job.name))
        return document is not None and document.document.file == cause.source.file

    def _alike(self, key: Key) -> object:
        """Return what jobs have in common that change for the same reasons if they change in the same way."""
        documents = [known.jobs.get(key) for known in self._sides]
        if documents[0] is None or documents[1] is None:
            return None
        data = [document.document.data for document in documents if document is not None]
        same = data[0] == data[1]
        reference = data[0].get("spec", {}).get("runtimeRef", {}) if same else {}
        return (str(reference), documents[0].document.file.endswith(files.TEMPLATE_SUFFIXES)) if same else None

    def _changed(self, job: JobDiff, key: Key) -> Why:
        every = [change for diff in job.objects for change in diff.changes]
        steps = {str(step) for change in every[:_MOST_ASKED] for step in change.path}
        records = [known.record(key, steps) for known in self._sides]
        if records[1] is None:
            return Why()
        if by_hand := self._by_hand(key):
            return Why(reasons=(by_hand,))
        places: list[Place] = []
        unexplained: list[tuple[ExplainedField, str]] = []
        lets_in = self._of_changes(job, records, places, unexplained)
        places += self._runtime(key, records, len(every))
        reasons = list(self._options(self._sides[1].jobs[key], places))
        if records[0] is not None and records[0].explanation.runtime != records[1].explanation.runtime:
            reasons += self._overridden(key, records[0], places)
        pending: list[Source] = []
        places += self._of_trial(key)
        edited = list(self._own(key)) if self._sides[1].side.keeps else []
        written = {(n, document.file, path) for n, document, path in edited}
        others = [p for p in places if not any((*p[:1], p[1].file, p[2][:k]) in written for k in range(len(p[2]) + 1))]
        if edited and (lets_in or reasons or self._why(others).lines):
            # The edit of the job lets in all other edits.
            places += edited
        if (built := self._rendered(key)[0]) is not None and built.differs:
            # What had changed since the job's file was built. Another runtime is a cause of all that it brings.
            chosen = {record.explanation.runtime for record in records if record}
            found_pending = (pending_line(f, was, records[1].documents) for f, was in unexplained if len(chosen) == 1)
            pending = [source for source in found_pending if source is not None]
            places += self._of_settings(1, ("rebuild", "output"))
            reasons += ["`--rebuild`"] if pending and not places and not edited else ()
        if not places and not reasons:
            places += [*self._own(key), *self._overlaid(), *self._of_runtime(records)]
        why = self._why(places, [*reasons, *self._overwritten(key)])
        of_lines = {cause.source for cause in why.lines}
        # What changes in the job's own file never waits, nor in that of its sweep.
        own = {document.file for document in _made_of(self._sides[1].jobs[key].document)}
        pending = [one for one in dict.fromkeys(pending) if one not in of_lines and one.file not in own]
        if not why.lines and not why.reasons:
            why = replace(why, reasons=("a new build",))
        return replace(why, pending=tuple(pending))

    def _of_changes(
        self,
        job: JobDiff,
        records: Sequence[Record | None],
        places: list[Place],
        unexplained: list[tuple[ExplainedField, str]],
    ) -> bool:
        """Add what differs of that from which changes are made, and what differs in nothing; return whether a change does not."""
        lets_in, left = False, _MOST_ASKED
        for diff in job.objects:
            fields = [record.fields(diff) if record else () for record in records]
            # What is gone waits nowhere. Where only the name has changed, nothing has waited.
            changes = [(c.old, c.new, None if c.after is None else str(c.before)) for c in diff.changes[:left]]
            left -= len(changes)
            changes = changes or ([] if diff.changes else [((), (), None if diff.renamed else "")])
            below = [by_holder(fields[0], {old for old, *_ in changes}), by_holder(fields[1], {c[1] for c in changes})]
            has_places: tuple[dict[Path, bool], dict[Path, bool]] = ({}, {})
            for old, new, was in changes:
                for n, at in ((1, new), (0, old)):
                    if at not in has_places[n]:
                        found = self._of_fields(n, below[n].get(at, ()), records[n])
                        has_places[n][at] = bool(found)
                        places += found
                has_none = not (has_places[1][new] or has_places[0][old])
                unexplained += [(f, was) for f in below[1].get(new, ())] if has_none and was is not None else ()
                lets_in = lets_in or has_none
        return lets_in

    def _by_hand(self, key: Key) -> str:
        """Return the file of a job that is kept as it is in the output folder, which differs from what compiling gives."""
        _, rendered = self._rendered(key)
        keeping = self._sides[1].side.manifest_set.keeping
        if keeping is None or rendered is None or rendered.standing != "kept" or not rendered.differs:
            return ""
        commit, other = keeping[1].commit_of(rendered), keeping[1].other_trainc(rendered)
        otherwise = f"built by trainc {other}" if other else "changed by hand"
        return f"{self._file_of(rendered)}, {f'back to what it was in {commit}' if commit else otherwise}"

    def _overwritten(self, key: Key) -> Iterator[str]:
        """Yield the file of a job that is compiled, if it is neither that of the side before nor what compiling gives."""
        was, rendered = self._rendered(key)
        keeping = self._sides[1].side.manifest_set.keeping
        if was is not None and rendered is not None and rendered.standing == "compiled" and keeping is not None:
            text = keeping[1].read_text(rendered.path) or ""
            if text and not any(text.endswith(body) for body in (was.body, rendered.body)):
                yield f"{self._file_of(rendered)}, changed by hand, which a build overwrites"

    def _rendered(self, key: Key) -> list[Any]:
        """Return what becomes of a job's file on both sides, where jobs are kept as built."""
        kept = [known.side.manifest_set.keeping for known in self._sides]
        return [None if keeping is None else keeping[1].rendered.get(key) for keeping in kept]

    def _file_of(self, rendered: Any) -> str:
        return os.path.join(self._sides[1].side.output or "", rendered.path)

    def _why(self, places: Iterable[Place], reasons: Sequence[str] = ()) -> Why:
        lines: dict[Cause, None] = {}
        for n, document, path in places:
            source = document.locate(path)
            if source is not None and source.origin != "catalog":
                lines[Cause(source, "after" if n else "before", str(path))] = None
        return Why(tuple(lines), tuple(dict.fromkeys(reasons)))

    def _of_fields(self, n: int, fields: Iterable[ExplainedField], record: Record | None) -> list[Place]:
        """Return what differs of that from which fields were made on one side, with every step of overlays."""
        made = ((f, given, record.documents.get(given.object)) for f in fields for given in f.origin.inputs if record)
        return [p for f, given, one in made if one is not None for p in self._written(n, one, given.index, f.value)]

    def _written(self, n: int, document: Document, path: Path, value: Any) -> Iterator[Place]:
        """Yield what differs of all that a value of a document was made from, the latest step first."""
        tagged = False
        for written, at in document.written(path) if document.written else [(document, path)]:
            if tagged and self._same_image(n, written, at):
                continue  # An overlay sets another tag, whatever was there.
            if written.file.endswith(files.TEMPLATE_SUFFIXES):
                yield from self._of_template(n, written, at, value)
            else:
                yield from self._differences(n, written, at)
            tagged = tagged or at[:1] == ("images",)

    def _same_image(self, n: int, document: Document, path: Path) -> bool:
        """Return whether an image has the same name on both sides, though perhaps another tag."""
        other = self._sides[1 - n].like(document)
        there = () if other is None else document.place_in(other, path, self._places)
        images = [value_at(document.data, path), None if other is None else value_at(other.data, there)]
        return len({names.split_image(image)[0] if isinstance(image, str) else image for image in images}) == 1

    def _called_otherwise(self, n: int, document: Document) -> Document | None:
        """Return what the other side has instead: under another name in the same file, or of the same name elsewhere."""
        kind, name = str(document.data.get("kind") or ""), identity_of(document.data)[1]
        if not kind:
            return None
        of_file = [only.get((os.path.normpath(document.file), kind), []) for only in self._only]
        if len(of_file[n]) == len(of_file[1 - n]) == 1:
            return of_file[1 - n][0]
        elsewhere = self._only[1 - n].get(("", kind, name), [])
        return elsewhere[0] if len(elsewhere) == 1 else None

    def _differences(self, n: int, document: Document, path: Path, other: Document | None = None) -> Iterator[Place]:
        """Yield the smallest values at or below a place that differ from those of the other side."""
        other = other or self._sides[1 - n].like(document)
        if other is None:
            if (other := self._called_otherwise(n, document)) is None:
                yield n, document, path
                return
            yield from self._identity(n, document, other, _IDENTITY)
        steps = documents.stable_path(path, document.data)
        for end in range(1, len(steps)):
            holder, inside = value_at(document.data, path[:end]), steps[end]
            if isinstance(inside, int) and isinstance(holder, list):
                yield from self._of_list(n, (document, other), path[:end], path[end:], holder)
                return
        there = document.place_in(other, path, self._places)
        gone = value_at(other.data, there) is None and value_at(document.data, path) is not None
        if gone or len(there) < len(steps):
            yield n, document, path
            return
        sides = ((other, there), (document, path)) if n else ((document, path), (other, there))
        yield from smallest(sides, value_at(sides[0][0].data, sides[0][1]), value_at(sides[1][0].data, sides[1][1]))

    def _of_list(
        self, n: int, documents: tuple[Document, Document], path: Path, inside: Path, items: Sequence[Any]
    ) -> Iterator[Place]:
        """Yield an item of a list without keys, unless the other side has it too, at whichever index."""
        document, other = documents
        there = document.place_in(other, path, self._places)
        others = value_at(other.data, there) if len(there) == len(path) else None
        index = int(inside[0])
        if not isinstance(others, list):
            yield n, document, (*path, *inside)
            return
        lists = id(items), id(others)
        if lists not in self._hunks:
            found = differences.changes(list(map(repr, items)), list(map(repr, others)))
            self._hunks[lists] = items, others, {i: hunk for hunk in found for i in range(hunk.start, hunk.end)}
        if (hunk := self._hunks[lists][2].get(index)) is None:
            return
        a, b, c, d = hunk
        if b - a == d - c:
            here, paired = (document, (*path, *inside)), (other, (*there, c + index - a, *inside[1:]))
            sides = (paired, here) if n else (here, paired)
            yield from smallest(sides, value_at(sides[0][0].data, sides[0][1]), value_at(sides[1][0].data, sides[1][1]))
        elif n == 0 and is_on_one_line(document, path, items) and is_on_one_line(other, there, others):
            yield 1, other, there
        else:
            yield n, document, (*path, *inside)

    def _of_template(self, n: int, document: Document, path: Path, value: Any) -> Iterator[Place]:
        """Yield the line of a template if it differs, and the values in overlays that it is filled with."""
        source, file = document.locate(path), os.path.normpath(document.file)
        if source is None:
            return
        if file not in self._templates:
            self._templates[file] = Template.of(*(known.side.templates.get(file, "") for known in self._sides))
        template = self._templates[file]
        if template.differs(n, source.line):
            # A line for a line: what it was is not gone.
            now = template.line_now(source.line) if n == 0 else None
            there = replace(source, line=now or 0)
            yield (n, document, path) if now is None else (1, replace(document, locate=lambda _: there), path)
        if n not in template.filling:
            template.filling[n] = self._filling(n, template)
        yield from template.filling[n].of_field(document, path, value, self._sides[1 - n].like(document) is None)

    def _filling(self, n: int, template: Template) -> Filling:
        """Return the values that differ and that a template names, each with where overlays set it."""
        values, overlays = self._sides[n].side.values, self._sides[n].overlays
        if self._different is None:
            self._different = Different.of(*(known.side.values for known in self._sides))
        named = self._different.named(template.texts[n])
        for at in (at for at in named if (n, at) not in self._set):
            setting = (one.overlay for one in overlays if value_at(one.overlay.values, at) is not None)
            self._set[n, at] = [list(self._differences(n, one.document, ("values", *at))) for one in setting]
        return Filling.of(
            template, ((str(value_at(values, at)), places) for at in named for places in self._set[n, at])
        )

    def _runtime(self, key: Key, records: Sequence[Record | None], changed: int) -> Iterator[Place]:
        """Yield why a job is compiled with another runtime, or with one that has come or gone, and what is not recorded."""
        if changed > _MOST_ASKED:
            yield from (*self._own(key), *self._overlaid(), *self._of_runtime(records))
        chosen = [record.explanation.runtime if record else "" for record in records]
        if chosen[0] != chosen[1]:
            yield from self._at(key, ("spec", "runtimeRef"))
        for n in (0, 1):
            record = records[n]
            document = record.documents[chosen[n]] if record else None
            if document is None or chosen[0] != chosen[1]:
                continue
            base = document.before or document
            if self._sides[1 - n].like(base) is None:
                yield n, base, ("metadata", "name")

    def _overridden(self, key: Key, before: Record, places: list[Place]) -> Iterator[str]:
        """Find what would change in the job had it not left its runtime; yield what of it has no line."""
        job, now = (known.jobs[key] for known in self._sides)
        is_alike = len({repr(documents.with_value(one.data, ("spec", "runtimeRef"), None)) for one in (job, now)}) == 1
        # Had a job that is kept as built only not left its runtime, nothing would change.
        made = None if is_alike and self._sides[1].side.keeps else self._sides[1].made_of(job)
        if made is not None:
            values = [
                {(one.name.kind, f.path): f.value for one in record.explanation.objects for f in one.fields}
                for record in (before, made)
            ]
            for n, record in ((1, made), (0, before)):
                for one in record.explanation.objects:
                    changed = (f for f in one.fields if f.value != values[1 - n].get((one.name.kind, f.path)))
                    places += self._of_fields(n, changed, record)
            yield from self._options(job, places)

    def _at(self, key: Key, path: Path) -> Iterator[Place]:
        for n in (1, 0):
            job = self._sides[n].jobs.get(key)
            if job is not None:
                yield from self._written(n, job.document, path, value_at(job.document.data, path))

    def _own(self, key: Key) -> Iterator[Place]:
        """Yield all that differs in the TrainJob, of kept jobs in what is its own, with every step of overlays."""
        before, after = (known.jobs.get(key) for known in self._sides)
        if before is None or after is None:
            return
        whole = (before.document, ()), (after.document, ())
        kept = [known.side.manifest_set.keeping for known in self._sides]
        data = [None if keeping is None else keeping[1].trainjobs.get(key) for keeping in kept]
        data = [before.document.data, after.document.data] if None in data else data
        for n, document, path in smallest(whole, *data):
            if path[:1] == ("configMaps",):
                of_file = self._sides[n].by_file.get(os.path.normpath(document.file), {})
                maps = [own for own in of_file.values() if own.data.get("kind") == "ConfigMap"]
                for own in (own for own in maps if path[1:2] in ((), identity_of(own.data)[1:])):
                    yield from self._differences(n, own, path[2:])
            yield from self._written(n, document, path, value_at(document.data, path))

    def _overlaid(self, fields: Sequence[str] = ()) -> Iterator[Place]:
        """Yield all that differs in overlays and in their patches, or only in some fields of overlays."""
        for n in (1, 0):
            for loaded in self._sides[n].overlays:
                document = loaded.overlay.document
                if self._sides[1 - n].like(document) is None:
                    yield n, document, ()
                for name in (name for name in document.data if (not fields or name in fields) and name != "values"):
                    yield from self._differences(n, document, (name,))
                for patch in loaded.patches if not fields else ():
                    yield from self._differences(n, patch.document, patch.prefix)

    def _of_runtime(self, records: Sequence[Record | None]) -> Iterator[Place]:
        record = records[1]
        if record is not None:
            document = record.documents[record.explanation.runtime]
            yield from self._differences(1, document.before or document, ("spec",))

    def _existence(self, key: Key, n: int) -> Iterator[Place]:
        """Yield why a job is there on one side only."""
        job, others = self._sides[n].jobs.get(key), self._sides[1 - n].jobs
        if job is None:
            return
        sweep = next((sweep for sweep in self._sides[n].side.sweeps if sweep.file == job.document.file), None)
        document = sweep or job.document.before or job.document
        if sweep is None:
            bases = (
                sweep for sweep in self._sides[1 - n].side.sweeps if base_of(sweep) == os.path.normpath(document.file)
            )
            if (ending := next(bases, None)) is not None:
                yield 1 - n, ending, ("base",)
                return
        other = self._sides[1 - n].like(document)
        if other is None:
            yield from (*self._named(n, document), *self._overlaid(_NAMING))
            return
        if sweep is not None:
            trial = key[1][key[1].rfind("-trial-") :]
            is_there = any(it.document.file == sweep.file and name.endswith(trial) for (_, name), it in others.items())
        else:
            label = label_of(document.data)
            is_there = any(label_of((it.document.before or it.document).data) == label for it in others.values())
        if is_there:  # Under another name or in another namespace.
            found = [*self._identity(n, document, other, _IDENTITY), *self._overlaid(_NAMING)]
        elif sweep is not None:
            found = [*self._of_sweep(n, sweep), *self._overlaid(_NAMING)]
        else:
            selected = any(known.side.configuration.select for known in self._sides)
            found = list(self._identity(n, document, other, (*_IDENTITY, "labels") if selected else _IDENTITY))
        if not is_there and not found:
            found = [*self._overlaid(("resources",)), *self._of_settings(n, _CHOOSING)]
        select = None if is_there or sweep else self._sides[1 - n].side.configuration.select
        if select and select(other.data, document.file) > select(other.data, other.file):
            found.append((1, (other, document)[n], ("metadata", "name")))  # Where it was, it would be selected.
        yield from found or self._differences(n, document, ())

    def _of_sweep(self, n: int, sweep: Document) -> Iterator[Place]:
        for name in sweep.data:
            if name not in _LIMITING:
                yield from self._differences(n, sweep, (name,))

    def _of_trial(self, key: Key) -> Iterator[Place]:
        """Yield why a trial of a sweep has other values."""
        trials = [known.jobs[key].document for known in self._sides if key in known.jobs]
        values = [*map(values_of, trials)]
        for n in (1, 0) if values[1:] and values[0] != values[1] else ():
            for sweep in self._sides[n].side.sweeps:
                if sweep.file == trials[n].file:
                    yield from of_trials(list(self._of_sweep(n, sweep)), trials)

    def _named(self, n: int, document: Document) -> Iterator[Place]:
        """Yield why nothing of the other side is called like a job."""
        name, file = identity_of(document.data)[1], os.path.normpath(document.file)
        here = self._sides[1 - n].by_file.get(file, {}).values()
        called = self._called_otherwise(n, document) or next((d for d in here if identity_of(d.data)[1] == name), None)
        found = list(self._identity(n, document, called, _IDENTITY))
        is_filled = document.file.endswith(files.TEMPLATE_SUFFIXES) and bool(here)
        # The job is there, and something omits it.
        if called is None and n == 0 and os.path.isfile(document.file) and not is_filled:
            found = [*self._overlaid(), *self._of_settings(n, _CHOOSING)]
        yield from found or self._written(n, document, ("metadata", "name"), name)

    def _identity(self, n: int, document: Document, other: Document | None, names: Iterable[str]) -> Iterator[Place]:
        """Yield what differs in some fields of the metadata."""
        for path in (("metadata", name) for name in names):
            if other is not None and value_at(document.data, path) != value_at(other.data, path):
                is_there = n == 0 and value_at(other.data, path) is not None
                yield from [(1, other, path)] if is_there else self._differences(n, document, path, other)

    def _of_settings(self, n: int, names: Sequence[str]) -> Iterator[Place]:
        for side in (n, 1 - n):
            known = self._sides[side].side
            environment, settings = known.configuration.environment, known.settings
            paths: list[Path] = [(name,) for name in names]
            if environment:
                other = self._sides[1 - side].side.settings
                is_new = other is None or value_at(other.data, ("environments", environment)) is None
                paths += [("environments", environment, *((name,) if not is_new else ())) for name in names]
            for path in dict.fromkeys(paths) if settings is not None else ():
                if settings is not None and value_at(settings.data, path) is not None:
                    yield from self._differences(side, settings, path)

    def _options(self, job: ValidDocument, places: list[Place]) -> Iterator[str]:
        """Find the settings without whose change the job would be compiled to something else; yield those without a line."""
        before, after = (known.side.options for known in self._sides)
        if before == after or self._sides[1].session is None:
            return
        now = compiled(self._sides[1].session, job)
        for name, key_of_option in _OPTIONS.items():
            old, new = getattr(before, name), getattr(after, name)
            if old == new or compiled(self._variant(name), job) == now:
                continue
            found = [
                place
                for n in (1, 0)
                for loaded in self._sides[n].overlays
                if key_of_option in loaded.overlay.document.data
                for place in self._differences(n, loaded.overlay.document, (key_of_option,))
            ]
            found += self._of_settings(1, (key_of_option,))
            places += found
            if name == "release":
                yield f"Trainer {old or releases.NEWEST_RELEASE} → {new or releases.NEWEST_RELEASE}"
            elif not found:
                yield f"{key_of_option}: {old} → {new}"

    def _variant(self, name: str) -> Session:
        """Return the side after with one option of the side before."""
        if name not in self._variants:
            side = self._sides[1].side
            session, inputs = side.manifest_set.session, side.manifest_set.inputs
            assert session is not None
            assert inputs is not None
            options = replace(side.options, **{name: getattr(self._sides[0].side.options, name)})
            # A catalog that has passed overlays is one of its release.
            earlier = self._sides[0].side.manifest_set.inputs
            catalog = earlier.catalog if name == "release" and earlier is not None else inputs.catalog
            fresh = Session(options, catalog)
            self._variants[name] = fresh.with_input(inputs.documents, inputs.runtime_sources)
        return self._variants[name]
