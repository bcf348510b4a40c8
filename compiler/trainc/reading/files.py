"""Finds and reads input files, and reports problems with paths."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from itertools import islice, repeat

from trainc.findings import Diagnostic, Severity, Source
from trainc.findings.policy import matches
from trainc.findings.text import counted, first_of, near_names
from trainc.options import Limits
from trainc.reading.document import Document
from trainc.reading.opening import (
    CONFIGURATION_FILE,
    error_reason,
    is_below,
    is_inside,
    read_bounded,
    read_file as read_bytes,
    root_around,
)
from trainc.reading.yaml_reader import read_documents
from trainc.startup import suppress
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass
from trainc.startup.typing import Any, BinaryIO, TypeAlias

# Skips unrelated files by name and content before parsing.
#
# Helm charts, playbooks, and other YAML that is not plain YAML or not for Kubernetes therefore cost no time and cause
# no errors.

# Every relevant document contains one of these: its API group, or, if that is missing (for example in a fragment), a
# word that is specific to Trainer.
_WORDS = (
    b"kubeflow.org",
    b"batch.paddlepaddle.org",
    b"jobset.x-k8s.io",
    # Groups that the pods of a JobSet join, of every scheduler, and the Workload that describes them.
    b"PodGroup",
    b"podGroupTemplates",
    b"ome.io/",
    b"SealedSecret",
    b"ExternalSecret",
    b"PersistentVolumeClaim",
    b"TrainJob",
    b"TrainingJob",
    b"TrainingRuntime",
    b"mlPolicy",
    b"podGroupPolicy",
    b"runtimeRef",
    b"runtimePatches",
    b"podTemplateOverrides",
    b"replicatedJobs",
    b"kind: Sweep",
    b"trainc/v",
    b"trainc/own",
)
# Statements with which a template may load the words from other files.
_INCLUDE_STATEMENTS = (b"include", b"import", b"extends")
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff")
# Names of files that look as if they should be read: `llm.yaml.bak`, `llm.yml.txt`, `llm.tpl`, `LLM.YAML`.
NEAR_NAME = pattern(r"(?i)\.(?:ya?ml|json)\b|\.te?mpl$|\.tpl$|\.gotmpl$|\.txt$")
_KIND_LINE = pattern(rb"(?m)^kind:[ \t]*[\"']?(TrainJob|TrainingRuntime|ClusterTrainingRuntime|TrainingJob)\b")


@dataclass(frozen=True, slots=True)
class Exclude:
    """The `exclude` globs in trainc.yaml, relative to `folder`. Paths on the command line are never excluded."""

    folder: str = ""
    globs: tuple[str, ...] = ()

    def __call__(self, path: str) -> bool:
        """Return whether to skip a path found in a directory."""
        if not self.globs:
            return False
        inside = os.path.relpath(path, self.folder or os.curdir).replace(os.sep, "/")
        return any(matches(inside, glob) for glob in self.globs)


def matching_paths(path: str, folder: str, exclude: Exclude, skip: Sequence[str]) -> list[str]:
    """Return the files and folders below `folder` that match the glob `path`, which is below it, in order.

    Returns `path` itself if it is not a glob or nothing matches. Hidden and excluded entries do not match, nor do those
    in the folders `skip`; what is below a match belongs to it.
    """
    if not {"*", "?"} & {*path} or os.path.lexists(path):
        return [path]
    glob, hidden = os.path.relpath(path, folder or os.curdir), {*map(os.path.realpath, skip)}
    matching, waiting = [], [folder]
    while waiting:
        above = waiting.pop()
        with suppress(OSError):
            for name in sorted(os.listdir(above or os.curdir), reverse=True):
                inside = os.path.join(above, name)
                if name.startswith(".") or exclude(inside) or os.path.realpath(inside) in hidden:
                    continue
                if matches(os.path.relpath(inside, folder or os.curdir).replace(os.sep, "/"), glob):
                    matching.append(inside)
                elif os.path.isdir(inside) and not os.path.islink(inside):
                    waiting.append(inside)
    return sorted(matching) or [path]


_IN_PLAIN_TEXT = "the values of this Secret are in plain text, for all who read the repository"


def _line_of_secret(data: bytes) -> int:
    """Return the line at which a Secret begins that nothing has encrypted and no template fills in; 0 without one."""
    if b"kind: Secret" not in data or any(word in data for word in (b"sops:", b"ENC[", b"{{", b"${")):
        return 0
    line = 1
    for text in data.split(b"\n---"):
        lines = [part.rstrip() for part in text.splitlines()]
        if b"kind: Secret" in lines and any(part.startswith((b"data:", b"stringData:")) for part in lines):
            return line + lines.index(b"kind: Secret")
        line += text.count(b"\n") + 1
    return 0


def is_unrelated(data: bytes, *, template: bool = False) -> bool:
    """Return whether a file contains nothing that is relevant to trainc."""
    words = (*_WORDS, *_INCLUDE_STATEMENTS) if template else _WORDS
    return not (any(word in data for word in words) or b"\0" in data[:64] or data.startswith(_OTHER_ENCODINGS))


# os.path keeps paths as the user wrote them, and imports faster than pathlib.

# Files that were read: each path as given, and its bytes.
Texts: TypeAlias = list[tuple[str, bytes]]

STDIN = "-"
OVERLAY_FILE = "overlay.yaml"
# Suffixes of the files to read in directories.
TEMPLATE_SUFFIXES = (".yaml.j2", ".yml.j2", ".json.j2")
READ_SUFFIXES = (".yaml", ".yml", ".json", *TEMPLATE_SUFFIXES)
_MOST_OF_NEAR = 1_000_000


def read_paths(  # noqa: PLR0913 - all but two go by their names
    paths: Sequence[str | os.PathLike[str]],
    limits: Limits,
    *,
    stdin: BinaryIO | None = None,
    skip: str | os.PathLike[str] | None = None,
    values: Mapping[str, Any] | None = None,
    texts: Texts | None = None,
    step: Callable[[str, int, int | None], None] | None = None,
    already: int = 0,
    exclude: Exclude = Exclude(),
    everything: bool = False,
    used: Sequence[str] = (),
) -> tuple[list[Document], list[Diagnostic]]:
    """Read the documents of all files under `paths`, in order; return them and all problems.

    Directories are searched in order of file names for .yaml, .yml and .json files and templates (.yaml.j2 and so on).
    Skipped are hidden files, the directory `skip`, paths that match `exclude`, overlay directories, and, unless
    `everything` is set, unrelated files. `-` reads `stdin`. A file that is reachable in several ways (for example
    through a symlink) is read once. Symlinks that leave the input directory are rejected unless the
    limits allow it.

    Templates are rendered with `values`. The contents of all files are appended to `texts`, and `step` is called for
    each file. `already` is the number of documents read by other calls, which count towards the limit. Of the folders `used`,
    which are read for something else, no file is called skipped.
    """
    walk = Walk(skip, limits, exclude, used)
    documents: list[Document] = []
    file_count = 0
    for path in paths:
        for file in walk.files(os.fspath(path)):
            file_count += 1
            if step is not None:
                step("reading", file_count, None)
            data = walk.read(file, stdin)
            if data is not None and (everything or not walk.skips(file, path, data)):
                if texts is not None:
                    texts.append((file, data))
                file_documents, problems = read_file(data, file, limits, values or {}, already=already + len(documents))
                documents += file_documents
                walk.diagnostics += problems
                if any(problem.code == "TooManyDocuments" for problem in problems):
                    return documents, walk.diagnostics
    return documents, [*walk.diagnostics, *walk.skipped_files(paths)]


def read_file(
    data: bytes, file: str, limits: Limits, values: Mapping[str, Any], *, already: int = 0
) -> tuple[list[Document], list[Diagnostic]]:
    """Read the documents of one file and all problems; `already` is the number of documents read elsewhere."""
    if file.endswith(TEMPLATE_SUFFIXES):
        from trainc.reading.templates import read_template

        return read_template(data, shown_path(file), values, limits, already=already)
    return read_documents(data, shown_path(file), limits, already=already)


def is_overlay_folder(path: str) -> bool:
    """Return whether a directory contains an overlay."""
    return os.path.isfile(os.path.join(path, OVERLAY_FILE))


class Walk:
    """A walk over input paths that remembers visited files and collects problems.

    `overlays` lists the overlay directories that were skipped.
    """

    def __init__(
        self,
        skip: str | os.PathLike[str] | None = None,
        limits: Limits = Limits(),
        exclude: Exclude = Exclude(),
        used: Sequence[str] = (),
    ) -> None:
        self._used = [*map(os.path.realpath, used)]
        self.diagnostics: list[Diagnostic] = []
        self.overlays: list[str] = []
        self._limits = limits
        self._exclude = exclude
        self._foreign: list[str] = []
        self._secrets: list[Source] = []
        self._empty: list[str] = []
        # Real paths that must not be visited (again): first the output directory, then everything visited.
        self._visited = set() if skip is None else {os.path.realpath(skip)}

    def files(self, path: str) -> Iterator[str]:
        """Yield the files at `path`, which is a path from the command line."""
        try:
            folder = path != STDIN and stat.S_ISDIR(os.stat(path).st_mode)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            self.diagnostics.append(_no_such_path(path))
        except OSError as error:
            self._unreadable(path, error)
        else:
            if folder:
                yield from self._under(path)
            elif self._is_new(path if path == STDIN else os.path.realpath(path)):
                yield path

    def read(self, file: str, stdin: BinaryIO | None) -> bytes | None:
        """Return the content of a file, or None (with a diagnostic) if it cannot be read."""
        try:
            if file == STDIN:
                return read_bounded(stdin, self._limits.file_bytes) if stdin else b""
            return read_bytes(file, self._limits.file_bytes)
        except OSError as error:
            self._unreadable(file, error)
            return None

    def skips(self, file: str, path: str | os.PathLike[str], data: bytes) -> bool:
        """Return whether to skip a file as unrelated; never true for files given on the command line."""
        if file == os.fspath(path) or not is_unrelated(data, template=file.endswith(TEMPLATE_SUFFIXES)):
            return False
        is_used = any(is_inside(file, folder) for folder in self._used)
        if os.path.basename(file) != CONFIGURATION_FILE and not is_used:
            (self._foreign if data.strip() else self._empty).append(file)
            if line := _line_of_secret(data):
                self._secrets.append(Source(shown_path(file), line, 1))
        return True

    def skipped_files(self, paths: Sequence[str | os.PathLike[str]]) -> list[Diagnostic]:
        """Return infos about the unrelated files under `paths`, and about empty ones, if there were any."""
        if not self._foreign and not self._empty:
            return []
        messages = []
        if count := len(self._foreign):
            folders = ", ".join(shown_path(os.fspath(path)) for path in paths)
            who, names = "it mentions" if count == 1 else "they mention", first_of([*map(shown_path, self._foreign)], 3)
            skipped = f"skipped {counted(count, 'file')} in {folders}"
            messages.append(f"{skipped}: {who} none of the API groups that trainc reads: {names}")
        if self._empty:
            verb = "is" if len(self._empty) == 1 else "are"
            messages.append(f"{first_of([*map(shown_path, self._empty)], 3)} {verb} empty")
        hint = "revoke them, and commit a SealedSecret or an ExternalSecret in its place"
        return [
            *(Diagnostic("SkippedDocument", "info", message) for message in messages),
            *(Diagnostic("PlainToken", "warning", _IN_PLAIN_TEXT, hint, source=source) for source in self._secrets),
        ]

    def _under(self, root: str) -> Iterator[str]:
        real_root = os.path.realpath(root)
        waiting = [_Entry(root, real_root, is_folder=True)]
        while waiting:
            entry = waiting.pop()
            path = entry.path
            if entry.is_folder:
                if not self._is_inside(entry, real_root):
                    continue
                if path != root and is_overlay_folder(path):
                    self.overlays.append(path)  # The patches of an overlay are not documents.
                elif self._is_new(entry.real):
                    waiting += (child for child in self._entries(entry) if not self._exclude(child.path))
            elif not path.endswith(READ_SUFFIXES):
                if NEAR_NAME.search(path) and entry.is_file and self._is_new(entry.real):
                    self._report_near_name(path)
            elif self._is_inside(entry, real_root) and self._is_new(entry.real):
                if entry.is_file:
                    yield path
                else:
                    self._unreadable(path, "it is not a regular file")

    def _report_near_name(self, path: str) -> None:
        """Report a misnamed file if it contains one of our documents."""
        with suppress(OSError):
            if match := _KIND_LINE.search(text := read_bytes(path, _MOST_OF_NEAR)):
                kind = match[1].decode()
                message = f"{shown_path(path)} contains a {kind}, but was not read: its name does not end in .yaml, .yml or .json"
                hint = "rename it, pass it on the command line, or list it under `exclude` in trainc.yaml"
                # In other letters, the end of the name means what was written.
                is_ours = path.lower().endswith(READ_SUFFIXES)
                severity: Severity = "warning" if is_ours else "info"
                source = Source(shown_path(path), text.count(b"\n", 0, match.start(1)) + 1, 1)
                self.diagnostics.append(Diagnostic("OtherExtension", severity, message, hint, source=source))

    def _entries(self, folder: _Entry) -> list[_Entry]:
        """Return the entries of a directory in reverse order, because the caller pops them from the end."""
        try:
            with os.scandir(folder.path) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
                visible.sort(key=lambda entry: entry.name, reverse=True)
                return [_entry(entry, folder.real) for entry in visible]
        except OSError as error:
            self._unreadable(folder.path, error)
            return []

    def _is_new(self, real: str) -> bool:
        new = real not in self._visited
        self._visited.add(real)
        return new

    def _is_inside(self, entry: _Entry, root: str) -> bool:
        if self._limits.allow_outside or is_below(entry.real, root):
            return True
        message = f"{shown_path(entry.path)} is a symbolic link that points outside its input folder"
        hint = "copy the file into the folder, or pass the link's target as another PATH"
        place = Source(shown_path(entry.path), 1, 1)
        self.diagnostics.append(Diagnostic("OutsideRoot", "error", message, hint, source=place))
        return False

    def _unreadable(self, path: str, reason: OSError | str) -> None:
        detail = reason if isinstance(reason, str) else error_reason(reason)
        message = f"{shown_path(path)} cannot be read: {detail}"
        self.diagnostics.append(Diagnostic("UnreadableFile", "error", message, "check its file type and permissions"))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A directory entry after resolving symlinks; `real` is its real path."""

    path: str
    real: str
    is_folder: bool
    is_file: bool = False


