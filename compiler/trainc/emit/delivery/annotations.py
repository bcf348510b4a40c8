"""Annotations of a whole object, added without touching what its author wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from trainc.diagnostics import Finding

Manifest: TypeAlias = dict[str, Any]
# An object's label, as diagnostics write it, and a finding about it.
About: TypeAlias = tuple[str, Finding]


def annotations_of(manifest: Manifest) -> Mapping[str, str]:
    """The object's annotations, empty where it has none."""
    found: Mapping[str, str] = manifest["metadata"].get("annotations") or {}
    return found


def with_annotations(manifest: Manifest, added: Mapping[str, str]) -> Manifest:
    """The object with annotations added; one that it has already is kept as it is."""
    if not added:
        return manifest
    return {
        **manifest,
        "metadata": {**manifest["metadata"], "annotations": {**added, **annotations_of(manifest)}},
    }
