"""What a command does with what it takes: reading, compiling one job or all, and reporting."""

from trainc.cli.build import run
from trainc.cli.command import temporary_folder
from trainc.cli.compiling import judge_of, kept_in, read_stdin, skipped_documents, start
from trainc.cli.diagnostics import Files, rule_page
from trainc.cli.one_job import compiled_job
from trainc.cli.reporting import Paint, Part, difference, report
from trainc.cli.schema import OWN_KINDS, schema_of
from trainc.cli.version import describe_defect, read_port
from trainc.explain.select_job import compile_every

__all__ = [
    "OWN_KINDS",
    "Files",
    "Paint",
    "Part",
    "compile_every",
    "compiled_job",
    "describe_defect",
    "difference",
    "judge_of",
    "kept_in",
    "read_port",
    "read_stdin",
    "report",
    "rule_page",
    "run",
    "schema_of",
    "skipped_documents",
    "start",
    "temporary_folder",
]
