"""The two sides of `trainc diff`: what the words of its command line stand for, and how each side is read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from trainc.api.arguments import Arguments, Streams, UsageError
from trainc.api.command import compiling
from trainc.api.documents import Document, dialects, files, opening, yaml_reader
from trainc.api.findings import CompileError, Diagnostic, Source, did_you_mean, has_errors
from trainc.api.git import git, revisions
from trainc.api.jobs import Judge
from trainc.api.kube import releases
from trainc.api.records import dataclass, field, replace
from trainc.api.settings import Configuration, Limits, Options, Settings, settings_file
from trainc.features.gitops.diff.manifests import (
    ManifestSet,
    holds_jobs,
    is_runtime,
    read_manifests,
    runtime_names,
    with_runtime,
)

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
    """A side after reading: its manifests, how they were compiled and are delivered, and the location of output.

    `output_below` is the output folder if it is below the named path and no sources are.
    `cluster` has the objects of the snapshot that trainc.yaml names; None if it names none. `judge` evaluates the policies
    that it names, `policy_problems` are theirs. `overlays` with the `values` for templates, `settings`, which is trainc.yaml, and `templates` by file and `sweeps` are
    what decides beside the manifests' own sources.
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
    """A copy of the arguments with other values for some of them."""
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


def look_up(*sides: Side) -> None:
    """Raise CompileError early if a revision cannot be read, before any folders are walked."""
    for side in sides:
        if side.revision is not None:
            git.commit_of(git.repository_of("."), side.revision)


def new_diagnostics(before: ReadSide, after: ReadSide) -> list[Diagnostic]:
    """Diagnostics of the side after that the side before does not have."""
    earlier = {(d.code, d.object, d.path, d.message) for d in before.manifest_set.diagnostics}
    return [d for d in after.manifest_set.diagnostics if (d.code, d.object, d.path, d.message) not in earlier]


def _side(word: str) -> Side:
    if not word.startswith(_GIT):
        if word != files.STDIN and not os.path.lexists(word) and _is_revision(word):
            raise UsageError(f"there is no file or folder {word}; to compare with the revision, write {_GIT}{word}")
        return Side("stdin" if word == files.STDIN else word, word)
    revision, colon, path = word.removeprefix(_GIT).partition(":")
    if not revision or revision.startswith("-"):
        raise UsageError(f"{word!r} has no revision; write git:REV or git:REV:PATH")
    old, dots, new = revision.partition("..")
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
    output = settings.configuration.output
    below = _only_output(output, settings)
    if below or (output and all(_is_within(path, output) for path in settings.paths)):
        # Compiled manifests have been patched already.
        settings = replace(settings, overlays=())
    skip = side.skip or (None if below else _unless_named(output, settings.paths))
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
    cluster = settings.configuration.cluster
    of_cluster = None
    if cluster is not None and os.path.exists(cluster):
        of_cluster = files.read_paths([cluster], settings.options.limits, everything=True)[0]
    snapshot = None if of_cluster is None else [document.data for document in of_cluster]
    # What another release or runtime changes is a question about compiling.
    asks_compiler = bool(arguments.releases or arguments.runtime)
    keeping = None if asks_compiler else compiling.kept_in(settings.output, settings, inputs.documents)
    folder = os.path.dirname(settings.configuration.file or "")
    like = other.manifest_set if other is not None and other.options == settings.options else None
    manifests = read_manifests(inputs, settings.options, settings.policy(), keeping, folder, like)
    judge, problems = compiling.judge_of(settings, of_cluster) if manifests.compiled else (None, [])
    configuration = settings.configuration
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
    limit = Limits().file_bytes
    return {
        os.path.normpath(file): yaml_reader.decode(opening.read_file(file, limit))
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


def _unless_named(output: str | None, paths: Sequence[str]) -> str | None:
    """The output folder to skip when walking sources; None if a path asks for it."""
    if output is None:
        return None
    folder = os.path.realpath(output)
    return None if any(os.path.commonpath([os.path.realpath(p), folder]) == folder for p in paths) else output


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
