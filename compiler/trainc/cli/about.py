"""What trainc says about itself: its commands, its version and what it follows, and how to report a defect."""

from __future__ import annotations

from typing import Any

from trainc import __version__
from trainc.cli.command import COMMANDS

_HEAD = """\
trainc compiles Kubeflow TrainJobs and training runtimes, offline, into the JobSet, PodGroup and ConfigMap manifests
that run on a cluster: deterministic text, to be reviewed in a pull request and applied by a GitOps tool.

usage: trainc COMMAND [ARGUMENT ...]

commands:
"""
_TAIL = """
Start here:
  trainc build train.yaml --release 2.3            print the manifests of one TrainJob
  trainc build jobs/ -o rendered/                  one file for each TrainJob found under jobs/
  trainc build jobs/ -o rendered/ --check          is rendered/ what jobs/ compiles to? (for CI)
  trainc check jobs/                               only look for mistakes
  trainc rule UnknownField                         what does this code mean?

`trainc COMMAND --help` says more; `trainc --version` prints which upstream releases trainc follows.
Diagnostics go to stderr and manifests to stdout. If anything is wrong, no manifest is written at all.
Exit codes: 0 done, 1 the input was refused or --check found a difference, 2 wrong usage, 3 a defect in trainc.
"""


def overview() -> str:
    """The commands, one a line, and where to start."""
    width = max(len(command.name) for command in COMMANDS)
    lines = [f"  {command.name:<{width}}  {command.summary}\n" for command in COMMANDS]
    return _HEAD + "".join(lines) + _TAIL


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
    lines.append("with the plugins of its pkg/runtime/framework/plugins:")
    lines += [f"  {folder}: {', '.join(names)}" for folder, names in ported.items()]
    lines.append(f"with {len(port['deviations'])} deviations under --semantics gitops:")
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
        "trainc: this is a defect in trainc, not in your input.\n"
        "Please report it with the lines above, the command you ran and, if you can, the input that shows it.\n"
        f"trainc {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n"
    )
