"""Create a GitOps repository with jobs, runtimes, overlays, hooks and CI.

Nothing is overwritten. Hooks are added to an existing .pre-commit-config.yaml
and schemas to the editor's settings; an existing README.md is kept, and any
other conflict is an error. The new repository passes its own checks, and
`trainc build --check` fails as soon as a TrainJob changes.

--only writes one part: jobs (with trainc.yaml, runtimes, overlays and what they
compile to), gitops, hooks, workflow (GitHub Actions), editor (schemas for VS
Code) or kustomize.

Examples:
  trainc init training
  trainc init training --gitops flux
  trainc init --repository https://github.com/my-org/training.git
  trainc init --only hooks --only workflow
  trainc init --only workflow --print
  trainc init --requirement 'trainc @ git+https://git.example.com/platform/trainc@8f3c2d1'
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from typing import get_args

from trainc.api.command import (
    COMMANDS,
    FOLDER,
    Arguments,
    Files,
    Paint,
    Status,
    Streams,
    UsageError,
    set_completion,
    text_report,
)
from trainc.api.documents import read_file
from trainc.api.findings import Diagnostic
from trainc.api.settings import Limits
from trainc.cli.command import COLOR_HELP, COLOURS
from trainc.features.init.scaffold import (
    HOOKS,
    PARTS,
    README,
    RENDERED,
    REQUIREMENTS,
    SETTINGS,
    VENDORED,
    GitOps,
    Requirement,
    requirement_of,
    scaffold,
    with_hooks,
    with_settings,
)

_REPOSITORY = "https://git.example.com/ml/training.git"
_LEFT_ALONE = (README, REQUIREMENTS)
_ADDED_TO = {HOOKS: with_hooks, SETTINGS: with_settings}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the folder, the GitOps tool, and the parts to write."""
    folder = parser.add_argument(
        "folder", metavar="DIR", nargs="?", default=".", help="where to create it (default: .)"
    )
    set_completion(folder, FOLDER)
    parser.add_argument(
        "--gitops",
        choices=get_args(GitOps),
        default="argocd",
        help="the tool that applies the manifests (default: argocd)",
    )
    parser.add_argument(
        "--repository",
        metavar="URL",
        default=_REPOSITORY,
        help="URL that the tool clones (default: a placeholder)",
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="write only this part (repeatable)")
    parser.add_argument("--kustomize", action="store_true", help="also write a kustomization that compiles the jobs")
    parser.add_argument("--print", action="store_true", help="print the files, and write nothing")
    parser.add_argument(
        "--requirement",
        metavar="REQUIREMENT",
        help="what pip installs in hooks and CI (default: this trainc, from where it was installed)",
    )
    parser.add_argument("--color", choices=COLOURS, metavar="WHEN", default="auto", help=COLOR_HELP)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Write the repository and compile it."""
    folder = arguments.folder
    requirement = Requirement(arguments.requirement) if arguments.requirement else _own_requirement()
    texts = _texts(arguments, requirement)
    if arguments.print:
        streams.out.write(_format_files(texts).encode("utf-8", "backslashreplace"))
        return Status.DONE
    if os.path.isfile(folder):
        raise UsageError(f"{folder} is a file; use a folder (it is created if missing)")
    merged, in_the_way = _merge_with_existing(folder, texts)
    builds = "trainc.yaml" in texts
    if builds and os.path.lexists(os.path.join(folder, RENDERED)):
        in_the_way.append(RENDERED)
    if in_the_way:
        paint = Paint(arguments.color, streams.err)
        streams.err.write(text_report([_refusal(folder, path) for path in in_the_way], Files(), paint))
        return Status.DIAGNOSED
    _write(folder, merged)
    if requirement.wheel and REQUIREMENTS in merged:
        _vendor(folder, requirement.wheel)
    if builds and (status := _build(folder, arguments, streams)) is not Status.DONE:
        return status
    streams.err.write(_next_steps(folder, merged, requirement, arguments))
    return Status.DONE


def _own_requirement() -> Requirement:
    """The requirement that this trainc was installed from, as recorded by the installer."""
    from importlib.metadata import PackageNotFoundError, distribution

    from trainc import __version__

    try:
        recorded = distribution("trainc").read_text("direct_url.json")
    except PackageNotFoundError:
        folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        return requirement_of({"url": f"file://{folder}", "dir_info": {}}, __version__)
    return requirement_of(json.loads(recorded) if recorded else None, __version__)


def _texts(arguments: Arguments, requirement: Requirement) -> dict[str, str]:
    from trainc import __version__

    for name in ("repository", "requirement"):
        given = getattr(arguments, name)
        if given is not None and not given.isprintable():
            raise UsageError(f"argument --{name}: {given!r} must contain printable characters only")
    usual = [part for part in PARTS if part != "kustomize"]
    parts = [*(arguments.only or usual), *(["kustomize"] if arguments.kustomize else [])]
    texts = scaffold(parts, arguments.gitops, arguments.repository, __version__, requirement.line)
    return {**texts, **_schemas()} if "editor" in parts else texts


def _schemas() -> dict[str, str]:
    """The schemas that the editor's settings refer to."""
    from trainc.api.command import OWN_KINDS
    from trainc.api.kube import NEWEST_RELEASE
    from trainc.cli.schema import of_every_kind

    schemas = {
        "trainc": of_every_kind(NEWEST_RELEASE),
        **{name.lower(): kind.json_schema() for name, kind in OWN_KINDS.items()},
    }
    return {f".vscode/{name}.schema.json": json.dumps(schema) + "\n" for name, schema in schemas.items()}


