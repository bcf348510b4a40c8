"""Who is judged by what, where jobs are kept as built.

Let F(S, R) be the errors of a job as if it were rebuilt from sources S under rules R: policies, quotas, nodes, images,
namespaces and severities. A job that a change builds answers for F(now, now), and for the rules of the base. A job that
it keeps does not: its errors are F(now, now) without F(base, now), which is what the sources of this change break. The
rest is one note. A file that was changed in place answers for what the base's file did not have, and one that came back
for itself. `check`, `build`, `diff` and `report` ask here, so that they agree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from trainc.cli.changed_rules import first_difference
from trainc.cli.compiling import Court, job_of
from trainc.compilation import CompiledJob
from trainc.emit.yaml_writer import flow
from trainc.explain import place
from trainc.findings import CompileError, Diagnostic, Source
from trainc.findings.codes import stage_of
from trainc.findings.listed import Listed
from trainc.findings.text import counted, first_of
from trainc.kube.documents import Json, Manifest, identity_of, qualified, value_at, walk
from trainc.kube.names import RUNTIME_KINDS
from trainc.output.choices import JobKey
from trainc.output.keeping import Keeping, Rendered, Standing
from trainc.output.refusals import notes_of
from trainc.pipeline.fragments import check_unused_runtimes, check_used_images
from trainc.pipeline.index import find_runtime
from trainc.pipeline.session import Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.reading.opening import CONFIGURATION_FILE
from trainc.reading.yaml_reader import read_documents
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field, replace

if TYPE_CHECKING:
    from trainc.cli.at_base import Revision
    from trainc.cli.settings import Settings
    from trainc.pipeline.inputs import Inputs

_HASH = pattern(r"-[bcdfghjklmnpqrstvwxz2456789]{6}\b")
_SOME = 3


@dataclass(slots=True)
class Before:
    """F(base, now): what today's rules find in the sources of the base, and the documents that its jobs are made of."""

    errors: set[object] = field(default_factory=set)
    sources: dict[JobKey, tuple[Json, Json | None]] = field(default_factory=dict)
    # The files of their runtimes.
    homes: dict[JobKey, str] = field(default_factory=dict)
    # The jobs that do not compile there, about which the cluster was not asked.
    refused: set[JobKey] = field(default_factory=set)
    release: str = ""
    secrets: str = ""
    # Without a base, what is there is trusted.
    is_known: bool = True

    def lacks(self, diagnostic: Diagnostic) -> bool:
        """Return whether an error is new."""
        return self.is_known and _identity(diagnostic) not in self.errors

    def new_among(self, key: JobKey, found: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the errors of a job that are new."""
        return [d for d in found if self.lacks(d) and not (key in self.refused and stage_of(d.code) == "fits")]

    def add(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Note errors."""
        self.errors |= {_identity(d) for d in diagnostics if d.severity == "error"}


def _identity(diagnostic: Diagnostic) -> object:
    """What makes an error the same on both sides: not its line, nor the hash in a name."""
    d = diagnostic
    return d.code, d.object, d.path, _HASH.sub("", d.message)


@dataclass(slots=True)
class Judgement:
    """The kept jobs of one environment before the court."""

    session: Session
    inputs: Inputs
    keeping: Keeping
    court: Court
    find_revision: Callable[[], Revision | None] | None
    # Errors about the input as a whole that are those of the base too, which are no longer this change's.
    excused: list[Diagnostic] = field(default_factory=list)
    _standings: dict[JobKey, Standing] = field(default_factory=dict)

    def staying(self, jobs: Iterable[CompiledJob], found: Iterable[Diagnostic]) -> set[JobKey]:
        """Return the jobs whose files stay; of JobSets that are sources, those with errors that are as the base has them."""
        wrong = {job_of(d) for d in found if d.severity == "error"}
        raw = [job for job in jobs if (job.namespace, job.name) in wrong]
        same = [job for job in raw if self.keeping.is_as_at_base(job.namespace, job.name, job.manifests)]
        kept = {key for key, file in self.keeping.rendered.items() if file.standing != "compiled"}
        return kept | {(job.namespace, job.name) for job in same}

    def judged_objects(self, job: CompiledJob) -> CompiledJob | None:
        """Return a job with the objects that the cluster is asked about, None if there are none."""
        key = job.namespace, job.name
        if key not in self.keeping.rendered or self.keeping.rendered[key].standing == "compiled":
            return job
        if self._standing(key) in ("in place", "back"):
            return job
        rebuilt = self.keeping.rebuilt.get(key)
        return None if rebuilt is None else replace(job, manifests=tuple(rebuilt))

    def once_built(self, d: Diagnostic) -> Diagnostic:
        """Say of what the cluster lacks that a kept job gets it later, if its file does not name it."""
        key = job_of(d)
        rendered = self.keeping.rendered.get(key) if key is not None else None
        labels = [label for label, path in d.objects if not path]
        names = [label.partition(" ")[2].rpartition("/")[2] for label in labels]
        if rendered is None or not names or any(name in rendered.body for name in names):
            return d

        def message(jobs: Sequence[str]) -> str:
            them = "it is" if len(jobs) == 1 else "they are"
            return (
                f"{d.message}; {counted(len(jobs), 'kept job')} would get it when {them} built: {first_of(jobs, _SOME)}"
            )

        about = f"{[(label.partition(' ')[0], name) for label, name in zip(labels, names, strict=True)]}"
        return replace(d, message=Listed(message, [rendered.job], about))

    def _standing(self, key: JobKey) -> Standing:
        """How a file that stays stands to the base. One with the base's bytes is believed to be of its TrainJob."""
        if key not in self._standings:
            rendered = self.keeping.rendered[key]
            base = self.keeping.read_base()
            kept = base is None or base.read_text(rendered.path).partition("\n")[2] == rendered.text
            self._standings[key] = "kept" if kept and rendered.standing == "kept" else self.keeping.standing(key)
        return self._standings[key]

    def settle(self, about_input: Iterable[Diagnostic], of_cluster: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the errors of kept jobs that this change answers for, and a note about the others."""
        found: dict[JobKey, list[Diagnostic]] = {key: list(errors) for key, errors in self.keeping.refused.items()}
        for d in of_cluster:
            if d.severity == "error" and (key := job_of(d)) is not None:
                _add(found.setdefault(key, []), d)
        jobs = {job.key: job for job in self.session.jobs}
        errors: list[Diagnostic] = []
        answering: dict[JobKey, list[Diagnostic]] = {}
        for key, rendered in self.keeping.rendered.items():
            standing: Standing = "compiled" if rendered.standing == "compiled" else "kept"
            if standing != "compiled" and (found.get(key) or self.session.judge_at_base or self.court.asks):
                standing = self._standing(key)
            # A TrainJob that is not valid itself is not built at all.
            if standing == "changed" or (standing == "in place" and key not in jobs):
                rebuilt, known = self.keeping.rebuilt.get(key, ()), self.keeping.refused.get(key, ())
                at_base = self._errors_at_base(jobs[key], rebuilt, known) if key in jobs else ()
                errors += [*found.pop(key, ()), *at_base]
            elif standing in ("in place", "back") and key in jobs:
                errors += self._as_it_stands(jobs[key], standing, found.pop(key, ()))
                answering |= self._not_compiled(rendered, standing)
            elif key in found and self.is_judged(key):
                answering[key] = found[key]
        whole = self._excusable(d for d in about_input if d.severity == "error")
        base = self.keeping.read_base()
        if found and base is not None and (problem := base.dump_problem()) is not None:
            errors.append(replace(problem, source=self.court.settings.place("live")))
        # JobSets that are sources, and as the base has them.
        raw = {key: of_jobset for key, of_jobset in found.items() if key not in self.keeping.rendered}
        images = self.session.rules(list(check_used_images(self.session)), False)
        if not answering and not whole and not images:
            return [*errors, *self._notes(raw, ())]
        before = self._before({*answering})
        new = {key: before.new_among(key, of_job) for key, of_job in answering.items()}
        self.excused = [d for d in whole if not before.lacks(d)]
        old = {key: of_job for key, of_job in answering.items() if not new[key]}
        errors += self._by_cause(new, jobs, before)
        reported = {(d.code, d.source) for d in errors}
        errors += [d for d in images if before.lacks(d) and (d.code, d.source) not in reported]
        return [*errors, *self._notes({**old, **raw}, self.excused)]

    def _notes(self, kept: Mapping[JobKey, Sequence[Diagnostic]], others: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the notes about kept jobs, and others of the input, that would be refused."""
        refused = chain(((key, d) for key, errors in kept.items() for d in errors), ((job_of(d), d) for d in others))
        return self.session.rules(notes_of(refused, self._shared_files()), False)

    def _shared_files(self) -> set[str]:
        """The files of runtimes and overlays."""
        overlays = (each.overlay for loaded in self.court.settings.overlays for each in loaded.in_order)
        runtimes = (runtime.document.file for runtime in self.session.index.runtimes.values())
        return {*(overlay.document.file for overlay in overlays), *runtimes}

    def _not_compiled(self, rendered: Rendered, standing: Standing) -> dict[JobKey, list[Diagnostic]]:
        """Return why a job that is changed in place does not compile, such as for want of its runtime."""
        if rendered.compiled is not None or standing != "in place":
            return {}
        file = self.session.sources[rendered.key].file
        errors = [d for d in self.keeping.refused.get(rendered.key, ()) if d.source is None or d.source.file != file]
        return {rendered.key: errors} if errors else {}

    def is_built(self, key: JobKey, raw: Sequence[Manifest] = ()) -> bool:
        """Return whether a job, or a JobSet that is a source, is built by this change, now or by an earlier build of it."""
        if (rendered := self.keeping.rendered.get(key)) is None:
            return not self.keeping.is_as_at_base(*key, raw)
        return rendered.standing == "compiled" or self._standing(rendered.key) == "changed"

    def meets_base(self, key: JobKey, raw: Sequence[Manifest] = ()) -> bool:
        """Return whether the rules of the base judge a job as well: one that is built, or returns to what it was."""
        rendered = self.keeping.rendered.get(key)
        return self.is_built(key, raw) or (rendered is not None and self._standing(rendered.key) == "back")

    def _errors_at_base(
        self, job: ValidDocument, objects: Sequence[Manifest], known: Iterable[Diagnostic]
    ) -> list[Diagnostic]:
        """Return what the rules of the base find in objects that this change wrote, beyond what today's find."""
        at_base = replace(self.session, judge=self.session.judge_at_base)
        texts = {(d.code, d.message) for d in known}
        found = at_base.find_as_it_stands(job, objects)
        return [d for d in found if d.severity == "error" and (d.code, d.message) not in texts]

    def is_judged(self, key: JobKey) -> bool:
        """Return whether a kept job will be built again: not if the base says so, or its dump that the job has finished."""
        base = self.keeping.read_base()
        return base is None or (base.frozen_since(*key) is None and not self.has_finished(key))

    def has_finished(self, key: JobKey, standings: Collection[str] = ("kept",)) -> bool:
        """Return whether the dump of the base knows that a kept job has finished."""
        base, rendered = self.keeping.read_base(), self.keeping.rendered.get(key)
        is_kept = rendered is not None and rendered.standing != "compiled" and self._standing(key) in standings
        return base is not None and rendered is not None and is_kept and base.read_state(rendered.body) == "finished"

    def _excusable(self, errors: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the errors about the input that are about a runtime or a kept job, which rules decide."""
        raw: dict[JobKey, list[Manifest]] = {}
        for jobset in self.inputs.jobsets:
            raw.setdefault(identity_of(jobset.data), []).append(jobset.data)

        def is_kept(key: JobKey) -> bool:
            if (rendered := self.keeping.rendered.get(key)) is None:
                return key in raw and self.keeping.is_as_at_base(*key, raw[key])
            return rendered.standing == "kept" and self._standing(key) == "kept"

        jobs = ((d, job_of(d)) for d in errors)
        return [d for d, key in jobs if (is_kept(key) if key else d.object.partition(" ")[0] in RUNTIME_KINDS)]

    def _as_it_stands(
        self, job: ValidDocument, standing: Standing, of_cluster: Iterable[Diagnostic]
    ) -> list[Diagnostic]:
        """Return the errors of a file that came back, or of one changed in place that the base's file does not have."""
        rendered, base = self.keeping.rendered[job.key], self.keeping.read_base()
        refused = {*self.keeping.refused.get(job.key, ())}
        own = [d for d in refused if d.source is not None and d.source.file == job.document.file]
        if own and standing == "in place" and rendered.compiled is None:
            return own
        now = self._errors_of(job, rendered.body, [d for d in of_cluster if d not in refused])
        if standing == "back":
            name = qualified(*job.key)
            again = f"`trainc build --rebuild {name}` builds it as of today instead"
            before = f"in what {name} was before and returns to"
            return [replace(d, message=f"{d.message}; {before}", hint=f"{d.hint}; {again}") for d in now]
        if base is None:
            return now
        body = base.read_text(rendered.path).partition("\n")[2].partition("\n")[2]
        compiled = CompiledJob(*job.key, tuple(self._objects(body)), file=job.document.file)
        was = self._errors_of(job, body, self.court.of_cluster([compiled], self.inputs.documents, self.session))
        known = {_identity(d) for d in was}
        return [d for d in now if _identity(d) not in known]

    def _errors_of(self, job: ValidDocument, body: str, of_cluster: Iterable[Diagnostic]) -> list[Diagnostic]:
        objects = self._objects(body)
        found = [*self.session.find_as_it_stands(job, objects), *of_cluster]
        return [
            d
            for d in [*found, *self._errors_at_base(job, objects, found)]
            if d.severity == "error" and (job_of(d) == job.key or d.object == job.label or not d.object)
        ]

    def _objects(self, body: str) -> list[Manifest]:
        return [document.data for document in read_documents(body.encode(), "", self.keeping.limits)[0]]

    def _before(self, keys: set[JobKey]) -> Before:
        """Ask today's rules about the sources of the base."""
        revision = None if self.find_revision is None else self.find_revision()
        if revision is None:
            return Before(is_known=False)
        court, now = self.court, self.session

        def answer(settings: Settings, inputs: Inputs) -> Before:
            before = Before(release=settings.options.release or "", secrets=settings.options.secrets)
            configuration = replace(
                settings.configuration,
                namespaces=court.settings.configuration.namespaces,
                rules=court.settings.configuration.rules,
            )
            settings = replace(settings, configuration=configuration, at_base=None)
            rules = settings.policy()
            session = Session(settings.options, inputs.catalog, place, rules, court.judge, now.cluster)
            session = replace(session, judge_runtimes=now.judge_runtimes)
            session = session.with_input(inputs.documents, inputs.runtime_sources)
            before.add(rules([*inputs.diagnostics, *settings.boundaries(inputs)], True))
            before.add(session.diagnostics())
            for of_runtime in check_unused_runtimes(session):
                before.add(of_runtime)
            before.add(check_used_images(session))
            compiled: list[CompiledJob] = []
            for job in session.jobs:
                if job.key in keys:
                    outcome, diagnostics = session.compile(job)
                    before.add(diagnostics)
                    compiled += [] if outcome is None else [outcome]
                    runtime = find_runtime(job.data, session.index, session.release)[0]
                    before.sources[job.key] = job.document.data, None if runtime is None else runtime.document.data
                    before.homes[job.key] = "" if runtime is None else runtime.document.file
            before.refused = {*before.sources} - {(one.namespace, one.name) for one in (*compiled, *session.denied)}
            before.add(court.of_deadlines(compiled, session))
            before.add(replace(court, rules=rules).of_cluster([*compiled, *session.denied], inputs.documents, session))
            return before

        try:
            return revision.within(self.court.settings.configuration.environment, answer)
        except CompileError:  # The sources there cannot be read.
            return Before(is_known=False)

    def _by_cause(
        self, new: Mapping[JobKey, Sequence[Diagnostic]], jobs: Mapping[JobKey, ValidDocument], before: Before
    ) -> list[Diagnostic]:
        """Return one error for each cause, with the kept jobs that it breaks."""
        causes: dict[object, list[tuple[JobKey, Diagnostic]]] = {}
        shared = self._shared_files()
        homes = {runtime.document.file: runtime for runtime in self.session.index.runtimes.values()}
        for key, diagnostics in new.items():
            # What no API server takes gets into no queue.
            stages = {stage_of(d.code) for d in diagnostics}
            is_refused = not stages <= {"fits", "policy"}
            for d in diagnostics:
                if is_refused and stage_of(d.code) == "fits":
                    continue
                source = self._cause(d, jobs.get(key), before.sources.get(key))
                renamed = homes.get(before.homes.get(key, "")) if d.code == "RuntimeNotFound" else None
                if renamed is not None:
                    name, kind = before.sources[key][0]["spec"]["runtimeRef"]["name"], renamed.document.data["kind"]
                    is_named = renamed.document.data["metadata"]["name"] == name
                    source = renamed.locate(("kind",) if is_named else ("metadata", "name"))
                    again = (
                        f"write kind: {next(k for k in RUNTIME_KINDS if k != kind)}" if is_named else f"name it {name}"
                    )
                    hint = f"{again} again, or change the runtimeRef of these jobs"
                    d = replace(d, hint=hint)  # noqa: PLW2901
                if d.code == "RuntimeNotFound" and self.court.settings.configuration.exclude(before.homes.get(key, "")):
                    left_out = self.court.settings.place("exclude")
                    hint = f"`exclude` leaves out {before.homes[key]}: take out the glob that matches it"
                    d, source = replace(d, source=left_out, hint=hint, object="", path=""), left_out  # noqa: PLW2901
                if removed := _put_back(d, before.sources.get(key, ())):
                    d = replace(d, hint=removed)  # noqa: PLW2901
                # What is gone has no line: each job still refers to it.
                is_own = source is None or source.file not in {*shared, CONFIGURATION_FILE}
                cause: object = (d.code, d.path, d.message) if is_own else (d.code, source)
                if source != d.source:
                    undo = f"undo the change of this line; or, for {qualified(*key)}: {d.hint}"
                    is_of_line = d.code == "RuntimeNotFound" or stage_of(d.code) == "fits"
                    d = replace(d, object="", path="", hint=d.hint if is_of_line else undo)  # noqa: PLW2901
                of_release = before.release not in ("", self.session.options.release) and "is new in Trainer" in d.hint
                if of_release and (line := self.court.settings.place("release")) is not None:
                    hint = f'write release: "{before.release}" again, or remove what is new since {self.session.options.release}'
                    cause, source, d = line, line, replace(d, object="", path="", hint=hint)  # noqa: PLW2901
                is_unsealed = d.code == "SealedSecretMissing" and before.secrets != self.session.options.secrets
                source = (is_unsealed and self.court.settings.place("secrets")) or source
                causes.setdefault(cause, []).append((key, replace(d, source=source)))
        return [_of_cause(broken, before) for broken in causes.values()]

    def _cause(self, d: Diagnostic, job: ValidDocument | None, was: tuple[Json, Json | None] | None) -> Source | None:
        """Return the line of an error: where that is in what is the same, the line that has changed instead."""
        runtime = None if job is None else find_runtime(job.data, self.session.index, self.session.release)[0]
        if job is None or was is None or runtime is None or was[1] is None:
            return d.source
        is_overlaid = d.source is not None and d.source.file != job.document.file and job.document.data != was[0]
        if is_overlaid or (d.source is not None and d.source.file == runtime.document.file):
            return d.source
        for document, earlier in ((runtime.document, was[1]), (job.document, was[0])):
            path = first_difference(earlier, document.data)
            if path is not None and (source := document.locate(path)) is not None:
                return source
        return d.source


def _put_back(d: Diagnostic, earlier: Sequence[Json | None]) -> str:
    """Return the hint to write again what a pod lacks and the documents had, as it was; empty if they had no such thing."""
    for kind, _, name in (label.partition(" ") for label, path in d.objects if not path):
        for data in filter(None, earlier):
            for path, value in walk(data):
                if value == name and len(path) > 2 and (path[-3], path[-1]) == (f"{kind}s", "name"):
                    was = flow(value_at(data, path[:-1]))
                    return f"put it back into {path[-3]}, where it was {was}, or remove what names it"
    return ""


def _add(found: list[Diagnostic], d: Diagnostic) -> None:
    """Add what the cluster says of a job, unless the same is known with its numbers."""
    about = d.message if d.code == "OutsideLimitRange" else "" if "of a LimitRange" in d.message else None
    same = [i for i, one in enumerate(found) if one.code == "OutsideLimitRange" and about in ("", one.message)]
    for i in same:
        found[i] = replace(found[i], hint=d.rule.refusing(found[i].hint) if d.rule else found[i].hint)
    found += [] if same else [d]


def _of_cause(broken: Sequence[tuple[JobKey, Diagnostic]], before: Before) -> Diagnostic:
    """The error of what breaks kept jobs."""
    first = broken[0][1]
    names = list(dict.fromkeys(qualified(*key) for key, _ in broken))

    def message(names: Sequence[str]) -> str:
        return f"{first.message}; {counted(len(names), 'kept job')} could not be built again: {first_of(names, _SOME)}"

    def of_one(names: Sequence[str]) -> str:
        return f"undo the change of this line; or, for {names[0]}: {first.hint}" if names[1:] else first.hint

    home, hint = before.homes.get(broken[0][0]), first.hint
    if stage_of(first.code) == "fits":  # What to do is about one job.
        hint = Listed(of_one, names, first.hint)
    if first.code == "RuntimeNotFound" and home and "pass its file" in first.hint:
        where = f"have `runtimes` in trainc.yaml name {home} again" if os.path.exists(home) else ""
        hint = f"{where or f'restore it in {home}, where it was'}, or change the runtimeRef of these jobs"
    return replace(first, message=Listed(message, names, first.message), hint=hint)
