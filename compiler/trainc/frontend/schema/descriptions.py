"""What the fields of Trainer's own types mean, one line each, for editors."""

from __future__ import annotations

DESCRIPTIONS: dict[str, str] = {}
