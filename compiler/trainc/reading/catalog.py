"""The catalog of runtimes that trainc ships, by name and release; files are only read when needed.

A runtime is `<name>.yaml`, or `<name>/<release>.yaml` for each release that changes it. The annotation
`trainc/releases` in each file lists the releases that it applies to; "2.2+" is 2.2 and all later ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from trainc.findings import Path, Source
from trainc.findings.text import correct_spelling, did_you_mean
from trainc.kube.releases import RELEASES, Span
from trainc.options import Limits
from trainc.reading.document import Document
from trainc.reading.opening import is_below, read_file
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import TypeAlias

RELEASES_ANNOTATION = "trainc/releases"
# The prefix of catalog files in diagnostics.
CATALOG_PREFIX = "catalog:"
_SUFFIX = ".yaml"


@dataclass(frozen=True, slots=True)
class NotFound:
    """Why the catalog has no such runtime: what it has instead, if anything, a hint, and the name that is misspelled."""

    instead: str = ""
    hint: str = ""
    meant: str = ""


# (name, release) -> the runtime, or a function that explains why there is none.
Catalog: TypeAlias = Callable[[str, str], Document | Callable[[], NotFound]]


def find(name: str, release: str) -> Document | Callable[[], NotFound]:
    """Return the runtime `name` for `release`, or a function that explains what the catalog has instead.

    The explanation is lazy because it reads many files, and is not needed if the input defines the runtime.
    """
    for path in _candidate_files(name, release):
        document = _read_runtime(path)
        if release in releases_of(document):
            return document
    return lambda: _explain_missing(name, release)


def names(release: str | None = None) -> list[str]:
    """Return the names of all runtimes, or of those available in `release`, sorted."""
    all_names = sorted(
        {
            entry.removesuffix(_SUFFIX)
            for entry in os.listdir(catalog_folder())
            if not entry.startswith((".", "_", "README"))
        }
    )
    return all_names if release is None else [name for name in all_names if release in releases(name)]


@cache
def releases(name: str) -> tuple[str, ...]:
    """Return the releases that have this runtime, oldest first; empty if the name is unknown."""
    served = {release for path in _files(name) for release in releases_of(_read_runtime(path))}
    return tuple(release for release in RELEASES if release in served)


def releases_of(document: Document) -> tuple[str, ...]:
    """Return the releases that a catalog file applies to."""
    annotations = document.data["metadata"]["annotations"]
    words = str(annotations[RELEASES_ANNOTATION]).split()
    spans = [Span(word.rstrip("+"), None if word.endswith("+") else word) for word in words]
    return tuple(release for release in RELEASES if any(release in span for span in spans))


def text_of(file: str) -> str:
    """Return the text of a catalog file, given its name in `Document.file`."""
    folder = catalog_folder()
    path = os.path.normpath(os.path.join(folder, file.removeprefix(CATALOG_PREFIX)))
    if not is_below(path, folder):
        raise FileNotFoundError(file)
    return read_file(path, Limits().file_bytes).decode()


def _files(name: str) -> list[str]:
    """Return the files of a runtime, oldest release first."""
    if not name or {"/", "\\"} & set(name) or name.startswith("."):
        return []
    single, folder = os.path.join(catalog_folder(), name + _SUFFIX), os.path.join(catalog_folder(), name)
    if os.path.isfile(single):
        return [single]
    return [os.path.join(folder, entry) for entry in sorted(os.listdir(folder))] if os.path.isdir(folder) else []


def _candidate_files(name: str, release: str) -> list[str]:
    """Return the one file that may apply to `release`: the latest that does not start after it."""
    files = _files(name)
    started = [path for path in files if os.path.basename(path).removesuffix(_SUFFIX) <= release]
    return started[-1:] if len(files) > 1 else files


def _explain_missing(name: str, release: str) -> NotFound:
    serving = releases(name)
    if not serving:
        return NotFound("", did_you_mean(name, names(release), 0.5), correct_spelling(name, names(release)))
    first, last = serving[0], serving[-1]
    if first > release:
        return NotFound(
            f"trainc's catalog has it from Trainer {first} on", f"compile for Trainer {first} with --release"
        )
    return NotFound(f"trainc's catalog has it only up to Trainer {last}", f"compile for Trainer {last} with --release")


def _read_runtime(path: str) -> Document:
    name = CATALOG_PREFIX + os.path.relpath(path, catalog_folder())
    (document, *_), _ = read_documents(read_file(path, Limits().file_bytes), name, Limits())

    def locate(path: Path) -> Source | None:
        source = document.locate(path)
        return source and replace(source, origin="catalog")  # An input file could have the same name.

    return replace(document, locate=locate)


@cache
def catalog_folder() -> str:
    """Return the catalog's directory: in the package if it is installed, at the top of the repository in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = os.path.join(package, "catalog")
    checkout = os.path.join(os.path.dirname(os.path.dirname(package)), "runtimes")
    return installed if os.path.isdir(installed) else checkout
