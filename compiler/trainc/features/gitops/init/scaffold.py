"""The files of a GitOps repository, in parts: what `trainc init` writes before it compiles them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from string import Template
from textwrap import indent
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from trainc.api.documents import opening, yaml_reader
from trainc.api.findings import has_errors
from trainc.api.git import git
from trainc.api.kube import objects, releases
from trainc.api.records import dataclass, pattern, replace
from trainc.api.settings import Limits
from trainc.features import ask
from trainc.features.gitops.init import PARTS, REPOSITORY, GitOps, Part

ENVIRONMENTS = ("dev", "prod")
RENDERED = "rendered"
README = "README.md"
REQUIREMENTS = "requirements-trainc.txt"
HOOKS = ".pre-commit-config.yaml"
ATTRIBUTES = ".gitattributes"
SETTINGS = ".vscode/settings.json"
WORKFLOW = ".github/workflows/trainc.yaml"
CODEOWNERS = ".github/CODEOWNERS"
APPLICATION_SET = "argocd/training.yaml"
KUSTOMIZE_CONFIG = "kustomizeconfig.yaml"
_TOOLS: Mapping[GitOps, str] = {"argocd": "Argo CD", "flux": "Flux CD"}
# The files of each part: a path in the repository, and the template beside this module that it comes from.
_FILES: Mapping[Part, Mapping[str, str]] = opening.read_data(__file__, "files.json")
_NAME = "trainc"
_EXTRAS = pattern(r"trainc(?=[ =@<>~!]|$)")
# A line that pip refuses and shows: a made-up name or version would be anybody's to register.
_UNKNOWN = (
    "Replace this line by where everybody can install trainc from, such as: trainc @ git+https://HOST/PATH@COMMIT"
)
VENDORED = "vendor"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A line for pip. `wheel` is a file of this machine to be put into the repository's folder `vendor` first.

    `problem` says why other machines cannot install it; empty where they can.
    """

    line: str
    wheel: str = ""
    problem: str = ""

    def with_extras(self, extras: Collection[str]) -> Requirement:
        """The requirement with more extras."""
        if not extras or self.problem:
            return self
        brackets = f"[{','.join(extras)}]"
        if self.line.endswith(".whl"):
            return replace(self, line=self.line + brackets)
        match = _EXTRAS.match(self.line)
        return self if match is None else replace(self, line=f"{_NAME}{brackets}{self.line[match.end() :]}")


@dataclass(frozen=True, slots=True)
class Delivered:
    """One output folder, by its path in the repository, and the environment and the cluster that it is for.

    `namespace` is created first; without one, the namespaces of the jobs are there.
    """

    environment: str
    path: str
    server: str = "https://kubernetes.default.svc"
    namespace: str = ""
    # The folder of the dump that trainc.yaml names, if it is not that of the environment's name.
    dump: str = ""


EXAMPLES = tuple(Delivered(name, f"{RENDERED}/{name}", namespace=f"ml-{name}") for name in ENVIRONMENTS)


@dataclass(frozen=True, slots=True)
class Plan:
    """What the files of a repository depend on.

    `repository` is where the GitOps tool finds it, `version` is trainc's own, and `inside` the path of trainc.yaml's folder
    from the root of the repository, empty for the root itself.
    """

    gitops: GitOps
    repository: str
    version: str
    requirement: Requirement
    inside: str = ""
    delivered: Sequence[Delivered] = EXAMPLES
    index_url: str = ""
    application_set: bool = False


