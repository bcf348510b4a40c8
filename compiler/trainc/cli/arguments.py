"""Arguments that several commands take, in the groups in which --help shows them.

An argument that is not given is None, so that trainc.yaml can speak for it; settings.py puts the two together.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from typing import Any, get_args

from trainc.api.releases import RELEASES, normalize_release
from trainc.api.sync_options import sync_options_of
from trainc.options import (
    Delivery,
    Limits,
    SecretsMode,
    Semantics,
    checked_cluster_domain,
    checked_image,
    checked_namespace,
)
from trainc.startup.records import fields

COLOURS = ("auto", "always", "never")
_OUTSIDE = "allow_outside"

# What a shell should complete, where it is neither a choice nor a file: read by completion.
FOLDER, FILE, RUNTIME, CODE = "folder", "file", "runtime", "code"


def completed_by(argument: Any, what: str) -> None:
    """Say what values an argument takes, for the shell's completion."""
    argument.completes = what


def add_input(parser: ArgumentParser, *, paths: bool = True) -> None:
    """What to read, and for which release; without `paths` for a command that names its input itself."""
    group = parser.add_argument_group("input")
    if paths:
        help_text = "file, folder or - for stdin (default: `sources` of trainc.yaml, else .)"
        completed_by(group.add_argument("paths", metavar="PATH", nargs="*", help=help_text), FILE)
    completed_by(
        group.add_argument(
            "--runtimes",
            metavar="DIR",
            action="append",
            help="where to look for runtimes that the input does not have; before trainc's own catalog; repeatable",
        ),
        FOLDER,
    )
    completed_by(
        group.add_argument(
            "--overlay",
            metavar="DIR",
            action="append",
            help="a folder with an overlay.yaml to apply; repeatable, later ones win",
        ),
        FOLDER,
    )
    add_release(group.add_argument)
    group.add_argument(
        "--semantics",
        choices=get_args(Semantics),
        help="gitops (default): what should be in git; controller: field for field what the controller would create",
    )
    group.add_argument(
        "--namespace",
        type=_checked_by(checked_namespace),
        metavar="NAME",
        help="for documents without a namespace; others keep theirs",
    )
    group.add_argument(
        "--plugin",
        dest="plugins",
        metavar="NAME",
        action="append",
        help="an installed plugin of another distribution that is to take part; repeatable",
    )
    group.add_argument(
        "--allow-outside",
        dest=_OUTSIDE,
        action="store_true",
        default=None,
        help="let links, overlays and trainc.yaml lead out of the repository (.git, else trainc.yaml, is at its top)",
    )
    completed_by(
        group.add_argument("--config", metavar="FILE", help="settings (default: trainc.yaml, searched upward)"), FILE
    )


def add_release(add_argument: Callable[..., Any]) -> None:
    """`--release`, which names a Trainer minor in any of its spellings."""
    add_argument(
        "--release",
        type=_checked_by(_one_release),
        choices=RELEASES,
        metavar="MINOR",
        help=f"the Trainer release to compile for: {', '.join(RELEASES)}; v2.3 and 2.3.1 mean 2.3",
    )


def _one_release(text: str) -> str:
    try:
        return normalize_release(text)
    except ValueError as error:
        hint = "; `trainc diff --releases OLD..NEW` compares two" if ".." in text else ""
        raise ValueError(f"{error}{hint}") from None


def add_shaping(parser: ArgumentParser) -> None:
    """How the output is meant to travel to the cluster; for gitops semantics only."""
    group = parser.add_argument_group("delivery (gitops semantics)")
    group.add_argument(
        "--delivery", choices=get_args(Delivery), help="the tool that applies the output (default: argocd)"
    )
    group.add_argument(
        "--sync-option",
        metavar="NAME",
        action="append",
        help="what the delivery tool is told about the job: one of those below; repeatable",
    )
    group.add_argument(
        "--secrets",
        choices=get_args(SecretsMode),
        help="where the keys that the pods mount come from (default: existing; trainc never writes a key)",
    )
    group.add_argument(
        "--keygen-image",
        type=_checked_by(checked_image),
        metavar="IMAGE",
        help="what makes the keys under --secrets presync-job",
    )
    group.add_argument(
        "--name-hash",
        action="store_true",
        default=None,
        help="append a hash of the content to names, so that a changed job is a new job",
    )
    group.add_argument(
        "--cluster-domain",
        type=_checked_by(checked_cluster_domain),
        metavar="DOMAIN",
        help="the cluster's DNS domain (default: cluster.local)",
    )
    parser.add_argument_group("what each sync option does to a running job", _sync_options())


def _sync_options() -> str:
    """Every sync option with its effect, by tool; `=true` may be left out."""
    lines: list[str] = []
    for tool, title in (("argocd", "Argo CD"), ("flux", "Flux CD")):
        lines.append(title)
        for option in sync_options_of(tool):
            lines.append(f"  {option.name}")
            lines += (f"      {line}" for line in _filled(option.effect, 72))
    return "\n".join(lines)


def _filled(text: str, width: int) -> Iterator[str]:
    """The words of `text` in lines of at most `width` characters; textwrap takes longer to import than a job to compile."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


def add_limits(parser: ArgumentParser) -> None:
    """Bounds on input."""
    group = parser.add_argument_group("limits")
    for limit in fields(Limits):
        if limit.name == _OUTSIDE:
            continue
        what = limit.name.replace("_", " ")
        default = f"{getattr(Limits(), limit.name):,}"
        group.add_argument(
            f"--max-{limit.name.replace('_', '-')}",
            dest=limit.name,
            type=_positive,
            metavar="N",
            help=f"refuse input beyond this bound on {what} (default: {default})",
        )


def add_reporting(parser: ArgumentParser) -> None:
    """How diagnostics are shown."""
    group = parser.add_argument_group("diagnostics")
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="show errors only")
    loudness.add_argument("-v", "--verbose", action="store_true", help="say what was read and written too")
    group.add_argument("--color", choices=COLOURS, default="auto", help="default: auto; NO_COLOR and FORCE_COLOR count")


def add_strict(parser: ArgumentParser) -> None:
    """For commands that refuse input."""
    parser.add_argument("--strict", action="store_true", help="treat warnings as errors do: exit 1")


def refusal(reason: str) -> Exception:
    """What the type of an argument raises about a word that is none of its values."""
    from argparse import ArgumentTypeError

    return ArgumentTypeError(reason)


def _checked_by(check: Callable[[str], str]) -> Callable[[str], str]:
    """The type of an argument whose words a function of options.py checks."""

    def accepted(text: str) -> str:
        try:
            return check(text)
        except ValueError as error:
            raise refusal(str(error)) from None

    return accepted


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise refusal(f"{text!r} is no positive whole number")
    return int(text)