def _entry(entry: os.DirEntry[str], real_folder: str) -> _Entry:
    # Only symlinks need a system call, so large directories are fast.
    if entry.is_symlink():
        return _Entry(entry.path, os.path.realpath(entry.path), os.path.isdir(entry.path), os.path.isfile(entry.path))
    real = real_folder.removesuffix(os.sep) + os.sep + entry.name  # The root directory already ends with a separator.
    return _Entry(entry.path, real, entry.is_dir(), entry.is_file())


_SHORT, _MOST_FOLDERS, MOST_SEARCHES, _MOST_PARTS = 2, 1000, 80, 20
_ANY_NUMBER = repeat(True)
_COMPILED = b"# Compiled by trainc from "
# The lines of trainc.yaml with paths that do not exist, by path; the command line may name others.
missing_in_settings: ContextVar[Mapping[str, Source] | None] = ContextVar("missing_in_settings", default=None)
# One value for each folder in which something near may be searched for still: an input may name very many missing paths.
searches: ContextVar[Iterator[bool]] = ContextVar("searches")


def near_files(path: str, *, may_begin: bool = False) -> list[str]:
    """Return the names in the folder of a path that it may misspell; of very many paths, those of the first ones."""
    parent, name = os.path.split(path.rstrip("/" + os.sep))
    if not next(searches.get(_ANY_NUMBER), False):
        return []
    try:
        # Two names are not alike because they end alike, unless there is hardly more to them.
        stems = {other: other.partition(".")[0] for other in sorted(os.listdir(parent or "."))}
    except (OSError, ValueError):
        return []
    alike = near_names(name.partition(".")[0], {*stems.values()})
    near = near_names(name, [other for other, stem in stems.items() if stem in alike or len(stem) <= _SHORT])
    return near or [other for other in stems if may_begin and name and other.startswith(name)][:_SHORT]


