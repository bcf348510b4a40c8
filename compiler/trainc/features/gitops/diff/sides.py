"""The two sides of `trainc diff`: what the words of its command line stand for, and how each side is read."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from trainc.api.arguments import Arguments, Streams, UsageError
from trainc.api.command import compiling
from trainc.api.documents import Document, check, dialects, files, opening, yaml_reader
from trainc.api.explained import place
from trainc.api.findings import (
    CompileError,
    Diagnostic,
    Finding,
    Source,
    did_you_mean,
    has_errors,
    policy,
    sort_diagnostics,
)
from trainc.api.git import git, revisions
from trainc.api.jobs import CompiledJob, Inputs, Judge, Session, ValidDocument, failures
from trainc.api.kube import identity_of, mapping, names, releases
from trainc.api.output import Keeping, name_hash, ownership
from trainc.api.records import dataclass, field, replace
from trainc.api.settings import Configuration, Limits, Options, Settings, settings_file
from trainc.features.gitops.diff.model import Names

_GIT = "git:"
WORKING_TREE = "working tree"


@dataclass(frozen=True, slots=True)
class Side:
    """The source of one side: a path (None for the configured sources), in a revision or in the working tree.

    `release` and `runtime`, a name and a file, override those of the input. The folder `skip` is not entered.
    """

    label: str
    path: str | None = None
    revision: str | None = None
    release: str | None = None
    runtime: tuple[str, str] | None = None
    skip: str | None = None


@dataclass(frozen=True, slots=True)
class ReadSide:
    """A side after reading: its manifests, how they were compiled and are delivered, and where output is.

    `output_below` is the output folder if it is below the named path and no sources are. `cluster` has the objects of the
    snapshot, None without one or if it is `unread`; `judge` evaluates its policies, which `policy_problems` are about.
    The fields from `overlays` on are what decides beside the manifests' own sources; `templates` are texts, by file.
    """

    label: str
    manifest_set: ManifestSet
    options: Options
    output: str | None
    output_below: str | None = None
    cluster: list[dict[str, Any]] | None = None
    configuration: Configuration = Configuration()
    judge: Judge | None = None
    policy_problems: Sequence[Diagnostic] = ()
    overlays: Sequence[Any] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    settings: Document | None = None
    templates: Mapping[str, str] = field(default_factory=dict)
    sweeps: Sequence[Document] = ()
    unread: Sequence[Diagnostic] = ()

    @property
    def all_documents(self) -> list[Document]:
        """Return what was read, whether it is compiled or not."""
        inputs = self.manifest_set.inputs
        return [] if inputs is None else [*inputs.all_documents, *inputs.unselected, *inputs.elsewhere]

    @property
    def keeps(self) -> bool:
        """Return whether jobs are kept as built."""
        return self.configuration.rebuild == "changed-jobs"


def with_arguments(arguments: Arguments, **changes: Any) -> Arguments:
    """Return the arguments with other values for some."""
    return Arguments(**{**vars(arguments), **changes})


def sides_of(arguments: Arguments) -> tuple[Side, Side]:
    """The sides before and after. Raises UsageError if the arguments do not define two sides."""
    sides = [_side(word) for word in arguments.sides]
    if arguments.live:
        sides = _with_live(sides, arguments)
        if len(sides) == 1 and sides[0].revision is None:
            return sides[0], sides[0]
    if arguments.releases or arguments.runtime:
        variants = _variants(sides[0] if sides else Side(WORKING_TREE), arguments)
        if len(sides) > 1:
            raise UsageError("--releases and --runtime compare an input with itself; name only one")
        return variants
    if len(sides) > 2:
        raise UsageError("at most two inputs can be compared")
    if [side.path for side in sides].count(files.STDIN) > 1:
        raise UsageError("only one side can be -")
    if len(sides) == 2:
        return sides[0], sides[1]
    before = sides[0] if sides else Side(f"{_GIT}HEAD", revision="HEAD")
    if before.revision is None:
        return before, Side(WORKING_TREE, skip=before.path)
    if before.path is None:
        return before, Side(WORKING_TREE)
    path = os.path.relpath(
        os.path.join(git.repository_of(".").top, revisions.path_from_top(before.path, git.repository_of(".")))
    )
    return before, Side(path, path)


def _with_live(sides: list[Side], arguments: Arguments) -> list[Side]:
    """The sides of a comparison with a cluster: what is named, otherwise the output folder, otherwise the sources."""
    if arguments.releases or arguments.runtime:
        raise UsageError("--live compares with a cluster, --releases and --runtime an input with itself; choose one")
    if arguments.live == files.STDIN and files.STDIN in [side.path for side in sides]:
        raise UsageError("only one of A, B and --live can be -")
    if sides:
        return sides
    output = Settings.of(with_arguments(arguments, paths=[])).configuration.output
    return [Side(output, output) if output and os.path.exists(output) else Side(WORKING_TREE)]


def environments_of_sides(arguments: Arguments) -> list[Arguments]:
    """Like `Settings.environments_of`, for two sides: a revision without a path does not count as PATH.

    A folder that contains the output of several environments stands for all of them.
    """
    paths = [word for word in arguments.sides if not word.startswith(_GIT) or word.count(":") > 1]
    local = [word for word in paths if not word.startswith(_GIT)]
    environments = Settings.environments_of(with_arguments(arguments, paths=local))
    if len(paths) == 1 and local and not arguments.env:
        configured = settings_file.read_configuration(
            local, arguments.config, Settings.limits_of(arguments)
        ).environments
        outputs = {name: e.output for name, e in configured.items() if e.output and _is_within(e.output, local[0])}
        # Sources belong to every environment, unless an overlay selects one.
        sources = () if arguments.overlay or files.is_overlay_folder(local[0]) else configured
        environments = [
            with_arguments(arguments, env=[name], sides=[outputs.get(name, local[0])]) for name in outputs or sources
        ] or environments
    return environments


def releases_of(text: str) -> tuple[str, str]:
    """Parse `2.1..2.3` into two releases. Raises UsageError."""
    old, dots, new = text.partition("..")
    if not dots:
        raise UsageError(
            f"argument --releases: {text!r} does not have the form OLD..NEW, such as {releases.RELEASES[0]}..{releases.RELEASES[-1]}"
        )
    try:
        return releases.normalize_release(old), releases.normalize_release(new)
    except ValueError as error:
        raise UsageError(f"argument --releases: {error}") from None


def _side(word: str) -> Side:
    if not word.startswith(_GIT):
        if word != files.STDIN and not os.path.lexists(word) and _is_revision(word):
            raise UsageError(f"there is no file or folder {word}; to compare with the revision, write {_GIT}{word}")
        return Side("stdin" if word == files.STDIN else word, word)
    revision, colon, path = word.removeprefix(_GIT).partition(":")
    if not revision or revision.startswith("-"):
        raise UsageError(f"{word!r} has no revision; write git:REV or git:REV:PATH")
    old, dots, new = revision.partition("..")
    if dots and new == "." and old:
        return Side(word, path if colon else None, git.merge_base(git.repository_of("."), old))
    if dots:
        old, new = old or "HEAD", new.lstrip(".") or "HEAD"
        raise UsageError(f"{word!r} is a range; name both sides: {_GIT}{old} {_GIT}{new}")
    return Side(word, path if colon else None, revision)


def _is_revision(word: str) -> bool:
    try:
        return bool(git.commit_of(git.repository_of("."), word))
    except CompileError:
        return False


def _variants(side: Side, arguments: Arguments) -> tuple[Side, Side]:
    """An input unchanged, and with another release, another runtime, or both."""
    before, after = side, side
    labels = ["", ""]
    if arguments.releases:
        old, new = releases_of(arguments.releases)
        before, after = replace(before, release=old), replace(after, release=new)
        labels = [f", Trainer {old}", f", Trainer {new}"]
    if arguments.runtime:
        name, equals, file = arguments.runtime.partition("=")
        if not (name and equals and file):
            raise UsageError(f"argument --runtime: {arguments.runtime!r} does not have the form NAME=FILE")
        # A revision is read in a folder of its own.
        after = replace(after, runtime=(name, file if side.revision is None else os.path.abspath(file)))
        labels[1] += f", {name} from {file}"
    return replace(before, label=before.label + labels[0]), replace(after, label=after.label + labels[1])


@contextmanager
def _inside(revision: str, arguments: Arguments, path: str | None) -> Iterator[tuple[Arguments, str]]:
    """The current folder as of a revision: the arguments adapted to it, and its path relative to the root."""
    repository = git.repository_of(".")
    only = [] if path is None else _requested_paths(revisions.path_from_top(path, repository))
    with revisions.copy_of_revision(revision, arguments, only) as copy:
        moved = copy.arguments
        moved.paths = (
            []
            if path is None
            else [os.path.relpath(revisions.path_from_top(path, repository), repository.prefix or ".")]
        )
        if only and (copy.links or _refers_to_more(moved, Settings.limits_of(moved))):
            copy.add()
        yield moved, repository.prefix


def _requested_paths(path: str) -> list[str]:
    """A path from the root, and the settings files that may apply to it."""
    if os.path.isabs(path) or path.split(os.sep, maxsplit=1)[0] == os.pardir:
        return [opening.CONFIGURATION_FILE]  # The path does not exist in the revision, which is reported later.
    folders = [path]
    while folders[-1] not in ("", os.curdir, os.pardir):
        folders.append(os.path.dirname(folders[-1]))
    return [path, *(os.path.join(folder, opening.CONFIGURATION_FILE) for folder in folders)]


def _refers_to_more(arguments: Arguments, limits: Limits) -> bool:
    """Return whether compiling may require files of the repository other than the named ones."""
    if (
        arguments.config
        or arguments.overlay
        or arguments.runtimes
        or any(map(files.is_overlay_folder, arguments.paths))
    ):
        return True
    try:
        configuration = settings_file.read_configuration(arguments.paths, None, limits)
    except CompileError:
        return True  # Reported later.
    if configuration.overlay or configuration.runtimes:
        return True
    # A sweep has its base in any file.
    return any(dialects.is_sweep(document.data) for document in files.read_paths(arguments.paths, limits)[0])


def read_side(side: Side, arguments: Arguments, streams: Streams, other: ReadSide | None = None) -> ReadSide:
    """Read and compile one side. Raises CompileError with all its problems, using the file names the user gave.

    What `other` has in common with it is not judged again.
    """
    if side.revision is None:
        side_arguments = with_arguments(arguments, paths=[] if side.path is None else [side.path])
        return _compile_side(side, side_arguments, streams, other)
    with _inside(side.revision, arguments, side.path) as (moved, folder):
        try:
            result = _compile_side(side, moved, streams, other)
        except CompileError as error:
            raise CompileError(_of_revision(d, side.revision, folder) for d in error.diagnostics) from None
    reported = result.manifest_set.diagnostics
    diagnostics = [_of_revision(d, side.revision, folder) if d.severity == "error" else d for d in reported]
    return replace(result, manifest_set=replace(result.manifest_set, diagnostics=diagnostics))


def _compile_side(side: Side, arguments: Arguments, streams: Streams, other: ReadSide | None) -> ReadSide:
    arguments.release = side.release or arguments.release
    settings = Settings.of(arguments)
    configuration = settings.configuration
    if arguments.environment and configuration.environments and not configuration.environment:
        # It lacks this environment, and the others are not the same.
        return ReadSide(side.label, ManifestSet([], [], True), settings.options, None, configuration=configuration)
    output = configuration.output
    below = _only_output(output, settings)
    if below or (output and all(_is_within(path, output) for path in settings.paths)):
        # Compiled manifests have been patched already, and have no runtimes, which may be templates of an overlay's values.
        settings = replace(settings, overlays=(), runtimes=())
    requested = below or (output and any(_is_within(path, output) for path in settings.paths))
    skip = side.skip or (None if requested else output)
    inputs = settings.read(streams.stdin, skip, streams.progress.step)
    skipped = any(diagnostic.code == "SkippedDocument" for diagnostic in inputs.diagnostics)
    if skipped and files.STDIN not in settings.paths and not holds_jobs(inputs):
        # Some files of split output may contain only a ConfigMap.
        inputs = settings.read(streams.stdin, skip, streams.progress.step, everything=True)
    if side.runtime:
        name, file = side.runtime
        names = runtime_names(inputs)
        release = settings.options.release or releases.NEWEST_RELEASE
        if name not in names and not isinstance(inputs.catalog(name, release), Document):
            near = did_you_mean(name, names) or "`trainc runtimes` lists those that there are"
            raise UsageError(f"there is no runtime {name!r}; {near}")
        inputs = with_runtime(inputs, name, _one_runtime(file, settings.options))
    of_cluster, found = None, list[Diagnostic]()
    if (cluster := configuration.cluster) is not None and (os.path.exists(cluster) or cluster in configuration.missing):
        of_cluster, found = files.read_paths([cluster], settings.options.limits, everything=True)
    snapshot = None if of_cluster is None or has_errors(found) else [document.data for document in of_cluster]
    # What another release or runtime changes is a question about compiling.
    asks_compiler = bool(arguments.releases or arguments.runtime)
    keeping = None if asks_compiler else compiling.kept_in(settings.output, settings, inputs.documents)
    folder = os.path.dirname(configuration.file or "")
    like = other.manifest_set if other is not None and other.options == settings.options else None
    manifests = read_manifests(inputs, settings.options, settings.policy(), keeping, folder, like)
    judge, problems = compiling.judge_of(settings, of_cluster) if manifests.compiled else (None, [])
    return ReadSide(
        side.label,
        manifests,
        settings.options,
        output,
        below,
        snapshot,
        configuration,
        judge,
        problems,
        settings.overlays,
        settings.values,
        _settings_file(configuration, settings.options.limits),
        _template_texts(manifests),
        _sweeps(manifests, settings.options.limits),
        [d for d in found if d.severity == "error"],
    )


def _sweeps(manifests: ManifestSet, limits: Limits) -> list[Document]:
    paths = manifests.inputs.sweeps if manifests.inputs else ()
    read = (files.read_paths([file], limits)[0] for file in paths if os.path.isfile(file))
    return [document for documents in read for document in documents if dialects.is_sweep(document.data)]


def _settings_file(configuration: Configuration, limits: Limits) -> Document | None:
    if configuration.file is None:
        return None
    documents = yaml_reader.read_documents(
        opening.read_file(configuration.file, limits.file_bytes), configuration.file, limits
    )[0]
    return documents[0] if documents else None


def _template_texts(manifests: ManifestSet) -> dict[str, str]:
    """Return the texts of the templates that were filled in, by file."""
    documents = manifests.inputs.all_documents if manifests.compiled and manifests.inputs else []
    templates = dict.fromkeys(
        document.file for document in documents if document.file.endswith(files.TEMPLATE_SUFFIXES)
    )
    return {
        os.path.normpath(file): yaml_reader.decode(opening.read_file(file, Limits().file_bytes))
        for file in templates
        if os.path.isfile(file)
    }


def _only_output(output: str | None, settings: Settings) -> str | None:
    """The output folder, if it is strictly below one of the paths and none of the configured sources is."""
    configuration = settings.configuration
    if output is None:
        return None
    sources = configuration.sources or (os.path.dirname(configuration.file or "") or os.curdir,)
    for path in settings.paths:
        holds = [_is_within(folder, path) for folder in (output, *sources)]
        if holds[0] and not any(holds[1:]) and not _is_within(path, output):
            return output
    return None


def _is_within(path: str, folder: str) -> bool:
    return opening.is_inside(path, os.path.realpath(folder))


def _one_runtime(file: str, options: Options) -> Document:
    documents, problems = files.read_paths([file], options.limits)
    if has_errors(problems):
        raise CompileError(problems)
    runtimes = [document for document in documents if is_runtime(document)]
    if len(runtimes) != 1:
        raise UsageError(f"{file} contains {len(runtimes)} runtimes; --runtime needs a file with exactly one")
    return runtimes[0]


def _of_revision(diagnostic: Diagnostic, revision: str, folder: str) -> Diagnostic:
    source = diagnostic.source
    if source is None:
        return replace(diagnostic, message=f"{diagnostic.message} (in {_GIT}{revision})")
    if os.path.isabs(source.file) or source.origin == "catalog":
        return diagnostic
    file = f"{_GIT}{revision}:{os.path.normpath(os.path.join(folder, source.file))}"
    return replace(diagnostic, source=Source(file, source.line, source.column, "git"))


# A side as manifests: TrainJobs are compiled, previous output is validated.

# The kinds that trainc emits. A folder of output may contain other objects, which are not judged.
_COMPARED_KINDS = (
    "ConfigMap", "ExternalSecret", "Job", "JobSet", "PodGroup", "Role", "RoleBinding", "SSHKey", "SealedSecret", "Secret",
    "ServiceAccount", "Workload",
)  # fmt: skip


JobKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ManifestSet:
    """Manifests with their warnings, `compiled` by a session from inputs, or else `rendered`: JobSets by namespace and name.

    `names` are those of the TrainJobs, by namespace and name of a JobSet that has another one; `homes` has the namespace and
    name of each manifest's TrainJob, and its file, as far as known. `keeping` is about jobs that are kept as built.
    """

    manifests: list[dict[str, Any]]
    diagnostics: list[Diagnostic]
    compiled: bool
    names: Names = field(default_factory=dict)
    keeping: tuple[Session, Keeping] | None = None
    session: Session | None = None
    rendered: Mapping[tuple[str, str], Document] = field(default_factory=dict)
    failures: failures.Failures = field(default_factory=failures.Failures)
    homes: Sequence[tuple[tuple[str, str], str]] = ()
    inputs: Inputs | None = None

    @property
    def errors(self) -> list[Diagnostic]:
        """Why some jobs are left out."""
        return [d for d in self.diagnostics if d.severity == "error"]

    @property
    def trainjobs(self) -> Mapping[JobKey, ValidDocument]:
        """The TrainJobs that were compiled."""
        return {} if self.session is None else {job.key: job for job in self.session.jobs}

    @property
    def by_job(self) -> Mapping[JobKey, list[dict[str, Any]]]:
        """The manifests of each job."""
        by_key: dict[JobKey, list[dict[str, Any]]] = {}
        for manifest, (key, _) in zip(self.manifests, self.homes, strict=True):
            by_key.setdefault(key, []).append(manifest)
        return by_key

    def without_failures_of(self, other: ManifestSet) -> ManifestSet:
        """Leave out the jobs with errors on the other side: nobody knows what becomes of them."""
        failures = other.failures
        if not failures:
            return self
        files = set(map(os.path.normpath, failures.files))
        other_keys = {key for key, _ in other.homes}
        missing = {key for key, file in self.homes if file in files and key not in other_keys} | failures.jobs
        remaining = [(m, home) for m, home in zip(self.manifests, self.homes, strict=True) if home[0] not in missing]
        return replace(self, manifests=[m for m, _ in remaining], homes=[home for _, home in remaining])


def read_manifests(  # noqa: PLR0913, PLR0917 - what is compiled, how, and what is known of it
    inputs: Inputs,
    options: Options,
    rules: policy.Rules = policy.keep_severities,
    keeping: Keeping | None = None,
    folder: str = "",
    other: ManifestSet | None = None,
) -> ManifestSet:
    """The manifests that `inputs` lead to, empty if they contain no job. `folder` is that of trainc.yaml.

    Jobs with errors are left out. Raises CompileError if none is left, or if anything else is wrong. What `other`, a set
    with the same options, has in common with this one, because its text is the same, is not checked or compiled again.
    """
    if not holds_jobs(inputs):
        valid = [] if other is None or other.compiled else other.manifests
        result = _read_rendered(inputs, options.release or releases.NEWEST_RELEASE, folder, set(map(id, valid)))
        if has_errors(result.diagnostics):
            raise CompileError(result.diagnostics)
        return replace(result, diagnostics=sort_diagnostics(result.diagnostics))
    session = Session(options, inputs.catalog, place, rules, keeping=keeping, step=inputs.step, jobsets=inputs.jobsets)
    known = None if other is None else other.session
    session = session.with_input(inputs.documents, inputs.runtime_sources).after(known)
    outcomes = list(inputs.outcomes(session))
    setup_diagnostics = [*rules(inputs.diagnostics, True), *outcomes[0][1]]
    same = [d.data for d in inputs.jobsets if known and any(d.data == was.data for was in known.jobsets)]
    setup_diagnostics = keeping.not_of_kept(setup_diagnostics, compiling.job_of, same) if keeping else setup_diagnostics
    jobs = [job for job, diagnostics_of_job in outcomes if job is not None and not has_errors(diagnostics_of_job)]
    about_jobs = [result for _, diagnostics_of_job in outcomes[1:] for result in diagnostics_of_job]
    problems = [] if keeping is None else keeping.problems
    if inputs.tally is not None:
        about_jobs = list(inputs.tally.without_repetitions(about_jobs))
        for job in jobs:
            inputs.tally.add(job)
        about_jobs += rules(inputs.tally.diagnostics(), True)
    about_jobs += [] if keeping is None else rules(keeping.all_refused, False)
    diagnostics = [*setup_diagnostics, *about_jobs]
    failed = failures.Failures()
    if has_errors([*diagnostics, *problems]):
        failed = failures.failures_of(
            session, inputs, setup_diagnostics, {(job.namespace, job.name) for job in jobs}, problems
        )
        jobs = [job for job in jobs if not failed.concerns(job)]
        if failed.fatal or not jobs:
            raise CompileError([*diagnostics, *problems])
    manifests = [manifest for job in jobs for manifest in job.manifests]
    homes = [((job.namespace, job.name), os.path.normpath(job.file)) for job in jobs for _ in job.manifests]
    of_session = None if keeping is None else (session, keeping)
    diagnostics = sort_diagnostics(diagnostics)
    return ManifestSet(manifests, diagnostics, True, names_of(jobs), of_session, session, {}, failed, homes, inputs)


def names_of(jobs: Iterable[CompiledJob]) -> Names:
    """Return the TrainJobs' names by namespace and name of the JobSets that have other names."""
    return {
        (job.namespace, name): job.name
        for job in jobs
        for manifest in job.manifests
        if manifest["kind"] == "JobSet" and (name := manifest["metadata"]["name"]) != job.name
    }


