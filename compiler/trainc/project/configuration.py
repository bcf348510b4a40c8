"""trainc.yaml: what a repository has decided once, so that nobody has to type it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from trainc.findings import Diagnostic, Finding, Source, sort_diagnostics
from trainc.findings.compile_error import CompileError
from trainc.findings.policy import Rule, matches
from trainc.kube.documents import mapping
from trainc.kube.names import QUEUE_LABEL
from trainc.options import Limits
from trainc.reading.document import Document
from trainc.reading.files import Exclude
from trainc.reading.opening import OUTSIDE_HINT, error_reason, folders_upward, is_inside, read_file, root_around
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass, field, replace

# os.path, not pathlib: it starts faster.


FILE_NAME = "trainc.yaml"
CODE = "InvalidConfiguration"


@dataclass(frozen=True, slots=True)
class Selection:
    """`select` in trainc.yaml: which TrainJobs are meant, as they are written. All conditions that are set must hold.

    `paths` are globs; an empty one matches nothing, and None everything.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    queues: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    paths: Exclude | None = None

    def __bool__(self) -> bool:
        return bool(self.labels or self.queues or self.namespaces or self.paths is not None)

    def __call__(self, job: Mapping[str, Any], file: str) -> bool:
        """Return whether a TrainJob in a file is selected."""
        metadata = mapping(job.get("metadata"))
        labels = mapping(metadata.get("labels"))
        namespace = str(metadata.get("namespace") or "")
        return (
            all(labels.get(name) == value for name, value in self.labels.items())
            and (not self.queues or labels.get(QUEUE_LABEL) in self.queues)
            and (not self.namespaces or any(matches(namespace, glob) for glob in self.namespaces))
            and (self.paths is None or self.paths(file))
        )


