"""What `trainc import` does."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO, StringIO

from trainc import __version__
from trainc.api.admission import updates
from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.cluster import Dump, live_objects
from trainc.api.command import report
from trainc.api.documents import opening, yaml_reader
from trainc.api.findings import CompileError, aligned, counted, escape_line, escape_report, first_of
from trainc.api.kube import Unchecked, identity_of, names, releases
from trainc.api.output import BuildLine, dump_yaml, ownership
from trainc.api.records import dataclass, field
from trainc.api.settings import Options, Settings
from trainc.features.cluster.import_.reading import (
    SNAPSHOT,
    STATES,
    Import,
    ImportedJob,
    Reader,
    as_applied,
    literal_secrets,
)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Read the dump, write the files, and print the table."""
    if arguments.adopt and not arguments.output:
        raise UsageError("--adopt needs -o DIR, below the `sources` of trainc.yaml")
    try:
        settings = _settings(arguments)
        dump = _dump(arguments.dump, settings, streams)
        folder = arguments.output or ""
        runtimes = os.path.relpath(settings.runtimes[0], folder or ".") if settings.runtimes else "runtimes"
        release = settings.options.release or releases.NEWEST_RELEASE
        imported = Reader(dump, release, settings.options.limits, runtimes).read()
        if not arguments.output:
            streams.write("---\n".join(imported.files.values()))
            streams.err.write(_report(imported, dump, "", arguments))
            return Status.DIAGNOSED if imported.problems else Status.DONE
        _write(folder, imported.files, imported.problems)
        adoption = _adopt(imported, dump, release, arguments) if arguments.adopt else None
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    text = _report(imported, dump, folder, arguments)
    if adoption is not None:
        text += _lines(_next_steps(adoption, settings))
    streams.write(text)
    problems_of_adoption = adoption.problems if adoption is not None else []
    streams.err.write(_lines(f"trainc import: {problem}" for problem in problems_of_adoption))
    return Status.DIAGNOSED if imported.problems or problems_of_adoption else Status.DONE


def _dump(path: str, settings: Settings, streams: Streams) -> Dump:
    dump, problems = Dump.read(path, settings.options.limits, streams.stdin)
    if dump is None:
        raise CompileError(problems)
    return dump


def _settings(arguments: Arguments) -> Settings:
    arguments.paths = []
    if not arguments.adopt:
        return Settings.of(arguments)
    chosen = Settings.environments_of(arguments)
    if len(chosen) > 1:
        raise UsageError("--adopt writes to one output folder; choose an environment with --env NAME")
    arguments.env = chosen[0].env
    settings = Settings.of(arguments)
    if settings.output is None or settings.configuration.rebuild != "changed-jobs":
        needed = "`output` and `rebuild: changed-jobs` in trainc.yaml"
        raise UsageError(f"--adopt needs {needed}: else the next build compiles the jobs")
    return settings


def _write(folder: str, files: Mapping[str, str], problems: list[str]) -> None:
    """Write files that are not there yet; one that is there with another content is a problem."""
    for path, text in files.items():
        target = os.path.normpath(os.path.join(folder, path))
        parts = os.path.normpath(path).split(os.sep)
        # A path upward is the folder of runtimes in trainc.yaml, whose links are checked when that is read.
        inside = (os.path.join(folder, *parts[:count]) for count in range(1, len(parts) + 1) if parts[0] != os.pardir)
        if link := next(filter(os.path.islink, inside), ""):
            problems.append(f"{target} was not written: {link} is a symbolic link")
            continue
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        try:
            opening.write_file(target, text, new=True)
        except FileExistsError:
            if not os.path.isfile(target) or opening.read_file(target, 10_000_000).decode(errors="replace") != text:
                problems.append(f"{target} is there already, and was not overwritten")


