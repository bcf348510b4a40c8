"""Which files of an output folder are trainc's: those with its mark in the first line.

The mark is in the file itself, so that branches never conflict over a list, and users take over a file by deleting the
line. trainc never removes a file for any other reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from trainc.findings import Diagnostic, Severity, Source
from trainc.findings.listed import Listed
from trainc.findings.text import first_of
from trainc.kube.documents import Json
from trainc.options import Limits
from trainc.reading.files import STDIN, Exclude, Walk, shown_path
from trainc.reading.opening import (
    CONFIGURATION_FILE,
    folders_upward,
    is_below,
    open_file,
    read_file,
    repository_above,
)
from trainc.startup import suppress
from trainc.startup.patterns import pattern

STATE_FOLDER = ".trainc"
# Larger than any list, journal or manifest of trainc's.
MOST_BYTES = 200_000_000
# Not hidden, not `..`, and without characters that have a meaning for file systems.
_NAME = r"[A-Za-z0-9][-A-Za-z0-9._]*"
_FORM = pattern(rf"(?:{_NAME}/)?{_NAME}\.yaml")
# A path has at most 4,096 bytes.
_LONGEST_LINE = 5_000
_FIRST_LINE = pattern(r"# Compiled by trainc from ([^\n]+)\. Edit that file instead\.\n")
_UNPRINTABLE = pattern(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


_HARMLESS = frozenset({"README", "README.md", "LICENSE", ".gitkeep", ".keep", ".DS_Store"})
# The state of a build that runs, or was interrupted.
_STATE = pattern(r"\.trainc/(?:\.gitignore|lock|owned|journal|staged/(?:[0-9]+|journal))")
# Jobs whose file would have the name of another tool's settings, or of trainc's: `kubectl kustomize`, Argo CD and Flux CD
# take kustomization.yaml for a kustomization, and trainc looks for the others itself.
_SETTINGS = ("kustomization", "overlay", "trainc")
# Source: kubernetes-sigs/kustomize api/konfig/general.go (RecognizedKustomizationFileNames).
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def first_line(source: str) -> str:
    """Return the first line of a file that is compiled from `source`."""
    return f"# Compiled by trainc from {_UNPRINTABLE.sub('?', source)}. Edit that file instead.\n"


def is_marked(text: str) -> bool:
    """Return whether a file with this text is trainc's."""
    return named_source(text) is not None


def is_marked_file(path: str) -> bool:
    """Return whether a path is a regular file of trainc's, not a link."""
    return source_in(path) is not None


def source_in(path: str) -> str | None:
    """Return the source that the first line of a file names, or None if the file is not trainc's.

    Reads no more than the longest first line. Fails for links and for what is not a regular file.
    """
    with open_file(path, links=False) as stream:
        # Not `readline`, which reads one byte at a time from a file without a buffer.
        first, line_feed, _ = stream.read(_LONGEST_LINE).partition(b"\n")
    return named_source((first + line_feed).decode(errors="replace"))


def named_source(text: str) -> str | None:
    """Return the source that the first line of a text names, or None if the text is not trainc's."""
    match = _FIRST_LINE.match(text)
    return None if match is None else match[1]


def file_name(namespace: str, name: str) -> str:
    """Return the path of a job's manifests: `<namespace>/<name>.yaml`, or `<name>.yaml` without a namespace.

    If a tool gives that name a special meaning, it is `<name>.jobset.yaml`, which is unique because job names contain no
    dots.
    """
    file = f"{name}.jobset.yaml" if name in _SETTINGS else f"{name}.yaml"
    return f"{namespace}/{file}" if namespace else file


def can_be_owned(path: str) -> bool:
    """Return whether a relative path has the form of a `file_name`."""
    return _FORM.fullmatch(path) is not None


def is_harmless(path: str) -> bool:
    """Return whether no tool acts on a file with this path in an output folder.

    All others may change what is applied: manifests and kustomizations, but also the .sourceignore of Flux, .argocd-source
    files and attributes.
    """
    return path.rpartition("/")[2] in _HARMLESS or _STATE.fullmatch(path) is not None


