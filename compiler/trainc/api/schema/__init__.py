"""The API schemas of each Trainer release: checking documents, filling in defaults, and JSON Schemas for editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainc.api.schema.checking import check

if TYPE_CHECKING:
    from trainc.api.schema.editor_schema import json_schema
    from trainc.api.schema.known_fields import known_in

__all__ = ["check", "json_schema", "known_in"]


def __getattr__(name: str) -> Any:
    # Only `trainc schema`, old fields and refused documents need these.
    if name == "json_schema":
        from trainc.api.schema.editor_schema import json_schema

        return json_schema
    if name == "known_in":
        from trainc.api.schema.known_fields import known_in

        return known_in
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
