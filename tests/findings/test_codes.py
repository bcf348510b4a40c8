"""The table of codes: every code that can be printed is in it, has a page, and is no worse than it says."""

from __future__ import annotations

import ast
import json
import re
from functools import cache

from package import GROUP, PACKAGE, nodes

from trainc.findings.codes import codes
from trainc.ir.deviations import deviations

pytestmark = GROUP
SEVERITIES = ("error", "warning", "info")
# Words in capitals that are passed where a code may be, and are none.
CAMEL = re.compile(r"[A-Z]+[a-z]+[A-Za-z]*")


@cache
def made() -> list[tuple[str, str, str | None]]:
    """The module, code and severity of every finding that is made, as far as they are written there."""
    found = []
    for module, node in nodes(ast.Call):
        if ast.unparse(node.func).rpartition(".")[2] not in ("Finding", "Diagnostic"):
            continue
        given = dict(zip(("code", "severity"), node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        code, severity = (given.get(name) for name in ("code", "severity"))
        if isinstance(code, ast.Constant) and isinstance(code.value, str):
            known = severity.value if isinstance(severity, ast.Constant) else None
            found.append((module, code.value, str(known) if known is not None else None))
    return found


def test_every_code_that_is_written_is_in_the_table() -> None:
    assert {(module, code) for module, code, _ in made() if code not in codes()} == set()
    assert len({code for _, code, _ in made()}) > 150


def test_no_finding_is_worse_than_its_code() -> None:
    worse = {
        (module, code, severity)
        for module, code, severity in made()
        if severity is not None and SEVERITIES.index(severity) < SEVERITIES.index(codes()[code].severity)
    }
    assert worse == set()


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(codes()) == sorted(page.stem for page in PACKAGE.rglob("rules/*.md"))


def test_every_code_of_the_table_is_used() -> None:
    written = {
        node.value for _, node in nodes(ast.Constant) if isinstance(node.value, str) and CAMEL.fullmatch(node.value)
    }
    for table in PACKAGE.glob("knowledge/tables/*.json"):
        written |= {row.get("code", "") for row in json.loads(table.read_text(encoding="utf-8")).get("rows", ())}
    assert set(codes()) - written - {deviation.code for deviation in deviations()} == set()
