"""What `trainc` and `trainc --help` print."""

from __future__ import annotations

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
