"""What `trainc version` does."""

from __future__ import annotations

from trainc import __version__
from trainc.cli.command import Arguments, Status, Streams
from trainc.startup.typing import Any


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the version."""
    streams.write(version_text(verbose=arguments.verbose))
    return Status.DONE


def version_text(*, verbose: bool = False) -> str:
    """Version, releases with pinned tags and commits, and plugins; if `verbose`, differences with their upstream status."""
    from trainc.plugins import FOLDERS
    from trainc.reading.yaml_reader import read_port

    port = read_port()
    repositories = port["repositories"]
    lines = [f"trainc {__version__}", f"follows {repositories['trainer']} and {repositories['jobset']}:"]
    for minor, pins in port["releases"].items():
        trainer = f"Trainer {pins['trainer']} ({pins['trainerCommit'][:8] or 'a preview: not read'})"
        lines.append(f"  {minor}  {trainer}, JobSet {pins['jobset']} ({pins['jobsetCommit'][:8]})")
        lines += [f"       {b['certainty']}: {b['what']} ({', '.join(b['in'])})" for b in pins.get("behaviors", ())]
    kueue = port["kueue"]
    recorded = ", ".join(f"{version} ({commit[:8]})" for version, commit in kueue["recorded"].items())
    lines.append(
        f"trainc fits follows {kueue['repository']}: {recorded} by its answers, {', '.join(kueue['read'])} by its code"
    )
    ported: dict[str, list[str]] = {}
    for name, folder in FOLDERS.values():
        ported.setdefault(folder, []).append(name)
    lines.append("plugins, by the folder of pkg/runtime/framework/plugins that each one ports:")
    lines += [f"  {folder or '(none: trainc only)'}: {', '.join(names)}" for folder, names in ported.items()]
    if verbose:
        for section, title in _SECTIONS.items():
            lines.append(f"{title} ({len(port[section])}):")
            for entry in port[section]:
                lines += [f"  {entry['id']}: {entry['what']}", f"    upstream: {_upstream(entry['upstream'])}"]
    else:
        counts = " and ".join(f"{len(port[section])} {noun}" for section, noun in _NOUNS.items())
        lines.append(f"{counts} are listed by trainc version --verbose")
    return "\n".join((*lines, ""))


_SECTIONS = {
    "deviations": "deviations from the controller under --semantics gitops",
    "kept": "differences that stay under --semantics controller too",
    "defects": "defects of the controllers that are reproduced, refused or reported",
}


_NOUNS = {"deviations": "deviations from the controller under gitops", "kept": "other differences"}


def _upstream(column: dict[str, Any]) -> str:
    """The upstream status on one line: "proposed since 2026-08-18 (kubeflow/trainer#3948)"."""
    when = f" since {column['since']}" if "since" in column else f" by {column['asOf']}" if "asOf" in column else ""
    threads = f" ({', '.join(column['in'])})" if "in" in column else ""
    return f"{column['state']}{when}{threads}" + (f": {column['because']}" if "because" in column else "")


def describe_defect() -> str:
    """Describe the exception being handled: its traceback, and how to report it."""
    import platform
    import traceback

    return (
        f"{traceback.format_exc()}\n"
        "trainc: this is a bug in trainc, not in your input.\n"
        "Please report it with the lines above, the command you ran and, if you can, the input that triggers it.\n"
        f"trainc {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n"
    )
