"""What a command does with what it takes: reading, compiling one job or all, and reporting."""

from trainc.cli.build import run
from trainc.cli.command import Progress
from trainc.cli.compiling import kept_in, read_stdin, start
from trainc.cli.one_job import compiled_job
from trainc.cli.reporting import Files, Paint, Part, report_diagnostics, rule_page, text_report
from trainc.cli.schema import OWN_KINDS

__all__ = [
    "OWN_KINDS",
    "Files",
    "Paint",
    "Part",
    "Progress",
    "compiled_job",
    "kept_in",
    "read_stdin",
    "report_diagnostics",
    "rule_page",
    "run",
    "start",
    "text_report",
]
