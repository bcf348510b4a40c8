"""Commands about a single TrainJob: which one their JOB argument means, how it is read, and how it is compiled."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any, NamedTuple

from trainc.cli.command import Arguments, Streams, UsageError
from trainc.cli.compiling import kept_in
from trainc.cli.diagnostics import Files
from trainc.cli.reporting import report
from trainc.cli.settings import Settings
from trainc.emit.name_hash import ALPHABET, LENGTH, job_in
from trainc.explain.select_job import Edit, NoSuchJobError, OneJob, compile_one, split_job
from trainc.features import ask
from trainc.findings import CompileError, Diagnostic
from trainc.findings.text import did_you_mean, first_of
from trainc.kube.documents import identity_of
from trainc.kube.jobset import JobSet
from trainc.kube.names import JOB_KINDS
from trainc.output.ownership import source_in
from trainc.pipeline.inputs import Inputs
from trainc.project.configuration import Configuration
from trainc.project.dialects import is_trainer_document
from trainc.project.settings_file import read_configuration
from trainc.reading.files import READ_SUFFIXES, STDIN
from trainc.reading.opening import read_bounded
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace

_GIT = "git:"
_POD = pattern(r"(?P<job>.+)-(?P<index>\d{1,9})(?:-[a-z0-9]{5})?")
_NUMBER = pattern(r"0|[1-9]\d{0,8}")
_HASH = pattern(rf"-[{ALPHABET}]{{{LENGTH}}}(?=-|$)")
# Kubernetes cuts what is before a pod's random suffix. Source: kubernetes/apiserver pkg/storage/names/generate.go.
_LONGEST_GENERATED = 58


@dataclass(frozen=True, slots=True)
class JobQuery:
    """What a word means before anything is compiled: a job of the input, or a name that is yet to be looked up."""

    job: str | None = None
    name: str = ""


@contextmanager
def input_of(arguments: Arguments) -> Iterator[tuple[Arguments, JobQuery]]:
    """Yield the arguments with the paths to read, and what to look for in them.

    For `git:REV:PATH`, the current folder is that of the revision inside the context. Raises CompileError if the revision
    cannot be read, and UsageError.
    """
    word = arguments.job
    if not word.startswith(_GIT) or os.path.lexists(split_job(word)[0]):
        yield _placed(arguments)
        return
    from trainc.cli.revisions import copy_of_revision, here, path_from_top

    revision, colon, path = word.removeprefix(_GIT).partition(":")
    if not revision or revision.startswith("-") or not path:
        raise UsageError(f"{word!r} has no {'path' if colon or revision else 'revision'}; write git:REV:PATH")
    repository = here()
    path, chosen = split_job(path)
    with copy_of_revision(revision, arguments) as copy:
        inside = os.path.relpath(path_from_top(path, repository), repository.prefix or ".")
        if not os.path.lexists(inside) and _looks_like_a_path(inside):
            outputs = (of.output for _, of in _environments(copy.arguments))
            tried = (os.path.join(output, *inside.split("/")[-2:]) for output in outputs if output)
            near = " or ".join(dict.fromkeys(filter(os.path.isfile, tried)))
            hint = f"did you mean {near}?" if near else f"`git ls-tree -r --name-only {revision}` lists its files"
            message = f"{inside} does not exist in {_GIT}{revision}"
            raise CompileError([Diagnostic("NoSuchPath", "error", message, hint)])
        copy.arguments.job = inside if chosen is None else f"{inside}#{chosen}"
        yield _placed(copy.arguments)


def _placed(arguments: Arguments) -> tuple[Arguments, JobQuery]:
    path, chosen = split_job(arguments.job)
    arguments.paths = [path]
    if path == STDIN:
        return arguments, JobQuery(chosen)
    if os.path.isfile(path) and not os.path.islink(path) and (source := source_in(path)) is not None:
        return _of_rendered(path, source, chosen, arguments)
    if os.path.lexists(path) or chosen is not None or _looks_like_a_path(path):
        return arguments, JobQuery(chosen)
    arguments.paths = []
    return arguments, JobQuery(name=path)


def _looks_like_a_path(word: str) -> bool:
    return word.endswith(READ_SUFFIXES) or word.startswith((".", os.sep)) or word.count("/") > 1


def _of_rendered(path: str, source: str, chosen: str | None, arguments: Arguments) -> tuple[Arguments, JobQuery]:
    name = job_in(path)
    for environment, configuration in _environments(arguments):
        inside = "" if configuration.output is None else os.path.relpath(path, configuration.output)
        if inside and not inside.startswith(os.pardir):
            arguments.paths = []
            arguments.env = [environment] if environment else arguments.env
            return arguments, JobQuery(chosen or f"{os.path.dirname(inside)}/{name}".lstrip("/"))
    arguments.paths = [source]
    return arguments, JobQuery(chosen or name)


def _environments(arguments: Arguments) -> Iterator[tuple[str, Configuration]]:
    """The environments that may have the job, by name; without any, the settings themselves under an empty name."""
    configuration = read_configuration([], arguments.config, Settings.limits_of(arguments))
    for environment in Settings.environments_of(arguments.but(paths=[])):
        name = environment.env[0] if environment.env else ""
        yield name, configuration.environments.get(name, configuration)


def choose_environment(name: str, arguments: Arguments) -> None:
    """Set the environment whose rendered files have the JobSet or pod `name`, if there are several environments."""
    from trainc.output.folder import jobs_of

    best: dict[int, list[str]] = {}
    for environment, configuration in _environments(arguments):
        jobs = jobs_of(configuration.output, name) if environment and configuration.output is not None else ()
        for _, _, jobset in jobs[:1]:
            best.setdefault(len(jobset), []).append(environment)
    having = best[max(best)] if best else []
    if len(having) > 1:
        raise UsageError(f"{name} is in the environments {first_of(having)}; choose one with --env NAME")
    if having:
        arguments.env = having


def candidates(query: JobQuery, settings: Settings, inputs: Inputs) -> list[tuple[str | None, str]]:
    """The jobs that may be meant, the most likely first, each with the name of its JobSet; empty if that is not known.

    Raises NoSuchJobError if there is none.
    """
    from trainc.output.folder import jobs_of

    name = query.name or query.job
    if name is None:
        return [(None, "")]
    trainjobs = _trainjobs(inputs, settings.options.namespace or "")
    in_namespace, _, plain = name.rpartition("/")
    if any(plain == job and in_namespace in ("", namespace) for namespace, job in trainjobs):
        return [(name, "")]
    rendered = jobs_of(settings.output, name) if settings.output is not None else []
    matches: list[tuple[str | None, str]] = [
        (f"{namespace}/{job}".lstrip("/"), jobset) for namespace, job, jobset in rendered
    ]
    # Without a rendered file, the hash of a name is not compared: it may be that of an earlier build.
    for namespace, job in sorted(trainjobs if query.name else (), key=lambda trainjob: -len(trainjob[1])):
        if in_namespace in ("", namespace) and plain.startswith(f"{job}-"):
            full_name, hashed = f"{namespace}/{job}".lstrip("/"), _HASH.match(plain, len(job))
            matches += [(full_name, plain[: hashed.end()]), (full_name, job)] if hashed else [(full_name, job)]
    if matches or not query.name:
        return matches or [(name, "")]
    names = ["/".join(trainjob).lstrip("/") for trainjob in trainjobs]
    hint = "and there is no TrainJob in the input"
    if names:
        hint = did_you_mean(name, [*names, *(job for _, job in trainjobs)]) or f"the TrainJobs are {first_of(names)}"
    raise NoSuchJobError(f"there is no file, TrainJob, JobSet or pod {name}; {hint}")


def _trainjobs(inputs: Inputs, default_namespace: str) -> list[tuple[str, str]]:
    """The TrainJobs, and the JobSets that are sources themselves."""
    jobs = [d for d in inputs.documents if d.data.get("kind") in JOB_KINDS and is_trainer_document(d.data)]
    identities = (identity_of(document.data) for document in (*jobs, *inputs.jobsets))
    return [(namespace or default_namespace, name) for namespace, name in identities]


class Pod(NamedTuple):
    """A pod of a job: its step, the number of its Job in the step, and its number in that."""

    name: str
    step: str
    replica: int
    number: int

    def text(self, ranks: str) -> str:
        """What is known about the pod, in one line."""
        job = f"Job {self.replica}, " if self.replica else ""
        return f"pod {self.name}: step {self.step}, {job}pod {self.number}{ranks and f', {ranks}'}\n"


def other_build(manifests: Sequence[Mapping[str, Any]], jobset: str) -> str:
    """Say that a JobSet is of another build of the job than the one in git; empty if it is not."""
    names = [str(manifest["metadata"]["name"]) for manifest in manifests if manifest["kind"] == "JobSet"]
    return "" if not jobset or jobset in names else f"{jobset} is of another build of this job; git has {names[0]}\n"


def pod_of(manifests: Sequence[Mapping[str, Any]], jobset: str, name: str) -> Pod | None:
    """The pod `name` of a compiled job whose JobSet is called `jobset` in the cluster; None if it has no such pod."""
    name = name.rpartition("/")[2]
    parts = _POD.fullmatch(name)
    if parts is None:
        return None
    index, job_name = int(parts["index"]), parts["job"]
    is_cut = len(job_name) == _LONGEST_GENERATED - len(f"-{parts['index']}-")
    for job in (job for built in JobSet.among(manifests) for job in built.jobs):
        # `NAME-STEP-REPLICA`, of which the end may be cut off in a long name.
        start = f"{jobset}-{job.name}-"
        number = _NUMBER.fullmatch(job_name.removeprefix(start)) if job_name.startswith(start) else None
        replica = 0 if is_cut and start.startswith(job_name) else int(number[0]) if number else None
        if replica is not None and replica < job.replicas and index < job.indexes:
            return Pod(name, job.name, replica, index)
    return None


# What commands about a single TrainJob share: their JOB argument, and how it is read and compiled.


def compiled_job(
    arguments: Arguments, streams: Streams, edit: Edit | None = None, *, in_git: bool = False
) -> tuple[OneJob, Settings] | None:
    """Compile the job after applying `edit`; None if the input was refused, which has been reported.

    With `in_git`, the objects of a job that is kept as built are those of its rendered file. Raises UsageError if there
    is no such job.
    """
    stdin = b""
    try:
        with input_of(arguments) as (placed, query):
            # Kept, because a diagnostic may quote a line of it.
            stdin = (
                read_bounded(streams.stdin, Settings.limits_of(placed).file_bytes) if placed.paths == [STDIN] else b""
            )
            if query.name:
                choose_environment(query.name, placed)
            settings = Settings.of(placed)
            return _compiled(query, settings, settings.read(BytesIO(stdin)), Files(stdin), edit, in_git), settings
    except CompileError as error:
        report(error.diagnostics, arguments, streams, Files(stdin))
        return None
    except NoSuchJobError as error:
        raise UsageError(str(error)) from None


def _compiled(  # noqa: PLR0913, PLR0917 - each is a part of the question
    query: JobQuery, settings: Settings, inputs: Inputs, files: Files, edit: Edit | None, in_git: bool
) -> OneJob:
    """Compile the first candidate that has the pod that is asked for, or the only one."""
    keeping = kept_in(settings.output, settings, inputs.documents) if in_git else None
    name = (query.name or query.job or "").rpartition("/")[2]
    for job, jobset in candidates(query, settings, inputs):
        outcome = compile_one(inputs, job, settings.options, settings.policy(files.text), edit, keeping)
        manifests = outcome.compiled.manifests
        if jobset in ("", name):
            return replace(outcome, found_by=other_build(manifests, jobset))
        if pod := pod_of(manifests, jobset, name):
            ranks = ask("graph", "ranks of pod")
            numbers = ranks(manifests, pod.step, pod.replica, pod.number) if ranks else ""
            description = pod.text(numbers) + other_build(manifests, jobset)
            return replace(outcome, found_by=description, pod={**pod._asdict(), "ranks": numbers})
    raise NoSuchJobError(f"there is no TrainJob, JobSet or pod {name}; the job of that name has no such pod")
