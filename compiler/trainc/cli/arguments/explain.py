"""Show which file, patch or plugin set each field of a job's output.

FIELD is a path in the output, with list items by name. It may be just the
beginning of a path; `...` stands for any steps in between and `*` for any name.
Fields are those of the JobSet, unless FIELD starts with PodGroup: or
ConfigMap/NAME:.

Examples:
  trainc explain jobs/llm.yaml
  trainc explain jobs/#team-a/llm 'spec.replicatedJobs[node]...env[PET_NNODES]'
  trainc explain llm-jf47qm-node-0-3-abcde image
  trainc explain jobs/llm.yaml parallelism
  trainc explain jobs/llm.yaml PodGroup:spec.minMember --format json

Of a job that is kept as built (`trainc help output`), this explains what a
rebuild would give, after a list of the fields that it would change.
"""

from __future__ import annotations

from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser


from trainc.cli.command import add_job, add_shaping


def add_arguments(parser: ArgumentParser) -> None:
    """Add job, field and format options."""
    add_job(parser)
    parser.add_argument("field", metavar="FIELD", nargs="?", help="fields to explain (default: all)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    add_shaping(parser)
