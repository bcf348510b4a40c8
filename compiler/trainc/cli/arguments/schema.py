"""Print a JSON Schema for editors: of TrainJobs, runtimes, or trainc's own files.

Without KIND, the schema is for files with documents of several kinds. Without
--release, it is for the release in trainc.yaml, or else the newest.

Examples:
  trainc schema > .trainc.schema.json
  trainc schema TrainJob --release 2.2
  trainc schema trainc.yaml

To use it in editors with the YAML language server, start a file with
  # yaml-language-server: $schema=.trainc.schema.json
"""

from __future__ import annotations

from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser


from trainc.cli.command import add_release
from trainc.features import features

KINDS = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")
# trainc's own files.
OWN_KINDS = ("Overlay", "Cluster", *(kind for feature in features() for kind in feature.kinds), "trainc.yaml")
_KIND_HELP = f"{', '.join((*KINDS, *OWN_KINDS))} (default: {', '.join(KINDS[:2])} and {KINDS[2]} together)"


def add_arguments(parser: ArgumentParser) -> None:
    """Add kind and release options."""
    parser.add_argument("kind", metavar="KIND", nargs="?", choices=(*KINDS, *OWN_KINDS), help=_KIND_HELP)
    add_release(parser.add_argument)
