"""Diagnostics for programs: lines, JSON, SARIF 2.1.0, JUnit, GitHub workflow commands, and GitLab's code quality."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from trainc import __version__
from trainc.cli.diagnostics import Files, full_message, once, rule_page
from trainc.findings import Diagnostic, Severity, Source
from trainc.findings.codes import codes, page, summary_of
from trainc.findings.text import counted, escape_line, escape_report
from trainc.reading.edits import Edit
from trainc.reading.opening import CONFIGURATION_FILE, repository_above
from trainc.startup.patterns import pattern
from trainc.startup.records import replace

JSON_VERSION = 1


def json_report(diagnostics: Sequence[Diagnostic], files: Files) -> str:
    """A JSON object with every diagnostic in order, its fixes, and the number of each severity.

    docs/diagnostics-json.md describes the format, whose version is `version`.
    """
    counts = {f"{s}s": sum(d.severity == s for d in diagnostics) for s in ("error", "warning", "info")}
    document = {"version": JSON_VERSION, "diagnostics": [_json_entry(d, files) for d in diagnostics], "summary": counts}
    return _json(document) + "\n"


def _json(document: Any) -> str:
    return escape_report(json.dumps(document, indent=2, ensure_ascii=False), json=True)


def _json_entry(d: Diagnostic, files: Files) -> dict[str, Any]:
    source = None
    if d.source is not None:
        source = {"file": d.source.file, "line": d.source.line, "column": d.source.column}
    more: dict[str, Any] = {"environments": list(d.environments)} if d.environments else {}
    more |= {"others": list(d.others)} if d.others else {}
    if edits := files.edits(d):
        names = ("line", "column", "endLine", "endColumn")
        more["fixes"] = [{"title": e.title, "edits": [_region(e, names) | {"text": e.text}]} for e in edits]
    return {
        **more,
        "code": d.code,
        "severity": d.severity,
        "message": d.message,
        "hint": d.hint,
        "object": d.object,
        "path": d.path,
        "source": source,
        "url": rule_page(d.code),
    }


def _region(edit: Edit, names: Sequence[str]) -> dict[str, Any]:
    """What an edit replaces: a line and a column, twice, which count from 1."""
    return {name: number + 1 for name, number in zip(names, (*edit.range.start, *edit.range.end), strict=True)}


_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif_report(diagnostics: Sequence[Diagnostic], files: Files) -> str:
    """A SARIF 2.1.0 log with one run, for code scanning dashboards."""
    codes = sorted({d.code for d in diagnostics})
    rules = [_sarif_rule(code) for code in codes]
    driver = {"name": "trainc", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [
            _sarif_result(d, codes.index(d.code)) | _sarif_fixes(d, files.edits(original))
            for original, d in zip(diagnostics, _in_repository(diagnostics), strict=True)
        ],
    }
    return _json({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _sarif_rule(code: str) -> dict[str, Any]:
    """A code with its page, as Markdown and, for dashboards that show plain text, without code fences."""
    text = page(code)
    described: dict[str, Any] = {"id": code, "shortDescription": {"text": summary_of(code) or code}}
    if (url := rule_page(code)) is not None:
        described["helpUri"] = url
    if (entry := codes().get(code)) is not None:
        described["defaultConfiguration"] = {"level": _SARIF_LEVELS[entry.severity]}
        described["properties"] = {"tags": [entry.stage]}
    return described if text is None else {**described, "help": {"text": _FENCES.sub("", text), "markdown": text}}


_FENCES = pattern(r"^```\w*\n", re.MULTILINE)


def _in_repository(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    root = repository_above(os.curdir)
    prefix = "" if root is None else os.path.relpath(os.path.realpath(os.curdir), root).replace(os.sep, "/")
    if prefix in ("", os.curdir):
        return list(diagnostics)
    return [_moved(diagnostic, prefix) for diagnostic in diagnostics]


def _moved(d: Diagnostic, prefix: str) -> Diagnostic:
    if d.source is None or d.source.origin != "file" or os.path.isabs(d.source.file):
        return d
    return replace(d, source=replace(d.source, file=posixpath.normpath(f"{prefix}/{d.source.file}")))


def _sarif_result(d: Diagnostic, rule: int) -> dict[str, Any]:
    text = f"{full_message(d)}. Help: {d.hint}" if d.hint else full_message(d)
    text = text.replace("](", "] (")  # Viewers make links of what looks like one.
    result = {"ruleId": d.code, "ruleIndex": rule, "level": _SARIF_LEVELS[d.severity], "message": {"text": text}}
    if d.environments:
        result["properties"] = {"environments": list(d.environments)}
    if location := _sarif_location(d):
        result["locations"] = [location]
    return result


def _sarif_fixes(d: Diagnostic, edits: Sequence[Edit]) -> dict[str, Any]:
    fixes = []
    for edit in edits:
        assert d.source is not None
        region = _region(edit, ("startLine", "startColumn", "endLine", "endColumn"))
        change = {"deletedRegion": region, "insertedContent": {"text": edit.text}}
        changed = {"artifactLocation": {"uri": quote(d.source.file)}, "replacements": [change]}
        fixes.append({"description": {"text": edit.title}, "artifactChanges": [changed]})
    return {"fixes": fixes} if fixes else {}


def _sarif_location(d: Diagnostic) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if d.source is not None:
        region = {"startLine": d.source.line, "startColumn": d.source.column}
        location["physicalLocation"] = {"artifactLocation": {"uri": quote(d.source.file)}, "region": region}
    if d.object:
        location["logicalLocations"] = [{"fullyQualifiedName": f"{d.object} {d.path}".rstrip(), "kind": "resource"}]
    return location


def concise_report(diagnostics: Sequence[Diagnostic], files: Files) -> str:
    """One line for each finding, as compilers print them and editors and `grep` read them."""
    lines = (f"{_place(d)}: {d.severity}[{d.code}] {escape_line(full_message(d))}\n" for d in diagnostics)
    return escape_report("".join(lines))


def _place(d: Diagnostic) -> str:
    return escape_line(str(d.source) if d.source else d.object or "trainc")


def junit_report(diagnostics: Sequence[Diagnostic], files: Files) -> str:
    """A JUnit file with one test for each finding, which fails if it is an error; a single one that passes if there is none.

    The attributes are those that Jenkins, GitLab and Azure DevOps read.
    """
    from xml.sax.saxutils import escape, quoteattr

    errors = sum(d.severity == "error" for d in diagnostics)
    lines = [f'<testsuite name="trainc" tests="{len(diagnostics) or 1}" failures="{errors}">']
    for d in diagnostics:
        where = d.source.file if d.source else d.object or "trainc"
        case = f"  <testcase classname={quoteattr(_xml(where))} name={quoteattr(_xml(f'{d.code} {_place(d)}'))}"
        text = f"message={quoteattr(_xml(full_message(d)))}>{escape(_xml(d.hint))}"
        if d.severity == "error":
            lines += [f"{case}>", f'    <failure type="error" {text}</failure>', "  </testcase>"]
        else:
            lines.append(
                f"{case}><system-out>{escape(_xml(f'{d.severity}: {full_message(d)}'))}</system-out></testcase>"
            )
    lines += ['  <testcase classname="trainc" name="check"/>'] if not diagnostics else []
    return escape_report("\n".join(('<?xml version="1.0" encoding="UTF-8"?>', *lines, "</testsuite>", "")))


def _xml(text: str) -> str:
    return escape_line(text).replace("\ufffe", "").replace("\uffff", "")


_GITHUB_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}
# Source: docs.github.com, "Workflow commands": a step has 10 annotations of each kind.
_MOST_ANNOTATED = 10


def github_report(diagnostics: Sequence[Diagnostic]) -> str:
    """One workflow command per line, which GitHub shows next to the changed lines of a pull request.

    It shows ten of a severity and drops the others in silence, so that a line counts those.
    """
    merged = _in_repository(once(diagnostics))
    shown = {severity: [d for d in merged if d.severity == severity][:_MOST_ANNOTATED] for severity in _GITHUB_LEVELS}
    rest = Counter(d.severity for d in merged) - Counter({severity: len(found) for severity, found in shown.items()})
    lines = [_github_command(d) for d in merged if d in shown[d.severity]]
    more = [counted(rest[severity], f"more {severity}") for severity in shown if rest[severity]]
    return "".join(lines) + (f"and {', '.join(more)}: `trainc check` without --format shows them\n" if more else "")


def _github_command(d: Diagnostic) -> str:
    properties = {}
    if d.source is not None:
        properties = {"file": d.source.file, "line": str(d.source.line), "col": str(d.source.column)}
    properties["title"] = f"{d.code} ({d.object})" if d.object else d.code
    text = "\n".join(filter(None, (full_message(d), d.hint, rule_page(d.code) or f"trainc rule {d.code}")))
    attributes = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    return f"::{_GITHUB_LEVELS[d.severity]} {attributes}::{_escaped(text, '')}\n"


def _escaped(text: str, special: str) -> str:
    """Escape %, line breaks and the `special` characters as the runner does, and what a terminal would obey."""
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + special else escape_line(c) for c in text)


_GITLAB_SEVERITIES = {"error": "critical", "warning": "major", "info": "info"}


def gitlab_report(diagnostics: Sequence[Diagnostic], files: Files) -> str:
    """A code quality report, which GitLab shows in merge requests. It recognizes a finding by its fingerprint.

    Source: docs.gitlab.com, "Code quality report format". Every entry needs a file; trainc.yaml stands for the settings.
    """
    entries: list[dict[str, Any]] = []
    repetitions: Counter[str] = Counter()
    for d in _in_repository(replace(d, source=d.source or Source(CONFIGURATION_FILE, 1, 1)) for d in diagnostics):
        assert d.source is not None
        identity = f"{d.code}\0{d.source.file}\0{d.object}\0{d.path}\0{d.message}"
        repetitions[identity] += 1
        entries.append(
            {
                "description": f"{full_message(d)}. {d.hint}" if d.hint else full_message(d),
                "check_name": d.code,
                # Without the line, so that a finding stays the same when the text above it changes.
                "fingerprint": hashlib.sha256(f"{identity}\0{repetitions[identity]}".encode()).hexdigest(),
                "severity": _GITLAB_SEVERITIES[d.severity],
                "location": {"path": d.source.file, "lines": {"begin": d.source.line}},
            }
        )
    return _json(entries) + "\n"


# The formats of a report that goes to standard output, by the word for --format.
FORMATS = {
    "concise": concise_report,
    "json": json_report,
    "gitlab": gitlab_report,
    "sarif": sarif_report,
    "junit": junit_report,
}
