"""What `trainc build` does."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence

from trainc.cli.command import Arguments, Status, Streams, UsageError
from trainc.cli.compiling import Run, job_of, read_stdin, start
from trainc.cli.diagnostics import Files
from trainc.cli.reporting import difference, is_failure, report
from trainc.cli.settings import Settings
from trainc.cli.skipped import nothing_found
from trainc.cli.unselected import join_skipped, report_unselected
from trainc.emit.yaml_writer import join_stream
from trainc.findings import CompileError, Diagnostic, Source, has_errors, sort_diagnostics
from trainc.findings.text import counted, escape_report, first_of
from trainc.kube.documents import identity_of
from trainc.project.dialects import is_sweep
from trainc.project.settings_file import settings_below
from trainc.reading.opening import is_below
from trainc.startup import suppress
from trainc.startup.records import dataclass
from trainc.startup.typing import IO, TYPE_CHECKING, BinaryIO, Self

if TYPE_CHECKING:
    from trainc.cli.at_base import Bases
    from trainc.output.folder import Plan
    from trainc.output.ownership import Sources

# What `build` does with compiled jobs: a stream or a folder, and the report about them.


_IN_MEMORY = 8_000_000
_AT_A_TIME = 1_000_000


def write_stdout(compilation: Run, arguments: Arguments, streams: Streams) -> Status:
    """Write all jobs to stdout as a single stream once the last one is compiled, or report the errors."""
    with HeldOutput() as held:
        for piece in join_stream((text for _, _, text, _ in compilation.texts(arguments.format)), arguments.format):
            held.write(piece)
        streams.progress.clear()
        if _has_failed(compilation, arguments):
            return report_refusal(compilation.diagnostics, compilation.files, arguments, streams)
        _report([Target(compilation, STDOUT)], arguments, streams)
        held.copy_to(streams.out)
    return Status.DONE


@dataclass(slots=True)
class Target:
    """A compilation with its output folder and, if any, its environment in trainc.yaml."""

    compilation: Run
    folder: str
    environment: str = ""
    prunes: bool = True


def write_folders(targets: Sequence[Target], bases: Bases | None, arguments: Arguments, streams: Streams) -> Status:
    """Write one file per job to each folder, or with --check report the changes; write nothing on errors."""
    sources = [sources_of(target.compilation) for target in targets]
    texts = [_files(target.compilation, source) for target, source in zip(targets, sources, strict=True)]
    streams.progress.clear()
    for target, files in zip(targets, texts, strict=True):
        if target.compilation.keeping is not None and (missing := target.compilation.keeping.nothing_to_keep):
            raise UsageError(f"--keep: there is no file {target.folder}/{missing[0]} to keep")
        target.compilation.conclude(errors_only=True)
        _leave_as_named(target.compilation, files)
        drop_consequences(target.compilation, files)
    refused = [_has_failed(target.compilation, arguments) for target in targets]
    if any(refused) and not (arguments.keep_going and _leave_out(targets, texts, sources, arguments)):
        return _refuse_all(targets, arguments, streams)
    before = {id(target): list(target.compilation.diagnostics) for target in targets}
    plans = _plan_and_apply(targets, texts, sources, arguments)
    proofs = _proofs(targets, bases, arguments) if arguments.check else {}
    for target, planned in zip(targets, plans, strict=True):
        target.compilation.diagnostics += _plan_diagnostics(planned, target.folder, arguments)
        target.compilation.diagnostics += _of_no_job(planned, target) if arguments.check else ()
        proof = proofs.pop(target.folder, [])
        target.compilation.diagnostics += proof
        target.compilation.diagnostics += (
            target.compilation.as_built() if arguments.check and not has_errors(proof) else ()
        )
    targets[-1].compilation.diagnostics += [diagnostic for about in proofs.values() for diagnostic in about]
    if any(has_errors(target.compilation.diagnostics[len(before[id(target)]) :]) for target in targets):
        return _refuse_all(targets, arguments, streams)
    if any(planned.changes for planned in plans):
        from trainc.cli.at_base import bases_of

        settings = {target.environment: target.compilation.settings for target in targets}
        _add_to_each(targets, (bases or bases_of(settings.values(), arguments)).replaced(settings))
    apart = list(_moved_apart(targets)) if arguments.check else []
    stale = _stale(targets, plans, apart) if arguments.check and arguments.format == "github" else []
    _report(targets, arguments, streams, [*apart, *stale])
    for target, planned in zip(targets, plans, strict=True):
        _show(planned, target, arguments, streams)
    if (wave := arguments.at_most) is not None and not arguments.quiet:
        more = f"; {counted(wave.left, 'job')} left for the next wave" if wave.left else "; this was the last wave"
        streams.err.write(f"{counted(wave.jobs, 'job')} with {counted(wave.gpus, 'GPU')} built again{more}\n")
    if arguments.check and not arguments.quiet and sum(len(planned.new) for planned in plans) > len(apart):
        streams.err.write(f"{_REFRESH}\n")
    differs = any(planned.changes for planned in plans) and (arguments.check or arguments.exit_code)
    differs = bool(_not_in_git(targets, arguments, streams)) or differs
    return Status.DIAGNOSED if differs or any(refused) else Status.DONE


def _not_in_git(targets: Sequence[Target], arguments: Arguments, streams: Streams) -> list[str]:
    """The output folders of a hook with files that git does not know: pre-commit sets aside what is changed, not those."""
    from trainc.reading.git import run_git

    words = ("ls-files", "--others", "--exclude-standard", "--")
    is_hook = arguments.exit_code and "PRE_COMMIT" in os.environ
    added: list[str] = []
    with suppress(CompileError):  # Output outside of the repository is no part of a commit.
        added = [target.folder for target in targets if is_hook and run_git(os.curdir, [*words, target.folder])]
    if added:
        from shlex import join

        streams.err.write(f"not in git yet, so this commit would lack them: {join(['git', 'add', *added])}\n")
    return added


def _leave_out(
    targets: Sequence[Target], texts: Sequence[dict[str, str]], sources: Sequence[Sources], arguments: Arguments
) -> bool:
    """Leave the jobs with errors out of what is written, and their files as they are; False if the rest is uncertain."""
    from trainc.output.ownership import file_name
    from trainc.pipeline.failures import left_out_warning

    for target, files, source in zip(targets, texts, sources, strict=True):
        failures, diagnostics = target.compilation.failures(), target.compilation.diagnostics
        if failures.fatal or not has_errors(diagnostics):
            if is_failure(diagnostics, strict=arguments.strict):
                return False
            continue
        spared = [file_name(namespace, name) for namespace, name in failures.jobs if name]
        for path in spared:
            files.pop(path, None)
        source.spare(spared, failures.files)
        target.prunes = failures.prunes
        target.compilation.diagnostics.append(left_out_warning(failures))
    return True


def _proofs(targets: Sequence[Target], bases: Bases | None, arguments: Arguments) -> dict[str, list[Diagnostic]]:
    """What --check finds in comparison with the base revision, by output folder."""
    if bases is None or (arguments.base is None and not any(target.compilation.keeping for target in targets)):
        return {}
    from trainc.cli.kept import prove_outputs

    outputs = [(target.folder, target.environment, target.compilation.keeping) for target in targets]
    covers_all = not arguments.env and all(target.compilation.settings.covers_all for target in targets)
    return prove_outputs(outputs, bases, covers_all=covers_all)


def _files(compilation: Run, sources: Sources) -> dict[str, str]:
    from trainc.output.ownership import file_name, first_line

    return {
        file_name(namespace, name): first_line(sources.name(file)) + text.decode()
        for namespace, name, text, file in compilation.texts("yaml")
    }


def _leave_as_named(compilation: Run, files: dict[str, str]) -> None:
    """Leave the files of kept jobs that are defined twice, each of which names one of its TrainJobs already."""
    twice = {job_of(d) for d in compilation.excused if d.code == "DuplicateTrainJob"}
    if not twice or (keeping := compilation.keeping) is None:
        return
    for rendered in keeping.rendered.values():
        if rendered.key in twice:
            files[rendered.path] = keeping.read_text(rendered.path) or files[rendered.path]


def _plan_and_apply(
    targets: Sequence[Target], texts: Sequence[dict[str, str]], sources: Sequence[Sources], arguments: Arguments
) -> list[Plan]:
    """Plan the changes of each folder, and apply them unless this is a check or a folder refuses its plan."""
    from trainc.output.folder import apply_plan, plan

    plans = [
        plan(
            target.folder,
            files,
            prune=(arguments.prune or target.compilation.settings.covers_all) and target.prunes,
            sources=source,
        )
        for target, files, source in zip(targets, texts, sources, strict=True)
    ]
    if arguments.check or any(planned.refused for planned in plans):
        return plans
    return [apply_plan(planned) for planned in plans]


def _of_no_job(planned: Plan, target: Target) -> Iterator[Diagnostic]:
    """Yield an error for each file that looks like trainc's, is new since the base, and belongs to no job."""
    bases = target.compilation.bases
    base = bases.base_of(target.folder, target.environment) if bases is not None and bases.is_named else None
    for verb, path in planned.actions() if base is not None else ():
        if base is not None and verb == "removed" and not base.read_text(path):
            message = f"this file is new since {base.name}, and no job here is built to it"
            hint = "remove it, and write a TrainJob among the sources instead; or restore its source"
            yield Diagnostic("ForeignFile", "error", message, hint, source=Source(f"{target.folder}/{path}", 1, 1))


