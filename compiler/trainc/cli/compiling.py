"""What `build` and `check` share: settings, inputs, and every job compiled, one at a time."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from io import BytesIO

from trainc.cli.command import Arguments, Streams, UsageError
from trainc.cli.diagnostics import (
    Files,
    full_message as full_message,  # noqa: PLC0414 - features find it here
)
from trainc.cli.hidden import hidden as hidden  # noqa: PLC0414
from trainc.cli.settings import Settings
from trainc.cli.skipped import (
    nothing_found as nothing_found,  # noqa: PLC0414 - features find it here
    skipped_documents as skipped_documents,  # noqa: PLC0414
)
from trainc.compilation import CompiledJob
from trainc.emit.yaml_writer import text_of
from trainc.explain import place
from trainc.features import added, ask
from trainc.findings import CompileError, Diagnostic, Finding, Path, Source, has_errors, write
from trainc.findings.codes import stage_of
from trainc.findings.text import near_names
from trainc.kube.documents import identity_of, mapping, path_exists, qualified
from trainc.kube.jobset import JobSet
from trainc.kube.names import RUNTIME_KINDS
from trainc.pipeline.inputs import Inputs, Step, Tally
from trainc.pipeline.session import Judge, Session
from trainc.project.configuration import Configuration
from trainc.reading.document import Document, label_of
from trainc.reading.files import STDIN, read_paths
from trainc.reading.opening import CONFIGURATION_FILE, read_bounded
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from trainc.cli.at_base import Bases
    from trainc.cli.judging import Judgement
    from trainc.emit.yaml_writer import Form
    from trainc.findings.policy import Rules
    from trainc.kube.bounds import Bound
    from trainc.output.choices import JobKey
    from trainc.output.keeping import Base, Keeping
    from trainc.pipeline.failures import Failures
    from trainc.project.budgets import Account

# What the labels begin with that ask for a level of Pod Security.
_POD_SECURITY = "pod-security.kubernetes.io/"
# The contents of a cluster's folder, and what is wrong with them.
Snapshot: TypeAlias = tuple[list[Document], list[Diagnostic]]


@dataclass(frozen=True, slots=True)
class Court:
    """The rules of today: severities, the judge of policies and images, and the cluster."""

    settings: Settings
    rules: Rules
    judge: Judge | None = None
    snapshot: Snapshot | None = None
    # The same with the cluster of the base, if that is another.
    at_base: Court | None = None

    @property
    def asks(self) -> bool:
        """Return whether there is anything to ask of objects."""
        return self.judge is not None or self.snapshot is not None

    def of_cluster(
        self, jobs: Sequence[CompiledJob], documents: Sequence[Document], session: Session
    ) -> list[Diagnostic]:
        """Return what the cluster finds."""
        cluster, judge_jobs = self.settings.configuration.cluster, ask("fits", "judge jobs")
        if cluster is None or self.snapshot is None or judge_jobs is None:
            return []
        result = judge_jobs(jobs, documents, cluster, session.options, self.snapshot, session=session)
        return self.rules(result.diagnostics, result.answers is None)

    def with_removed(self, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Say of what the cluster does not have that this change has removed it, and from where."""
        at_base = self.at_base.snapshot[0] if self.at_base and self.at_base.snapshot else ()
        files = {label_of(one.data): one.file for one in reversed(at_base)}
        by_hand = {label: at for one in reversed(at_base) for label, at in _listed(one)}
        now = self.snapshot[0] if files and self.snapshot else ()
        lists = {one.file: one for one in reversed(now) if "namespaces" in one.data}
        new = [one for one in reversed(now) if "kind" in one.data and label_of(one.data) not in files]
        moved = {(one.data["kind"], identity_of(one.data)[1]): one for one in new}
        for d in found:
            missing = [label for label, path in d.objects if not path and (label in by_hand or label in files)]
            for label in missing[:1]:
                kind, _, name = label.partition(" ")
                space, _, name = name.rpartition("/")
                file, where = by_hand.get(label) or (files[label], ())
                hint = f"put it back into {file}, from which this change removes it"
                at = lists[file].locate(where) if where and file in lists else None
                alike = [o for o in new if (o.data["kind"], identity_of(o.data)[0]) == (kind, space)]
                here = {identity_of(o.data)[1]: o for o in alike}
                if other := moved.get((kind, name)):
                    at = other.locate(("metadata", "namespace"))
                    there = identity_of(other.data)[0]
                    hint = f"put it back into namespace {space}, from which this change moves it to {there}"
                elif near := near_names(name, here, 1):
                    at = here[near[0]].locate(("metadata", "name"))
                    hint = f"name it {name} again, which this change calls {near[0]}"
                at = at or (Source(file, 1, 1) if os.path.isfile(file) else None)
                d = replace(d, hint=at.refusing(hint) if at else hint)  # noqa: PLW2901
            yield d

    def of_deadlines(self, jobs: Iterable[CompiledJob], session: Session) -> list[Diagnostic]:
        """Return the jobs under a budget that nothing ends."""
        from trainc.kube.bounds import bound_of
        from trainc.project.budgets import no_deadline

        bounds = {(job.namespace, job.name): bound_of(o) for job in jobs for o in JobSet.among(job.manifests)}
        return [
            document.diagnose(no_deadline(account, key, document.data, bounds[key].endless))
            for account in self.settings.configuration.accounts((*key, bound) for key, bound in bounds.items())
            for key in account.without_deadline
            if (document := session.sources.get(key)) is not None
        ]