def holds_jobs(inputs: Inputs) -> bool:
    """Return whether `inputs` contain anything to compile."""
    return bool(inputs.jobsets) or any(
        dialects.is_trainer_document(document.data) and not is_runtime(document) for document in inputs.documents
    )


def with_runtime(inputs: Inputs, name: str, replacement: Document) -> Inputs:
    """`inputs` with the runtime `name`, wherever it is defined, replaced by `replacement` under that name."""
    renamed = {**replacement.data, "metadata": {**mapping(replacement.data.get("metadata")), "name": name}}

    def is_other(document: Document) -> bool:
        return not is_runtime(document) or mapping(document.data.get("metadata")).get("name") != name

    others, *sources = (list(filter(is_other, source)) for source in (inputs.documents, *inputs.runtime_sources))
    return replace(inputs, documents=[*others, replace(replacement, data=renamed)], runtime_sources=sources)


def is_runtime(document: Document) -> bool:
    """Return whether a document is a runtime, of Trainer's own API or of a dialect."""
    dialect = dialects.claimed_by(document.data)
    kind = document.data.get("kind")
    return kind in names.RUNTIME_KINDS or (dialect is not None and dialect.kinds[str(kind)] in names.RUNTIME_KINDS)


def runtime_names(inputs: Inputs) -> list[str]:
    """Return the names of the runtimes of the input and of those that its jobs refer to, sorted."""
    defined = {identity_of(document.data)[1] for document in inputs.all_documents if is_runtime(document)}
    references = (mapping(mapping(document.data.get("spec")).get("runtimeRef")) for document in inputs.documents)
    return sorted(defined | {str(reference["name"]) for reference in references if "name" in reference})