@dataclass(frozen=True, slots=True)
class Images:
    """`images` in trainc.yaml: whether images need digests, and the registries, or parts of them, that they may be from."""

    pinned: bool = False
    registries: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.pinned or bool(self.registries)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of one trainc.yaml; None if unset. Paths are relative to the current folder.

    `options` are the compile options, by their names in `Options`.
    """

    file: str | None = None
    sources: tuple[str, ...] | None = None
    runtimes: tuple[str, ...] | None = None
    overlay: tuple[str, ...] | None = None
    output: str | None = None
    rebuild: str = "all"
    adopted: tuple[str, ...] = ()
    cluster: str | None = None
    policies: tuple[str, ...] = ()
    exclude: Exclude = Exclude()
    select: Selection = Selection()
    namespaces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    images: Images = Images()
    rules: tuple[Rule, ...] = ()
    docs_url: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    # The lines with paths that do not exist, by path.
    missing: Mapping[str, Source] = field(default_factory=dict)
    # The environment's own name, or all environments of the file.
    environment: str = ""
    environments: Mapping[str, Configuration] = field(default_factory=dict)
    # The names of all environments of the file.
    known_environments: tuple[str, ...] = ()

    def compiles(self, job: Mapping[str, Any], file: str, resources: Collection[str]) -> bool:
        """Return whether a TrainJob in a file is selected, and among the sources or the resources of the overlay."""
        if self.select and not self.select(job, file):
            return False
        sources = self.sources
        if sources is None:
            sources = () if resources else (os.path.dirname(self.file or "") or os.curdir,)
        read = any(is_inside(file, os.path.realpath(source)) for source in sources)
        return file in resources or (read and not self.exclude(file))


def read_configuration(paths: Sequence[str], named: str | None, limits: Limits = Limits()) -> Configuration:
    """Read the file given by `--config`, or the nearest trainc.yaml above all of `paths`. Raises CompileError.

    Its paths must stay inside the surrounding repository, unless the limits allow otherwise.
    """
    file = named or _search(paths)
    if file is None:
        return Configuration()
    root = root_around(os.path.dirname(file) or os.curdir)
    if not named and not limits.allow_outside and not is_inside(file, root):
        message = f"{file} is a symlink to a file outside the repository"
        raise CompileError([Diagnostic("OutsideRoot", "error", message, OUTSIDE_HINT)])
    document = _read(file, limits)
    # The schema takes time, and a single file has no trainc.yaml.
    from trainc.project.trainc_yaml import missing_paths, settings_in_file

    own, findings = settings_in_file(document.data, file, None if limits.allow_outside else root)
    if findings:
        raise CompileError([document.place(finding, FILE_NAME) for finding in findings])
    return replace(own, missing=missing_paths(document, os.path.dirname(file)))


def _search(paths: Sequence[str]) -> str | None:
    """The nearest trainc.yaml, searching upwards from the folder that contains all input, wherever trainc is run.

    The search ends at the folder with `.git` and skips folders of other users: see `folders_upward`.
    """
    folders = [os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path)) for path in paths if path != "-"]
    start = os.path.commonpath(folders) if folders else os.getcwd()
    files = (os.path.join(folder, FILE_NAME) for folder in folders_upward(start))
    nearest = next(filter(os.path.isfile, files), None)
    return None if nearest is None else os.path.relpath(nearest)


_DEEPEST_BELOW = 3


def settings_below(folder: str) -> list[str]:
    """Return the folders below `folder`, to a small depth, that have a trainc.yaml, relative to it."""
    folders, waiting = [], [(folder, 0)]
    while waiting:
        above, depth = waiting.pop()
        with suppress(OSError), os.scandir(above) as entries:
            for entry in entries:
                if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                    continue
                if os.path.isfile(os.path.join(entry.path, FILE_NAME)):
                    folders.append(os.path.relpath(entry.path, folder))
                elif depth < _DEEPEST_BELOW:
                    waiting.append((entry.path, depth + 1))
    return sorted(folders)


def _read(file: str, limits: Limits) -> Document:
    try:
        documents, problems = read_documents(read_file(file, limits.file_bytes), file, limits)
    except OSError as error:
        message = f"{file} cannot be read: {error_reason(error)}"
        inside = os.path.join(file, FILE_NAME)
        hint = f"name the file: --config {inside}" if os.path.isfile(inside) else "check the path given to --config"
        raise CompileError([Diagnostic(CODE, "error", message, hint)]) from None
    if problems:
        raise CompileError(problems)
    if len(documents) > 1:
        wrong = Finding(CODE, "error", "trainc.yaml must be a single document", "remove the other documents")
        raise CompileError([documents[1].place(wrong, FILE_NAME)])
    document = documents[0] if documents else Document.of({})
    if "apiVersion" in document.data and "kind" in document.data:
        hint = "rename this file, or pass the settings file with --config FILE"
        message = f"this is a {document.data['kind']}, not a trainc settings file"
        wrong = Finding(CODE, "error", message, hint, ("kind",))
        raise CompileError([document.place(wrong, FILE_NAME)])
    return document


# The environments of trainc.yaml: which of them are processed, and one report about all of them.


def choose_environments(environments: Mapping[str, Any], requested: Iterable[str], *, otherwise_all: bool) -> list[str]:
    """Return the requested environments, or all known ones if none is requested and `otherwise_all` is set.

    Raises ValueError for an environment that trainc.yaml does not define.
    """
    for name in requested:
        if name not in environments:
            from trainc.findings.text import did_you_mean

            hint = did_you_mean(name, environments) or f"known environments: {', '.join(environments) or 'none'}"
            raise ValueError(f"trainc.yaml has no environment {name!r}; {hint}")
    return list(dict.fromkeys(requested)) or (list(environments) if otherwise_all else [])


def merge_diagnostics(by_environment: Mapping[str, Sequence[Diagnostic]]) -> list[Diagnostic]:
    """Merge the diagnostics of several environments in order; those that all share are reported once, without a name.

    Diagnostics at the same line are the same, even if overlays change the name or namespace of the object. Several
    objects of one environment can have the same problem at the same line, such as that of their runtime.
    """
    first: dict[object, Diagnostic] = {}
    where: dict[object, list[str]] = {}
    for name, diagnostics in by_environment.items():
        repeated: Counter[object] = Counter()
        for d in sort_diagnostics(diagnostics):
            alike = (d.code, d.severity, d.message, d.hint, d.path, d.source, "" if d.source else d.object)
            key = (alike, repeated[alike])
            repeated[alike] += 1
            first.setdefault(key, d)
            names = where.setdefault(key, [])
            if name not in names:
                names.append(name)
    return sort_diagnostics(
        d if len(where[key]) == len(by_environment) else replace(d, environments=tuple(where[key]))
        for key, d in first.items()
    )
