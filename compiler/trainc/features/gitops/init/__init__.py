"""`trainc init`: create a GitOps repository."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

GitOps: TypeAlias = Literal["argocd", "flux"]
Part: TypeAlias = Literal["jobs", "gitops", "hooks", "workflow", "editor", "kustomize", "dump"]

TOOLS = get_args(GitOps)
PARTS: tuple[Part, ...] = get_args(Part)
# Stands for the repository's URL until somebody writes it.
REPOSITORY = "https://git.example.com/ml/training.git"
