"""Jobs that are kept as built: which files stay, what has changed since, and what `build --check` believes of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from types import MappingProxyType

from trainc.cli.at_base import NO_BASE, Bases, Revision, bases_of, no_base, own_trainjobs
from trainc.cli.command import Arguments, Streams, UsageError
from trainc.cli.revisions import copy_of_revision, here
from trainc.cli.settings import Settings
from trainc.emit.name_hash import ALPHABET, LENGTH
from trainc.findings import CompileError, Diagnostic, Source
from trainc.findings.differences import changes as hunks
from trainc.findings.listed import Listed
from trainc.findings.text import counted, did_you_mean, first_of
from trainc.kube.documents import mapping, qualified, value_at, walk
from trainc.kube.names import full_name, split_image
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options
from trainc.output.choices import STATES, Choices, JobKey, is_chosen
from trainc.output.folder import foreign_files, text_at
from trainc.output.keeping import Base, BuildLine, Keeping, Rendered, digest_of, prove
from trainc.output.ownership import file_name, is_marked, named_source
from trainc.pipeline.index import find_runtime
from trainc.pipeline.session import Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.project.configuration import Configuration
from trainc.reading.document import Document
from trainc.reading.git import merge_base, submodules
from trainc.reading.opening import read_file
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.cli.check import Found
    from trainc.cli.compiling import Run
    from trainc.explain.kept import Change

_SOME = 3
_BUILD = "run `trainc build`, and commit what it writes"


def keeping_in(
    folder: str,
    settings: Settings,
    documents: Iterable[Document],
    arguments: Arguments | None = None,
    bases: Bases | None = None,
) -> Keeping:
    """Who decides which rendered files of `folder` stay as built; a build has `arguments` with which jobs are chosen."""
    from trainc import __version__

    environment = settings.configuration.environment
    keeping = Keeping(
        folder,
        own_trainjobs(documents, settings.options),
        __version__,
        settings.options.release or NEWEST_RELEASE,
        lambda path: text_at(folder, path),
        cache(lambda: None if bases is None else bases.base_of(folder, environment)),
        choices=Choices() if arguments is None else _choices(arguments),
        limits=settings.options.limits,
        environment=environment,
    )
    if keeping.choices.asks_states and arguments is not None:
        from trainc.cli.live import Live

        live = Live(settings.configuration.live, arguments)
        if settings.configuration.live is None:
            known = [other.environment for other in settings.other_environments if other.live is not None]
            where = f"{environment} has no `live`; use --env {known[0]}" if known else ""
            where = where or "name it in trainc.yaml, as `live: {dump: DIR}`"
            raise UsageError(f"--rebuild by state needs a dump of the cluster: {where}")
        if live.problem is not None:
            keeping.problems.append(replace(live.problem, severity="error"))
        keeping.state_of = live.state
    if keeping.choices.keep:
        # The last commit has the folder from which a changed `output` moves away.
        keeping.carry = lambda path: base.read_text(path) if (base := keeping.read_base()) else None
    return keeping


def digests_of(documents: Iterable[Document], options: Options) -> dict[JobKey, str]:
    """The digest of every TrainJob, by namespace and name."""
    return {key: digest_of(trainjob) for key, trainjob in own_trainjobs(documents, options).items()}


def _choices(arguments: Arguments) -> Choices:
    return Choices(tuple(arguments.rebuild or ()), tuple(arguments.keep or ()), getattr(arguments, "at_most", None))


def check_choices(
    arguments: Arguments,
    environments: Iterable[Keeping | None],
    elsewhere: Mapping[JobKey, str] = MappingProxyType({}),
    names: Container[str] = (),
) -> None:
    """Raise UsageError if --rebuild or --keep names a job that no environment has, or one of those `elsewhere`."""
    keepings = [keeping for keeping in environments if keeping is not None]
    if not keepings:
        raise UsageError("--rebuild and --keep need an output folder, and `rebuild: changed-jobs` in trainc.yaml")
    if both := {*(arguments.rebuild or ())} & {*(arguments.keep or ())}:
        raise UsageError(f"--rebuild {min(both)} and --keep {min(both)} contradict each other: leave one of them out")
    jobs = [job for keeping in keepings for job in keeping.trainjobs]
    if unused := _choices(arguments).unused(jobs):
        job_names = {name for job in jobs for name in (job[1], "/".join(job), f"{job[0]}/*")} | {*STATES}
        where = f" in {', '.join(arguments.env)}" if arguments.env else ""
        there = [env for key, env in elsewhere.items() if unused[0] in (key[1], "/".join(key))]
        near = f"it is in {there[0]}: --env {there[0]}" if there else did_you_mean(unused[0], job_names)
        if unused[0] in names:
            near = f"that is an environment: write --rebuild all --env {unused[0]}"
        raise UsageError(f"there is no TrainJob {unused[0]}{where}; {near or 'check the name'}")


def states_of_jobsets(
    before: Configuration, after: Configuration, arguments: Arguments, base: str | None
) -> Mapping[JobKey, str]:
    """The states of JobSets, by namespace and name, in the dump that both settings name, as `base` has it, if there is one."""
    if before.live is None or after.live is None:
        return {}
    paths = [os.path.relpath(of.live[0], os.path.dirname(of.file or "") or ".") for of in (before, after) if of.live]
    if paths[0] != paths[1]:  # No change says itself what has finished.
        return {}
    from trainc.cli.live import Live

    return Live(after.live, arguments.but(base=base)).states


def is_frozen(configuration: Configuration, job: JobKey) -> bool:
    """Return whether a job is not built again."""
    return any(is_chosen((glob,), *job) for glob in configuration.frozen)


# What has changed since the kept files were built.


@dataclass(frozen=True, slots=True)
class Cause:
    """Why kept jobs would be compiled to something else: lines of a file, or else a reason in words."""

    jobs: Sequence[str]
    lines: tuple[Source, ...] = ()
    reason: str = ""
    # What builds them again, and nothing else, and the registries that only files of before name.
    rebuild: str = ""
    left: tuple[str, ...] = ()
    # Whether the lines are those next to what is gone.
    is_gone: bool = False

    @property
    def count(self) -> str:
        """The jobs in a sentence."""
        return f"{counted(len(self.jobs), 'job')} {'is' if len(self.jobs) == 1 else 'are'} kept as built"

    @property
    def sentence(self) -> str:
        """The cause in one sentence."""
        has = "has" if len(lines := dict.fromkeys(f"{one.file}:{one.line}" for one in self.lines)) == 1 else "have"
        what = f"{has} {'lost a field' if self.is_gone else 'changed'} since"
        changed = self.reason or f"{first_of([*lines], _SOME)} {what}"
        return f"{self.count}; {changed} (`trainc build {self.rebuild}`{self.behind})"

    @property
    def behind(self) -> str:
        """What a roll-out has yet to replace."""
        pull = "pulls" if len(self.jobs) == 1 else "pull"
        still = f"; {counted(len(self.jobs), 'kept job')} still {pull} from {', '.join(self.left)}"
        return still if self.left else ""

    def diagnostic(self) -> Diagnostic:
        """The cause at its line."""
        other_lines = len({source.line for source in self.lines}) - 1
        where = f"this line and {counted(other_lines, 'other')} have" if other_lines > 0 else "this line has"
        what = "what begins at this line has lost a field" if self.is_gone else f"{where} changed since"

        def message(jobs: Sequence[str]) -> str:
            return f"{replace(self, jobs=jobs).count}; {self.reason or what}: {first_of(jobs, _SOME)}"

        def hint(jobs: Sequence[str]) -> str:
            them = "it" if len(jobs) == 1 else "them"
            return f"`trainc build {self.rebuild}` compiles {them} again{replace(self, jobs=jobs).behind}"

        texts = Listed(message, self.jobs, self.reason or what), Listed(hint, self.jobs, f"{self.rebuild} {self.left}")
        return Diagnostic("KeptAsBuilt", "info", *texts, source=self.lines[0] if self.lines else None)


def with_base(keeping: Keeping, arguments: Arguments) -> tuple[Keeping, Iterable[tuple[Source, bool]]]:
    """Return the decisions of a comparison with its base, and the lines that have changed since for all jobs alike."""
    settings = Settings.of(arguments)
    bases = bases_of([settings], arguments)
    base = bases.base_of(keeping.folder, settings.configuration.environment)
    return replace(keeping, read_base=lambda: base), bases.changes_for_all(settings)


def moved_apart(run: Run) -> Iterator[Diagnostic]:
    """Yield the rendered files that have changed since the base, or not, where their TrainJobs have not, or are gone."""
    keeping = run.keeping
    if keeping is None or (base := keeping.read_base()) is None or not keeping.rendered:
        return
    # From the folder of trainc.yaml, files name their sources.
    home = os.path.dirname(run.settings.configuration.file or "")

    def stale(path: str, message: str, hint: str) -> Diagnostic:
        return Diagnostic("OutputStale", "error", message, hint, source=Source(f"{keeping.folder}/{path}", 1, 1))

    for key, rendered in keeping.rendered.items():
        text, before = keeping.read_text(rendered.path), base.read_text(rendered.path)
        if text is not None and rendered.text in (
            text.partition("\n")[2],
            before.partition("\n")[2] * (text == before),
        ):
            continue
        source = named_source(before)
        if source is None or text == before or base.read_trainjobs().get(key) != keeping.trainjobs.get(key):
            continue
        if text is None:
            message = f"this file was deleted since {base.name}, and {source} still has its job"
            yield stale(rendered.path, message, f"to end {rendered.job}, remove it from {source}, too; else {_BUILD}")
        elif not keeping.is_by_hand(rendered):
            message = f"this file has changed since {base.name}, and {source} has not"
            # What lacks the lines of a build stands in its way.
            restore = (
                _BUILD if is_marked(text or "") else f"git checkout {base.name} -- {keeping.folder}/{rendered.path}"
            )
            hint = f"to have {rendered.job} as in this file, change {source}, too; to restore the file, {restore}"
            yield stale(rendered.path, message, hint)
    for key in base.read_trainjobs().keys() - keeping.trainjobs.keys():
        text = keeping.read_text(path := file_name(*key))
        source = named_source(text or "")
        if source is not None and not os.path.lexists(os.path.join(home, source)):
            message = f"{source} is gone, and this file keeps {qualified(*key)} in the cluster until a build removes it"
            yield stale(path, message, _BUILD)


def examine(arguments: Arguments, streams: Streams, sessions: dict[str, Session]) -> Found:
    """Return what `check` finds, for features; `sessions` as there."""
    from trainc.cli import check

    return check.examine(arguments, streams, [b""], sessions)


@contextmanager
def at_revision(arguments: Arguments) -> Iterator[Arguments]:
    """Have a copy of the base that is a repository, and be in it, with arguments that compare it with nothing."""
    repository, base = here(), str(arguments.base)
    with copy_of_revision(merge_base(repository, base), arguments) as copy:
        copy.add()
        copy.make_repository()
        yield copy.arguments.but(base=NO_BASE)


def unproven(keeping: Keeping) -> Iterator[Diagnostic]:
    """Yield the kept files that neither a build at the base nor compiling gives."""
    if (base := keeping.read_base()) is None:
        return
    for file in filter(keeping.is_by_hand, keeping.waiting):
        reason = (
            "the rendered file is changed by hand, or built from what is gone, and `trainc build --check` refuses it"
        )
        place, hint = base.edited(keeping.folder, file)
        yield Diagnostic("KeptAsBuilt", "info", f"1 job is kept as built; {reason}: {file.job}", hint, source=place)


def causes_of(
    session: Session,
    keeping: Keeping,
    for_all: Iterable[tuple[Source, bool]] = (),
    by_hand: Collection[JobKey] = (),
) -> list[Cause]:
    """Why the kept files differ from what compiling gives, for the lines of each file that have changed since they were built.

    Jobs that differ in the same way are explained once, and those that have finished not at all, nor files that
    somebody has changed by hand: those of `by_hand`, and what the base does not prove. `for_all` has lines that have
    changed and that all jobs have in common, for what no other line explains.
    """
    jobs = {job.key: job for job in session.jobs}
    groups: dict[object, list[Rendered]] = {}
    base = keeping.read_base()
    states = _states_of(keeping)
    unfinished = [file for file in keeping.waiting if states[file.job] != "finished"]
    for rendered in unfinished:
        if rendered.compiled is not None and rendered.key not in by_hand and not keeping.is_by_hand(rendered):
            groups.setdefault(_difference(rendered, jobs[rendered.namespace, rendered.name]), []).append(rendered)
    in_common = dict(for_all) if groups else {}
    places: dict[str, Source] = {}
    affected: dict[str | frozenset[tuple[Source, bool]], dict[str, None]] = {}
    left: dict[str | frozenset[tuple[Source, bool]], dict[str, None]] = {}
    for group in groups.values():
        first = group[0]
        reason = _reason(first.line, keeping)
        changed = _changed_lines(session, jobs[first.namespace, first.name], first, keeping, is_other=bool(reason))
        if not changed and not reason:
            changed = in_common
            reason = "an overlay, a setting or the rendered file has changed " + (
                f"before {base.name}" if base and keeping.standing(first.key) == "kept" else "since"
            )
            places[reason] = Source(f"{keeping.folder}/{first.path}", 1, 1)
        of_files: dict[tuple[str, bool], set[tuple[Source, bool]]] = {}
        for source, is_gone in changed.items():
            of_files.setdefault((source.file, is_gone), set()).add((source, is_gone))
        parts: list[str | frozenset[tuple[Source, bool]]] = [*map(frozenset, of_files.values())]
        for cause in parts or [reason]:
            affected.setdefault(cause, {}).update(dict.fromkeys(rendered.job for rendered in group))
            registries = [_registries(text or "") for text in (first.body, first.compiled)]
            left.setdefault(cause, {}).update(dict.fromkeys(sorted(registries[0] - registries[1])))
    return [
        Cause(
            tuple(names),
            tuple(filter(None, [places.get(cause)]))
            if isinstance(cause, str)
            else tuple(sorted((source for source, _ in cause), key=lambda s: (s.line, s.column))),
            cause if isinstance(cause, str) else "",
            _rebuild_of(names, states, keeping.environment),
            tuple(left[cause]),
            not isinstance(cause, str) and all(is_gone for _, is_gone in cause),
        )
        for cause, names in affected.items()
    ]


def kept_text(keeping: Keeping) -> str:
    """Return how many jobs a build has kept, and the flags that build those again that have not finished."""
    states = _states_of(keeping)
    left = [job for job, state in states.items() if state != "finished"]
    if not states:
        return ""
    kept, over = f"; {counted(len(states), 'job')} kept as built", len(states) - len(left)
    them = f"; {over} {'has' if over == 1 else 'have'} finished" if over else ""
    again = f"`trainc build {_rebuild_of(left, states, keeping.environment)}` builds" if left else ""
    which = ("it" if len(states) == 1 else "them") if not over else f"the other{'s' * (len(left) > 1)}"
    return f"{kept} ({again} {which} again{them})" if left else f"{kept} ({them.lstrip('; ')})"


def _states_of(keeping: Keeping) -> dict[str, str]:
    """Return the jobs that are kept although compiling gives something else, with their states in the dump of the base."""
    base = keeping.read_base()
    return {file.job: "" if base is None else base.read_state(file.body) for file in keeping.waiting}


def _rebuild_of(jobs: Collection[str], waiting: Mapping[str, str], environment: str) -> str:
    """Return the flags that build kept jobs again, and no other of those that wait for it, which have these states."""
    if len(jobs) == 1:
        return f"--rebuild {next(iter(jobs))}"
    others, here = waiting.keys() - {*jobs}, f" --env {environment}" if environment else ""
    if not others:
        return f"--rebuild all{here}"
    spaces = {job.rpartition("/")[0] for job in jobs}
    if all(spaces) and not any(job.rpartition("/")[0] in spaces for job in others):
        return " ".join(f"--rebuild '{space}/*'" for space in sorted(spaces)) + here
    states = {waiting[job] for job in jobs}
    if len(jobs) > len(states) and all(states) and not any(waiting[job] in states for job in others):
        return " ".join(f"--rebuild {state}" for state in sorted(states)) + here
    return " ".join(f"--rebuild {job}" for job in sorted(jobs))


def _registries(text: str) -> set[str]:
    import re

    images = re.findall(r"^ *(?:- )?image: [\"']?([^\s\"']+)", text, re.MULTILINE)
    return {full_name(split_image(image)[0]).partition("/")[0] for image in images}


def _reason(line: BuildLine, keeping: Keeping) -> str:
    if line.release != keeping.release:
        return f"built for Trainer {line.release}, not {keeping.release}"
    if line.trainc != keeping.trainc:
        return f"trainc {line.trainc} compiled differently from {keeping.trainc}"
    return ""


def _difference(rendered: Rendered, job: ValidDocument) -> object:
    """What a kept file and the compiled text differ in, the same for jobs that differ in nothing but their names."""
    import re

    name = re.compile(rf"{re.escape(rendered.name)}(?:-[{ALPHABET}]{{{LENGTH}}}\b)?")
    before, after = (set(name.sub("", text or "").splitlines()) for text in (rendered.body, rendered.compiled))
    return tuple(sorted(job.data["spec"]["runtimeRef"].items())), frozenset(before - after), frozenset(after - before)


def _changed_lines(
    session: Session, job: ValidDocument, rendered: Rendered, keeping: Keeping, *, is_other: bool
) -> dict[Source, bool]:
    """The lines that set what has changed, and whether they are only next to what is gone.

    What another release or trainc makes of the same lines `is_other`: of these, only lines that have changed count.
    """
    from trainc.explain.kept import changes, sources_of
    from trainc.explain.replay import Recorder

    recorder = Recorder()
    replace(session, keeping=None, judge=None).compile(job, recorder)
    objects = [
        document.data for document in read_documents(rendered.body.encode(), rendered.path, session.options.limits)[0]
    ]
    runtime = find_runtime(job.data, session.index, session.release)[0]
    differing = list(changes(recorder.explanation(), objects))
    if runtime is not None:
        differing = [behind_images(change, runtime.document) for change in differing]
    differing = [
        replace(change, sources=tuple(source for source in change.sources if _has_changed(source, rendered, keeping)))
        if is_other or _is_moved(change)
        else change
        for change in differing
    ]
    by_is_gone = {
        is_gone: sources_of(c for c in differing if (c.rebuilt is None) is is_gone) for is_gone in (True, False)
    }
    return {source: is_gone for is_gone, sources in by_is_gone.items() for source in sources}


def _is_moved(change: Change) -> bool:
    """Return whether an image only comes from another registry, as by a mirror, also one that is gone."""
    images = [value.partition("/")[2] for value in (change.in_file, change.rebuilt) if isinstance(value, str)]
    return change.path[-1:] == ("image",) and len(images) == 2 and images[0] == images[1] != ""


def _has_changed(source: Source, rendered: Rendered, keeping: Keeping) -> bool:
    """Return whether a line is another one than when a file was built, as far as the history of the base knows."""
    base, commit = keeping.read_base(), keeping.commit_of(rendered)
    was = base.text_at(commit, source.file) if base is not None and commit else None
    if was is None or not os.path.isfile(source.file):
        return True
    now = read_file(source.file, keeping.limits.file_bytes).decode(errors="replace")
    return any(c < source.line <= d for _, _, c, d in hunks(was.splitlines(), now.splitlines()))


def behind_images(change: Change, document: Document) -> Change:
    """Place another image of a runtime behind the mirrors and tags of overlays that are in the kept file already."""
    if change.in_file is None and document.written:  # What is new is not there because of them.
        images = [path for path, _ in walk(document.data) if path[-1:] == ("image",)]
        steps = (step for path in images for step in document.written(path))
        mirrors = {written.locate(at) for written, at in steps if at[0] in ("mirrors", "images")}
        return replace(change, sources=tuple(source for source in change.sources if source not in mirrors))
    for path, image in walk(document.data) if change.path[-1:] == ("image",) and document.written else ():
        if path[-1:] == ("image",) and image == change.rebuilt and document.written is not None:
            for written, at in document.written(path):
                given = value_at(written.data, at)
                parts = {"mirrors": [given], "images": [v for k, v in mapping(given).items() if k != "name"]}.get(
                    str(at[0])
                )
                if parts is None or not all(str(part) in str(change.in_file) for part in parts):
                    source = written.locate(at)
                    return replace(change, sources=(source,) if source else ())
    return change


# Compares output folders with the base of a change: what `build --check` believes of kept files.
#
# A kept file that differs from what compiling gives has to be one that the base proves, and a file that trainc did not
# write has to be as it was there. What the files themselves say proves nothing. output/keeping.py has the rules.


def prove_outputs(
    outputs: Iterable[tuple[str, str, Keeping | None]], bases: Bases, *, covers_all: bool
) -> dict[str, list[Diagnostic]]:
    """Return what a comparison with the base finds, by output folder.

    `outputs` are the folders with their environments and decisions. With `covers_all` they are all that trainc.yaml
    names, and folders that only the base names are compared too.
    """
    named, entries = bases.arguments.base, list(outputs)
    if named is None and not any(keeping for _, _, keeping in entries):
        return {}
    foreign = {folder: {**foreign_files(folder), **_submodules(folder)} for folder, _, _ in entries}
    counts = {
        folder: len(foreign[folder]) + (len(keeping.kept_files) if keeping else 0) for folder, _, keeping in entries
    }
    if named == NO_BASE:
        return {folder: [_trusted(folder, count)] for folder, count in counts.items() if count}
    total = sum(counts.values())
    if named is None and not total:
        return {}
    try:
        revision = bases.get()
    except CompileError as error:
        files = f"{counted(total, 'file')} that {_differ(total)}" if total else "rendered files"
        return {folder: [no_base(error.diagnostics[0], files, named)] for folder in counts}
    diagnostics: dict[str, list[Diagnostic]] = {}
    for folder, environment, keeping in entries:
        base = revision.base_of(folder, environment, foreign[folder])
        errors, permitted = prove(keeping, folder, foreign[folder], base)
        diagnostics[folder] = [*errors, *([_adopted(folder, permitted, base)] if permitted else [])]
    for path in revision.outputs if covers_all else ():
        folder = os.path.relpath(os.path.join(revision.top, path))
        if os.path.realpath(folder) != os.path.join(revision.top, path):
            message = f"{folder} is a symbolic link, or in a linked folder, which GitOps tools may leave out"
            hint = f"make it a folder again, as in {revision.name}"
            diagnostics[folder] = [Diagnostic("ForeignFile", "error", message, hint, source=Source(folder, 1, 1))]
        elif path not in map(revision.from_top, counts) and (left := _left_in(path, revision, counts)):
            diagnostics[folder] = prove(None, folder, left, revision.base_of(folder, "", left))[0]
    return diagnostics


def _submodules(folder: str) -> dict[str, bytes]:
    """The submodules in an output folder, by path: a GitOps tool may clone them although this clone lacks their files."""
    with suppress(CompileError):
        repository = here()
        return submodules(repository, os.path.relpath(os.path.realpath(folder), os.path.realpath(repository.top)))
    return {}


def _adopted(folder: str, paths: Sequence[str], base: Base) -> Diagnostic:
    message = f"{base.name} permits {counted(len(paths), 'file')} that trainc did not compile: "
    hint = "the trainc.yaml of that revision lists them under `adopted`"
    return Diagnostic("AdoptedFile", "info", message + ", ".join(f"{folder}/{path}" for path in paths), hint)


def _trusted(folder: str, count: int) -> Diagnostic:
    message = f"--base none trusts {counted(count, 'file')} in {folder} that {_differ(count)}"
    hint = "in a pull request, compare with the branch that it will be merged into: --base origin/main"
    return Diagnostic("NoBase", "info", message, hint)


def _differ(count: int) -> str:
    return f"{'differs' if count == 1 else 'differ'} from what compiling gives"


def _left_in(path: str, revision: Revision, folders: Iterable[str]) -> dict[str, bytes]:
    """The files in a folder that is no longer an output, apart from those in folders that are."""
    folder = os.path.join(revision.top, path)
    outputs = tuple(os.path.realpath(other) + os.sep for other in folders)
    files = foreign_files(folder, ours=True)
    return {name: data for name, data in files.items() if not os.path.join(folder, name).startswith(outputs)}