def near_paths(path: str) -> list[str]:
    """Return the paths that one may mean: near names in its folder, else the file of this name in the nearest folder."""
    parent, name = os.path.split(os.path.normpath(path))
    if near := near_files(path):
        return [os.path.join(parent, other) for other in near]
    root, above, found = root_around(os.curdir), parent or os.curdir, list[str]()
    while not found and is_inside(above, root) and next(searches.get(_ANY_NUMBER), False):
        for folder, below, names in islice(os.walk(above), _MOST_FOLDERS):
            below[:] = sorted(other for other in below if not other.startswith("."))
            there = os.path.normpath(os.path.join(folder, name))
            # What was compiled from a job often has its name, and is no source.
            if name in below or (name in names and not read_bytes(there, _MOST_OF_NEAR).startswith(_COMPILED)):
                found.append(there)
        above = os.path.normpath(os.path.join(above, os.pardir))
    return found[:_SHORT]


def _near_folders(path: str) -> list[str]:
    """Return the folders that a path may misspell, in any of its parts, if it has not very many."""
    parent, name = os.path.split(path)
    deep = path.count("/") > _MOST_PARTS
    parents = [parent] if deep or not parent or os.path.isdir(parent) else _near_folders(parent)
    found = [
        os.path.join(above, other) for above in parents for other in (name, *near_files(os.path.join(above, name)))
    ]
    return [folder for folder in found if os.path.isdir(folder)] if len(parents) == 1 else []


