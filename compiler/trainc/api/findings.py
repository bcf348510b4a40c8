"""What is wrong and where: findings, diagnostics, and the words of both."""

from trainc.findings import (
    CompileError,
    Diagnostic,
    Finding,
    Path,
    Severity,
    Source,
    format_path,
    has_errors,
    remove,
    sort_diagnostics,
    write,
)
from trainc.findings.codes import Stage
from trainc.findings.policy import Policy, keep_severities
from trainc.findings.text import counted, did_you_mean, escape_line, escape_report, escape_xml

__all__ = [
    "CompileError",
    "Diagnostic",
    "Finding",
    "Path",
    "Policy",
    "Severity",
    "Source",
    "Stage",
    "counted",
    "did_you_mean",
    "escape_line",
    "escape_report",
    "escape_xml",
    "format_path",
    "has_errors",
    "keep_severities",
    "remove",
    "sort_diagnostics",
    "write",
]