_LISTED = {"Secret": "secrets", "ConfigMap": "configMaps", "PersistentVolumeClaim": "claims", "LocalQueue": "queues"}


def _listed(document: Document) -> Iterator[tuple[str, tuple[str, Path]]]:
    """Yield what a list by hand says a cluster has, with the file and the list."""
    for space, has in mapping(document.data.get("namespaces")).items():
        for kind, plural in _LISTED.items():
            names = mapping(has).get(plural)
            for name in names if isinstance(names, list | dict) else ():
                yield f"{kind} {qualified(str(space), str(name))}", (document.file, ("namespaces", space, plural))


def job_of(diagnostic: Diagnostic) -> JobKey | None:
    """Return the job that a diagnostic about an object is about."""
    kind, _, name = diagnostic.object.partition(" ")
    if kind in RUNTIME_KINDS or not name:
        return None
    namespace, _, plain = name.rpartition("/")
    return namespace, plain


@dataclass(slots=True)
class Run:
    """A compilation in progress: what was read, and the diagnostics so far."""

    settings: Settings
    inputs: Inputs
    session: Session
    files: Files
    court: Court
    diagnostics: list[Diagnostic] = field(default_factory=list)
    tally: Tally | None = None
    keeping: Keeping | None = None
    bases: Bases | None = None
    # Refuses new files of frozen jobs where no job is kept any more.
    guard: Keeping | None = None
    compiled: int = 0
    runtimes_tried: int = 0
    # The TrainJobs and sweeps that no environment selects.
    unselected: list[Document] = field(default_factory=list)
    # What this change breaks of runtimes and kept jobs, and what else is said of the latter; errors that the base has, too.
    settled: list[Diagnostic] = field(default_factory=list)
    excused: Sequence[Diagnostic] = ()
    # What was found about the input as a whole and about all jobs together, and the jobs that compile.
    _about_input: list[Diagnostic] = field(default_factory=list)
    _later: list[Diagnostic] = field(default_factory=list)
    _right: set[tuple[str, str]] = field(default_factory=set)
    # The lines that name what the cluster does not have.
    _lacking: set[Source] = field(default_factory=set)
    _jobs: list[CompiledJob] = field(default_factory=list)
    _bounds: dict[JobKey, Bound] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.inputs.documents)

    def texts(self, form: Form) -> Iterator[tuple[str, str, bytes, str]]:
        """(namespace, name, output, file) of every job that compiles, or is kept as built."""
        for job in self.jobs():
            rendered = None if self.keeping is None else self.keeping.rendered.get((job.namespace, job.name))
            text = text_of(job.manifests, form) if rendered is None else rendered.text.encode()
            yield job.namespace, job.name, text, job.file

    def jobs(self) -> Iterator[CompiledJob]:
        """Every job that compiles or is kept as built, ordered by (namespace, name), as it will be in git.

        Errors in the others are added to `diagnostics`.
        """
        for number, (job, diagnostics) in enumerate(self.inputs.outcomes(self.session)):
            if number == 0:
                self._about_input = [*self.diagnostics, *diagnostics]
            elif job is not None and not has_errors(diagnostics):
                self._right.add((job.namespace, job.name))
            self.diagnostics += diagnostics if self.tally is None else self.tally.without_repetitions(diagnostics)
            if job is not None:
                self.compiled += 1
                if self.guard:
                    self.guard.refuse_frozen((job.namespace, job.name), job.manifests)
                if self.tally is not None:
                    self.tally.add(job)
                self._jobs += [job] if self.court.snapshot or self.settings.configuration.budgets else ()
                if self.settings.configuration.budgets or (self.settings.at_base and self.settings.at_base.budgets):
                    from trainc.kube.bounds import bound_of

                    for jobset in JobSet.among(job.manifests):
                        self._bounds[job.namespace, job.name] = bound_of(jobset)
                yield job
        self._later = [] if self.tally is None else self.session.rules(self.tally.diagnostics(), True)
        if (keeping := self.keeping or self.guard) is not None:
            self._later += self._of_keeping(keeping)
        self.diagnostics += self._later

    def _of_keeping(self, keeping: Keeping) -> Iterator[Diagnostic]:
        """Yield what prevents a build of kept jobs, at the lines of those that are changed although they are frozen."""
        from trainc.cli.changed_rules import first_difference
        from trainc.cli.kept import is_frozen
        from trainc.output.ownership import file_name

        raw = {file_name(*identity_of(jobset.data)) for jobset in self.inputs.jobsets}
        keeping.undecided = [path for path in keeping.undecided if path not in raw]
        base = keeping.read_base()
        yield from self.bases.frozen_elsewhere(self.settings) if self.bases else ()
        for d in keeping.diagnostics():
            key = job_of(d) or ("", "")
            home = None if d.source else self.session.sources.get(key)
            before = base.read_trainjobs().get(key) if base is not None and home is not None else None
            path = first_difference(before, keeping.trainjobs[key]) if before is not None else None
            source = None if home is None else home.locate(path or ("metadata", "name"))
            frozen = self.settings.place("frozen") if d.code == "FrozenJob" else None
            is_own = bool(path) and home is not None and self.bases is not None and self.bases.differs(home.file)
            if frozen is not None and self.bases and not is_own:  # An overlay or a setting has changed.
                setting = self.settings.place("rebuild") if self.keeping is None else None
                source = next((line for line, _ in self.bases.changes_for_all(self.settings)), setting or source)
            if frozen is not None and not path and keeping.choices.names(*key):
                message, hint = d.message.replace("this change", "--rebuild"), "leave it out of --rebuild"
                d, source = replace(d, message=message, hint=hint), frozen  # noqa: PLW2901
            where = f"{frozen.file}:{frozen.line}" if frozen is not None else ""
            if d.code == "FrozenJob" and base is not None and not is_frozen(self.settings.configuration, key):
                where = f"{CONFIGURATION_FILE} of {base.name}"  # This change takes it out.
            message = d.message.replace(CONFIGURATION_FILE, where) if where else d.message
            yield replace(d, message=message, source=d.source or source)

    def conclude(self, *, errors_only: bool = False) -> None:
        """Judge what no job is judged by alone, once all jobs are compiled: runtimes, the cluster, and what is kept."""
        court, keeping, session = self.court, self.keeping, self.session
        found, runtimes = list[Diagnostic](), list[Diagnostic]()
        if keeping is not None or not errors_only:
            from trainc.pipeline.fragments import check_unused_runtimes

            tried = list(check_unused_runtimes(session))
            self.runtimes_tried, runtimes = len(tried), [diagnostic for result in tried for diagnostic in result]
        self.diagnostics += [d for d in runtimes if not errors_only or d.severity == "error"]
        judgement = None
        if keeping is not None:
            from trainc.cli.judging import Judgement

            judgement = Judgement(session, self.inputs, keeping, court, self.bases.find if self.bases else None)
        blocking = [d for d in self.diagnostics if stage_of(d.code) != "policy"]
        if court.snapshot is not None and (keeping is not None or not has_errors(blocking)):
            # The cluster is asked about all jobs together, also about those that only a policy denies.
            jobs = [*self._jobs, *session.denied]
            judged_jobs = jobs if judgement is None else list(filter(None, map(judgement.judged_objects, jobs)))
            found = court.of_cluster(judged_jobs, self.inputs.documents, session)
            if court.at_base is not None:  # The cluster as the base has it, about the jobs that are built now.
                meets_base = (lambda _, __: True) if judgement is None else judgement.meets_base
                built = [job for job in judged_jobs if meets_base((job.namespace, job.name), job.manifests)]
                known = {(d.code, d.object) for d in found}
                more = court.at_base.of_cluster(built, self.inputs.documents, session)
                more = [d for d in more if d.severity == "error" and (d.code, d.object) not in known]
                hint = "; so says `cluster` of the base; what this change does to that folder counts once it is merged"
                found += [replace(d, hint=d.hint + hint) for d in more]
        found = [*court.with_removed(found)]
        if judgement is not None:
            stays = judgement.staying(self._jobs, found)
            of_kept = [d for d in found if job_of(d) in stays]
            found = [
                d if key not in stays else judgement.once_built(d)
                for d, key in ((d, job_of(d)) for d in found)
                if key not in stays or (d.severity != "error" and judgement.is_judged(key))
            ]
            kept = (job for job in self._jobs if not judgement.is_built((job.namespace, job.name), job.manifests))
            of_kept += court.of_deadlines(filter(None, map(judgement.judged_objects, kept)), session)
            settled = judgement.settle([*self._about_input, *runtimes], of_kept)
            self.excused = judgement.excused
            self.diagnostics = [*(d for d in self.diagnostics if d not in self.excused), *settled]
            self._about_input = [d for d in self._about_input if d not in self.excused]
            self.settled = [*settled, *(d for d in runtimes if d.severity == "error" and d not in self.excused)]
            self._later += [d for d in settled if d.severity == "error"]
        self._lacking = {d.source for d in found if d.code == "NotInCluster" and d.source}
        self._at_newcomers()
        found += self.session.rules(self._refused_changes(), False)
        about_budgets = self.session.rules(self._of_budgets(judgement), False)
        self._later += [d for d in about_budgets if d.severity == "error" and d.code == "BudgetExceeded"]
        found += about_budgets
        self._right -= {key for d in found if d.severity == "error" and (key := job_of(d)) is not None}
        self.diagnostics += [d for d in found if not errors_only or d.severity == "error"]
        from trainc.cli.consequences import without_consequences

        self.diagnostics = self.settings.located(without_consequences(self))

    def _of_budgets(self, judgement: Judgement | None) -> Iterator[Diagnostic]:
        """Yield the jobs of this change that no deadline bounds, and the budgets of which jobs take more than there is."""

        def open_accounts(bounds: Mapping[JobKey, Bound]) -> list[Account]:
            jobs = ((*key, bound) for key, bound in bounds.items())
            return [
                account
                for account in self.settings.configuration.accounts(jobs, self.settings.at_base)
                if account.is_over or account.without_deadline
            ]

        if not open_accounts(self._bounds):
            return
        from trainc.project.budgets import exceeded, no_deadline, takes_more

        sources = self.session.sources
        ended = {key for key in self._bounds if judgement and judgement.has_finished(key, ("kept", "in place"))}
        unfinished = {key: bound for key, bound in self._bounds.items() if key not in ended}
        before = self._bounds_at_base(unfinished)
        for account in open_accounts(unfinished):
            more = [key for key in account.jobs if takes_more(unfinished[key], before.get(key))]
            if account.is_over:
                raised = self.settings.configuration.budgets.get(account.glob) != account.budget
                found = exceeded(account, more, unfinished[more[0]] if more else None, raised)
                document = sources.get(more[0]) if more else None
                path = ("spec", "activeDeadlineSeconds")
                if document is not None:
                    path = path if path_exists(document.data, path) else ("metadata", "name")
                    placed = document.diagnose(Finding(found.code, found.severity, found.message, found.hint, path))
                    hint = account.budget.source.refusing(placed.hint) if account.budget.source else placed.hint
                    found = replace(placed, hint=hint)
                yield found
            for key in account.without_deadline:
                if (document := sources.get(key)) is None:
                    continue
                raw = [document.data]
                if judgement.is_built(key, raw) if judgement else before.get(key) != unfinished[key]:
                    yield document.diagnose(no_deadline(account, key, document.data, unfinished[key].endless))

    def _refused_changes(self) -> Iterator[Diagnostic]:
        """Yield the first change of each JobSet that is a source which a cluster refuses that has it as the base does."""
        if self.inputs.jobsets and (base := self._base()) is not None:
            from trainc.cli.raw_changes import changed_jobsets

            options, minor = self.settings.options, self.session.release.minor
            yield from changed_jobsets(self.inputs.jobsets, base, options, minor, self.diagnostics)

    def _at_newcomers(self) -> None:
        """Place what is wrong with a TrainJob that has the name of a JobSet at the JobSet, if that one is new."""
        settings, twice = self.settings, [d for d in self.diagnostics if d.code == "DuplicateTrainJob"]
        revision = self.bases.find() if self.bases and twice and self.inputs.jobsets and settings.output else None
        if revision is None:
            return
        from trainc.cli.raw_changes import took_a_name

        base = revision.base_of(settings.output or "", settings.configuration.environment)
        texts = {file: text.encode() for d in self.inputs.jobsets if (text := self.files.text(file := d.file))}
        earlier = revision.changed(texts)
        for found in (self.diagnostics, self._about_input):
            found[:] = [took_a_name(self.inputs.jobsets, base, settings.options, earlier, d) for d in found]

    def _base(self) -> Base | None:
        """Return the output folder as the revision has it that this is compared with."""
        output, environment = self.settings.output, self.settings.configuration.environment
        return self.bases.base_of(output, environment) if self.bases and output else None

    def _bounds_at_base(self, keys: Iterable[JobKey]) -> dict[JobKey, Bound]:
        """Return how long jobs held their devices as the base has them."""
        if (base := self._base()) is None:
            return {}
        from trainc.kube.bounds import bound_of
        from trainc.output.ownership import file_name

        texts = ((key, base.read_text(file_name(*key))) for key in keys)
        objects = ((key, read_documents(text.encode(), "", self.settings.options.limits)[0]) for key, text in texts)
        return {key: bound_of(jobset) for key, some in objects for jobset in JobSet.among(d.data for d in some)}

    def failures(self) -> Failures:
        """What the errors concern, once all jobs are compiled."""
        from trainc.pipeline.failures import failures_of

        return failures_of(self.session, self.inputs, self._about_input, self._right, self._later)

    def as_built(self) -> list[Diagnostic]:
        """What has changed since jobs were built that are kept as they are, once all jobs are compiled."""
        if self.keeping is None or not self.keeping.kept_files or self.keeping.problems:
            return []
        if any(d.code in ("PatchFailed", "PatchTargetMissing") and d.severity == "error" for d in self.diagnostics):
            return []  # What would be built is not known.
        from trainc.cli.kept import causes_of, unproven

        for_all = self.bases.changes_for_all(self.settings) if self.bases else ()
        twice = [key for d in self.diagnostics if d.code == "DuplicateTrainJob" and (key := job_of(d)) is not None]
        causes = causes_of(self.session, self.keeping, for_all, by_hand=twice)
        causes = [cause for cause in causes if not self._lacking.intersection(cause.lines[:1])]
        return self.session.rules([*(cause.diagnostic() for cause in causes), *unproven(self.keeping)], False)


