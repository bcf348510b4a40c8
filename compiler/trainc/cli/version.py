"""Print the version of trainc and the upstream releases that it follows.

Examples:
  trainc version
  trainc --version
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from trainc import __version__
from trainc.cli.command import Arguments, Status, Streams


def add_arguments(parser: ArgumentParser) -> None:
    """None."""


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print it."""
    streams.out.write(version_text().encode("utf-8", "backslashreplace"))
    return Status.DONE


def version_text() -> str:
    """Version, releases with their pinned tags and commits, plugins, and how many deviations there are."""
    from trainc.plugins.registry import PLUGINS

    port = read_port()
    repositories = port["repositories"]
    lines = [f"trainc {__version__}", f"follows {repositories['trainer']} and {repositories['jobset']}:"]
    for minor, pins in port["releases"].items():
        trainer = f"Trainer {pins['trainer']} ({pins['trainerCommit'][:8]})"
        lines.append(f"  {minor}  {trainer}, JobSet {pins['jobset']} ({pins['jobsetCommit'][:8]})")
    ported: dict[str, list[str]] = {}
    for plugin in PLUGINS:
        ported.setdefault(plugin.ports, []).append(plugin.name)
    lines.append("plugins, by the folder of pkg/runtime/framework/plugins that each one ports:")
    lines += [f"  {folder or '(none: trainc only)'}: {', '.join(names)}" for folder, names in ported.items()]
    lines.append(f"deviations from the controller under --semantics gitops ({len(port['deviations'])}):")
    lines += [f"  {deviation['id']}: {deviation['what']}" for deviation in port["deviations"]]
    return "\n".join((*lines, ""))


def read_port() -> dict[str, Any]:
    """PORT.yaml, which names what trainc follows."""
    from importlib.resources import files

    from trainc.reading.yaml_reader import read_value

    port: dict[str, Any] = read_value(files("trainc").joinpath("PORT.yaml").read_text(encoding="utf-8"))
    return port


def describe_defect() -> str:
    """The exception being handled with its traceback, and what to do about it."""
    import platform
    import traceback

    return (
        f"{traceback.format_exc()}\n"
        "trainc: this is a bug in trainc, not in your input.\n"
        "Please report it with the lines above, the command you ran and, if you can, the input that triggers it.\n"
        f"trainc {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n"
    )
