"""Compile the TrainJobs among kustomize's resources; leave the others unchanged.

Without CONFIG, trainc is a KRM function: it reads a ResourceList from stdin and
writes one to stdout. Its functionConfig is an overlay (apiVersion:
trainc/v1alpha1, kind: Overlay). With CONFIG, the file of an overlay, it is an
exec plugin: it reads and writes a stream of YAML. kustomize looks for exec
plugins by kind, so install trainc, or a link to it, under the name Overlay.

Examples:
  trainc krm < resource-list.yaml
  trainc krm overlay.yaml < resources.yaml
  trainc krm --print kustomizeconfig.yaml > kustomizeconfig.yaml
  kubectl kustomize --enable-alpha-plugins DIR
    (with overlay.yaml under `transformers`, and the plugin installed as
    $KUSTOMIZE_PLUGIN_HOME/trainc/v1alpha1/overlay/Overlay)
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command
from trainc.features.gitops.krm import FILE_NAME


def add_arguments(parser: ArgumentParser) -> None:
    """Add the configuration argument."""
    parser.add_argument(
        "configuration", metavar="CONFIG", nargs="?", help="overlay file; kustomize passes it to exec plugins"
    )
    parser.add_argument("--print", choices=(FILE_NAME,), help="print a file that kustomize needs, and exit")
    parser.add_argument("--allow-empty", action="store_true", help="succeed even if there is no TrainJob")
    command.add_reporting(parser)
