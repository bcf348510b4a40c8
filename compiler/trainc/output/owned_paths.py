"""Which paths of an output folder can be trainc's at all: a list that somebody else wrote never leads elsewhere."""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os

from trainc.startup.patterns import pattern

STATE_FOLDER = ".trainc"
_OWNED = "owned"
# Neither hidden nor a way up, and nothing that a file system reads as more than a name.
_NAME = r"[A-Za-z0-9][-A-Za-z0-9._]*"
_FORM = pattern(rf"(?:{_NAME}/)?{_NAME}\.yaml")


# Jobs whose file would have the name of another tool's settings, or of trainc's: `kubectl kustomize`, Argo CD and Flux CD
# take kustomization.yaml for a kustomization, and trainc looks for the others itself.
_SETTINGS = ("kustomization", "overlay", "trainc")


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


def owned_file(folder: str) -> str:
    """The list of the files of `folder` that are trainc's. It belongs in git, beside them."""
    return os.path.join(folder, STATE_FOLDER, _OWNED)


def read_owned(folder: str) -> frozenset[str]:
    """The relative paths in that list, less what cannot be trainc's, such as the marks of a merge in git."""
    try:
        with open(owned_file(folder), encoding="utf-8", errors="replace") as stream:
            return frozenset(path for path in stream.read().splitlines() if can_be_owned(path))
    except FileNotFoundError:
        return frozenset()


def owned_text(paths: frozenset[str]) -> str:
    """The list as it is written: one path a line, sorted."""
    return "".join(f"{path}\n" for path in sorted(paths))
