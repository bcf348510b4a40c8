"""What a command does with what it takes: reading, compiling one job or all, and reporting."""

from trainc.cli import compiling as compiling, version as version
from trainc.cli.build import run as run
from trainc.cli.diagnostics import Files as Files, rule_page as rule_page
from trainc.cli.one_job import compiled_job as compiled_job
from trainc.cli.reporting import Paint as Paint, Part as Part, difference as difference, report as report
from trainc.explain.select_job import compile_every as compile_every
