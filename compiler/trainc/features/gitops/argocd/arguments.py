"""Run as a config management plugin for Argo CD in the current folder.

generate (default) prints the manifests; parameters prints the parameters that an
Application can set. Parameters are read from ARGOCD_APP_PARAMETERS,
PARAM_<NAME> and ARGOCD_ENV_<NAME>, in this order, and override trainc.yaml. If
the folder has an overlay.yaml, it is applied.

Examples:
  trainc cmp generate
  trainc cmp parameters
  trainc cmp --print Dockerfile --base-image mirror.example.com/library/python:3.13-slim
  trainc cmp --print plugin.yaml
  kubectl -n argocd patch deployment argocd-repo-server --patch "$(trainc cmp --print sidecar.yaml)"
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command
from trainc.features.gitops.argocd.files import FILE_NAMES


def add_arguments(parser: ArgumentParser) -> None:
    """Add the choice of what to print."""
    parser.add_argument("action", nargs="?", choices=("generate", "parameters"), default="generate")
    parser.add_argument("--print", choices=FILE_NAMES, help="print a file for setting up Argo CD, and exit")
    parser.add_argument("--base-image", metavar="IMAGE", default="", help="for the Dockerfile: the image with Python")
    parser.add_argument("--index-url", metavar="URL", default="", help="for the Dockerfile: the package index for pip")
    command.add_reporting(parser)
