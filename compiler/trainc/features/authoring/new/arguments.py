"""Write a TrainJob, and say what `trainc check` says of it.

The job uses a runtime of the repository or a built-in one; `trainc runtimes list`
shows them. It is compiled before it is written: a job with errors, or one that
cannot start, is not. No file is overwritten.

Files given by --file go into a ConfigMap in the same file. It is the job's own:
`trainc build` writes it with the job, under a name with a hash of its content.

Examples:
  trainc new bert --runtime torch-distributed -- torchrun train.py --epochs 3
  trainc new bert --runtime torch-distributed --nodes 4 --gpus 8 --queue nlp --namespace nlp
  trainc new bert --runtime torch-distributed --file train.yaml=/config/train.yaml -- torchrun train.py --config /config/train.yaml
  trainc new bert --runtime torch-distributed --mount datasets:/data --secret hf:token=HF_TOKEN
  trainc new bert --runtime torch-distributed -o -
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
    parser.add_argument(
        "--secret", metavar="NAME:KEY=VARIABLE", action="append", help="variable from a Secret (repeatable)"
    )
    for part in ("dataset", "model"):
        text = f"{part} that the runtime's initializer downloads, such as hf://OWNER/NAME"
        parser.add_argument(f"--{part}", metavar="URI", help=text)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write, or - for stdout (default: NAME.yaml in `sources`)"
    )
    command.add_input(parser, paths=False)
    command.add_limits(parser)
    command.add_reporting(parser)