def _adopt(imported: Import, dump: Dump, release: str, arguments: Arguments) -> Adoption:
    from trainc.api.kept import kept

    settings = Settings.of(arguments)
    digests = kept.digests_of(settings.read(BytesIO()).documents, settings.options)
    jobs = [job for job in imported.jobs if job.kind == "TrainJob"]
    home = os.path.dirname(settings.configuration.file or "") or os.curdir
    sources = {}
    for job in jobs:
        if (digest := digests.get((job.namespace, job.name))) is not None:
            file = os.path.realpath(os.path.join(arguments.output, job.path))
            sources[job.job] = os.path.relpath(file, os.path.realpath(home)).replace(os.sep, "/"), digest
    adoption = adopt(dump, release, jobs, sources)
    assert settings.output is not None
    _write(settings.output, adoption.files, adoption.problems)
    return adoption


def _report(imported: Import, dump: Dump, folder: str, arguments: Arguments) -> str:
    jobs = ((job, os.path.join(folder, job.path)) for job in imported.jobs)
    rows = [(job.job, STATES.get(job.state, "unknown"), job.runtime, path) for job, path in jobs]
    lines = aligned([("job", "state", "runtime", "file"), *rows]) if rows and not arguments.quiet else []
    states = Counter(state.partition(" ")[0] for _, state, _, _ in rows)
    in_order = (state for state in ("running", "suspended", "finished", "unknown") if states[state])
    listed = ", ".join(f"{states[state]} {state}" for state in in_order)
    lines.append(f"{counted(len(rows), 'job')}{listed and ': '}{listed}")
    if imported.removed:
        lines.append(f"{counted(imported.removed, 'value')} removed that the cluster had set")
    if finished := [job.job for job in imported.jobs if STATES.get(job.state, "").startswith("finished")]:
        again = "it" if len(finished) == 1 else "each of them"
        rerun = f"a sync would run {again} again: {first_of(finished)}"
        lines.append(f"note: {rerun}; remove what you do not need, or use --adopt")
    if not rows and not imported.problems:
        held = ", ".join(
            f"{count} {kind}" for kind, count in sorted(Counter(str(each["kind"]) for each in dump).items())
        )
        lines.append(f"note: nothing to import in {arguments.dump}, which has {held or 'no objects'}; write to it")
        lines.append("    kubectl get trainjobs,clustertrainingruntimes,trainingruntimes,jobsets -A -o yaml")
    lines += [f"note: {note}" for note in imported.notes]
    lines += [f"not imported: {problem}" for problem in imported.problems]
    return _lines(lines)


def _lines(lines: Iterable[str]) -> str:
    return escape_report("".join(f"{escape_line(line)}\n" for line in lines))


def _next_steps(adoption: Adoption, settings: Settings) -> Iterator[str]:
    jobs: list[ImportedJob] = adoption.jobs
    if not jobs:
        return
    yield f"{counted(len(jobs), 'job')} adopted in {settings.output}. Next:"
    paths = [f"{settings.output}/{path}" for path in adoption.files]
    adopts = settings.configuration.adopts
    if globs := sorted({f"{os.path.dirname(path)}/*.yaml" for path in paths if not adopts(path)}):
        line = f"`adopted: [{', '.join(globs)}]`"
        merge = f"trainc.yaml alone, which now has {line}" if _grant(globs, settings) else f"{line} in trainc.yaml"
        yield f"- first merge {merge}: without it `trainc build --check` fails"
    yield "- merge these files, and let the GitOps tool apply them: nothing restarts"
    yield "- then take the jobs from Trainer's controller, without their JobSets:"
    for namespace in sorted({job.namespace for job in jobs}):
        names = " ".join(job.name for job in jobs if job.namespace == namespace)
        yield f"    kubectl delete trainjobs.trainer.kubeflow.org -n {namespace} --cascade=orphan {names}"
    if adoption.queued:
        yield f"- in a queue: {first_of(adoption.queued)}. Kueue counts the TrainJob, not its JobSet, which then runs outside the quota"


def _grant(globs: Sequence[str], settings: Settings) -> bool:
    """Add globs to `adopted` in trainc.yaml, and return whether that was possible."""
    file = settings.configuration.file or ""
    text = opening.read_file(file, settings.options.limits.file_bytes).decode(errors="replace")
    changed = with_adopted(text, globs)
    if changed is not None:
        opening.write_file(file, changed)
    return changed is not None


