"""Arguments that several commands take, in the groups in which help shows them.

An argument that is not given is None, so that trainc.yaml can speak for it; settings.py puts the two together.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any, get_args

from trainc.api.releases import DEFAULT_KUBERNETES, KUBERNETES, RELEASES, normalize_kubernetes, normalize_release
from trainc.options import (
    Delivery,
    Gang,
    Limits,
    SecretsMode,
    Semantics,
    checked_cluster_domain,
    checked_image,
    checked_namespace,
)
from trainc.startup.records import fields

COLOURS = ("auto", "always", "never")
COLOR_HELP = "auto (default), always or never"
_OUTSIDE = "allow_outside"

# The completions of an argument that is neither a choice nor a file; used by `completion`.
FOLDER, FILE, RUNTIME, CODE, TOPIC = "folder", "file", "runtime", "code", "topic"


def set_completion(argument: Any, what: str) -> None:
    """Set what the shell completes for an argument."""
    argument.completes = what


def topic_group(parser: ArgumentParser, topic: str) -> Any:
    """A group of options that `trainc help TOPIC` explains and that the command's own help omits."""
    group: Any = parser.add_argument_group(f"{topic} options")
    group.topic = topic
    return group


def add_input(parser: ArgumentParser, *, paths: bool = True) -> None:
    """Add the input and release options; without `paths` for a command with its own input argument."""
    group = parser.add_argument_group("input")
    if paths:
        help_text = "file, folder, or - for stdin (default: `sources` in trainc.yaml, else .)"
        set_completion(group.add_argument("paths", metavar="PATH", nargs="*", help=help_text), FILE)
    set_completion(
        group.add_argument("--runtimes", metavar="DIR", action="append", help="folder with more runtimes (repeatable)"),
        FOLDER,
    )
    set_completion(
        group.add_argument("--overlay", metavar="DIR", action="append", help="apply DIR/overlay.yaml (repeatable)"),
        FOLDER,
    )
    add_release(group.add_argument)
    group.add_argument(
        "--namespace",
        type=_checked_type(checked_namespace),
        metavar="NAME",
        help="namespace for documents that set none",
    )
    _add_rare_input(parser)


def add_matrix(parser: ArgumentParser) -> None:
    """Add `--matrix`, for commands that compile the whole input."""
    group: Any = next(group for group in parser._action_groups if group.title == "input")  # noqa: SLF001 - as in command.py
    help_text = "compile the trials of the sweep in FILE (`trainc help sweeps`)"
    set_completion(group.add_argument("--matrix", metavar="FILE", action="append", help=help_text), FILE)


def _add_rare_input(parser: ArgumentParser) -> None:
    group = topic_group(parser, "input")
    group.add_argument(
        "--semantics",
        choices=get_args(Semantics),
        help="gitops (default): what belongs in git; controller: exactly what Trainer's controller would create",
    )
    group.add_argument(
        "--kubernetes",
        type=_checked_type(normalize_kubernetes),
        choices=KUBERNETES,
        metavar="MINOR",
        help=f"Kubernetes minor of the cluster: {KUBERNETES[0]} to {KUBERNETES[-1]} (default: {DEFAULT_KUBERNETES})",
    )
    group.add_argument(
        "--gang",
        choices=get_args(Gang),
        help="what schedules the pods of a gang together: runtime (default), the scheduler in the runtime's "
        "podGroupPolicy; workload, Kubernetes 1.37 itself",
    )
    group.add_argument(
        "--plugin",
        dest="plugins",
        metavar="NAME",
        action="append",
        help="enable a plugin from another installed package (repeatable)",
    )
    group.add_argument(
        "--allow-outside",
        dest=_OUTSIDE,
        action="store_true",
        default=None,
        help="allow symlinks, overlays and trainc.yaml to point outside the repository (its root is the folder with "
        ".git, else the one with trainc.yaml)",
    )
    group.add_argument(
        "--env",
        metavar="NAME",
        action="append",
        help="an environment of trainc.yaml; repeatable (default without PATH: all of them)",
    )
    set_completion(
        group.add_argument(
            "--config", metavar="FILE", help="settings file (default: trainc.yaml here or in a parent folder)"
        ),
        FILE,
    )