def stays_inside(folder: str, path: str) -> bool:
    """Return whether no part of `path` is a link, so that a file written there is inside `folder`."""
    return not any(os.path.islink(os.path.join(folder, part)) for part in (path, os.path.dirname(path)) if part)


def marked_files(folder: str, besides: Container[str] = ()) -> dict[str, str]:
    """Return trainc's files in `folder` and the folders directly in it, without links, each with its source.

    Paths are relative and sorted. Files in `besides` are not read.
    """
    sources = {path: source_in(os.path.join(folder, path)) for path in _candidates(folder) if path not in besides}
    return {path: source for path, source in sources.items() if source is not None}


def _candidates(folder: str) -> list[str]:
    paths: list[str] = []
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            paths += [f"{entry.name}/{inner.name}" for inner in _entries(entry.path) if _is_file(inner)]
        elif _is_file(entry):
            paths.append(entry.name)
    return sorted(filter(can_be_owned, paths))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(".yaml") and stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode)


def legacy_list(folder: str) -> str:
    """Return the path of the list in which trainc 0.1.0 kept its files' names; the next build removes it."""
    return os.path.join(folder, STATE_FOLDER, "owned")


def listed_files(folder: str) -> frozenset[str]:
    """Return the relative paths in that list: files without a mark, which a job with that name may replace.

    They are never removed because of the list, which anyone could have written.
    """
    try:
        text = read_file(legacy_list(folder), MOST_BYTES, links=False).decode(errors="replace")
        return frozenset(path for path in text.splitlines() if can_be_owned(path))
    except OSError:
        return frozenset()


# The source files that first lines name, and which of them a build must not take for the end of a job.
#
# A file that leaves the output folder ends its job in the cluster. So it is removed only if its source is gone, or
# was read and contains documents of ours without the job. A source that exists and gave nothing, because it was
# emptied, damaged or excluded, or because its API group is misspelt, is more likely a mistake. So is a job that no
# environment selects.


_STDIN = "stdin"
# Why a job that is there is not compiled, and how it will be again.
_UNSELECTED = "which `select` in trainc.yaml leaves out", "change its queue, labels or namespace, or extend `select`"
_EXCLUDED = "which is excluded in trainc.yaml", "remove it from `exclude`"
_NO_INPUT = "which is not an input of this build", "add it to PATH, or to `sources` in trainc.yaml"
_KEYS = {_EXCLUDED: "exclude", _NO_INPUT: "sources"}
_NAMED = 10


