"""What `trainc why` does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.cluster import Dump
from trainc.api.command import compiling, report
from trainc.api.documents import opening
from trainc.api.explained import explained_jobset, source_of
from trainc.api.findings import CompileError, Source, counted, escape_report, format_path
from trainc.api.kube import Json, names
from trainc.api.output import name_hash
from trainc.api.records import pattern, replace
from trainc.api.settings import Limits, Settings
from trainc.features.cluster.why.causes import Waiting, causes_by_job, with_message


def run(arguments: Arguments, streams: Streams) -> Status:
    """Read the dump and the log, and print why the jobs do not run."""
    if arguments.log == "-" == (arguments.dump or ""):
        raise UsageError("--dump and --log cannot both be stdin")
    limits, dump, found = Settings.limits_of(arguments), None, dict[str, list[Waiting]]()
    if arguments.dump or not arguments.log:
        dump, problems = Dump.read(arguments.dump or "-", limits, streams.stdin)
        if dump is None:
            return report(problems, arguments, streams)
        found = causes_by_job(dump)
    chosen = arguments.job
    found = {job: causes for job, causes in found.items() if chosen in ("", job, job.rpartition("/")[2])}
    found = _with_lines(found, arguments, streams)
    if arguments.log:
        name = chosen if dump is None or len(found) != 1 else next(iter(found))
        found[name or arguments.log] = [*_in_log(arguments.log, limits, streams), *found.get(name, ())]
    text = _json(found) if arguments.format == "json" else "".join(f"{line}\n" for line in _lines(found, chosen, dump))
    streams.out.write(escape_report(text, json=arguments.format == "json").encode("utf-8", "backslashreplace"))
    return Status.DONE


def _with_lines(found: Mapping[str, list[Waiting]], arguments: Arguments, streams: Streams) -> dict[str, list[Waiting]]:
    """Add to each cause the line of the sources that sets what could change it, or that of the TrainJob.

    Without --sources and trainc.yaml there are no sources. A line that differs between the environments is left out.
    """
    lines: dict[tuple[str, Waiting], set[Source | None]] = {}
    arguments.paths = arguments.sources
    try:
        for environment in Settings.environments_of(arguments) if found else ():
            settings = Settings.of(environment)
            if not arguments.sources and not settings.configuration.sources:
                break
            compiled = compiling.start(settings, b"", step=streams.progress.step)
            session, about_input = compiled.session, [d for d in compiled.inputs.diagnostics if d.severity == "error"]
            if about_input:
                report(about_input, arguments, streams)
            by_key = {job.key: job for job in session.jobs}
            for name, causes in found.items():
                namespace, _, jobset = name.rpartition("/")
                plain = name_hash.plain_name(jobset)
                job = by_key.get((namespace, jobset)) or by_key.get((namespace, plain))
                if job is None:
                    continue
                described = explained_jobset(session, job)
                of_setting = {
                    setting: source_of(described, setting) if described and setting else None
                    for setting in dict.fromkeys(waiting.setting for waiting in causes)
                }
                for waiting in causes:
                    at = of_setting[waiting.setting] or job.locate(("metadata", "name"))
                    lines.setdefault((name, waiting), set()).add(at)
    except CompileError as error:
        report(error.diagnostics, arguments, streams)
    streams.progress.clear()
    one = {at: next(iter(sources)) for at, sources in lines.items() if len(sources) == 1}
    return {job: [replace(w, source=one.get((job, w))) for w in causes] for job, causes in found.items()}


def _in_log(path: str, limits: Limits, streams: Streams) -> list[Waiting]:
    """What ended a run, from the log of one of its pods; empty if no line of it has a known cause."""
    try:
        read = opening.read_bounded(streams.stdin, limits.file_bytes) if path == "-" else opening.read_file(path, limits.file_bytes)  # fmt: skip
    except OSError as error:
        raise UsageError(f"cannot read the log {path}: {opening.error_reason(error)}") from None
    cause = cause_in_log(read.decode("utf-8", "replace"))
    if cause is None:
        return []
    line, text, row = cause
    hint = row["hint"] + (f" (settings: {', '.join(row['settings'])})" if row["settings"] else "")
    return [Waiting("the log", with_message(row["cause"], text), "", Source(path, line, 1), hint)]


# Of a line, which is enough for what programs print, and keeps the search linear; and what is shorter than any cause.
_LONGEST, _SHORTEST = 2000, 9


@cache
def causes_in_logs() -> tuple[Json, ...]:
    """Lines that programs print: a pattern, what it means, what to do, the settings that may be the reason, and the source."""
    return tuple(opening.read_data(__file__, "log.json")["causes"])


def cause_in_log(text: str) -> tuple[int, str, Json] | None:
    """The first cause in a log, which is usually the reason for what follows: the number of its line, the line, the cause."""
    known = [(pattern(row["pattern"]), row) for row in causes_in_logs()]
    for number, line in enumerate(text.splitlines(), start=1):
        for expression, row in known if len(line) >= _SHORTEST else ():
            if expression.search(line[:_LONGEST]):
                return number, line[:_LONGEST].strip(), row
    return None


def _lines(found: Mapping[str, Sequence[Waiting]], chosen: str, dump: Dump | None) -> Iterator[str]:
    for job, causes in found.items():
        yield job
        if not causes:
            yield "  no line of the log has a known cause: look at the pod that failed first, and at the end of its log"
        for waiting in causes:
            yield f"  {waiting.cause}"
            yield f"    {f'{waiting.object}: {waiting.path}' if waiting.path else waiting.source}"
            if waiting.path and waiting.source:
                yield f"    in git: {waiting.source}"
            yield f"    help: {waiting.hint}"
    if not found:
        yield f"{chosen} is not in the dump, or has no reason there to wait" if chosen else "nothing in the dump waits"
    else:
        yield ""
        yield f"{counted(sum(map(bool, found.values())), 'job')} with a reason not to run."
    if dump is None:
        return
    kinds = {"Workload": names.KUEUE_GROUP, "Pod": "", "Event": ""}
    if absent := [kind for kind, group in kinds.items() if not dump.of_group(group, kind)]:
        yield f"The dump has no {', '.join(absent)}: what they would say is unknown (`trainc help dump`)."


def _json(found: Mapping[str, Sequence[Waiting]]) -> str:
    fields = ("object", "cause", "path", "hint")
    jobs = {
        job: [
            {name: getattr(w, name) for name in fields}
            | ({"source": str(w.source)} if w.source else {})
            | ({"setting": format_path(w.setting)} if w.setting else {})
            for w in causes
        ]
        for job, causes in found.items()
    }
    return json.dumps({"version": 1, "jobs": jobs}, indent=2) + "\n"
