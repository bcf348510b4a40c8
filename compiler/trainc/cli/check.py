"""What `trainc check` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import starmap

from trainc.admission.admit import check_each_rendered
from trainc.cli.at_base import Bases, bases_of
from trainc.cli.causes import merge_diagnostics
from trainc.cli.command import Arguments, Progress, Status, Streams, UsageError
from trainc.cli.compiling import Run, read_stdin, start
from trainc.cli.consequences import is_wrong_among, without_loosened
from trainc.cli.diagnostics import Files
from trainc.cli.reporting import is_failure, report
from trainc.cli.settings import Settings
from trainc.cli.skipped import is_checked, nothing_found
from trainc.cli.unselected import join_skipped, report_unselected
from trainc.cli.without_effect import without_effect
from trainc.cli.words_of_values import words_of_values
from trainc.compilation import CompiledJob
from trainc.features import ask
from trainc.findings import CompileError, Diagnostic, Source, has_errors, sort_diagnostics
from trainc.findings.policy import GUARDED
from trainc.findings.text import counted
from trainc.kube.documents import Json
from trainc.kube.jobset import JobSet
from trainc.kube.releases import NEWEST_RELEASE
from trainc.output.ownership import file_name, named_source
from trainc.pipeline.fragments import check_fragments
from trainc.pipeline.session import Session
from trainc.reading.ignores import Comments, check_ignores, count_ignored
from trainc.reading.yaml_reader import reading_once
from trainc.startup.records import dataclass


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile, discard the manifests, and report; before that, apply fixes if that is asked for."""
    stdin: list[bytes] = []
    try:
        if arguments.fix or arguments.unsafe_fixes or arguments.diff:
            from trainc.cli.fixing import apply_fixes

            def again() -> tuple[list[Diagnostic], list[Run]]:
                found = examine(arguments, streams, stdin)
                return found.diagnostics, [check.checking for check in found.checks.values()]

            apply_fixes(again, arguments, streams)
        with reading_once():
            found = examine(arguments, streams, stdin)
        checks, diagnostics = found.checks, found.diagnostics
    except CompileError as error:
        return _report(error.diagnostics, Files(), arguments, streams)
    counts = arguments.format == "text" and not arguments.quiet and not has_errors(diagnostics)
    if counts:  # The counts say the release.
        diagnostics = [d for d in diagnostics if d.code != "ReleaseNotPinned"]
    status = _report(diagnostics, next(iter(checks.values())).checking.files, arguments, streams, found)
    for name, check in checks.items():
        lines = [*check.runs, *([check.counted] if counts else [])]
        if arguments.format == "text":
            streams.err.write("".join(f"{name}: {line}\n" if name else f"{line}\n" for line in lines))
    return status


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found: by environment, with findings about comments, merged over all environments, and about the whole.

    The latter are what is checked less strictly than at the base, and what is about all environments. `changed` are the
    files of findings that a named base, of `bases`, does not have as they are. What waits for a line that `is_wrong` is not
    to be built.
    """

    checks: dict[str, _Checked]
    by_environment: dict[str, list[Diagnostic]]
    diagnostics: list[Diagnostic]
    whole: list[Diagnostic]
    bases: Bases
    changed: set[str]
    is_wrong: Callable[[Source | None], bool]


def examine(
    arguments: Arguments, streams: Streams, stdin: list[bytes], sessions: dict[str, Session] | None = None
) -> Found:
    """Compile every environment, and return what is found.

    `stdin` keeps what can be read only once. `sessions`, by environment, gets those of the check, whose results
    others can use. Raises CompileError for settings that cannot be read.
    """
    environments = [(env.environment, Settings.of(env)) for env in Settings.environments_of(arguments)]
    settings, loosened = dict(environments), list[Diagnostic]()
    bases = bases_of(settings.values(), arguments)
    if arguments.base is not None:
        settings, loosened = bases.strict(settings)
    if not stdin:
        stdin.append(read_stdin(environments[0][1], streams))
    checks = {
        name: _check(env_settings, stdin[0], streams.progress, arguments, bases, sessions)
        for name, env_settings in settings.items()
    }
    streams.progress.clear()
    report_unselected([check.checking for check in checks.values()])
    for check in checks.values():
        # The sources of a folder that is misspelt, or of jobs none of which is selected, are not to blame.
        causes = {d.code for d in check.checking.diagnostics}
        if check.checking.settings.covers_all and causes.isdisjoint({"NoSuchPath", "NoTrainJob"}):
            check.checking.diagnostics += _skipped_sources(check.checking, check.compiled, bases)
    join_skipped([check.checking for check in checks.values()])
    nothing, globs = list[Diagnostic](), set[str]()
    if not arguments.env and not arguments.paths:
        runs = [check.checking for check in checks.values()]
        images = {image for check in checks.values() for image in check.images}
        nothing, globs = without_effect(runs, images, lambda: getattr(bases.find(), "commit", None))
    loosened += bases.loosened(settings, globs)
    if bases.is_named or any(check.checking.keeping for check in checks.values()):
        loosened += bases.replaced(settings)
    loosened += [*nothing, *words_of_values([check.checking for check in checks.values()])]
    every = [d for check in checks.values() for d in check.checking.diagnostics]
    if not arguments.paths and any(of_env.configuration.live for of_env in settings.values()):
        from trainc.cli.live import spoiled_dumps

        known = {*every, *loosened}
        loosened += [d for d in spoiled_dumps(settings.values(), bases) if d not in known]
    loosened = without_loosened(loosened, [*every, *nothing])
    findings = _check_ignore_comments([check.checking for check in checks.values()])
    by_environment = {name: [*check.checking.diagnostics, *findings] for name, check in checks.items()}
    merged = merge_diagnostics(by_environment)
    is_wrong = is_wrong_among(merged)
    merged = [d for d in merged if d.code != "KeptAsBuilt" or not is_wrong(d.source)]
    changed = bases.changed_among({d.source.file for d in merged if d.source and d.source.origin == "file"})
    return Found(checks, by_environment, merged, loosened, bases, changed, is_wrong)


@dataclass(frozen=True, slots=True)
class _Checked:
    """The findings about the input, and the jobs that compiled; `runs` and `counted` are lines for the text report."""

    checking: Run
    compiled: list[tuple[str, str]]
    runs: list[str]
    counted: str
    images: set[str]


def _check(  # noqa: PLR0913, PLR0917 - what is checked, and what is known of it
    settings: Settings,
    stdin: bytes,
    progress: Progress,
    arguments: Arguments,
    bases: Bases,
    sessions: dict[str, Session] | None,
) -> _Checked:
    if settings.configuration.cluster and ask("fits", "judge jobs") is None:
        raise UsageError("trainc.yaml sets `cluster`, which this installation of trainc cannot evaluate")
    checking = start(
        settings,
        stdin,
        checks_fragments=True,
        step=progress.step,
        output=settings.output,
        bases=bases,
        sessions=sessions,
    )
    runs: list[str] = []
    compiled: list[tuple[str, str]] = []
    images: set[str] = set()
    for job in checking.jobs():
        compiled.append((job.namespace, job.name))
        if settings.configuration.software:
            images |= {str(container.get("image")) for container in _containers(job)}
        if arguments.verbose and arguments.format == "text":
            runs += _runs(job)
    inputs, rules = checking.inputs, checking.session.rules
    checking.diagnostics += rules(check_fragments(inputs.documents, settings.options), False)
    around = list(checking.session.cluster or ())
    raw = set(map(id, inputs.jobsets))
    # A JobSet without a TrainJob has been judged as a job.
    for _, findings in check_each_rendered(
        inputs.documents, settings.options, around, lambda document: id(document) not in raw
    ):
        checking.diagnostics += rules(findings, False)
    checking.conclude()
    if any(d.code == "PatchTargetMissing" for d in checking.diagnostics):
        from trainc.cli.build import drop_consequences

        drop_consequences(checking, {file_name(*job) for job in compiled})
    if not arguments.allow_empty and not any(map(is_checked, inputs.documents)):
        checking.diagnostics += nothing_found(settings, checking.diagnostics, inputs)
    checking.diagnostics += checking.as_built()
    counts = [
        f"{counted(len(inputs.documents), 'document')} checked",
        f"{counted(checking.compiled - len(inputs.jobsets), 'TrainJob')} compiled",
        f"{counted(checking.runtimes_tried, 'unused runtime')} tried",
    ]
    are = "it is" if len(inputs.jobsets) == 1 else "they are"
    counts.insert(2, f"{counted(len(inputs.jobsets), 'JobSet')} kept as {are}" if inputs.jobsets else "")
    newest = "" if settings.options.release else f" for Trainer {NEWEST_RELEASE}, the newest"
    return _Checked(
        checking,
        compiled,
        runs,
        ", ".join(filter(None, counts if checking.runtimes_tried else counts[:3])) + newest,
        images,
    )


def _containers(job: CompiledJob) -> Iterator[Json]:
    for jobset in JobSet.among(job.manifests):
        for replicated in jobset.jobs:
            yield from replicated.pod_spec.get("containers", ())


def _skipped_sources(checking: Run, compiled: Sequence[tuple[str, str]], bases: Bases) -> Iterator[Diagnostic]:
    """What `build` would say of rendered files whose source exists but was not read; files with errors say it themselves."""
    from trainc.cli.build import sources_of
    from trainc.output.folder import skipped_sources, text_at

    broken = {d.source.file for d in checking.diagnostics if d.severity == "error" and d.source}
    broken |= {*checking.inputs.unread}
    files = {file_name(namespace, name) for namespace, name in compiled}
    folder, sources = checking.settings.output or "", sources_of(checking)
    found = skipped_sources(folder, files, sources)
    base = bases.base_of(folder, checking.settings.configuration.environment) if bases.is_named else None
    if base is not None:
        names = {path: named_source(base.read_text(path)) for path in base.paths if path not in files}
        gone = {path: name for path, name in names.items() if name is not None and text_at(folder, path) is None}
        if gone:  # Else the TrainJobs there, which take as long to read as those here, are not asked for.
            gone = {path: gone[path] for path in starmap(file_name, base.read_trainjobs()) if path in gone}
        found += sources.removed(folder, gone, base.name)
    outside = [d.message.partition(" ")[0] for d in checking.diagnostics if d.code == "OutsideRoot"]
    for diagnostic in found:
        is_reported = any(f" {file};" in diagnostic.message for file in outside)
        if not is_reported and (diagnostic.source is None or diagnostic.source.file not in broken):
            yield diagnostic


def _check_ignore_comments(runs: Sequence[Run]) -> list[Diagnostic]:
    """Report on ignored findings and comments once all findings are known: a comment may concern a single environment."""
    diagnostics = [diagnostic for checking in runs for diagnostic in checking.diagnostics]
    counts = list(count_ignored(diagnostics))
    errors = {d.code for d in diagnostics if d.severity == "error"}
    if errors.isdisjoint(GUARDED) and errors:
        return counts
    files = [document.file for checking in runs for document in checking.inputs.all_documents]
    files += [file for checking in runs for overlay in checking.settings.overlays for file, _ in overlay.texts]
    comments = Comments(runs[0].files.text)
    ignores = [ignore for file in dict.fromkeys(files) for ignore in comments(file)]
    ignores = [ignore for ignore in ignores if not errors or ignore.code in errors & GUARDED]
    return runs[0].session.rules([*check_ignores(ignores, diagnostics), *counts], True)


def _runs(job: CompiledJob) -> Iterator[str]:
    """A line about what a job's pods run: launcher, processes, ranks, and rendezvous address."""
    summarize = ask("graph", "summary")
    if summarize is None or all(manifest["kind"] != "JobSet" for manifest in job.manifests):
        return
    if line := summarize(job.manifests):
        yield f"{'/'.join(filter(None, (job.namespace, job.name)))}: {line}"


def _report(
    diagnostics: Sequence[Diagnostic],
    files: Files,
    arguments: Arguments,
    streams: Streams,
    found: Found | None = None,
) -> Status:
    ordered = [*(found.whole if found else ()), *sort_diagnostics(diagnostics)]
    if arguments.format in ("text", "github"):
        if found and found.changed:  # What a change brings comes before what was there.
            about_change, changed = {*found.whole}, found.changed

            def rank(d: Diagnostic) -> int:
                is_new = d in about_change or (d.source is not None and d.source.file in changed)
                return 0 if d.severity == "error" else 1 if is_new else 2

            ordered.sort(key=rank)
        return report(ordered, arguments, streams, files)
    from trainc.cli.report_formats import FORMATS

    streams.write(FORMATS[arguments.format](ordered, files))
    return Status.DIAGNOSED if is_failure(ordered, strict=arguments.strict) else Status.DONE
