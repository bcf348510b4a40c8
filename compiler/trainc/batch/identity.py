"""The identity of this installation of trainc, so that cached results of another one are never used."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

from trainc.batch.digest import digest_of
from trainc.reading.catalog import catalog_folder

# Libraries that read, render, merge and check: another version may produce different results.
_LIBRARIES = ("PyYAML", "jinja2", "deepmerge", "jsonschema", "ruamel.yaml")


def trainc_digest(plugins: Sequence[str] = ()) -> bytes:
    """Return a digest of the files of trainc, its catalog and the enabled `plugins`, and of Python and the libraries."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parts = [sys.version, *(f"{library} {_version(library)}" for library in _LIBRARIES)]
    for root in dict.fromkeys((package, catalog_folder(), *_folders(plugins))):
        for file in _files(root):
            with open(file, "rb") as stream:
                parts += [os.path.relpath(file, root), digest_of(stream.read()).hex()]
    return digest_of(*parts)


def _folders(plugins: Sequence[str]) -> Sequence[str]:
    if not plugins:
        return ()
    from trainc.plugins.registry import folders

    return folders(plugins)


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


def _files(folder: str) -> Iterator[str]:
    if os.path.isfile(folder):
        yield folder
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (os.path.join(path, name) for name in sorted(names))
