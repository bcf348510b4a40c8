"""Which files of an output folder are trainc's: those with its mark in the first line.

The mark is in the file itself, so that branches never conflict over a list, and users take over a file by deleting the
line. trainc never removes a file for any other reason.
"""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os
import stat
from collections.abc import Container

from trainc.reading.opening import open_file, read_file
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


# Jobs whose file would have the name of another tool's settings, or of trainc's: `kubectl kustomize`, Argo CD and Flux CD
# take kustomization.yaml for a kustomization, and trainc looks for the others itself.
_SETTINGS = ("kustomization", "overlay", "trainc")


def first_line(source: str) -> str:
    """Return the first line of a file that is compiled from `source`."""
    return f"# Compiled by trainc from {_UNPRINTABLE.sub('?', source)}. Edit that file instead.\n"


def is_marked(text: str) -> bool:
    """Return whether a file with this text is trainc's."""
    return _FIRST_LINE.match(text) is not None


def is_marked_file(path: str) -> bool:
    """Return whether a path is a regular file of trainc's, not a link."""
    return source_in(path) is not None


def source_in(path: str) -> str | None:
    """Return the source that the first line of a file names, or None if the file is not trainc's.

    Reads no more than the longest first line. Fails for links and for what is not a regular file.
    """
    with open_file(path, links=False) as stream:
        found = _FIRST_LINE.match(stream.readline(_LONGEST_LINE).decode(errors="replace"))
    return None if found is None else found[1]


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


def is_applied(name: str) -> bool:
    """Return whether a GitOps tool reads a file with this name.

    Argo CD reads these four suffixes, and builds the folder with kustomize if there is a kustomization (argoproj/argo-cd
    reposerver/repository/repository.go, util/app/discovery/discovery.go).
    """
    return name.endswith((".yaml", ".yml", ".json", ".jsonnet")) or name == "Kustomization"


def stays_inside(folder: str, path: str) -> bool:
    """Return whether no part of `path` is a link, so that a file written there is inside `folder`."""
    parent = os.path.dirname(path)
    return not os.path.islink(os.path.join(folder, path)) and not (
        parent and os.path.islink(os.path.join(folder, parent))
    )


def marked_files(folder: str, besides: Container[str] = ()) -> dict[str, str]:
    """Return trainc's files in `folder` and the folders directly in it, without links, each with its source.

    Paths are relative and sorted. Files in `besides` are not read.
    """
    sources = {path: source_in(os.path.join(folder, path)) for path in _candidates(folder) if path not in besides}
    return {path: source for path, source in sources.items() if source is not None}


def _candidates(folder: str) -> list[str]:
    found: list[str] = []
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            found += [f"{entry.name}/{inner.name}" for inner in _entries(entry.path) if _is_file(inner)]
        elif _is_file(entry):
            found.append(entry.name)
    return sorted(filter(can_be_owned, found))


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