def read_stdin(settings: Settings, streams: Streams) -> bytes:
    """Read standard input if requested. It is kept, because a diagnostic may quote a line of it."""
    return read_bounded(streams.stdin, settings.options.limits.file_bytes) if STDIN in settings.paths else b""


def start(  # noqa: PLR0913 - all but three go by their names
    settings: Settings,
    stdin: bytes,
    skip: str | None = None,
    *,
    checks_fragments: bool = False,
    step: Step | None = None,
    output: str | None = None,
    choices: Arguments | None = None,
    extra: Sequence[Document] = (),
    bases: Bases | None = None,
    sessions: dict[str, Session] | None = None,
) -> Run:
    """Read the input of a command without entering the folder `skip`. Some commands handle fragments themselves.

    `step` receives the progress of reading and compiling. Jobs whose rendered file in the folder `output` is kept as built
    count as they are in that file; a build has `choices`. `extra` documents count as read. `bases` is what a change is
    compared with. `sessions`, by environment, gets one whose results others can use.
    """
    inputs = settings.read(BytesIO(stdin), skip, step, extra=extra)
    files = Files(stdin)
    rules = settings.policy(files.text)
    keeping = kept_in(output, settings, inputs.documents, choices, bases)
    quiet = choices is not None and choices.quiet and not choices.strict and not rules.raises
    folder, snapshot = settings.configuration.cluster, None
    if folder and (checks_fragments or output is not None):
        snapshot = read_paths([folder], settings.options.limits, everything=True)
    judge, problems = judge_of(settings, snapshot[0] if snapshot else ())
    court = Court(settings, rules, judge, snapshot)
    judge_at_base = None
    if bases is not None and settings.at_base is not None:
        try:
            judge_at_base, court, loosened = _court_at_base(bases, court)
            wrong = {d.source.file for d in problems if d.severity == "error" and d.source}
            loosened = [d for d in loosened if d.source is None or d.source.file not in wrong]
        except CompileError as error:
            from trainc.cli.at_base import no_base

            loosened = [no_base(error.diagnostics[0], "the rules", bases.arguments.base)]
        problems += loosened
    session = Session(
        settings.options,
        inputs.catalog,
        place,
        rules,
        _with_addresses(judge, settings),
        [document.data for document in snapshot[0]] if snapshot else (),
        keeping,
        judge_at_base,
        images_judge(settings),
        quiet,
        inputs.step,
        inputs.jobsets,
    )
    if snapshot:
        from trainc.reading.cluster import Dump

        dump = cache(partial(Dump.of_documents, snapshot[0]))
        session = replace(session, find_in_cluster=lambda *named: dump().get(*named))
    session = session.with_input(inputs.documents, inputs.runtime_sources)
    if sessions is not None:
        sessions[settings.configuration.environment] = session = session.after(None)
    skipped = skipped_documents(inputs.documents, settings, inputs.elsewhere, checks_fragments=checks_fragments)
    ended = _ended_by_sweeps(inputs, settings, bases)
    diagnostics = rules([*inputs.diagnostics, *settings.located(problems), *skipped, *ended], True)
    guard = None if keeping or not bases else kept_in(output, bases.guarded(settings), inputs.documents, None, bases)
    return Run(settings, inputs, session, files, court, diagnostics, inputs.tally, keeping, bases, guard)