def _read_rendered(inputs: Inputs, release: str, folder: str, valid: Container[int]) -> ManifestSet:
    """Read previous output. `valid` are the ids of what needs no check."""
    manifests: list[dict[str, Any]] = []
    homes: list[tuple[tuple[str, str], str]] = []
    diagnostics = list(inputs.diagnostics)
    names: dict[tuple[str, str], str] = {}
    rendered: dict[tuple[str, str], Document] = {}
    sources: dict[str, str] = {}
    for document in inputs.documents:
        data = document.data
        if data.get("kind") not in _COMPARED_KINDS or not _has_name(data):
            continue
        manifests.append(data)
        if document.file not in sources:
            # The first line of a rendered file names its source.
            source = ownership.source_in(document.file) if os.path.isfile(document.file) else None
            sources[document.file] = os.path.normpath(os.path.join(folder, source)) if source else ""
        namespace = str(data["metadata"].get("namespace", ""))
        homes.append(((namespace, name_hash.job_in(document.file)), sources[document.file]))
        if data["kind"] == "JobSet":
            name = data["metadata"]["name"]
            key = namespace, name
            names[key], rendered[key] = name_hash.name_in_file(name, document.file), document
        if id(data) not in valid:
            diagnostics += _problems(document, release) if data["kind"] == "JobSet" else _metadata_problems(document)
    hashed = {key: name for key, name in names.items() if key[1] != name}
    return ManifestSet(manifests, diagnostics, False, hashed, rendered=rendered, homes=homes)


