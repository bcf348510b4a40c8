"""Create a GitOps repository with jobs, runtimes, overlays, hooks and CI.

Existing files are never overwritten: an existing README.md is kept, and any
other conflict is an error. The new repository passes its own checks, and
`trainc build --check` fails as soon as a TrainJob changes.

Examples:
  trainc init training
  trainc init training --gitops flux
  trainc init --repository https://github.com/my-org/training.git
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from typing import get_args

from trainc.cli.arguments import COLOR_HELP, COLOURS, FOLDER, completed_by
from trainc.cli.command import COMMANDS, Arguments, Status, Streams, UsageError
from trainc.cli.report_text import Files, text_report
from trainc.cli.terminal import Paint
from trainc.diagnostics import Diagnostic
from trainc.integrations.scaffold import README, RENDERED, GitOps, scaffold

_REPOSITORY = "https://git.example.com/ml/training.git"


def add_arguments(parser: ArgumentParser) -> None:
    """Where, and for which tool."""
    folder = parser.add_argument(
        "folder", metavar="DIR", nargs="?", default=".", help="where to create it (default: .)"
    )
    completed_by(folder, FOLDER)
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
    parser.add_argument("--color", choices=COLOURS, metavar="WHEN", default="auto", help=COLOR_HELP)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Write the repository, and compile it."""
    from trainc import __version__

    if not arguments.repository.isprintable():
        raise UsageError(f"argument --repository: {arguments.repository!r} is not a URL")
    texts = scaffold(arguments.gitops, arguments.repository, __version__)
    folder = arguments.folder
    if os.path.isfile(folder):
        raise UsageError(f"{folder} is a file; name a folder (it is created if missing)")
    if os.path.lexists(os.path.join(folder, README)):
        # A new repository often has one.
        del texts[README]
    in_the_way = [path for path in (*texts, RENDERED) if os.path.lexists(os.path.join(folder, path))]
    if in_the_way:
        paint = Paint(arguments.color, streams.err)
        streams.err.write(text_report([_refusal(folder, path) for path in in_the_way], Files(), paint))
        return Status.DIAGNOSED
    _write(folder, texts)
    status = _build(folder, arguments, streams)
    if status is not Status.DONE:
        return status
    streams.err.write(_said(folder, texts, arguments))
    return Status.DONE


def _refusal(folder: str, path: str) -> Diagnostic:
    message = f"{os.path.normpath(os.path.join(folder, path))} already exists; nothing was written"
    return Diagnostic("FileInTheWay", "error", message, "move it away, or choose another folder")


def _write(folder: str, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)


def _build(folder: str, arguments: Arguments, streams: Streams) -> Status:
    """`trainc build` for every environment of the new repository."""
    from trainc.cli.build import run as build
    from trainc.cli.command import parsed, parser_of

    (command,) = (command for command in COMMANDS if command.name == "build")
    words = ["--config", os.path.join(folder, "trainc.yaml"), "--quiet", "--color", arguments.color]
    return build(parsed(parser_of(command), words), streams)


def _said(folder: str, paths: Iterable[str], arguments: Arguments) -> str:
    lines = [f"created in {folder}:", *(f"  {path}" for path in sorted(paths)), f"  {RENDERED}/", ""]
    lines += ["next:", *([] if folder == "." else [f"  cd {folder}"])]
    lines += ["  trainc build --check", f"  kubectl apply -f {arguments.gitops}/    (after pushing the repository)"]
    if arguments.repository == _REPOSITORY:
        lines.insert(-1, f"  set the repository URL in {arguments.gitops}/*.yaml")
    return "".join(f"{line}\n" for line in lines)