def _ended_by_sweeps(inputs: Inputs, settings: Settings, bases: Bases | None) -> Iterator[Diagnostic]:
    """Refuse a sweep whose base was rendered as a job at the base revision, unless it says that it ends that."""
    if inputs.tally is None or bases is None or settings.output is None or not (possible := inputs.tally.bases):
        return
    from trainc.output.ownership import file_name, is_marked

    base = bases.base_of(settings.output, settings.configuration.environment)
    for (namespace, name), sweep in possible:
        if base is not None and is_marked(base.read_text(file_name(namespace, name))):
            job = qualified(namespace, name)
            message = f"{job} is a job in {base.name}, which ends where it becomes the base of a sweep"
            given = sweep.data["base"]
            file = given if isinstance(given, str) else given["file"]
            otherwise = " if it may end; else copy its file for the sweep"
            hint = write(f"{{file: {file}, endsJob: true}}", otherwise, field="base")
            yield sweep.diagnose(Finding("InvalidSweep", "error", message, hint, ("base",)))


def _court_at_base(bases: Bases, court: Court) -> tuple[Judge | None, Court, list[Diagnostic]]:
    """The rules of the base as far as their files are others: its judge, its cluster, and what is to be said of them."""
    from trainc.cli.changed_rules import changed_rules

    settings, limits = court.settings, court.settings.options.limits
    there = settings.at_base or Configuration()
    has_rules = there.policies or there.cluster or settings.configuration.policies or court.snapshot
    if not has_rules and there.images == settings.configuration.images:
        return None, court, []

    def read(of: Configuration) -> dict[str, list[Document]]:
        paths = filter(os.path.exists, of.policies)
        return {path: read_paths([path], limits, everything=True)[0] for path in paths}

    def answer(settings_there: Settings, _: Inputs) -> tuple[dict[str, list[Document]], Judge | None, Snapshot | None]:
        of, folder = settings_there.configuration, settings_there.configuration.cluster
        snapshot = read_paths([folder], limits, everything=True) if folder and os.path.exists(folder) else None
        cluster = snapshot[0] if snapshot else []
        mine = court.snapshot[0] if court.snapshot else []
        spaces = [[d.data for d in side if d.data.get("kind") == "Namespace"] for side in (cluster, mine)]
        rules = read(of)
        texts = [{path: [d.data for d in some] for path, some in side.items()} for side in (rules, now)]
        same = of.images == settings.configuration.images and texts[0] == texts[1] and spaces[0] == spaces[1]
        return rules, None if same else _of_the_base(judge_of(settings_there, cluster)[0]), snapshot

    now = read(settings.configuration)
    revision = bases.get()
    before, judge, snapshot = revision.within(settings.configuration.environment, answer)
    name = str(bases.arguments.base)
    clusters = [side[0] for side in (snapshot, court.snapshot) if side is not None]
    readers = [d for side in (*before.values(), *now.values(), *clusters) for d in side]
    loosened = [d for path in before if path in now for d in changed_rules(before[path], now[path], name, readers)]
    mine = [d.data for d in court.snapshot[0]] if court.snapshot else None
    if snapshot is not None and mine is not None and [d.data for d in snapshot[0]] != mine:
        court = replace(court, at_base=replace(court, snapshot=snapshot))
    return judge, court, loosened


