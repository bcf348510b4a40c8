"""The files of a GitOps repository, in parts: what `trainc init` writes before it compiles them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib.resources import files
from string import Template
from textwrap import indent
from typing import Literal, TypeAlias, get_args

from trainc.api.releases import NEWEST_RELEASE
from trainc.integrations.argocd import text_of
from trainc.integrations.health import flux_health_checks
from trainc.integrations.krm.kustomize_config import FILE_NAME as KUSTOMIZE_CONFIG
from trainc.integrations.krm.kustomize_config import kustomize_config

GitOps: TypeAlias = Literal["argocd", "flux"]
Part: TypeAlias = Literal["jobs", "gitops", "hooks", "workflow", "editor", "kustomize"]

PARTS: tuple[Part, ...] = get_args(Part)
ENVIRONMENTS = ("dev", "prod")
RENDERED = "rendered"
README = "README.md"
REQUIREMENTS = "requirements-trainc.txt"
HOOKS = ".pre-commit-config.yaml"
SETTINGS = ".vscode/settings.json"
_TOOLS: Mapping[GitOps, str] = {"argocd": "Argo CD", "flux": "Flux CD"}
# The files of each part: a path in the repository, and the template beside this module that it comes from.
_FILES: Mapping[Part, Mapping[str, str]] = {
    "jobs": {
        "trainc.yaml": "trainc.yaml",
        "jobs/pretrain.yaml": "job.yaml",
        "runtimes/torch-team.yaml": "runtime.yaml",
        "overlays/dev/overlay.yaml": "overlay-dev.yaml",
        "overlays/prod/overlay.yaml": "overlay-prod.yaml",
        REQUIREMENTS: "requirements.txt",
        README: "readme.md",
    },
    "gitops": {},
    "hooks": {HOOKS: "pre-commit-config.yaml", REQUIREMENTS: "requirements.txt"},
    "workflow": {".github/workflows/trainc.yaml": "workflow.yaml", REQUIREMENTS: "requirements.txt"},
    "editor": {SETTINGS: "settings.json"},
    "kustomize": {"kustomization.yaml": "kustomization.yaml", "compile.yaml": "compile.yaml"},
}


def scaffold(
    parts: Collection[Part], gitops: GitOps, repository: str, version: str, requirement: str
) -> dict[str, str]:
    """The text of every file of some parts, by its path.

    `repository` is where the GitOps tool finds it, `version` is trainc's own, and `requirement` what pip installs.
    """
    values = {
        "gitops": gitops,
        "tool": _TOOLS[gitops],
        "repository": repository,
        "version": version,
        "requirement": requirement,
        "release": NEWEST_RELEASE,
        "health": _health_checks(),
        "comment": indent(_template("comment.sh"), " " * 10).rstrip(),
    }
    chosen = {path: template for part in PARTS if part in parts for path, template in _FILES[part].items()}
    texts = {path: Template(_template(template)).substitute(values) for path, template in chosen.items()}
    if "gitops" in parts:
        for environment in ENVIRONMENTS:
            here = {**values, "environment": environment}
            texts[f"{gitops}/{environment}.yaml"] = Template(_template(f"{gitops}.yaml")).substitute(here)
        if gitops == "argocd":
            # A folder deeper, so that `kubectl apply -f argocd/` leaves it alone.
            texts["argocd/health/argocd-cm.yaml"] = text_of("argocd-cm.yaml", version)
    if "kustomize" in parts:
        texts[KUSTOMIZE_CONFIG] = kustomize_config()
    return texts


def _template(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _health_checks() -> str:
    """The health checks as they stand in the spec of a Kustomization, without the comment that says so."""
    lines = flux_health_checks().splitlines(keepends=True)
    return indent("".join(line for line in lines if not line.startswith("#")), "  ").rstrip()
