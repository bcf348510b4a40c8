"""What `trainc fits` does."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import Files, compiling, report
from trainc.api.documents import Document, files, label_of
from trainc.api.findings import CompileError, Diagnostic, aligned, escape_report, has_errors
from trainc.api.jobs import failures
from trainc.api.records import replace
from trainc.api.settings import Settings, merge_diagnostics
from trainc.features.cluster.fits.judging import judge_jobs
from trainc.features.cluster.fits.usage import time_of

if TYPE_CHECKING:
    from trainc.features.cluster.fits.answer import Fits


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile, evaluate, and print the answers; errors go to stderr."""
    try:
        environments = {env.environment: Settings.of(env) for env in Settings.environments_of(arguments)}
    except CompileError as error:
        return _report({"": error.diagnostics}, Files(), arguments, streams)
    if not arguments.now and (arguments.plus or arguments.stale):
        raise UsageError("--plus and --stale go with --now")
    clusters = {name: arguments.cluster or settings.configuration.cluster for name, settings in environments.items()}
    if not any(clusters.values()):
        raise UsageError(
            "--cluster DIR is missing, and trainc.yaml has no `cluster:`; `trainc help dump` says how to make one"
        )
    stdin = compiling.read_stdin(next(iter(environments.values())), streams)
    judgements = {
        name: _judge(environments[name], cluster, stdin, streams, arguments)
        for name, cluster in clusters.items()
        if cluster
    }
    streams.progress.clear()
    answered = {name: answers for name, (answers, _) in judgements.items() if answers}
    if arguments.now:
        live = {name: environments[name].configuration.live for name in answered}
        most = {name: dump[1] if dump else _MOST_SECONDS for name, dump in live.items()}
        _print_now(answered, most, arguments, streams)
    else:
        _print(answered, arguments, streams)
    reported = {name: diagnostics for name, (_, diagnostics) in judgements.items()}
    return _report(reported, Files(stdin), arguments, streams)


def _judge(
    settings: Settings, cluster: str, stdin: bytes, streams: Streams, arguments: Arguments
) -> tuple[Fits | None, list[Diagnostic]]:
    """The answers for one environment, None if there are none, and the diagnostics."""
    compiled = compiling.start(settings, stdin, step=streams.progress.step, output=settings.output)
    jobs, left = list(compiled.jobs()), []
    if has_errors(compiled.diagnostics):
        failed = compiled.failures()
        jobs = [job for job in jobs if not failed.concerns(job)]
        if failed.fatal or not jobs:
            return None, compiled.diagnostics
        left = [*(d for d in compiled.diagnostics if d.severity == "error"), failures.left_out_warning(failed)]
    judge = partial(judge_jobs, jobs, compiled.inputs.documents, cluster)
    judge = partial(judge, session=compiled.session, over=streams.progress.over, now=arguments.now)
    judgement = judge(settings.options)
    if arguments.plus and judgement.answers:
        contents = _with_more(cluster, arguments.plus, settings)
        more = judge(settings.options, contents)
        if more.answers:
            more = replace(more, answers=replace(more.answers, before=judgement.answers))
        judgement = more
    if judgement.answers and not judgement.answers.alone:
        hint = "pass the file or folder with your TrainJobs"
        message = f"no TrainJob and no JobSet found in {', '.join(settings.paths)}, so there is nothing to judge"
        return None, [Diagnostic("NoTrainJob", "error", message, hint)]
    return judgement.answers, [*left, *compiled.session.rules(judgement.diagnostics, judgement.answers is None)]


def _with_more(cluster: str, paths: Sequence[str], settings: Settings) -> tuple[list[Document], list[Diagnostic]]:
    """The documents of a snapshot, and those of files, which take the place of the ones with their kind and name."""
    snapshot, problems = files.read_paths([cluster], settings.options.limits, everything=True)
    added, more = files.read_paths(paths, settings.options.limits, everything=True)
    replaced = {label_of(document.data) for document in added}
    return [*(d for d in snapshot if label_of(d.data) not in replaced), *added], [*problems, *more]


# An older snapshot does not say what would start now; `live.maxAge` says otherwise.
_MOST_SECONDS = 3600


def _print_now(answers: Mapping[str, Fits], most: Mapping[str, int], arguments: Arguments, streams: Streams) -> None:
    """Print what becomes of each job at the moment of each snapshot, and in which clusters it starts if there are several."""
    from trainc.features.cluster.fits.now_forms import now_changes, now_json, now_text

    ages = {name: _age(fits.at) for name, fits in answers.items()}
    for name, age in ages.items():
        if age is not None and age > most[name] and not arguments.stale:
            where = f" of {name}" if name else ""
            raise UsageError(
                f"the snapshot{where} was made {_duration(age)} ago, at {answers[name].at}: take it again, raise"
                " `live.maxAge` in trainc.yaml, or pass --stale"
            )
    if arguments.format == "json" and answers:
        forms = {name: now_json(fits) for name, fits in answers.items()}
        text = json.dumps(forms.get("") or {"environments": forms}, indent=2) + "\n"
        streams.out.write(escape_report(text, json=True).encode())
        return
    for name, fits in answers.items() if arguments.format == "text" else ():
        age = ages[name]
        taken = (
            f"as of {fits.at}, {_duration(age)} ago" if age is not None else "of which nothing says when it was made"
        )
        text = f"{name}: " if name else ""
        text += f"the cluster {taken}\n{now_text(fits)}"
        if fits.before:
            text += "".join(
                f"{line}\n" for line in ("", f"With {', '.join(arguments.plus)}:", *now_changes(fits.before, fits))
            )
        streams.out.write(escape_report(text).encode("utf-8", "backslashreplace"))
    if len(answers) > 1 and arguments.format == "text":
        jobs = sorted({fit.job for fits in answers.values() for fit in fits.now})
        verdicts = {name: {fit.job: str(fit.verdict) for fit in fits.now} for name, fits in answers.items()}
        rows = [("job", *answers), *((job, *(verdicts[name].get(job, "-") for name in answers)) for job in jobs)]
        streams.out.write(escape_report("\n" + "".join(f"{line}\n" for line in aligned(rows))).encode())


def _age(at: str) -> float | None:
    """The seconds since a snapshot was made; None if that is not known."""
    seconds = time_of(at)
    return None if seconds is None else max(0, time.time() - seconds)


def _duration(seconds: float) -> str:
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h" if minutes < 2880 else f"{minutes // 1440} days"


def _print(answers: Mapping[str, Fits], arguments: Arguments, streams: Streams) -> None:
    """Print the answers, under the name of each environment if trainc.yaml defines any."""
    from trainc.features.cluster.fits.forms import fits_json, fits_text

    if arguments.format == "text":
        for name, fits in answers.items():
            text = (f"{name}:\n" if name else "") + escape_report(fits_text(fits))
            streams.out.write(text.encode("utf-8", "backslashreplace"))
    elif arguments.format == "json" and answers:
        forms = {name: fits_json(fits) for name, fits in answers.items()}
        document = forms.get("") or {"environments": forms}
        streams.out.write(escape_report(json.dumps(document, indent=2) + "\n", json=True).encode())


def _report(
    diagnostics: Mapping[str, Sequence[Diagnostic]], files: Files, arguments: Arguments, streams: Streams
) -> Status:
    """Show the diagnostics; the exit status reflects whether they contain errors."""
    return report(merge_diagnostics(diagnostics), arguments, streams, files)
