"""The files of a GitOps repository, in parts: what `trainc init` writes before it compiles them."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from importlib.resources import files
from string import Template
from textwrap import indent
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from trainc.api.documents import read_documents
from trainc.api.findings import has_errors
from trainc.api.git import published_commit
from trainc.api.kube import NEWEST_RELEASE
from trainc.api.records import dataclass
from trainc.api.settings import Limits
from trainc.features.argocd.files import text_of
from trainc.features.argocd.health import flux_health_checks
from trainc.features.init import PARTS, GitOps, Part
from trainc.features.krm import FILE_NAME as KUSTOMIZE_CONFIG
from trainc.features.krm.kustomization import kustomize_config

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


# Where this trainc came from, as a line of a requirements file: so that CI installs the same one.
#
# Source: PEP 610 (direct_url.json), PEP 508 (direct references).


_NAME = "trainc"
VENDORED = "vendor"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A line for pip. `wheel` is a file of this machine to be put into the repository's folder `vendor` first.

    `problem` says why other machines cannot install it; empty where they can.
    """

    line: str
    wheel: str = ""
    problem: str = ""


def requirement_of(direct_url: Mapping[str, Any] | None, version: str) -> Requirement:
    """The requirement that installs trainc from where `direct_url` says that it came from; None is a package index."""
    if direct_url is None:
        return Requirement(f"{_NAME}=={version}")
    url = _without_password(str(direct_url.get("url", "")))
    if "vcs_info" in direct_url:
        info = direct_url["vcs_info"]
        return Requirement(f"{_NAME} @ {info['vcs']}+{url}@{info['commit_id']}{_subdirectory(direct_url)}")
    if "archive_info" in direct_url and not url.startswith("file:"):
        digest = (direct_url["archive_info"].get("hashes") or {}).get("sha256")
        return Requirement(f"{_NAME} @ {url}" + (f"#sha256={digest}" if digest else ""))
    path = unquote(urlsplit(url).path)
    if path.endswith(".whl") and os.path.isfile(path):
        return Requirement(f"./{VENDORED}/{os.path.basename(path)}", wheel=path)
    return _of_folder(path, version)


def _of_folder(path: str, version: str) -> Requirement:
    """A clone of a repository that others reach is that repository at its commit."""
    published = published_commit(path) if os.path.isdir(path) else None
    if published is None:
        problem = f"this trainc was installed from {path}, which does not exist on other machines"
        return Requirement(f"{_NAME}=={version}", problem=problem)
    url, commit = published
    if "://" not in url:  # git@host:path, the short form of ssh.
        url = "ssh://" + url.replace(":", "/", 1)
    return Requirement(f"{_NAME} @ git+{_without_password(url)}@{commit}")


def _subdirectory(direct_url: Mapping[str, Any]) -> str:
    folder = direct_url.get("subdirectory")
    return f"#subdirectory={folder}" if folder else ""


def _without_password(url: str) -> str:
    """`url` without what stands for a person: a file in git is no place for a token. `git@` of ssh names nobody."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"git@{host}" if parts.scheme == "ssh" else host))


# Files that a repository has already and init adds to: the hooks of pre-commit, and an editor's settings.


_OUR_HOOK = "trainc-check"


def with_hooks(text: str, ours: str) -> str | None:
    """A .pre-commit-config.yaml with the items of `repos` of another at the end of its own, every other byte as it was.

    The same text where it has such hooks already; None where it cannot be added to: `repos` is not written as a block.
    """
    documents, problems = read_documents(text.encode(), "", Limits())
    if has_errors(problems) or len(documents) != 1:
        return None
    repos = documents[0].data.get("repos")
    if not isinstance(repos, list) or not repos:
        return None
    if any(hook.get("id") == _OUR_HOOK for repo in repos for hook in repo.get("hooks") or ()):
        return text
    first = documents[0].locate(("repos", 0))
    lines = text.splitlines(keepends=True)
    if first is None or not lines[first.line - 1].lstrip().startswith("- "):
        return None
    indent = lines[first.line - 1].partition("-")[0]
    end = _end_of_block(lines, first.line, len(indent))
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    items = ours.partition("\nrepos:\n")[2].splitlines(keepends=True)
    moved = [line if not line.strip() else indent + line.removeprefix("  ") for line in items]
    return "".join((*lines[:end], *moved, *lines[end:]))


def _end_of_block(lines: list[str], start: int, indent: int) -> int:
    """The line after the last one of a list whose dashes stand `indent` deep; comments that follow are not its own."""
    end = start
    for number, line in enumerate(lines[start:], start + 1):
        content = line.strip()
        depth = len(line) - len(line.lstrip())
        if not content or content.startswith("#"):
            continue
        if depth < indent or (depth == indent and not content.startswith("-")):
            break
        end = number
    return end


def with_settings(text: str, ours: str) -> str | None:
    """settings.json with our objects' keys added to its own; None where it is not plain JSON, as with comments in it."""
    try:
        settings = json.loads(text)
    except ValueError:
        return None
    if not isinstance(settings, dict):
        return None
    for key, value in json.loads(ours).items():
        theirs = settings.setdefault(key, {})
        if not isinstance(theirs, dict):
            return None
        settings[key] = theirs | value
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