def _no_such_path(path: str) -> Diagnostic:
    source = (missing_in_settings.get() or {}).get(path)
    if {"*", "?"} & {*path}:
        hint = "check the glob: `*` stands for a name or a part of one, `**` for any number of folders"
        return Diagnostic("NoSuchPath", "error", f"nothing matches {shown_path(path)}", hint, source=source)
    parent, name = os.path.split(path.rstrip("/" + os.sep))
    if parent and not os.path.lexists(parent) and len(above := _near_folders(parent)) == 1:
        parent = above[0]
    there = os.path.join(parent, name)
    near = [there] if os.path.lexists(there) and there != os.path.normpath(path) else []
    near = near or [os.path.join(parent, other) for other in near_files(there, may_begin=bool(source))]
    hint = f"did you mean {' or '.join(map(shown_path, near := near or near_paths(path)))}?"
    if (other := there.removesuffix(".yaml") + ".yml") in near:
        hint = f"rename {shown_path(other)} to {name}"
    elif not near:
        hint = "create it, or remove it here" if source else "check the path: it is a file, a folder, or `-` for stdin"
    return Diagnostic("NoSuchPath", "error", f"{shown_path(path)} does not exist", hint, source=source)


def shown_path(path: str) -> str:
    """Format a path for diagnostics: forward slashes, no leading `./`, always printable."""
    text = path.replace(os.sep, "/")
    if text.startswith("./") and text != "./-":
        # Leave no leading slash, which would make it a different, absolute path.
        text = text.removeprefix("./").lstrip("/")
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
