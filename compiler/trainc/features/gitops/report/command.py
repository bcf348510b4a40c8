"""What `trainc report` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.cluster import Dump, live_objects
from trainc.api.command import compile_every, compiling, report
from trainc.api.documents import Document, label_of, opening, yaml_reader
from trainc.api.findings import CompileError, Diagnostic, Finding, counted, escape_xml, has_errors, policy
from trainc.api.jobs import JobSet, Judge, OneJob, Session
from trainc.api.kube import Json, Manifest, documents, identity_of, releases
from trainc.api.output import dump_yaml
from trainc.api.plugins import Plugin, enabled
from trainc.api.records import dataclass, replace
from trainc.api.settings import Options, Settings, merge_diagnostics
from trainc.features import ask
from trainc.features.gitops.report.overview import Overview, Quotas, node_types, overview_of
from trainc.features.gitops.report.page import Details, Heading, Job, Link, link_into, objects_of, page, row_of

# The state of a JobSet, by its environment, namespace and name.
_States: TypeAlias = Callable[[str, str, str], str]
_Draw: TypeAlias = "Callable[[int, OneJob, _Facts], Job]"
# Of more jobs, or more lines of YAML, the page has neither pictures nor the origin of every field.
MOST_IN_FULL = 20
# Of one job; of a longer one, not all origins are recorded.
_MOST_LINES = 3_000
_TEXTS = ("title", "revision", "date")


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile every job under observation and write the page."""
    with yaml_reader.reading_once():
        return _run(arguments, streams)


def _run(arguments: Arguments, streams: Streams) -> Status:
    if arguments.source_url and not arguments.source_url.startswith(("https://", "http://")):
        raise UsageError(f"argument --source-url: {arguments.source_url!r} does not start with https://")
    link = link_into(arguments.source_url, "" if arguments.output == "-" else os.path.dirname(arguments.output))
    try:
        environments = {env.environment: Settings.of(env) for env in Settings.environments_of(arguments)}
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    compiled: dict[str, list[OneJob]] = {}
    diagnostics: dict[str, list[Diagnostic]] = {}
    refused: dict[str, list[Diagnostic]] = {}
    facts: dict[str, _Facts] = {}
    sessions: dict[str, Session] = {}
    for name, settings in environments.items():
        try:
            inputs = settings.read(streams.stdin, step=streams.progress.step)
            keeping = compiling.kept_in(settings.output, settings, inputs.documents)
            compiled[name], diagnostics[name], sessions[name] = compile_every(
                inputs, settings.options, settings.policy(), keeping
            )
            if not compiled[name] and not arguments.allow_empty:
                nothing = compiling.nothing_found(settings, diagnostics[name], inputs)
                refused[name] = [*diagnostics[name], *nothing]
                continue
            facts[name] = _Facts.of(settings, compiled[name], inputs.documents, keeping.text if keeping else dump_yaml)
            diagnostics[name] += facts[name].problems
        except CompileError as error:
            refused[name] = error.diagnostics
    streams.progress.clear()
    if refused:
        merged = merge_diagnostics({name: refused.get(name, ()) for name in environments})
        return report(merged, arguments, streams)
    guard = Finding.Guard("what is to show of it", "its drawing")
    try:
        states = _states(arguments, environments, streams, guard)
        since = ask("diff", "since") if arguments.since else None
        changes = since(arguments.since, arguments, streams, sessions) if since else None
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    manifests = [job.compiled.manifests for its_jobs in compiled.values() for job in its_jobs]
    in_full = arguments.full or (
        len(manifests) <= MOST_IN_FULL
        and max((dump_yaml(of_job).count("\n") for of_job in manifests), default=0) <= _MOST_LINES
    )
    draw, changed = partial(_job, link=link, in_full=in_full), {} if in_full else changes or {}
    jobs = _jobs(compiled, facts, states, draw, streams, changed, guard)
    streams.progress.clear()
    overview = Overview()
    with guard("the page"):
        overview = overview_of(
            jobs,
            {name: env_facts.quotas for name, env_facts in facts.items()},
            {name: env_facts.queues_now for name, env_facts in facts.items() if env_facts.queues_now},
            {name: settings.configuration for name, settings in environments.items()},
        )
    # Whatever bytes the shell passed, the page is UTF-8.
    title, revision, date = (getattr(arguments, name).encode("utf-8", "backslashreplace").decode() for name in _TEXTS)
    merged = [*merge_diagnostics(diagnostics), *guard.diagnostics, *(changes or {}).get("failures", ())]
    reported = [d for d in merged if d.severity == "error" or d.code in {"LeftOut", "KeptCannotRebuild"}]
    status = report(reported, arguments, streams)
    text = escape_xml(page(jobs, merged, overview, Heading(title, revision, date, changes), link))
    if arguments.output == "-":
        streams.write(text)
        return status
    opening.write_file(arguments.output, text)
    if not arguments.quiet:
        streams.err.write(f"{arguments.output}: {counted(len(jobs), 'job')}\n")
    return status


