"""What `trainc init` does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

from trainc.api.arguments import COMMANDS, Arguments, Status, Streams, UsageError
from trainc.api.command import Files, Paint, text_report
from trainc.api.documents import read_file
from trainc.api.findings import Diagnostic
from trainc.api.settings import Limits
from trainc.features.init import PARTS, REPOSITORY
from trainc.features.init.scaffold import (
    HOOKS,
    README,
    RENDERED,
    REQUIREMENTS,
    SETTINGS,
    VENDORED,
    Requirement,
    requirement_of,
    scaffold,
    with_hooks,
    with_settings,
)

_LEFT_ALONE = (README, REQUIREMENTS)
_ADDED_TO = {HOOKS: with_hooks, SETTINGS: with_settings}


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
    from trainc.api.arguments import build_parser, parse_arguments
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
        if arguments.repository == REPOSITORY:
            lines.append(f"  set the repository URL in {arguments.gitops}/*.yaml")
        lines.append(f"  kubectl apply -f {arguments.gitops}/    (after pushing the repository)")
    return "".join(f"{line}\n" for line in lines)
