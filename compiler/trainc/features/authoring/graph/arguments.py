"""Draw a job: its steps and their order, pods, GPUs, volumes, addresses and gang.

text is a tree for the terminal, mermaid a flowchart for Markdown, dot is for
Graphviz. svg follows the reader's light or dark theme and needs svg.py
(`pip install svg.py`). --ranks adds a table of the ranks: which pod and device
each one is on, and the groups of tensor, pipeline and data parallelism.

Examples:
  trainc graph jobs/llm.yaml
  trainc graph jobs/llm.yaml --ranks
  trainc graph jobs/#team-a/llm --format svg > llm.svg
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command

FORMATS = ("text", "mermaid", "dot", "svg", "json")


def add_arguments(parser: ArgumentParser) -> None:
    """Add job and format options."""
    command.add_job(parser)
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--ranks", action="store_true", help="add the ranks and their groups (text and json)")