def _of_the_base(judge: Judge | None) -> Judge | None:
    """A judge by rules that this change may have changed."""
    more = "; so say the rules of the base, which count until the change of them is merged"
    return judge and (lambda manifests: [(at, replace(one, hint=one.hint + more)) for at, one in judge(manifests)])


def kept_in(
    folder: str | None,
    settings: Settings,
    documents: Sequence[Document],
    choices: Arguments | None = None,
    bases: Bases | None = None,
) -> Keeping | None:
    """Who decides which files of an output folder are kept as built; None if trainc.yaml has all jobs rebuilt."""
    if folder is None or settings.configuration.rebuild != "changed-jobs":
        return None
    from trainc.cli.kept import keeping_in

    return keeping_in(folder, settings, documents, choices, bases)


def judge_of(settings: Settings, cluster: Sequence[Document] | None = None) -> tuple[Judge | None, list[Diagnostic]]:
    """Load the policies that trainc.yaml names, the namespaces of the cluster, and what trainc.yaml says about images.

    `cluster` is the snapshot, which is otherwise read.
    """
    if cluster is None and (folder := settings.configuration.cluster) and os.path.exists(folder):
        cluster = read_paths([folder], settings.options.limits, everything=True)[0]
    policies, problems = _policies(settings, cluster or ())
    judges = list(filter(None, (images_judge(settings), policies)))
    if len(judges) < 2:
        return (judges[0] if judges else None), problems
    return lambda manifests: [finding for judge in judges for finding in judge(manifests)], problems


def images_judge(settings: Settings) -> Judge | None:
    """What trainc.yaml says about images."""
    if not (images := settings.configuration.images):
        return None
    from trainc.project.boundaries import check_images

    place = cache(partial(settings.place, "images"))
    return lambda manifests: list(check_images(manifests, images, place))


def _with_addresses(judge: Judge | None, settings: Settings) -> Judge | None:
    """Return a judge that also looks at addresses which lack the hash of a name."""
    if not settings.options.name_hash:
        return judge
    from trainc.cli.raw_changes import without_hash

    return without_hash if judge is None else lambda manifests: [*judge(manifests), *without_hash(manifests)]


def _policies(settings: Settings, cluster: Sequence[Document]) -> tuple[Judge | None, list[Diagnostic]]:
    folders = settings.configuration.policies
    namespaces = [document for document in cluster if document.data.get("kind") == "Namespace"]
    if not folders and not any(_POD_SECURITY in str(namespace.data.get("metadata")) for namespace in namespaces):
        return None, []
    for load in added("judge"):
        return cast("tuple[Judge | None, list[Diagnostic]]", load(folders, namespaces, settings.options))
    if not folders:
        return None, []
    raise UsageError("trainc.yaml sets `policies`, which this installation of trainc cannot evaluate")