def _problems(document: Document, release: str) -> Sequence[Diagnostic]:
    """Why a JobSet cannot be compared: an unsupported version, or a field of the wrong type."""
    if document.data.get("apiVersion") != names.JOBSET_API:
        message = f"this JobSet has apiVersion {document.data.get('apiVersion')}, not {names.JOBSET_API}"
        hint = f"compare JobSets of {names.JOBSET_API}"
        return [document.diagnose(Finding("NotAJobSet", "error", message, hint, ("apiVersion",)))]
    _, findings = check(document.data, "JobSet", release, prune=True)
    return [document.diagnose(f) for f in findings if f.severity == "error"]


def _metadata_problems(document: Document) -> Iterator[Diagnostic]:
    """Malformed labels or annotations, which would break other tools."""
    for key in ("labels", "annotations"):
        value = document.data["metadata"].get(key)
        if value is not None and not isinstance(value, dict):
            message, hint = f"{key} must be a mapping, not {json.dumps(value)[:60]}", "write `key: value` pairs"
            yield document.diagnose(Finding("WrongType", "error", message, hint, ("metadata", key)))


def _has_name(data: dict[str, Any]) -> bool:
    return isinstance(mapping(data.get("metadata")).get("name"), str) and isinstance(data.get("apiVersion"), str)
