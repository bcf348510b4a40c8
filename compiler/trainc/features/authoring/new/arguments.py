"""Write a TrainJob that checks clean.

The job uses a runtime of the repository or a built-in one; `trainc runtimes list`
shows them. It is compiled before it is written, and no file is overwritten.

Examples:
  trainc new bert --runtime torch-distributed -- torchrun train.py --epochs 3
  trainc new bert --runtime torch-h100 --nodes 4 --gpus 8 --queue nlp --namespace nlp
  trainc new bert --runtime torch-h100 --mount datasets:/data --secret hf:token=HF_TOKEN
  trainc new bert --runtime torch-h100 -o -
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the job has."""
    parser.add_argument("name", metavar="NAME", help="name of the TrainJob")
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
        "--secret", metavar="NAME:KEY=VARIABLE", action="append", help="variable from a Secret (repeatable)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write, or - for stdout (default: NAME.yaml in `sources`)"
    )
    command.add_input(parser, paths=False)
    command.add_limits(parser)
    command.add_reporting(parser)
