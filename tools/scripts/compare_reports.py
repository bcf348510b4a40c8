"""Compare the reports in two folders of goldens: codes, severities and places must agree, messages may differ.

    python tools/scripts/compare_reports.py OLD NEW

Prints a line for each difference and exits with 1 if there are any. Both folders contain text reports, as in
golden/errors.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

_FINDING = re.compile(r"^(\S+?:)? ?(error|warning|info)\[(\w+)\]", re.MULTILINE)


def findings(report: Path) -> Counter[tuple[str, ...]]:
    """Count the diagnostics of a report by place, severity and code."""
    text = report.read_text(encoding="utf-8") if report.exists() else ""
    return Counter(_FINDING.findall(text))


def main(old: Path, new: Path) -> int:
    """Print diagnostics that only one folder reports; return the exit status."""
    names = sorted({path.relative_to(folder) for folder in (old, new) for path in folder.rglob("*.txt")})
    different = 0
    for name in names:
        before, after = findings(old / name), findings(new / name)
        for sign, lines in (("-", before - after), ("+", after - before)):
            for place, severity, code in lines.elements():
                different += 1
                print(f"{sign} {name}: {place} {severity}[{code}]")
    print(f"{len(names)} reports compared, {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
