"""What is wrong and where: findings, diagnostics, and the words of both."""

from trainc.findings import (
    Diagnostic,
    Finding,
    Path,
    Severity,
    Source,
    differences,
    format_path,
    has_errors,
    policy,
    remove,
    sort_diagnostics,
    write,
)
from trainc.findings.compile_error import CompileError
from trainc.findings.text import (
    aligned,
    counted,
    did_you_mean,
    escape_line,
    escape_report,
    escape_xml,
    find_underline,
    first_of,
)

__all__ = [
    "CompileError",
    "Diagnostic",
    "Finding",
    "Path",
    "Severity",
    "Source",
    "aligned",
    "counted",
    "did_you_mean",
    "differences",
    "escape_line",
    "escape_report",
    "escape_xml",
    "find_underline",
    "first_of",
    "format_path",
    "has_errors",
    "policy",
    "remove",
    "sort_diagnostics",
    "write",
]