def add_release(add_argument: Callable[..., Any]) -> None:
    """Add `--release`, which accepts any spelling of a Trainer minor."""
    add_argument(
        "--release",
        type=_checked_type(_one_release),
        choices=RELEASES,
        metavar="MINOR",
        help=f"Trainer release to compile for: {', '.join(RELEASES)}",
    )


def _one_release(text: str) -> str:
    try:
        return normalize_release(text)
    except ValueError as error:
        hint = "; `trainc diff --releases OLD..NEW` compares two" if ".." in text else ""
        raise ValueError(f"{error}{hint}") from None


def add_shaping(parser: ArgumentParser) -> None:
    """Add the options that adapt the output to its delivery, under gitops semantics only."""
    group = topic_group(parser, "delivery")
    group.add_argument(
        "--delivery", choices=get_args(Delivery), help="the tool that applies the output (default: argocd)"
    )
    group.add_argument(
        "--sync-option",
        metavar="NAME",
        action="append",
        help="set a sync option of Argo CD or Flux (repeatable; see `trainc help sync-options`)",
    )
    group.add_argument(
        "--secrets",
        choices=get_args(SecretsMode),
        help="where the SSH keys that MPI pods mount come from (default: existing); trainc never writes a key",
    )
    group.add_argument(
        "--keygen-image",
        type=_checked_type(checked_image),
        metavar="IMAGE",
        help="image of the Job that generates the keys with --secrets presync-job",
    )
    group.add_argument(
        "--name-hash",
        action="store_true",
        default=None,
        help="append a content hash to job names, so that a changed job is a new job",
    )
    group.add_argument(
        "--cluster-domain",
        type=_checked_type(checked_cluster_domain),
        metavar="DOMAIN",
        help="DNS domain of the cluster (default: cluster.local)",
    )


# The counted objects, as they appear in a sentence.
_BOUNDED = {
    "file_bytes": "size of a file, in bytes",
    "document_bytes": "size of a YAML document, in bytes",
    "documents": "documents per run",
    "depth": "nesting depth of a document",
    "alias_expansions": "YAML alias expansions per document",
    "template_steps": "steps a template may take",
    "template_bytes": "bytes a template may produce",
    "template_seconds": "CPU seconds a template may take",
    "overlays": "overlays that build on each other",
}


def add_limits(parser: ArgumentParser) -> None:
    """Add the limits on input."""
    group = topic_group(parser, "limits")
    defaults = Limits()
    for limit in fields(Limits):
        if limit.name == _OUTSIDE:
            continue
        what = _BOUNDED.get(limit.name, limit.name.replace("_", " "))
        default = f"{getattr(defaults, limit.name):,}"
        group.add_argument(
            f"--max-{limit.name.replace('_', '-')}",
            dest=limit.name,
            type=_positive,
            metavar="N",
            help=f"{what} (default: {default})",
        )


def add_reporting(parser: ArgumentParser) -> None:
    """Add the options that control how diagnostics are shown."""
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="show errors only")
    loudness.add_argument("-v", "--verbose", action="store_true", help="also report what was read and written")
    parser.add_argument("--color", choices=COLOURS, metavar="WHEN", default="auto", help=COLOR_HELP)


def add_strict(parser: ArgumentParser) -> None:
    """Add `--strict`, for commands that can refuse input."""
    parser.add_argument("--strict", action="store_true", help="exit 1 if there are warnings, too")


def argument_error(reason: str) -> Exception:
    """The exception that an argument type raises for an invalid value."""
    from argparse import ArgumentTypeError

    return ArgumentTypeError(reason)


def _checked_type(check: Callable[[str], str]) -> Callable[[str], str]:
    """Make an argument type from a validation function of options.py."""

    def accepted(text: str) -> str:
        try:
            return check(text)
        except ValueError as error:
            raise argument_error(str(error)) from None

    return accepted


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argument_error(f"{text!r} is not a positive integer")
    return int(text)
