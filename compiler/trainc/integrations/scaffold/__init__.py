"""The files of a new GitOps repository: what `trainc init` writes before it compiles them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from string import Template
from textwrap import indent
from typing import Literal, TypeAlias

from trainc.api.releases import NEWEST_RELEASE
from trainc.integrations.health import flux_health_checks

GitOps: TypeAlias = Literal["argocd", "flux"]

ENVIRONMENTS = ("dev", "prod")
RENDERED = "rendered"
README = "README.md"
_TOOLS: Mapping[GitOps, str] = {"argocd": "Argo CD", "flux": "Flux CD"}
# Each file's path in the repository, and the template beside this module that it comes from.
_FILES: Mapping[str, str] = {
    "trainc.yaml": "trainc.yaml",
    "jobs/pretrain.yaml": "job.yaml",
    "runtimes/torch-team.yaml": "runtime.yaml",
    "overlays/dev/overlay.yaml": "overlay-dev.yaml",
    "overlays/prod/overlay.yaml": "overlay-prod.yaml",
    ".pre-commit-config.yaml": "pre-commit-config.yaml",
    README: "readme.md",
}


def scaffold(gitops: GitOps, repository: str, version: str) -> dict[str, str]:
    """The text of every file by its path. `repository` is where the GitOps tool finds it, `version` trainc's own."""
    values = {
        "gitops": gitops,
        "tool": _TOOLS[gitops],
        "repository": repository,
        "version": version,
        "release": NEWEST_RELEASE,
        "health": _health_checks(),
    }
    texts = {path: _filled(template, values) for path, template in _FILES.items()}
    for environment in ENVIRONMENTS:
        texts[f"{gitops}/{environment}.yaml"] = _filled(f"{gitops}.yaml", {**values, "environment": environment})
    return {**texts, ".github/workflows/trainc.yaml": workflow(version)}


def _filled(template: str, values: Mapping[str, str]) -> str:
    return Template(files(__package__).joinpath(template).read_text("utf-8")).substitute(values)


def _health_checks() -> str:
    """The health checks as they stand in the spec of a Kustomization, without the comment that says so."""
    lines = flux_health_checks().splitlines(keepends=True)
    return indent("".join(line for line in lines if not line.startswith("#")), "  ").rstrip()


# The workflow with which GitHub Actions checks a repository of TrainJobs.


def workflow(version: str) -> str:
    """The workflow's text, for a version of trainc."""
    return Template(files(__package__).joinpath("workflow.yaml").read_text("utf-8")).substitute(version=version)
