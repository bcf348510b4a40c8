"""The page of all diagnostics, which `make diagnostics` writes: every entry is there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from trainc.findings.codes import codes

ROOT = Path(__file__).parents[1]
PAGE = runpy.run_path(str(ROOT / "tools" / "scripts" / "generate_diagnostics.py"))["document"]()


def test_every_code_has_one_entry_with_wrong_and_right_input() -> None:
    entries = re.split(r"^## (?=[A-Z])", PAGE, flags=re.MULTILINE)[1:]
    assert [entry.partition("\n")[0] for entry in entries] == list(codes())
    lacking = [
        e.partition("\n")[0]
        for e in entries
        if not re.search(r"\n### Wrong\n\n```yaml\n.*\n### Right\n\n```(yaml|diff)\n", e, re.DOTALL)
    ]
    assert lacking == []