def with_adopted(text: str, globs: Sequence[str]) -> str | None:
    """Add globs to `adopted` of a trainc.yaml, with every other line as it is written; None where that fails.

    It fails where ruamel.yaml would write the text differently even without a change: with several indentations, say.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.util import load_yaml_guess_indent

    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, len(text) + 10_000

    def written() -> str:
        stream = StringIO()
        yaml.dump(data, stream)
        return stream.getvalue()

    try:
        _, indent, offset = load_yaml_guess_indent(text)
        for step in (2, 4):
            yaml.indent(mapping=step, sequence=indent or step, offset=offset or 0)
            data = yaml.load(text)
            if written() == text:
                break
        else:
            return None
        if not isinstance(data.setdefault("adopted", []), list):
            return None
        data["adopted"] += globs
        changed = written()
    except YAMLError:
        return None
    return (
        changed
        if yaml_reader.read_value(changed) == {**yaml_reader.read_value(text), "adopted": list(data["adopted"])}
        else None
    )


# Write the rendered files of jobs as the cluster has them, so that applying them restarts nothing. What trainc compiles
# is never what Trainer's controller made: another label is enough for JobSet to refuse the update. So the file of a job
# that runs starts from what is live. It is kept as built until the TrainJob changes.


# The order in which a build writes them; Secrets are not read.
_KINDS = ("ConfigMap", "PodGroup", "JobSet")


@dataclass(slots=True)
class Adoption:
    """The texts of rendered files by their paths in the output folder, the jobs in them, and why others stay out."""

    files: dict[str, str] = field(default_factory=dict)
    jobs: list[ImportedJob] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)


def adopt(dump: Dump, release: str, jobs: Sequence[ImportedJob], sources: Mapping[str, tuple[str, str]]) -> Adoption:
    """Adopt TrainJobs of a dump; `sources` has the source and digest of each, by NAMESPACE/NAME."""
    by_job: dict[tuple[str, str], list[Unchecked]] = {}
    for manifest in dump:
        owner = live_objects.controller_of(manifest)
        if owner is not None and owner.get("kind") == "TrainJob" and manifest.get("kind") in _KINDS:
            by_job.setdefault((identity_of(manifest)[0], str(owner.get("name"))), []).append(manifest)
    adoption = Adoption()
    for job in jobs:
        live = sorted(by_job.get((job.namespace, job.name), ()), key=lambda manifest: _KINDS.index(manifest["kind"]))
        if not live or live[-1]["kind"] != "JobSet":
            adoption.problems.append(f"{job.job}: there is no JobSet of it in the dump to adopt")
        elif job.job not in sources:
            adoption.problems.append(f"{job.job}: trainc.yaml does not read its file; choose -o below `sources`")
        elif problem := _why_not_adopted(live, release):
            adoption.problems.append(f"{job.job}: {problem}")
        else:
            source, digest = sources[job.job]
            line = BuildLine(digest, __version__, release)
            objects = [as_applied(item) for item in live if not identity_of(item)[1].endswith(SNAPSHOT)]
            path = ownership.file_name(job.namespace, job.name)
            adoption.files[path] = f"{ownership.first_line(source)}{line}{dump_yaml(objects)}"
            adoption.jobs.append(job)
            trainjob = dump.get("TrainJob", job.namespace, job.name)
            if trainjob is not None and names.QUEUE_LABEL in live_objects.labels_of(trainjob):
                adoption.queued.append(job.job)
    return adoption


def _why_not_adopted(live: Sequence[Unchecked], release: str) -> str:
    """Why a job cannot be adopted; empty if it can."""
    if variables := literal_secrets(list(live)):
        return f"its JobSet has the value of {first_of(variables)}, which must not reach git and cannot change while it exists"
    jobset = live[-1]
    if jobset.get("apiVersion") != names.JOBSET_API:
        return f"trainc adopts JobSets of {names.JOBSET_API}"
    refused = updates.refusals(dict(jobset), as_applied(jobset), Options(release=release))
    return f"applying it would be refused: {refused[0].path}: {refused[0].message}" if refused else ""