def _plan_diagnostics(planned: Plan, folder: str, arguments: Arguments) -> Iterator[Diagnostic]:
    yield from planned.refused
    if arguments.check:
        yield from planned.interrupted
    if planned.kept_files and not planned.refused:
        message = f"kept {counted(len(planned.kept_files), 'file')} of other jobs in {folder}: {first_of(planned.kept_files, 3)}"
        hint = "to delete files of jobs that are not in this build, add --prune"
        if arguments.prune:  # Files without trainc's first line.
            hint = "they were written by trainc 0.1.0; delete those whose job no longer exists"
        yield Diagnostic("FilesKept", "info", message, hint)


_REFRESH = "run `trainc build`, and commit what it writes"
# GitHub shows ten annotations of a step.
_MOST_STALE = 9


def _moved_apart(targets: Iterable[Target]) -> Iterator[Diagnostic]:
    from trainc.cli.kept import moved_apart

    for target in targets:
        yield from moved_apart(target.compilation)


def _stale(targets: Sequence[Target], plans: Sequence[Plan], known: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The other rendered files that are not what compiling gives, for annotations."""
    reported = {d.source.file for d in known if d.source}
    files = [
        (f"{t.folder}/{path}", verb)
        for t, planned in zip(targets, plans, strict=True)
        for verb, path in planned.actions()
        if f"{t.folder}/{path}" not in reported
    ]
    descriptions = {
        "created": "is missing",
        "removed": "belongs to no job of the sources",
        "changed": "is not what its source compiles to",
    }
    diagnostics = [
        Diagnostic("OutputStale", "error", f"{file} {descriptions[verb]}", _REFRESH, source=Source(file, 1, 1))
        for file, verb in files[:_MOST_STALE]
    ]
    if more := len(files) - len(diagnostics):
        message = f"{counted(more, 'more file')} {'is' if more == 1 else 'are'} out of date"
        diagnostics.append(Diagnostic("OutputStale", "error", message, _REFRESH))
    return diagnostics


def _refuse_all(targets: Sequence[Target], arguments: Arguments, streams: Streams) -> Status:
    join_skipped([target.compilation for target in targets])
    return report_refusal(_all_diagnostics(targets), targets[0].compilation.files, arguments, streams)


def _all_diagnostics(targets: Sequence[Target]) -> list[Diagnostic]:
    if not any(target.compilation.diagnostics for target in targets):
        return []
    from trainc.cli.causes import merge_diagnostics

    return merge_diagnostics({target.environment: target.compilation.diagnostics for target in targets})


def _show(planned: Plan, target: Target, arguments: Arguments, streams: Streams) -> None:
    folder = target.folder
    for path, text in planned.new.items() if arguments.check else ():
        from trainc.cli.hidden import hidden_in

        old = planned.old[path]
        names = [f"{folder}/{path}" if side is not None else "/dev/null" for side in (old, text)]
        patch = escape_report(hidden_in(difference(old or "", text or "", names[0], names[1])))
        streams.write(patch)
    if not arguments.quiet:
        _print_changes(list(planned.actions()), target, arguments, streams)


def sources_of(compilation: Run) -> Sources:
    """The source files of a compilation, named from the folder of trainc.yaml, or else by their names alone."""
    from trainc.output.ownership import Sources, file_name

    settings = compilation.settings
    configured = settings.configuration.file
    home = os.path.realpath(os.path.dirname(configured) or os.curdir) if configured else ""
    exclude, files = settings.configuration.exclude, compilation.inputs.files
    place = settings.place if settings.covers_all else None
    sources = Sources(home, settings.paths, exclude, files, settings.elsewhere(), place)
    # The jobs that no environment selects have not ended: their output is not removed.
    for document in compilation.unselected:
        if is_sweep((document.before or document).data):
            sources.leave_unselected((), [document.file])
        else:
            sources.leave_unselected([file_name(*identity_of(document.data, settings.options.namespace))], ())
    return sources


def drop_consequences(compilation: Run, files: Container[str]) -> None:
    """Say of a source that is not read any more only that, and not that the patches of its job match no document."""
    if compilation.settings.covers_all and any(d.code == "PatchTargetMissing" for d in compilation.diagnostics):
        from trainc.output.folder import skipped_sources

        if skipped_sources(compilation.settings.output or "", files, sources_of(compilation)):
            compilation.diagnostics = [d for d in compilation.diagnostics if d.code != "PatchTargetMissing"]


def _print_changes(changes: list[tuple[str, str]], target: Target, arguments: Arguments, streams: Streams) -> None:
    verbs, keeping, kept_jobs = [verb for verb, _ in changes], target.compilation.keeping, ""
    for verb, path in changes if arguments.verbose else ():
        streams.err.write(f"{verb} {target.folder}/{path}\n")
    counts = [f"{counted(verbs.count(verb), 'file')} {verb}" for verb in ("created", "changed", "removed")]
    summary = ", ".join(count for count in counts if not count.startswith("0 ")) or "up to date"
    if keeping is not None:
        from trainc.cli.kept import kept_text

        kept_jobs = kept_text(keeping)
    unwritten = " (not written: --check)" if arguments.check and changes else ""
    streams.err.write(f"{target.folder}: {summary}{unwritten}{kept_jobs}\n")


def _has_failed(compilation: Run, arguments: Arguments) -> bool:
    """Say so if there are no TrainJobs, since a GitOps tool would prune everything, and return whether there are errors."""
    if not compilation.compiled and not arguments.allow_empty:
        compilation.diagnostics += nothing_found(compilation.settings, compilation.diagnostics, compilation.inputs)
    return is_failure(compilation.diagnostics, strict=arguments.strict)


def _report(
    targets: Sequence[Target], arguments: Arguments, streams: Streams, stale: Sequence[Diagnostic] = ()
) -> None:
    report([*_all_diagnostics(targets), *stale], arguments, streams, targets[0].compilation.files)
    for target in targets if arguments.verbose else ():
        about = f"{target.environment}: " if target.environment else ""
        documents = counted(target.compilation.documents, "document")
        compiled = counted(target.compilation.compiled, "TrainJob")
        streams.err.write(f"{about}{documents} read, {compiled} compiled\n")


def report_refusal(diagnostics: Iterable[Diagnostic], files: Files, arguments: Arguments, streams: Streams) -> Status:
    """Report the errors, and write nothing else."""
    report(sort_diagnostics(diagnostics), arguments, streams, files)
    return Status.DIAGNOSED


class HeldOutput:
    """Buffers output until it is known to be complete, in memory at first and in a file once it gets large."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, piece: bytes) -> None:
        """Add a piece of output."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _IN_MEMORY:
            self._to_file()

    def copy_to(self, out: BinaryIO) -> None:
        """Write all buffered output."""
        if self._file is not None:
            self._to_file()
            self._file.seek(0)
            while block := self._file.read(_AT_A_TIME):
                out.write(block)
        out.write(b"".join(self._pieces))

    def _to_file(self) -> None:
        if self._file is None:
            from tempfile import TemporaryFile  # Rarely needed, and slow to import.

            self._file = TemporaryFile()  # noqa: SIM115 - `__exit__` closes it
        self._file.write(b"".join(self._pieces))
        self._pieces.clear()
        self._size = 0


STDOUT = "-"


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile everything, and write the output if there are no errors."""
    try:
        environments = Settings.environments_of(arguments)
        settings = [Settings.of(environment) for environment in environments]
    except CompileError as error:
        return report_refusal(error.diagnostics, Files(), arguments, streams)
    if arguments.format == "github" and not arguments.check:
        raise UsageError("--format github needs --check")
    if arguments.at_most is not None and not arguments.rebuild:
        raise UsageError("--at-most needs --rebuild: it divides a roll-out, as in --rebuild all --at-most 64gpus")
    arguments.keep_going = arguments.keep_going or arguments.at_most is not None
    bases, at_base = None, list[Diagnostic]()
    if (
        arguments.base is not None
        or arguments.check
        or any(s.configuration.rebuild != "all" or s.configuration.budgets or s.configuration.frozen for s in settings)
    ):
        from trainc.cli.at_base import bases_of

        bases = bases_of(settings, arguments)
    if bases is not None and arguments.base is not None:
        by_name = dict(zip((each.environment for each in environments), settings, strict=True))
        strict, at_base = bases.strict(by_name)
        at_base += bases.loosened(strict)
        settings = list(strict.values())
    at_base += [d for d in _spoiled_dumps(settings, bases, arguments) if d not in at_base]
    folders = [_output_of(arguments, env_settings) for env_settings in settings]
    if len(environments) > 1 and (STDOUT in folders or len(set(folders)) < len(folders)):
        without = [each.environment for each, of in zip(environments, settings, strict=True) if not of.output]
        names = ", ".join(each.environment for each in environments)
        give = f", or set that of {', '.join(without)} in trainc.yaml" if 0 < len(without) < len(settings) else ""
        raise UsageError(f"each environment needs an `output` of its own; choose one of {names} with --env{give}")
    targets = []
    for environment, env_settings, folder in zip(environments, settings, folders, strict=True):
        skip = env_settings.output if folder == STDOUT else folder
        compilation = start(
            env_settings,
            read_stdin(env_settings, streams),
            skip,
            step=streams.progress.step,
            output=None if folder == STDOUT else folder,
            choices=arguments,
            bases=bases,
        )
        targets.append(Target(compilation, folder, environment.environment))
    _add_to_each(targets, at_base)
    report_unselected([target.compilation for target in targets])
    if arguments.rebuild or arguments.keep:
        from trainc.cli.kept import check_choices

        elsewhere = {
            identity_of(d.data): other.environment
            for run in (target.compilation for target in targets)
            for other in run.settings.other_environments
            for d in run.inputs.elsewhere
            if other.compiles(d.data, d.file, set())
        }
        known = {target.environment for target in targets} | {*elsewhere.values()}
        check_choices(arguments, [target.compilation.keeping for target in targets], elsewhere, known)
    if folders == [STDOUT]:
        return write_stdout(targets[0].compilation, arguments, streams)
    return write_folders(targets, bases, arguments, streams)


def _spoiled_dumps(settings: Sequence[Settings], bases: Bases | None, arguments: Arguments) -> list[Diagnostic]:
    if bases is None or not arguments.check or not any(each.configuration.live for each in settings):
        return []
    from trainc.cli.live import spoiled_dumps

    return spoiled_dumps(settings, bases)


def _add_to_each(targets: Sequence[Target], diagnostics: Sequence[Diagnostic]) -> None:
    """Add what is about all environments, or says itself about which, so that it is not said of one."""
    for target in targets:
        target.compilation.diagnostics += diagnostics


def _output_of(arguments: Arguments, settings: Settings) -> str:
    """The output folder, or `-`. Raises UsageError for options that require the other kind."""
    # PATH selects some of the jobs to look at, whereas the `output` of trainc.yaml is for all of them.
    configured = settings.output if settings.covers_all or arguments.check or arguments.exit_code else None
    target: str = arguments.output or configured or STDOUT
    if arguments.keep_going and target == STDOUT:
        raise UsageError("--keep-going needs an output folder: add -o DIR")
    if arguments.prune and target == STDOUT:
        raise UsageError("--prune needs an output folder: add -o DIR")
    if target == STDOUT and (arguments.check or arguments.exit_code):
        flag = "--check" if arguments.check else "--exit-code"
        below = [] if settings.configuration.file else settings_below(os.curdir)
        where = f"; trainc.yaml is in {first_of(below)}: run trainc there" if below else ""
        raise UsageError(f"{flag} needs an output folder: add -o DIR, or set `output` in trainc.yaml{where}")
    if target != STDOUT and arguments.format == "json":
        raise UsageError("--format json works on stdout only; files in an output folder are YAML")
    if target != STDOUT and os.path.isfile(target):
        raise UsageError(f"the output folder {target} is a file; use a folder, or redirect stdout")
    if target != STDOUT and {os.path.realpath(path) for path in settings.paths} == {os.path.realpath(target)}:
        raise UsageError(f"{target} is both the input and the output folder; use another output folder")
    others = settings.other_environments or settings.configuration.environments.values()
    for other in others if arguments.output and not arguments.overlay and target != STDOUT else ():
        paths = [os.path.realpath(path) for path in (target, other.output or os.devnull)]
        if is_below(*paths) or is_below(*reversed(paths)):
            raise UsageError(f"{other.output} is the output of {other.environment}: use --env {other.environment}")
    return target
