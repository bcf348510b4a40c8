"""What is wrong and where: findings, diagnostics, and the words of both."""

from trainc.findings import (
    CompileError as CompileError,
    Diagnostic as Diagnostic,
    Finding as Finding,
    Hint as Hint,
    Path as Path,
    Severity as Severity,
    Source as Source,
    differences as differences,
    format_path as format_path,
    has_errors as has_errors,
    markdown as markdown,
    policy as policy,
    remove as remove,
    sort_diagnostics as sort_diagnostics,
    suggest as suggest,
    write as write,
)
from trainc.findings.text import (
    aligned as aligned,
    counted as counted,
    did_you_mean as did_you_mean,
    edit_distance as edit_distance,
    escape_line as escape_line,
    escape_report as escape_report,
    escape_xml as escape_xml,
    find_underline as find_underline,
    first_of as first_of,
)