def _jobs(  # noqa: PLR0913, PLR0917 - what is known of them, and how they are drawn
    compiled: Mapping[str, Sequence[OneJob]],
    facts: Mapping[str, _Facts],
    states: _States,
    draw: _Draw,
    streams: Streams,
    changes: Mapping[str, Any],
    guard: Finding.Guard,
) -> list[Job]:
    """The jobs that can be drawn, of which those that stand for a change have a picture."""
    jobs: list[Job] = []
    changed = {name for row in changes.get("rows", ()) for name in row["jobs"][:1]}
    for name, its_jobs in compiled.items():
        for one in streams.progress.over("drawing", its_jobs):
            with guard(one.label or f"TrainJob {documents.qualified(one.compiled.namespace, one.compiled.name)}"):
                job = draw(len(jobs), one, facts[name])
                job = replace(job, environment=name, state=states(name, job.row.namespace, job.jobset))
                if not changed.isdisjoint(job.names):
                    picture = _picture(one.compiled.manifests, enabled(facts[name].options.plugins))
                    job = replace(job, picture=picture)
                jobs.append(job)
    return jobs


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the settings of an environment say about its jobs: the answers of the cluster, and the judge of policies."""

    options: Options
    rules: policy.Rules
    answers: Mapping[str, tuple[str, str, Mapping[str, str]]]
    quotas: Quotas
    queues_now: Json
    judge: Judge | None
    problems: Sequence[Diagnostic]
    text: Callable[[Sequence[Manifest]], str]

    @classmethod
    def of(
        cls,
        settings: Settings,
        compiled: Sequence[OneJob],
        documents: Sequence[Document],
        text: Callable[[Sequence[Manifest]], str],
    ) -> _Facts:
        """Ask the features that know, as far as trainc.yaml names a cluster and policies."""
        rules, cluster = settings.policy(), settings.configuration.cluster
        judge, problems = compiling.judge_of(settings)
        if has_errors(problems):
            raise CompileError(problems)
        facts = None if cluster is None else ask("fits", "facts")
        jobs = [job.compiled for job in compiled]
        known: tuple[Any, Any, Any, list[Diagnostic]] = {}, {}, {}, []
        guard = Finding.Guard("what the cluster can run", path=())
        with guard(cluster or ""):
            known = facts(jobs, documents, cluster, settings.options) if facts else known
        failed = [*rules([*problems, *known[3]], False), *guard.diagnostics]
        return cls(settings.options, rules, *known[:3], judge, failed, text)

    def policy_findings(self, job: OneJob) -> list[Diagnostic]:
        """What the policies say about a job."""
        result = job.recorder.result
        if self.judge is None or result is None or result.job is None:
            return []
        findings = [replace(finding, about=label) for label, finding in self.judge(job.compiled.manifests)]
        return self.rules(map(result.job.diagnose_built, findings), False)


def _states(
    arguments: Arguments, environments: Mapping[str, Settings], streams: Streams, guard: Finding.Guard
) -> _States:
    """The state of each JobSet or TrainJob in the dump; without one, what has finished by those that trainc.yaml names."""
    if not arguments.live:
        from trainc.api.kept import kept

        base = arguments.since and arguments.since.removeprefix("git:").removesuffix("...")
        configured = {name: settings.configuration for name, settings in environments.items()}
        known = {name: kept.states_of_jobsets(one, one, arguments, base) for name, one in configured.items()}
        return lambda environment, *key: "finished" if known[environment].get(key) == "finished" else ""
    limits = next(iter(environments.values())).options.limits
    dump, problems = Dump.read(arguments.live, limits, streams.stdin)
    if dump is None:
        raise CompileError(problems)
    # The JobSet says more than the TrainJob of the same name.
    states = {}
    for item in (item for kind in reversed(live_objects.KINDS_WITH_STATE) for item in dump.of(kind).values()):
        with guard(label_of(item)):
            states[identity_of(item)] = live_objects.state_of(item)[0]
    return lambda _, *key: states.get(key, "not in the cluster")


def _job(number: int, job: OneJob, facts: _Facts, *, link: Link, in_full: bool) -> Job:
    name = documents.qualified(job.compiled.namespace, job.compiled.name)
    jobset = next(JobSet.among(job.compiled.manifests))
    word, fit, flavors = facts.answers.get(name, ("", "", {}))
    result, policy_findings = job.recorder.result, facts.policy_findings(job)
    runtime = "" if result is None or result.runtime is None else result.runtime.label
    types = node_types(jobset.jobs, flavors)
    return Job(
        anchor=f"job-{number + 1}",
        row=row_of(job.compiled.name, jobset, runtime.rpartition(" ")[2], job.compiled.manifests, types),
        label=job.label or f"TrainJob {name}",
        runtime=runtime,
        release=facts.options.release or releases.NEWEST_RELEASE,
        source=None if result is None else result.job.document.locate(()),
        jobset=jobset.name,
        steps=jobset,
        yaml="" if in_full else facts.text(job.compiled.manifests),
        diagnostics=(*job.diagnostics, *policy_findings),
        fit=(word, fit),
        denied=None if facts.judge is None else any(d.severity == "error" for d in policy_findings),
        details=_details(job, facts.options, link) if in_full else None,
    )


def _details(job: OneJob, options: Options, link: Link) -> Details:
    manifests, plugins = job.compiled.manifests, enabled(options.plugins)
    objects = objects_of(job.explain(options), [dump_yaml([manifest]) for manifest in manifests], link)
    text_of = ask("graph", "text")
    tree = "" if text_of is None else text_of(manifests, plugins)
    return Details(_picture(manifests, plugins), _picture(manifests, plugins, stacked=True), tree, objects)


def _picture(manifests: Sequence[Json], plugins: Sequence[Plugin], *, stacked: bool = False) -> str:
    """The picture, or an empty string if the feature or the extra for it is not installed."""
    svg_of = ask("graph", "svg")
    return "" if svg_of is None else str(svg_of(manifests, plugins, stacked=stacked))
