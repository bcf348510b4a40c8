"""What a command is made of: arguments, streams, reports and statuses."""

from trainc.cli.build import run
from trainc.cli.command import (
    COMMANDS,
    FILE,
    FOLDER,
    Arguments,
    Status,
    Streams,
    UsageError,
    add_input,
    add_limits,
    add_release,
    add_reporting,
    add_shaping,
    add_strict,
    build_parser,
    parse_arguments,
    set_completion,
)
from trainc.cli.compiling import diagnostics_paint, kept_in, read_stdin, start
from trainc.cli.one_job import add_job, compiled_job
from trainc.cli.reporting import Files, Paint, Part, Progress, rule_page, text_report
from trainc.cli.schema import OWN_KINDS

__all__ = [
    "COMMANDS",
    "FILE",
    "FOLDER",
    "OWN_KINDS",
    "Arguments",
    "Files",
    "Paint",
    "Part",
    "Progress",
    "Status",
    "Streams",
    "UsageError",
    "add_input",
    "add_job",
    "add_limits",
    "add_release",
    "add_reporting",
    "add_shaping",
    "add_strict",
    "build_parser",
    "compiled_job",
    "diagnostics_paint",
    "kept_in",
    "parse_arguments",
    "read_stdin",
    "rule_page",
    "run",
    "set_completion",
    "start",
    "text_report",
]