class Sources:
    """The sources of one build.

    `home` is the real path of the folder of trainc.yaml, or empty: first lines are relative to it, and a source outside
    it goes by its file name alone. `paths` and `exclude` say what the build reads, and `files_read` are the files in
    which it found TrainJobs or runtimes. `place` finds settings, None if the command line says what is read.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the last two go by what they tell
        self,
        home: str,
        paths: Sequence[str] = (),
        exclude: Exclude = Exclude(),
        files_read: Iterable[str] = (),
        is_elsewhere: Callable[[Json, str], bool] = lambda _job, _file: False,
        place: Callable[[str], Source | None] | None = None,
    ) -> None:
        self._home, self._paths, self._exclude, self._files_read = home, paths, exclude, files_read
        self._is_elsewhere, self._place = is_elsewhere, place
        self._real_folders: dict[str, str] = {}
        self._spared: set[str] = set()
        self._spared_names: set[str] = set()
        self._unselected: set[str] = set()
        self._unselected_names: set[str] = set()

    def leave_unselected(self, outputs: Iterable[str], files: Iterable[str]) -> None:
        """Refuse to remove these outputs, and those of which the first line names one of these source files."""
        self._unselected.update(outputs)
        self._unselected_names.update(map(self.name, files))

    def spare(self, outputs: Iterable[str], files: Iterable[str]) -> None:
        """Never remove these outputs, nor those of which the first line names one of these source files."""
        self._spared.update(outputs)
        self._spared_names.update(map(self.name, files))

    def spares(self, output: str, name: str) -> bool:
        """Return whether an output file stays, although the build does not have it."""
        return output in self._spared or name in self._spared_names

    def name(self, file: str) -> str:
        """Return what a first line calls a source file, which is the same on every machine."""
        if file == STDIN:
            return _STDIN
        real = self._real(file)
        if self._home and real.startswith(self._home + os.sep):
            return real.removeprefix(self._home + os.sep).replace(os.sep, "/")
        return os.path.basename(file)

    def skipped(self, folder: str, outputs: Mapping[str, str]) -> list[Diagnostic]:
        """Return an error for each source that exists although nothing was read from it, or no environment selects it.

        `outputs` are the files that a build would remove from a folder, each with the source that its first line names.
        """
        by_name: dict[str, list[str]] = {}
        for output, name in outputs.items():
            by_name.setdefault(name, []).append(output)
        files_read = {self._real(file) for file in self._files_read} if by_name else set()
        diagnostics = []
        by_setting: dict[str, dict[str, list[str]]] = {}
        ended: dict[str, str] = {}
        for name, compiled in by_name.items():
            ended |= dict.fromkeys(compiled, os.path.join(self._home, *name.split("/")))
            unselected = compiled
            if name not in self._unselected_names:
                unselected = [output for output in compiled if output in self._unselected]
            for file in self._existing(name):
                lost = unselected if self._real(file) in files_read else compiled
                if lost:
                    ended = {output: source for output, source in ended.items() if output not in lost}
                    why = _UNSELECTED if lost == unselected else self._reason(file)
                    outputs_of_file = [f"{folder.rstrip('/')}/{output}" for output in lost]
                    of_path = why == _NO_INPUT and self._place is None
                    if of_path or (why in _KEYS and self._place is not None and self._place(_KEYS[why])):
                        by_setting.setdefault(_KEYS[why], {})[shown_path(os.path.relpath(file))] = outputs_of_file
                    else:
                        diagnostics.append(self._skipped_source(file, outputs_of_file, why))
        diagnostics += [self._left_out(key, files) for key, files in by_setting.items()]
        return [*diagnostics, *self._remaining(folder, ended)]

    def _left_out(self, key: str, files: Mapping[str, Sequence[str]]) -> Diagnostic:
        """Say at a setting, or of the PATH of the command, which sources with jobs it leaves out."""
        outputs = [output for of_file in files.values() for output in of_file]
        what = f"{f'`{key}`' if self._place else 'PATH'} leaves out {first_of([*files], 3)}"
        folders = sorted({os.path.dirname(file) for file in files})
        remedy = f"add {first_of(folders)} here" if key == "sources" else "correct the glob"
        if self._place is None:
            all_read = (
                "run `trainc build` without a path, which reads all `sources`" if self._home else "add them to PATH"
            )
            remedy = f"{all_read}, or leave out --prune"

        def message(outputs: Sequence[str]) -> str:
            jobs = "a job" if len(outputs) == 1 else f"{len(outputs)} jobs"
            return f"{what}; pruning would end {jobs}, {first_of(outputs, 3)}"

        def hint(outputs: Sequence[str]) -> str:
            end = f"; to end {'it' if len(outputs) == 1 else 'them'}: git rm {' '.join(outputs)}"
            return remedy + end * (self._place is not None)

        texts = Listed(message, outputs, what), Listed(hint, outputs, remedy)
        return Diagnostic("SourceSkipped", "error", *texts, source=self._place(key) if self._place else None)

    def removed(self, folder: str, outputs: Mapping[str, str], base: str) -> Iterator[Diagnostic]:
        """Yield a warning for each place with the text of jobs whose outputs are gone since `base`."""
        ended = {output: os.path.join(self._home, *name.split("/")) for output, name in outputs.items()}
        return self._remaining(folder, ended, base)

    def _remaining(self, folder: str, ended: Mapping[str, str], base: str = "") -> Iterator[Diagnostic]:
        """Yield a finding for each place with the text of jobs that are no longer declared; `ended` are outputs with sources.

        It is an error, or with `base` a warning that the outputs are gone since then.
        """
        if not ended:
            return
        from trainc.output.remains import Remains, find_remains

        groups: dict[tuple[str, str], list[tuple[str, Remains]]] = {}
        for output, remains in find_remains(
            ended, self._paths, self._exclude, Limits(), self._belongs_elsewhere
        ).items():
            groups.setdefault((remains.file, remains.why), []).append((output, remains))
        for (file, why), found in groups.items():
            outputs = [f"{folder.rstrip('/')}/{output}" for output, _ in found]
            line = min(remains.line for _, remains in found)
            yield self._skipped_source(file, outputs, (why, found[0][1].remedy), line, base)

    def _belongs_elsewhere(self, job: Json, file: str) -> bool:
        """Return whether another environment, or another trainc.yaml, has a job in a file."""
        above = folders_upward(os.path.dirname(self._real(file)))
        nearest = next((one for one in above if os.path.isfile(os.path.join(one, CONFIGURATION_FILE))), self._home)
        return nearest != self._home or self._is_elsewhere(job, file)

    def _existing(self, name: str) -> Iterator[str]:
        """Yield the files that a first line may mean by `name`."""
        if self._home and os.pardir not in name.split("/"):
            paths = (os.path.join(self._home, *relative.split("/")) for relative in self._names(name))
            yield from filter(os.path.isfile, paths)
        elif not self._home and name != _STDIN:
            walk, last = Walk(limits=Limits(allow_outside=True)), name.rpartition("/")[2]
            yield from (file for path in self._paths for file in walk.files(path) if os.path.basename(file) == last)

    def _names(self, name: str) -> Iterator[str]:
        """Yield `name`, and what it means in a file of trainc 0.1.0, which named sources from the repository's root."""
        yield name
        root = repository_above(self._home)
        prefix = os.path.relpath(self._home, root).replace(os.sep, "/") + "/" if root else ""
        if prefix and name.startswith(prefix):
            yield name.removeprefix(prefix)

    @staticmethod
    def _skipped_source(
        file: str, outputs: Sequence[str], why: tuple[str, str], line: int = 0, base: str = ""
    ) -> Diagnostic:
        """Say why a source was not read, or with `line` what has become of a job in it."""
        source, (which, remedy) = shown_path(os.path.relpath(file)), why

        def message(outputs: Sequence[str]) -> str:
            was, its = ("was", "its job") if len(outputs) == 1 else ("were", "their jobs")
            names = f"{first_of(outputs, _NAMED)} {was} compiled from"
            end = f"it is gone since {base}, which ends a job" if base else f"pruning would end {its}"
            return f"{f'the text that {names} is still here' if line else f'{names} this file'}, {which}; {end}"

        def hint(outputs: Sequence[str]) -> str:
            if base:
                return f"{remedy}, and run `trainc build`; if it is meant to end, remove the text"
            more = f" and {len(outputs) - _NAMED} more" * (len(outputs) > _NAMED)
            its = "its job" if len(outputs) == 1 else "their jobs"
            return f"{remedy}; to end {its}: git rm {' '.join(outputs[:_NAMED])}{more}"

        texts = Listed(message, outputs, which), Listed(hint, outputs, remedy)
        severity: Severity = "warning" if base else "error"
        return Diagnostic("SourceSkipped", severity, *texts, source=Source(source, line or 1, 1))

    def _reason(self, file: str) -> tuple[str, str]:
        """Return why nothing was read from a file, and how it will be read again."""
        if self._is_excluded(file):
            return _EXCLUDED
        # A link is read where it is, if what it points to may be.
        folder = os.path.realpath(os.path.dirname(file))
        if not any(
            is_below(os.path.join(folder, os.path.basename(file)), os.path.realpath(path)) for path in self._paths
        ):
            return _NO_INPUT
        with suppress(OSError):
            data = read_file(file, MOST_BYTES)
            if not data.strip():
                return "which is empty now", "restore it"
            if data.startswith(b"version https://git-lfs.github.com/spec/"):
                return "which is a Git LFS pointer now", "run `git lfs pull`, and have CI check out files of Git LFS"
        return "in which there is no job now", "restore the job: check apiVersion, kind and syntax"

    def _is_excluded(self, file: str) -> bool:
        while not self._exclude(file):
            file, before = os.path.dirname(file), file
            if file in (before, self._home):
                return False
        return True

    def _real(self, file: str) -> str:
        if os.path.islink(file):
            return os.path.realpath(file)
        folder, name = os.path.split(file)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return os.path.join(self._real_folders[folder], name)
