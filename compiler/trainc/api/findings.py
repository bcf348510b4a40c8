"""What is wrong and where: findings, diagnostics, and the words of both."""

from trainc.findings import Diagnostic, Finding, Path, Severity, Source, format_path, has_errors, sort_diagnostics
from trainc.findings.compile_error import CompileError
from trainc.findings.differences import excerpts
from trainc.findings.policy import Policy, Rules, keep_severities
from trainc.findings.text import aligned, counted, did_you_mean, escape_line, escape_report, escape_xml, first_of

__all__ = [
    "CompileError",
    "Diagnostic",
    "Finding",
    "Path",
    "Policy",
    "Rules",
    "Severity",
    "Source",
    "aligned",
    "counted",
    "did_you_mean",
    "escape_line",
    "escape_report",
    "escape_xml",
    "excerpts",
    "first_of",
    "format_path",
    "has_errors",
    "keep_severities",
    "sort_diagnostics",
]
