"""Which files of an output folder are trainc's: those whose first line says so.

The mark stands in the file itself, so two branches never conflict over a list, and whoever deletes the line takes the
file over. Nothing that stands anywhere else makes trainc remove a file.
"""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator

from trainc.reading.opening import open_file, read_file
from trainc.startup.patterns import pattern

STATE_FOLDER = ".trainc"
# More than any list, journal or manifest of trainc's has.
MOST_BYTES = 200_000_000
# Neither hidden nor a way up, and nothing that a file system reads as more than a name.
_NAME = r"[A-Za-z0-9][-A-Za-z0-9._]*"
_FORM = pattern(rf"(?:{_NAME}/)?{_NAME}\.yaml")
# A path has 4,096 bytes at most.
_LONGEST_LINE = 5_000
_FIRST_LINE = pattern(r"# Compiled by trainc from [^\n]+\. Edit that file instead\.\n")
_UNPRINTABLE = pattern(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


# Jobs whose file would have the name of another tool's settings, or of trainc's: `kubectl kustomize`, Argo CD and Flux CD
# take kustomization.yaml for a kustomization, and trainc looks for the others itself.
_SETTINGS = ("kustomization", "overlay", "trainc")


def first_line(source: str) -> str:
    """The line that a file compiled from `source` begins with."""
    return f"# Compiled by trainc from {_UNPRINTABLE.sub('?', source)}. Edit that file instead.\n"


def is_marked(text: str) -> bool:
    """Whether a file with this text is trainc's."""
    return _FIRST_LINE.match(text) is not None


def is_marked_file(path: str) -> bool:
    """Whether a regular file is trainc's, by as much of its first line as a path can take; it is not a link."""
    with open_file(path, links=False) as stream:
        return is_marked(stream.readline(_LONGEST_LINE).decode(errors="replace"))


def file_name(namespace: str, name: str) -> str:
    """Where a job's manifests go: `<namespace>/<name>.yaml`, without the folder where there is no namespace.

    A file of that name may mean something else to a tool; then it is `<name>.jobset.yaml`, which no other job can have:
    names of jobs hold no dot.
    """
    file = f"{name}.jobset.yaml" if name in _SETTINGS else f"{name}.yaml"
    return f"{namespace}/{file}" if namespace else file


def can_be_owned(path: str) -> bool:
    """Whether a relative path has the form that `file_name` gives."""
    return _FORM.fullmatch(path) is not None


def stays_inside(folder: str, path: str) -> bool:
    """Whether no part of `path` is a link, so that what is written there is written below `folder`."""
    parent = os.path.dirname(path)
    return not os.path.islink(os.path.join(folder, path)) and not (
        parent and os.path.islink(os.path.join(folder, parent))
    )


def marked_files(folder: str, besides: Container[str] = ()) -> Iterator[str]:
    """The relative paths of trainc's files in `folder`, sorted: at its top and one folder down, links left alone.

    Those that are `besides` are not looked at.
    """
    others = (path for path in _candidates(folder) if path not in besides)
    return (path for path in others if is_marked_file(os.path.join(folder, path)))


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
    """The list in which trainc 0.1.0 kept the names of its files; the next build removes it."""
    return os.path.join(folder, STATE_FOLDER, "owned")


def listed_files(folder: str) -> frozenset[str]:
    """The relative paths in that list: files without a mark, which a job of their name may take over.

    None of them is removed for standing there: anybody can write such a list.
    """
    try:
        text = read_file(legacy_list(folder), MOST_BYTES, links=False).decode(errors="replace")
        return frozenset(path for path in text.splitlines() if can_be_owned(path))
    except OSError:
        return frozenset()
