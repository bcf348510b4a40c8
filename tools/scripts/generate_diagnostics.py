"""Write build/diagnostics.md: every diagnostic code with its page, as `trainc rule CODE` prints it.

    python tools/scripts/generate_diagnostics.py

The pages are in the folders rules/ of compiler/trainc.
"""

from __future__ import annotations

from pathlib import Path

from trainc.findings.codes import codes, page, summary_of

OUTPUT = Path(__file__).parents[2] / "build" / "diagnostics.md"
HEAD = """# Diagnostics

Every remark of trainc begins with where it is about, a severity and a code: `jobs/llm.yaml:10:5: error[UnknownField]`. This
page says what each code means, with input that gives it and input that does not; `trainc rule CODE` prints an entry. A
code never changes its meaning; `docs/diagnostics-json.md` describes the form that programs read. An error keeps trainc
from writing anything; a warning and an info do not.

Tests run every example.
"""


def document() -> str:
    """The whole text: a table of all codes, then an entry for each."""
    rows = "".join(f"| [{code}](#{code.lower()}) | {summary_of(code)} |\n" for code in codes())
    entries = "\n".join(_entry(code) for code in codes())
    return f"{HEAD}\n| code | means |\n|---|---|\n{rows}\n{entries}"


def _entry(code: str) -> str:
    """A page with its headings one level down; code examples are unchanged."""
    lines: list[str] = []
    example = False
    for line in (page(code) or "").splitlines(keepends=True):
        example ^= line.startswith("```")
        lines.append(f"#{line}" if line.startswith("#") and not example else line)
    return "".join(lines)


def main() -> None:
    """Write the document."""
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