def _format_files(texts: Mapping[str, str]) -> str:
    """A single file unchanged; several with headings, as head and tail print them."""
    shown = {path: text for path, text in texts.items() if len(texts) == 1 or path != REQUIREMENTS} or texts
    if len(shown) == 1:
        return next(iter(shown.values()))
    return "\n".join(f"==> {path} <==\n{text}" for path, text in sorted(shown.items()))


def _merge_with_existing(folder: str, texts: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The files to write, including additions to existing ones, and the files that conflict."""
    merged: dict[str, str] = {}
    in_the_way: list[str] = []
    for path, text in texts.items():
        target = os.path.join(folder, path)
        if not os.path.lexists(target):
            merged[path] = text
        elif path not in _LEFT_ALONE:
            whole = _add_to_existing(target, path, text)
            if whole is None:
                in_the_way.append(path)
            else:
                merged[path] = whole
    return merged, in_the_way


def _add_to_existing(target: str, path: str, text: str) -> str | None:
    if path not in _ADDED_TO:
        return None
    try:
        return _ADDED_TO[path](read_file(target, Limits().file_bytes).decode(), text)
    except (OSError, ValueError):
        return None


def _refusal(folder: str, path: str) -> Diagnostic:
    message = f"{os.path.normpath(os.path.join(folder, path))} already exists; nothing was written"
    hint = "move it away, choose another folder, or write single parts with --only PART (--print shows their files)"
    return Diagnostic("FileInTheWay", "error", message, hint)


def _write(folder: str, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target) or os.curdir, exist_ok=True)
        with open(target, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)


def _vendor(folder: str, wheel: str) -> None:
    import shutil

    os.makedirs(os.path.join(folder, VENDORED), exist_ok=True)
    shutil.copyfile(wheel, os.path.join(folder, VENDORED, os.path.basename(wheel)))


def _build(folder: str, arguments: Arguments, streams: Streams) -> Status:
    """Run `trainc build` for every environment of the new repository."""
    from trainc.api.command import build_parser, parse_arguments
    from trainc.api.command import run as build

    (command,) = (command for command in COMMANDS if command.name == "build")
    words = ["--config", os.path.join(folder, "trainc.yaml"), "--quiet", "--color", arguments.color]
    return build(parse_arguments(build_parser(command), words), streams)


def _next_steps(folder: str, paths: Iterable[str], requirement: Requirement, arguments: Arguments) -> str:
    builds = "trainc.yaml" in paths
    lines = [f"created in {folder}:", *(f"  {path}" for path in sorted(paths)), *([f"  {RENDERED}/"] if builds else [])]
    lines += ["", "next:", *([] if folder == "." else [f"  cd {folder}"])]
    lines += ["  trainc build --check"] if builds else []
    if requirement.problem and REQUIREMENTS in paths:
        lines += [
            f"  set the requirement in {REQUIREMENTS}, such as `trainc @ git+https://HOST/PATH@COMMIT`:",
            f"    {requirement.problem}",
        ]
    if f"{arguments.gitops}/prod.yaml" in paths:
        if arguments.repository == _REPOSITORY:
            lines.append(f"  set the repository URL in {arguments.gitops}/*.yaml")
        lines.append(f"  kubectl apply -f {arguments.gitops}/    (after pushing the repository)")
    return "".join(f"{line}\n" for line in lines)
