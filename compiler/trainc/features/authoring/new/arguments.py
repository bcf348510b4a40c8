"""Write a TrainJob, and say what `trainc check` says of it.

The job is compiled before it is written: one with errors, or that cannot start,
is not. No file is overwritten. What --file names goes into a ConfigMap of the
job's own in the same file; `trainc build` writes both.

Examples:
  trainc new bert --runtime torch-distributed -- torchrun train.py --epochs 3
  trainc new bert --runtime torch-distributed --nodes 4 --gpus 8 --queue nlp --namespace nlp
  trainc new bert --runtime torch-distributed --file train.yaml=/config/train.yaml -- torchrun train.py --config /config/train.yaml
  trainc new bert --runtime torch-distributed --mount datasets:/data --secret hf:token=HF_TOKEN
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the job has."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of the TrainJob")
    parser.add_argument("words", metavar="COMMAND", nargs="*", help="the command, after -- (default: the runtime's)")
    parser.add_argument("--runtime", metavar="NAME", help="the runtime to use; `trainc runtimes` lists them")
    parser.add_argument("--image", metavar="IMAGE", help="image of the trainer (default: the runtime's)")
    parser.add_argument("--nodes", metavar="N", type=int, help="number of nodes (default: the runtime's)")
    parser.add_argument("--gpus", metavar="N", type=int, help="GPUs per node (default: the runtime's)")
    parser.add_argument("--queue", metavar="NAME", help="LocalQueue of Kueue")
    parser.add_argument(
        "--mount", metavar="CLAIM:PATH", action="append", help="mount a PersistentVolumeClaim (repeatable)"
    )
    parser.add_argument(
        "--file", metavar="FILE=PATH", action="append", help="put a file into the job, at a path (repeatable)"
    )
    parser.add_argument("--secret", metavar="NAME:KEY=VAR", action="append", help="variable from a Secret (repeatable)")
    for part in ("dataset", "model"):
        text = f"{part} to download, such as hf://OWNER/NAME"
        parser.add_argument(f"--{part}", metavar="URI", help=text)
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write, or - (default: NAME.yaml in `sources`)")
    command.add_input(parser, paths=False)
    command.add_limits(parser)
    command.add_reporting(parser)
