"""One-line descriptions of the fields of Trainer's own types, for editors: descriptions.json, by type and field."""

from __future__ import annotations

import json
from pathlib import Path

_BY_TYPE: dict[str, dict[str, str]] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
DESCRIPTIONS = {
    f"trainer.{owner}.{field}": text for owner, fields in _BY_TYPE.items() for field, text in fields.items()
}
