"""Read the kustomization that runs trainc, to report misuse that kustomize itself would not explain."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.documents import Json
from trainc.diagnostics import Diagnostic
from trainc.options import Limits
from trainc.overlays.read import is_overlay
from trainc.reading.confinement import is_inside, root_around
from trainc.reading.document import Document
from trainc.reading.opening import read_file
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass

# Source: kubernetes-sigs/kustomize api/konfig/general.go (RecognizedKustomizationFileNames).
_FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_NAMES_KUSTOMIZATIONS = ("resources", "components", "bases")
# No real stack is deeper; kustomize itself refuses cycles.
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization: its folder, file name and content. Files outside `root` are not read."""

    folder: str
    file: str
    data: Json
    root: str

    def entries(self, field: str) -> list[Any]:
        """The items of a list field; empty if it is not a list."""
        found = self.data.get(field)
        return found if isinstance(found, list) else []

    def documents(self, entry: Any) -> Sequence[dict[str, Any]]:
        """The documents of an entry, which is a file path or, if it contains line breaks, inline YAML."""
        if not isinstance(entry, str):
            return ()
        return _parsed(entry.encode()) if "\n" in entry.strip() else _documents(self.path_of(entry), self.root)

    def beneath(self) -> Iterator[Kustomization]:
        """This kustomization and those it builds on, without duplicates."""
        waiting, met = [self], {os.path.realpath(self.folder)}
        while waiting:
            one = waiting.pop()
            yield one
            for entry in (entry for field in _NAMES_KUSTOMIZATIONS for entry in one.entries(field)):
                place = os.path.realpath(one.path_of(entry)) if isinstance(entry, str) else ""
                if place and place not in met and len(met) < _MOST and os.path.isdir(place):
                    met.add(place)
                    found = kustomization_in(place)
                    waiting += [found] if found else []

    def path_of(self, entry: str) -> str:
        """The path that an entry refers to."""
        return os.path.join(self.folder, entry)


def kustomization_in(folder: str) -> Kustomization | None:
    """The kustomization in a folder; None if there is none or it cannot be read."""
    root = root_around(os.curdir)
    for file in _FILES:
        for data in _documents(os.path.join(folder, file), root):
            return Kustomization(folder, file, data, root)
    return None


def used_as_validator(folder: str, configuration: Document | None) -> list[Diagnostic]:
    """An error if the kustomization in `folder` lists `configuration` among its validators; otherwise empty.

    kustomize compares a validator's output with its input and refuses any difference, with an unhelpful message.
    """
    kustomization = kustomization_in(folder)
    if configuration is None or kustomization is None:
        return []
    documents = (data for entry in kustomization.entries("validators") for data in kustomization.documents(entry))
    if _name(configuration.data) in (_name(data) for data in documents if is_overlay(data)):
        return [_refusal(kustomization.file)]
    return []


def _refusal(file: str) -> Diagnostic:
    return Diagnostic(
        "UsedAsValidator",
        "error",
        f"{file} lists trainc under `validators`, which cannot change resources; trainc replaces TrainJobs",
        hint="move the entry to `transformers`",
        object="Kustomization",
        path="validators",
    )


def _documents(path: str, root: str) -> Sequence[dict[str, Any]]:
    try:
        if not is_inside(path, root):
            return ()
        return _parsed(read_file(path, Limits().file_bytes))
    except (OSError, ValueError):
        return ()


def _parsed(text: bytes) -> Sequence[dict[str, Any]]:
    """The documents that can be parsed; kustomize has read the same text and reports errors in the others."""
    return [document.data for document in read_documents(text, "", Limits())[0]]


def _name(data: Json) -> str:
    metadata = data.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
