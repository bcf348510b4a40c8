"""Run trainc on public files, with this commit and with another, and write what differs as Markdown.

    python tools/scripts/ecosystem.py FOLDER --before COMMIT

FOLDER has clones of the repositories in ecosystem.toml, as owner/name, of which the listed folders are read at the listed
revision. Any other folder in it is read as it is now. Nothing is fetched, and nothing is written there. The summary goes
to stdout; the exit status is 1 if this commit crashed, and 0 whatever else differs: whether a finding that is new or gone
is right, a reader has to judge.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("ecosystem_worker.py")
COMMANDS = {
    "check": ("check",),
    "build": ("build",),
    "migrate": ("migrate", "--diff"),
    "report": ("migrate", "--report"),
    "fits": ("fits", "--namespace", "default", "--cluster"),
}
_FINDING = re.compile(r"^(?P<place>.*?)(?:: )?(?P<kind>(?:error|warning|info)\[\w+\])(?P<message>.*)$")
_USAGE = 2
# A command is slower by so much, and by so many seconds.
_SLOWER_BY = 1.25
_SLOWER_SECONDS = 0.3
_MOST_EXAMPLES = 10
_MOST_LINES = 40


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder of files, with the name that the summary calls it by."""

    name: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one command did. `findings` has messages with their hints, by place and kind (`error[WrongType]`)."""

    status: int
    findings: dict[tuple[str, str], str]
    output: str
    seconds: float

    @property
    def is_crash(self) -> bool:
        """Whether it ended with a defect, a signal or anything else that no command documents."""
        return self.status not in (0, 1, _USAGE)


Outcomes: TypeAlias = dict[tuple[str, str], Outcome]
"""By command and path; the path `.` is the whole checkout."""


class Summary:
    """All differences; places begin with the name of the checkout."""

    def __init__(self) -> None:
        self._rows: list[str] = []
        self.crashes: list[str] = []
        # By heading and kind: the commands with each finding.
        self._findings: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._statuses: list[str] = []
        self._outputs: dict[str, list[str]] = defaultdict(list)
        self._slower: list[str] = []

    def add(self, checkout: Checkout, before: Outcomes, now: Outcomes, slower: Iterable[str]) -> None:
        """Compare the outcomes of a checkout. `slower` are commands."""
        for (command, path), outcome in now.items():
            where, old = f"`{command}` {checkout.name}/{path}", before[command, path]
            if outcome.is_crash:
                self.crashes.append(f"{where}: exit status {outcome.status}")
            if old.status == _USAGE != outcome.status:
                continue  # That commit does not have the command or an option.
            if old.status != outcome.status:
                self._statuses.append(f"{where}: {old.status} → {outcome.status}")
            if old.output != outcome.output:
                self._outputs[_diff(old.output, outcome.output)].append(where)
            for place, kind in {**old.findings, **outcome.findings}:
                was, is_ = (each.findings.get((place, kind)) for each in (old, outcome))
                if was != is_:
                    heading = "New" if was is None else "Gone" if is_ is None else "Worded differently"
                    text = f"\n  - was:{was}\n  - is:{is_}" if was and is_ else f":{is_ or was}"
                    self._findings[heading, kind][f"{checkout.name}/{place}{text}"].add(command)
        self._slower += (f"`{command}` {checkout.name}: {_times(command, before, now)}" for command in slower)
        times = " | ".join(_times(command, before, now) for command in COMMANDS)
        self._rows.append(f"| {checkout.name} | {len({path for _, path in now}) - 1} | {times} |")

    def text(self, before: str, missing: Sequence[str]) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield from (f"# This commit against {before}", "", "Processor time of each command, before → now:", "")
        yield f"| checkout | files | {' | '.join(COMMANDS)} |"
        yield from (f"|---|---:|{'---:|' * len(COMMANDS)}", *self._rows)
        yield from _section("Crashes", self.crashes)
        for heading in ("New", "Gone", "Worded differently"):
            kinds = {kind: found for (under, kind), found in self._findings.items() if under == heading}
            yield from ("", f"## {heading}: {sum(map(len, kinds.values()))}")
            for kind, found in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0])):
                from_ = set().union(*found.values())
                yield from (
                    "",
                    f"**{kind}**, {len(found)}, from {', '.join(name for name in COMMANDS if name in from_)}",
                    "",
                )
                yield from _listed([*found])
        yield from _section("Other exit statuses", self._statuses)
        yield from ("", f"## Other output: {sum(map(len, self._outputs.values()))}")
        alike = sorted(self._outputs.items(), key=lambda item: -len(item[1]))
        for diff, (first, *others) in alike[:_MOST_EXAMPLES]:
            more = f" and {len(others)} more" if others else ""
            yield from (
                "",
                f"<details><summary>{first}{more}</summary>",
                "",
                "````diff",
                diff,
                "````",
                "",
                "</details>",
            )
        yield from _listed([place for _, places in alike[_MOST_EXAMPLES:] for place in places])
        yield from _section("Slower", self._slower)
        yield from _section("Not run", missing)


def _seconds(command: str, outcomes: Outcomes) -> float:
    return sum(outcome.seconds for (name, _), outcome in outcomes.items() if name == command)


def _times(command: str, before: Outcomes, now: Outcomes) -> str:
    return f"{_seconds(command, before):.1f} → {_seconds(command, now):.1f} s"


def slower_commands(before: Outcomes, now: Outcomes) -> list[str]:
    """Return the commands that take notably more processor time now."""
    times = {command: (_seconds(command, before), _seconds(command, now)) for command in COMMANDS}
    return [name for name, (was, is_) in times.items() if is_ > max(was * _SLOWER_BY, was + _SLOWER_SECONDS)]


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield from ("", f"## {title}: {len(lines)}", *([""] if lines else ()), *_listed(lines))


def _listed(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"- {line}" for line in lines[:_MOST_EXAMPLES])
    if len(lines) > _MOST_EXAMPLES:
        yield f"- and {len(lines) - _MOST_EXAMPLES} more"


def _diff(old: str, new: str) -> str:
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "before", "now", n=1, lineterm=""))
    cut = [f"... {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    return "\n".join(lines[:_MOST_LINES] + cut)


def findings(stderr: str) -> dict[tuple[str, str], str]:
    """Return the messages and hints of a report, by place and kind; several in one place are one text."""
    found: dict[tuple[str, str], str] = {}
    key = None
    for line in stderr.splitlines():
        match = _FINDING.match(line)
        if match:
            key = (match["place"].removeprefix("./"), match["kind"])
            found[key] = found.get(key, "") + match["message"]
        elif key is not None and line.startswith("  help: "):
            found[key] += f" ({line.strip()})"
    return found


def outcomes_of(checkout: Checkout, cluster: Path, source: Path) -> Outcomes:
    """Run every command with the trainc of a source folder, on each file that is a Kubernetes object and on all."""
    files = sorted(path for path in checkout.folder.rglob("*.y*ml") if path.is_file())
    texts = {str(path.relative_to(checkout.folder)): path.read_bytes() for path in files}
    paths = {path: b"kind: ClusterQueue" in text for path, text in texts.items() if b"apiVersion" in text}
    commands = {
        (command, path): [*words, *([path if has_queues else str(cluster)] if command == "fits" else ()), path]
        for path, has_queues in {**paths, ".": any(paths.values())}.items()
        for command, words in COMMANDS.items()
    }
    example = str(ROOT / "tests/cases/torch-llm-pretrain.yaml")
    examples = [[*words, *([str(cluster)] if name == "fits" else ()), example] for name, words in COMMANDS.items()]
    done = subprocess.run(
        [sys.executable, str(WORKER)],
        input=json.dumps({"examples": examples, "commands": [*commands.values()]}),
        env={**os.environ, "PYTHONPATH": str(source), "NO_COLOR": "1"},
        cwd=checkout.folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answers = json.loads(done.stdout)
    return {
        key: Outcome(status, findings(err), out, seconds)
        for key, (status, out, err, seconds) in zip(commands, answers, strict=True)
    }


def checkouts(folder: Path, data: dict[str, list[dict[str, str]]], build: Path) -> tuple[list[Checkout], list[str]]:
    """Return what there is to run on, with listed repositories unpacked into `build`, and what is missing."""
    found: list[Checkout] = []
    missing: list[str] = []
    for listed in data["repositories"]:
        name, revision = listed["name"], listed["revision"]
        checkout = Checkout(f"{name}@{revision[:7]}", build / f"{name.replace('/', '-')}-{revision[:7]}")
        clone = folder / name
        if unpack(clone, revision, listed["folders"], checkout.folder):
            found.append(checkout)
        elif clone.is_dir():
            missing.append(f"{name} at {revision}: `git -C {clone} fetch origin {revision}`")
        else:
            missing.append(f"{name}: `git clone https://github.com/{name} {clone}`")
    owners = {listed["name"].split("/")[0] for listed in data["repositories"]}
    own = sorted(path for path in folder.iterdir() if path.is_dir() and path.name not in owners)
    return [*found, *(Checkout(path.name, path.resolve()) for path in own)], [*dict.fromkeys(missing)]


def unpack(repository: Path, revision: str, folders: Iterable[str], to: Path) -> bool:
    """Write folders of a revision to `to`, unless that is done; return False if there is no such clone or revision."""
    if not repository.is_dir():
        return False
    if to.exists():
        return True
    archive = ["git", "-C", str(repository), "archive", "--format=tar", revision, *folders]
    done = subprocess.run(archive, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        return False
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        tar.extractall(to, filter="data")
    return True


def main() -> int:
    """Print the summary and return the exit status."""
    parser = argparse.ArgumentParser(description="Compare what two commits of trainc say about public files.")
    parser.add_argument("folder", help="folder with clones of repositories, and other folders")
    parser.add_argument(
        "--before", default="HEAD", help="another commit or checkout (default: HEAD, without your changes)"
    )
    options = parser.parse_args()
    data = tomllib.loads(Path(__file__).with_name("ecosystem.toml").read_text(encoding="utf-8"))
    if not options.folder:
        names = ", ".join(dict.fromkeys(listed["name"] for listed in data["repositories"]))
        print(f"skipped: TRAINC_ECOSYSTEM names no folder; it may have clones of {names}", file=sys.stderr)
        return 0
    build = ROOT / "build" / "ecosystem"
    build.mkdir(parents=True, exist_ok=True)
    source = Path(options.before).resolve()
    if not source.is_dir():
        commit = subprocess.check_output(["git", "-C", str(ROOT), "rev-parse", options.before], text=True).strip()
        source = build / commit
        if not unpack(ROOT, commit, ("compiler", "runtimes"), source):
            return _USAGE
    cluster = build / "cluster.yaml"
    cluster.write_text(data["cluster"], encoding="utf-8")
    found, missing = checkouts(Path(options.folder), data, build / "files")
    sources = (source / "compiler", ROOT / "compiler")
    summary = Summary()
    with ThreadPoolExecutor() as pool:
        for checkout in found:
            print(checkout.name, file=sys.stderr)
            run = partial(outcomes_of, checkout, cluster)
            before, now = pool.map(run, sources)
            slower = slower_commands(before, now)
            if slower:  # Unless something else took the time.
                slower = [command for command in slower_commands(*pool.map(run, sources)) if command in slower]
            summary.add(checkout, before, now, slower)
    print("\n".join(summary.text(source.name[:10], missing)))
    return 1 if summary.crashes else 0


if __name__ == "__main__":
    sys.exit(main())