def scaffold(parts: Collection[Part], plan: Plan) -> dict[str, str]:
    """The text of every file of some parts, by its path from the folder of trainc.yaml.

    Hooks and workflows are at the root of the repository, where they are read.
    """
    gitops, requirement, index = plan.gitops, plan.requirement, plan.index_url
    values = {
        "gitops": gitops,
        "tool": _TOOLS[gitops],
        "repository": _quoted(plan.repository),
        "placeholder": " # a placeholder: write the URL of this repository" if plan.repository == REPOSITORY else "",
        "version": plan.version,
        "requirement": requirement.line,
        "index": f"--index-url {index}\n" if index else "",
        "release": releases.NEWEST_RELEASE,
        "health": _health_checks(),
        **_in_folder(plan.inside),
        **_hooks(requirement, index),
    }
    above = f"/{plan.inside}/" if plan.inside else "/"
    values |= {
        "jobs": f"{above}jobs/".replace(" ", "\\ "),
        # The files of an output folder that a GitOps tool applies.
        "rendered": "\n".join(f"/{delivered.path}/".replace(" ", "\\ ") for delivered in plan.delivered),
        "home": f"{above[1:]}live/",
        "folders": "".join(f'; [ "$name" != {d.environment} ] || folder="{d.dump}"' for d in plan.delivered if d.dump),
        "contexts": " ".join(delivered.environment or "cluster" for delivered in plan.delivered),
    }
    values["comment"] = indent(_template("comment.sh").safe_substitute(values), " " * 10).rstrip()
    chosen = {path: template for part in PARTS if part in parts for path, template in _FILES[part].items()}
    texts = {path: _template(template).substitute(values) for path, template in chosen.items()}
    up = "/".join([".."] * len(plan.inside.split("/"))) if plan.inside else ""
    if up and WORKFLOW in texts:
        texts[WORKFLOW.replace("trainc.yaml", f"trainc{values['suffix']}.yaml")] = texts.pop(WORKFLOW)
    texts = {f"{up}/{path}" if up and is_at_root(path) else path: text for path, text in texts.items()}
    if "gitops" in parts:
        if plan.application_set:
            texts[APPLICATION_SET] = _application_set(plan, values)
        for delivered in () if plan.application_set else plan.delivered:
            file = _file_name(delivered)
            here = {**values, "file": file, "name": application(delivered), **_namespace(gitops, delivered.namespace)}
            here |= {"path": delivered.path, "server": _quoted(delivered.server)}
            here["place"] = _quoted(delivered.path if gitops == "argocd" else f"./{delivered.path}")
            texts[f"{gitops}/{file}.yaml"] = _template(f"{gitops}.yaml").substitute(here)
        if gitops == "argocd" and (text_of := ask("argocd", "file")):
            # A folder deeper, so that `kubectl apply -f argocd/` leaves it alone.
            texts["argocd/health/argocd-cm.yaml"] = text_of("argocd-cm.yaml", plan.version)
    if "kustomize" in parts and (kustomize_config := ask("krm", "kustomize config")):
        texts[KUSTOMIZE_CONFIG] = kustomize_config()
    return texts


def _file_name(delivered: Delivered) -> str:
    return _NO_NAME.sub("-", delivered.environment.lower()).strip("-") or "training"


def application(delivered: Delivered) -> str:
    """The name of what applies an output; environments whose names differ little have the same."""
    return f"training-{_file_name(delivered)}" if delivered.environment else "training"


def _application_set(plan: Plan, values: Mapping[str, str]) -> str:
    """One ApplicationSet for all outputs, which have namespaces to be created or have none."""
    elements = [
        {"name": application(delivered), "path": delivered.path, "server": delivered.server}
        | ({"namespace": delivered.namespace} if delivered.namespace else {})
        for delivered in plan.delivered
    ]
    has_namespaces = any(delivered.namespace for delivered in plan.delivered)
    namespace = _namespace("argocd", '"{{.namespace}}"' if has_namespaces else "")
    here = {**values, **{name: indent(text, "    ") for name, text in namespace.items()}}
    here["elements"] = "\n".join(f"          - {json.dumps(element, ensure_ascii=False)}" for element in elements)
    return _template("applicationset.yaml").substitute(here)


def is_at_root(path: str) -> bool:
    """Return whether a file is read at the root of a repository only."""
    return path == HOOKS or path.startswith(".github/")


def _in_folder(inside: str) -> dict[str, str]:
    """What differs in the hooks and the workflow of a folder that is not the root."""
    if not inside:
        return {**dict.fromkeys(("suffix", "about", "config", "paths", "folder"), ""), "when": "always_run: true"}
    suffix = "-" + inside.replace("/", "-")
    paths = f"""
    # If this check is required, remove `paths`: GitHub waits for a required check that a path filter leaves out.
    paths: [{_quoted(f"{inside}/**")}, {_quoted(f".github/workflows/trainc{suffix}.yaml")}]"""
    return {
        "suffix": suffix,
        "about": f" ({inside})",
        "config": f" --config {shlex.quote(f'{inside}/trainc.yaml')}",
        "paths": paths,
        "folder": f"\n    defaults:\n      run:\n        working-directory: {_quoted(inside)}",
        # A commit that only deletes a job changes no file that pre-commit looks at.
        "when": "always_run: true",
    }


def _hooks(requirement: Requirement, index_url: str) -> dict[str, str]:
    """How pre-commit gets trainc: by itself, or where it cannot install it, from the machine."""
    if requirement.wheel or requirement.problem or requirement.line.startswith("."):
        return {
            "installs": f"The hooks use the trainc on your PATH: pip install -r {REQUIREMENTS}",
            "language": "language: system",
        }
    needed = [*([f"--index-url={index_url}"] if index_url else []), requirement.line]
    dependencies = ", ".join(map(json.dumps, needed))
    return {
        "installs": f"It installs trainc by itself, as in {REQUIREMENTS}.",
        "language": f"language: python\n        additional_dependencies: [{dependencies}]",
    }


