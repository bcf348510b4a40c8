"""Create a GitOps repository with jobs, runtimes, overlays, hooks and CI.

Nothing is overwritten. Hooks are added to an existing .pre-commit-config.yaml
and schemas to the editor's settings; an existing README.md is kept, and any
other conflict is an error. The new repository passes its own checks, and
`trainc build --check` fails as soon as a TrainJob changes.

--only writes one part: jobs (with trainc.yaml, runtimes, overlays and what they
compile to), gitops, hooks, workflow (GitHub Actions), editor (schemas for VS
Code), kustomize or dump (publishes what the cluster is doing, for `live:`).

Examples:
  trainc init training
  trainc init training --gitops flux
  trainc init --repository https://github.com/my-org/training.git
  trainc init --only hooks --only workflow
  trainc init --only workflow --print
  trainc init --only gitops --cluster h100=https://h100.example.com
  trainc init --only gitops --application-set
  trainc init --requirement 'trainc @ git+https://git.example.com/platform/trainc@8f3c2d1'
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import get_args

from trainc.api.arguments import command
from trainc.features.gitops.init import PARTS, REPOSITORY, GitOps


def add_arguments(parser: ArgumentParser) -> None:
    """Add the folder, the GitOps tool, and the parts to write."""
    parser.add_argument("folder", metavar="DIR", nargs="?", default=".", help="where to create it (default: .)")
    parser.add_argument(
        "--gitops",
        choices=get_args(GitOps),
        default="argocd",
        help="the tool that applies the manifests (default: argocd)",
    )
    parser.add_argument(
        "--repository",
        metavar="URL",
        default=REPOSITORY,
        help="URL that the tool clones (default: that of the remote origin)",
    )
    parser.add_argument(
        "--cluster",
        metavar="ENV=URL",
        action="append",
        help="API server of an environment's cluster, for Argo CD (default: the one that it runs in)",
    )
    parser.add_argument(
        "--application-set", action="store_true", help="one ApplicationSet for all environments, for Argo CD"
    )
    parser.add_argument("--index-url", metavar="URL", default="", help="package index for pip, in a private network")
    parser.add_argument("--only", choices=PARTS, action="append", help="write only this part (repeatable)")
    parser.add_argument("--kustomize", action="store_true", help="also write a kustomization that compiles the jobs")
    parser.add_argument("--print", action="store_true", help="print the files, and write nothing")
    parser.add_argument(
        "--requirement",
        metavar="REQUIREMENT",
        help="what pip installs in hooks and CI (default: this trainc, from where it was installed)",
    )
    command.add_color(parser)
