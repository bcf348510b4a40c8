"""What a command does with what it takes: reading, compiling one job or all, and reporting."""

from trainc.cli import compiling, version
from trainc.cli.build import run
from trainc.cli.diagnostics import Files, rule_page
from trainc.cli.one_job import compiled_job
from trainc.cli.reporting import Paint, Part, difference, report
from trainc.explain.select_job import compile_every

__all__ = [
    "Files",
    "Paint",
    "Part",
    "compile_every",
    "compiled_job",
    "compiling",
    "difference",
    "report",
    "rule_page",
    "run",
    "version",
]
