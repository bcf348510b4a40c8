"""Texts about fields by type and field: what Trainer's own are for (descriptions.json), and what to write instead (hints.json).

The hints are for fields that accepted proposals add to a later Trainer or JobSet, with what does the same until then; for
fields that a release has removed, with what replaced them relative to their struct; and for the names that other tools have,
in lower case.
"""

from __future__ import annotations

from trainc.startup.shipped import read_data
from trainc.startup.typing import Any

DESCRIPTIONS: dict[str, str] = {
    f"trainer.{owner}.{field}": text
    for owner, fields in read_data(__file__, "descriptions.json").items()
    for field, text in fields.items()
}
HINTS: dict[str, dict[str, Any]] = read_data(__file__, "hints.json")
