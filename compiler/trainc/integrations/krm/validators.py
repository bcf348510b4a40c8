"""Whether a kustomization runs trainc as a validator, which may look at resources and change none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.diagnostics import Diagnostic
from trainc.options import Limits
from trainc.overlays.read import is_overlay
from trainc.reading.confinement import is_inside, root_around
from trainc.reading.document import Document
from trainc.reading.opening import read_file
from trainc.reading.yaml_reader import read_documents

# Source: kubernetes-sigs/kustomize api/konfig/general.go (RecognizedKustomizationFileNames).
_FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def used_as_validator(folder: str, configuration: Document | None) -> list[Diagnostic]:
    """An error if the kustomization in `folder` lists `configuration` among its validators; else nothing.

    kustomize compares a validator's output with its input and refuses every difference, in words that help nobody.
    """
    if configuration is None:
        return []
    root = root_around(folder)
    for file in _FILES:
        for document in _documents(os.path.join(folder, file), root):
            if _name(configuration.data) in _overlays(document.get("validators"), folder, root):
                return [_refusal(file)]
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


def _overlays(entries: Any, folder: str, root: str) -> Iterator[str]:
    """The names of the overlays that a list of files and inline documents holds."""
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, str):
            inline = "\n" in entry.strip()
            found = _parsed(entry.encode()) if inline else _documents(os.path.join(folder, entry), root)
            yield from (_name(data) for data in found if is_overlay(data))


def _documents(path: str, root: str) -> Sequence[dict[str, Any]]:
    try:
        if not is_inside(path, root):
            return ()
        return _parsed(read_file(path, Limits().file_bytes))
    except OSError:
        return ()


def _parsed(text: bytes) -> Sequence[dict[str, Any]]:
    """The documents that can be read; kustomize has read the same text, and judges the others."""
    return [document.data for document in read_documents(text, "", Limits())[0]]


def _name(data: dict[str, Any]) -> str:
    metadata = data.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
