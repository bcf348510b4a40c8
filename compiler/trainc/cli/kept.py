"""What the commands share about jobs that are kept as built: which files stay, and what has changed since they were built."""

from __future__ import annotations

from collections.abc import Iterable

from trainc.cli.command import Arguments, UsageError
from trainc.cli.settings import Settings
from trainc.emit.name_hash import ALPHABET, LENGTH
from trainc.findings import Diagnostic, Source
from trainc.findings.text import counted
from trainc.kube.names import JOB_KINDS
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options
from trainc.output.folder import file_name, text_at
from trainc.output.keeping import BuildLine, Choices, JobKey, Keeping, Rendered, digest_of
from trainc.pipeline.session import Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.project.dialects import is_trainer_document
from trainc.reading.document import Document
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass, replace

_SOME = 3


def keeping_in(
    folder: str, settings: Settings, documents: Iterable[Document], arguments: Arguments | None = None
) -> Keeping:
    """Who decides which rendered files of `folder` stay as built; a build has `arguments` with which jobs are chosen."""
    from trainc import __version__

    digests = digests_of(documents, settings.options)
    keeping = Keeping(
        folder,
        digests,
        __version__,
        settings.options.release or NEWEST_RELEASE,
        lambda path: text_at(folder, path),
        choices=Choices() if arguments is None else _choices(arguments),
        limits=settings.options.limits,
    )
    if arguments is not None and keeping.choices.keep:
        from trainc.cli.proving import carried

        keeping.carry = carried(folder, [file_name(*key) for key in digests], settings, arguments)
    return keeping


def _choices(arguments: Arguments) -> Choices:
    return Choices(tuple(arguments.rebuild or ()), tuple(arguments.keep or ()))


def check_choices(arguments: Arguments, environments: Iterable[Keeping | None]) -> None:
    """Raise UsageError if --rebuild or --keep names a job that no environment has."""
    keeping = [each for each in environments if each is not None]
    if not keeping:
        raise UsageError("--rebuild and --keep need an output folder, and `rebuild: changed-jobs` in trainc.yaml")
    jobs = [job for each in keeping for job in each.digests]
    if unused := _choices(arguments).unused(jobs):
        from trainc.findings.text import did_you_mean

        known = [name for job in jobs for name in (job[1], "/".join(job))]
        raise UsageError(f"there is no TrainJob {unused[0]}; {did_you_mean(unused[0], known) or 'check the name'}")


def digests_of(documents: Iterable[Document], options: Options) -> dict[JobKey, str]:
    """The digest of every TrainJob, by namespace and name."""
    found: dict[JobKey, str] = {}
    for document in documents:
        metadata = document.data.get("metadata")
        if document.data.get("kind") in JOB_KINDS and is_trainer_document(document.data) and isinstance(metadata, dict):
            key = str(metadata.get("namespace") or options.namespace or ""), str(metadata.get("name"))
            found[key] = digest_of(document.data)
    return found


# What has changed since the kept files were built.


@dataclass(frozen=True, slots=True)
class Cause:
    """Why kept jobs would be compiled to something else: lines of a file, or else a reason in words."""

    jobs: tuple[str, ...]
    lines: tuple[Source, ...] = ()
    reason: str = ""

    @property
    def count(self) -> str:
        """The jobs in a sentence."""
        return f"{counted(len(self.jobs), 'job')} {'is' if len(self.jobs) == 1 else 'are'} kept as built"

    @property
    def place(self) -> str:
        """The first line that has changed."""
        return f"{self.lines[0].file}:{self.lines[0].line}" if self.lines else ""

    @property
    def sentence(self) -> str:
        """The cause in one sentence."""
        return f"{self.count}; {self.reason or f'{self.place} has changed since'}"

    def diagnostic(self) -> Diagnostic:
        """The cause at its line."""
        names = ", ".join(self.jobs[:_SOME]) + (f" and {len(self.jobs) - _SOME} more" if self.jobs[_SOME:] else "")
        others = len({source.line for source in self.lines}) - 1
        where = f"this line and {counted(others, 'other')} have" if others > 0 else "this line has"
        message = f"{self.count}; {self.reason or f'{where} changed since'}: {names}"
        hint = "trainc build --rebuild NAME compiles a job again, and --rebuild all every job"
        return Diagnostic("KeptAsBuilt", "info", message, hint, source=self.lines[0] if self.lines else None)


def causes_of(session: Session, keeping: Keeping) -> list[Cause]:
    """Why the kept files differ from what compiling gives, for each file that has changed since they were built.

    Jobs that differ in the same way are explained once.
    """
    jobs = {job.key: job for job in session.jobs}
    groups: dict[object, list[Rendered]] = {}
    for one in keeping.kept:
        if one.compiled is not None:
            groups.setdefault(_difference(one, jobs[one.namespace, one.name]), []).append(one)
    lines: dict[str, dict[Source, None]] = {}
    affected: dict[str, dict[str, None]] = {}
    for group in groups.values():
        first = group[0]
        changed = _changed_lines(session, jobs[first.namespace, first.name], first)
        for source in changed:
            lines.setdefault(source.file, {})[source] = None
        for cause in [source.file for source in changed] or [_reason(first.line, keeping)]:
            affected.setdefault(cause, {}).update(dict.fromkeys(one.job for one in group))
    return [
        Cause(tuple(names), tuple(sorted(lines.get(cause, ()), key=_by_line)), "" if cause in lines else cause)
        for cause, names in affected.items()
    ]


def _by_line(source: Source) -> tuple[int, int]:
    return source.line, source.column


def _reason(line: BuildLine, keeping: Keeping) -> str:
    """Why a job differs although its runtime has not changed."""
    if line.release != keeping.release:
        return f"built for Trainer {line.release}, not {keeping.release}"
    if line.trainc != keeping.trainc:
        return f"trainc {line.trainc} compiled differently from {keeping.trainc}"
    return "the settings in trainc.yaml have changed since"


def _difference(one: Rendered, job: ValidDocument) -> object:
    """What a kept file and the compiled text differ in, the same for jobs that differ in nothing but their names."""
    import re

    name = re.compile(rf"{re.escape(one.name)}(?:-[{ALPHABET}]{{{LENGTH}}}\b)?")
    before, after = (set(name.sub("", text or "").splitlines()) for text in (one.body, one.compiled))
    return tuple(sorted(job.data["spec"]["runtimeRef"].items())), frozenset(before - after), frozenset(after - before)


def _changed_lines(session: Session, job: ValidDocument, one: Rendered) -> list[Source]:
    from trainc.explain.kept import changes, sources_of
    from trainc.explain.replay import Recorder, explanation

    recorder = Recorder()
    replace(session, hold=None, judge=None).compile(job, recorder)
    kept = [document.data for document in read_documents(one.body.encode(), one.path, session.options.limits)[0]]
    return sources_of(changes(explanation(recorder), kept))
