"""What `trainc fits` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import Files, read_stdin, report, start
from trainc.api.findings import CompileError, Diagnostic, escape_report, has_errors
from trainc.api.settings import Settings, environment_name, environments_of, merge_diagnostics, settings_of
from trainc.features.cluster.fits.judging import judge_jobs
from trainc.pipeline.failures import left_out_warning

if TYPE_CHECKING:
    from trainc.features.cluster.fits.answer import Fits


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile, evaluate, and print the answers; errors go to stderr."""
    try:
        environments = {environment_name(env): settings_of(env) for env in environments_of(arguments)}
    except CompileError as error:
        return _report({"": error.diagnostics}, Files(), arguments, streams)
    clusters = {name: arguments.cluster or settings.configuration.cluster for name, settings in environments.items()}
    if not any(clusters.values()):
        raise UsageError(
            "--cluster DIR is missing, and trainc.yaml has no `cluster:`; `trainc help dump` says how to make one"
        )
    stdin = read_stdin(next(iter(environments.values())), streams)
    judgements = {
        name: _judge(environments[name], cluster, stdin, streams) for name, cluster in clusters.items() if cluster
    }
    streams.progress.clear()
    _print({name: answers for name, (answers, _) in judgements.items() if answers}, arguments, streams)
    reported = {name: diagnostics for name, (_, diagnostics) in judgements.items()}
    return _report(reported, Files(stdin), arguments, streams)


def _judge(settings: Settings, cluster: str, stdin: bytes, streams: Streams) -> tuple[Fits | None, list[Diagnostic]]:
    """The answers for one environment, None if there are none, and the diagnostics."""
    compiling = start(settings, stdin, step=streams.progress.step, output=settings.output)
    jobs, left = list(compiling.jobs()), []
    if has_errors(compiling.diagnostics):
        failures = compiling.failures()
        jobs = [job for job in jobs if not failures.concerns(job)]
        if failures.fatal or not jobs:
            return None, compiling.diagnostics
        left = [*(d for d in compiling.diagnostics if d.severity == "error"), left_out_warning(failures)]
    judgement = judge_jobs(
        jobs,
        compiling.inputs.documents,
        cluster,
        settings.options,
        session=compiling.session,
        over=streams.progress.over,
    )
    if judgement.answers and not judgement.answers.alone:
        hint = "pass the file or folder with your TrainJobs"
        message = f"no TrainJob and no JobSet found in {', '.join(settings.paths)}, so there is nothing to judge"
        return None, [Diagnostic("NoTrainJob", "error", message, hint)]
    return judgement.answers, [*left, *compiling.session.rules(judgement.diagnostics, judgement.answers is None)]


def _print(answers: Mapping[str, Fits], arguments: Arguments, streams: Streams) -> None:
    """Print the answers, under the name of each environment if trainc.yaml defines any."""
    from trainc.features.cluster.fits.forms import fits_json, fits_text

    if arguments.format == "text":
        for name, fits in answers.items():
            text = (f"{name}:\n" if name else "") + escape_report(fits_text(fits))
            streams.out.write(text.encode("utf-8", "backslashreplace"))
    elif arguments.format == "json" and answers:
        import json

        forms = {name: fits_json(fits) for name, fits in answers.items()}
        document = forms.get("") or {"environments": forms}
        streams.out.write(escape_report(json.dumps(document, indent=2) + "\n", json=True).encode())


def _report(
    diagnostics: Mapping[str, Sequence[Diagnostic]], files: Files, arguments: Arguments, streams: Streams
) -> Status:
    """Show the diagnostics; the exit status reflects whether they contain errors."""
    return report(merge_diagnostics(diagnostics), arguments, streams, files)