def _quoted(text: str) -> str:
    """A text as YAML, also between brackets: in quotes unless it is read as itself without them."""
    documents, _ = yaml_reader.read_documents(f"a: [{text}]\n".encode(), "", Limits())
    return text if [document.data for document in documents] == [{"a": [text]}] else json.dumps(text)


def _namespace(gitops: GitOps, name: str) -> dict[str, str]:
    """The parts of an Application or a Kustomization that create a namespace."""
    if not name:
        return {"namespace": "", "create": ""}
    if gitops == "flux":
        return {"namespace": f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n---\n"}
    return {"namespace": f"    namespace: {name}\n", "create": "      - CreateNamespace=true\n"}


def _template(name: str) -> Template:
    return Template(files(__package__).joinpath(name).read_text("utf-8"))


def _health_checks() -> str:
    """The health checks as they stand in the spec of a Kustomization, without the comment that says so."""
    checks = ask("argocd", "health checks of flux")
    lines = [] if checks is None else checks().splitlines(keepends=True)
    return indent("".join(line for line in lines if not line.startswith("#")), "  ").rstrip()


_NO_NAME = pattern(r"[^a-z0-9-]+")


# Where this trainc came from, as a line of a requirements file: so that CI installs the same one.
#
# Source: PEP 610 (direct_url.json), PEP 508 (direct references).


def requirement_of(direct_url: Mapping[str, Any] | None, version: str) -> Requirement:
    """The requirement that installs trainc from where `direct_url` says that it came from; None is a package index."""
    if direct_url is None:
        return Requirement(f"{_NAME}=={version}")
    url = _without_password(str(direct_url.get("url", "")))
    if "vcs_info" in direct_url:
        info = direct_url["vcs_info"]
        folder = f"#subdirectory={direct_url['subdirectory']}" if direct_url.get("subdirectory") else ""
        return Requirement(f"{_NAME} @ {info['vcs']}+{url}@{info['commit_id']}{folder}")
    if "archive_info" in direct_url and not url.startswith("file:"):
        digest = (direct_url["archive_info"].get("hashes") or {}).get("sha256")
        return Requirement(f"{_NAME} @ {url}" + (f"#sha256={digest}" if digest else ""))
    path = unquote(urlsplit(url).path)
    if path.endswith(".whl") and os.path.isfile(path):
        return Requirement(f"./{VENDORED}/{os.path.basename(path)}", wheel=path)
    # A clone of a repository that others reach is that repository at its commit.
    origin = git.origin_of(path) if os.path.isdir(path) else None
    if origin is None or origin[1] is None:
        problem = f"this trainc was installed from {path}, which does not exist on other machines"
        return Requirement(_UNKNOWN, problem=problem)
    return Requirement(f"{_NAME} @ git+{shared_url(origin[0])}@{origin[1]}")


def shared_url(url: str) -> str:
    """Return the URL of a git remote as it may stand in a file: in full, and without a password."""
    if "://" not in url:  # git@host:path, the short form of ssh.
        url = "ssh://" + url.replace(":", "/", 1)
    return _without_password(url)


def _without_password(url: str) -> str:
    """`url` without what stands for a person: a file in git is no place for a token. `git@` of ssh names nobody."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"git@{host}" if parts.scheme == "ssh" else host))


# Files that a repository has already and init adds to: the hooks of pre-commit, and an editor's settings.


def with_hooks(text: str, ours: str) -> str | None:
    """A .pre-commit-config.yaml with the items of `repos` of another at the end of its own, every other byte as it was.

    The same text where it has such hooks already; None where it cannot be added to: `repos` is not written as a block.
    """
    documents, problems = yaml_reader.read_documents(text.encode(), "", Limits())
    if has_errors(problems) or len(documents) != 1:
        return None
    repos = objects(documents[0].data.get("repos"))
    if not repos:
        return None
    mine = pattern(r"id: (\S+)").findall(ours)[0]
    if any(hook.get("id") == mine for repo in repos for hook in objects(repo.get("hooks"))):
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


def with_attributes(text: str, ours: str) -> str:
    """A .gitattributes with our lines at its end, unless it has them."""
    *_, rule = ours.splitlines()
    return text if rule in text.splitlines() else text + ("" if text.endswith("\n") or not text else "\n") + ours


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
