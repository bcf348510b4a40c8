"""The law of causes, as a check of what `trainc diff` says about one round of edits."""

from __future__ import annotations

import difflib
import json
import os
import random
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from commands import run
from made_up_monorepo import ENVIRONMENTS, Edit, Job, Tree, Truth, monorepo, possible_edits, with_edits, write
from repositories import git

Change = dict[str, Any]
BY_HAND, BACK = "changed by hand", "back to what it was in"
# Of a group, so many jobs are asked about.
_ASKED = 2


class Round:
    """A repository at random, half of them with jobs that are kept as built, and 1 to 4 edits of it.

    Edits that are given by their names are chosen instead; so are those that came before.
    """

    def __init__(
        self, seed: int, folder: Path, rendered: Path, named: Sequence[str] = (), before: Sequence[str] = ()
    ) -> None:
        self.seed, self.folder = seed, folder
        rng = random.Random(seed)
        self.kept = bool(seed % 2)
        self.environment = rng.choice(ENVIRONMENTS)
        tree = monorepo(kept=self.kept)
        # What a kept job was built from may have changed since.
        held = [
            edit for edit in possible_edits(tree, rng, self.environment) if edit.is_held and "render" not in edit.name
        ]
        self.pending = rng.sample(held, rng.randint(0, 3)) if self.kept else []
        self.pending = [edit for edit in held if edit.name in before] if named else self.pending
        built = tree | rendered_of(tree, rendered) if self.kept else tree
        self.tree = with_edits(built, self.pending)
        self.built = built
        possible = possible_edits(self.tree, rng, self.environment)
        edits = rng.sample(possible, rng.randint(1, 4))
        edits = [edit for edit in possible if edit.name in named] if named else edits
        assert {edit.name for edit in edits} >= {*named}
        self.after = with_edits(self.tree, edits)
        # What is no difference, such as a line of a file that is gone, is no edit.
        self.edits = [
            edit for edit in edits if with_edits(self.tree, [e for e in edits if e is not edit]) != self.after
        ]

    def said(self) -> dict[str, Any]:
        """What `trainc diff` says about the edits; empty if either side does not compile."""
        repository, here = self.folder / "repository", Path.cwd()
        write(self.tree, repository)
        os.chdir(repository)
        try:
            git("init", "--quiet")
            # What comes back is in the history, and what kept jobs were built from.
            back = with_edits(self.built, [e for e in self.edits if e.name == "rendered back"])
            for tree in (back, self.built, self.tree):
                for file in {*back, *self.built} - {*tree}:
                    Path(file).unlink(missing_ok=True)
                write(tree, Path.cwd())
                git("add", "--all")
                git("commit", "--quiet", "--allow-empty", "--message", "before")
            for file in self.tree.keys() - self.after.keys():
                Path(file).unlink()
            write(self.after, repository)
            said = run("diff", "--format", "json", "--env", self.environment)
        finally:
            os.chdir(here)
        assert said.status != 3, said.stderr
        diff: dict[str, Any] = json.loads(said.stdout) if said.stdout else {}
        return {} if diff.get("errors") else diff

    def broken(self) -> tuple[list[str], int]:
        """What breaks the law, and how many changes of jobs there are."""
        said = self.said()
        groups = [group for group in said.get("groups", ()) if group["kind"] == "JobSet"]
        rng = random.Random(self.seed)
        asked = [(group, rng.sample(group["jobs"], min(_ASKED, len(group["jobs"])))) for group in groups]
        jobs = [((job["namespace"], job["name"]), group) for group, some in asked for job in some]
        truth = Truth(self.tree, self.edits, self.environment, [job for job, _ in jobs], self.folder / "truth")
        names = [edit.name for edit in self.edits]
        of_notes = [re.findall(r"(\S+):(\d+)[ ,]", note) for note in said.get("notes", ()) if "changed since" in note]
        lines = self._pending_lines()
        broken = [
            f"not pending: seed {self.seed} {file}:{line}, pending {[edit.name for edit in self.pending]}, edits {names}"
            for places in of_notes
            for file, line in places
            if (file, int(line)) not in lines
        ]
        for job, group in jobs:
            about = (
                f"seed {self.seed} {self.environment} {'/'.join(job)} {group['status']}, edits {names}, {shown(group)}"
            )
            about += f", pending {[edit.name for edit in self.pending]}" if self.pending else ""
            broken += [f"{law}: {about}" for law in self._laws_broken(job, group, truth)]
        shutil.rmtree(self.folder)
        return broken, sum(len(group["jobs"]) for group in groups)

    def _laws_broken(self, job: Job, change: Change, truth: Truth) -> Iterator[str]:
        names = {edit.name for edit in self.edits}

        def made(chosen: Iterable[str]) -> object:
            text = truth.job(chosen, job)
            return text if text is None or change["status"] == "changed" else bool(text)

        before, now = made(()), made(names)
        if before is None or now is None:
            yield "no truth, although both sides compile"
            return
        if before == now:
            yield "no change"
        found = [
            {edit.name for edit in self.edits if self._is_of(cause, edit)} for cause in self._causes_of(job, change)
        ]
        yield from ("not real" for of_cause in found if not of_cause)
        named = set().union(*found)
        # What comes back is overwritten, as what is changed by hand, if the job changes, too.
        named |= names & {"rendered by hand", "rendered back"} if BY_HAND in change["reason"] else set()
        named |= names & {"rendered back"} if BACK in change["reason"] else set()
        if not named:
            yield "no cause"
            return
        if (without := made(names - named)) is not None and without != before:
            yield "not undone"
        if (only := made(named)) is not None and only != now:
            yield "not enough"
        for name in sorted(names - named):
            if (less := made(names - {name})) is not None and less != now:
                yield f"left out: {name}"
        parts = {name: matters(name, names, made) for name in named}
        yield from (f"bystander: {sorted(some)}" for some in found if some and not any(parts[name] for name in some))
        lines = self._pending_lines()
        yield from (
            f"not pending: {p['file']}:{p['line']}" for p in change["pending"] if (p["file"], p["line"]) not in lines
        )

    def _pending_lines(self) -> set[tuple[str, int]]:
        """The lines that differ between what the kept files were built from and now."""
        built, now = self.built, with_edits(self.tree, self.edits)
        return {
            (file, n) for file in now if built.get(file) != now[file] for n in lines_only_in(now[file], built.get(file))
        }

    def _causes_of(self, job: Job, change: Change) -> list[Change]:
        """The causes of a group without those that are the same edit in files of its other jobs."""
        if len(change["jobs"]) == 1:
            return list(change["causes"])
        others = {f"name: {other['name']}\n" for other in change["jobs"] if other["name"] != job[1]}
        return [
            cause
            for cause in change["causes"]
            if not (path_of(cause).startswith("jobs/") and any(name in self._text(cause) for name in others))
        ]

    def _text(self, cause: Change) -> str:
        return (self.after if cause["side"] == "after" else self.tree).get(path_of(cause), "")

    def _is_of(self, cause: Change, edit: Edit) -> bool:
        """Whether a cause is a line that the edit writes or removes."""
        file = path_of(cause)
        others = with_edits(self.tree, [other for other in self.edits if other is not edit])
        if cause["side"] == "after":
            now, was = self.after.get(file, ""), self.tree.get(file, "")
            # A line stands for those whose place it takes, too.
            replaced = lines_replaced(was, now, cause["line"]) & lines_only_in(was, edit.change(self.tree).get(file))
            return bool(replaced) or cause["line"] in lines_only_in(now, others.get(file))
        return cause["line"] in lines_only_in(self.tree.get(file, ""), edit.change(self.tree).get(file))


def rendered_of(tree: Tree, folder: Path) -> Tree:
    """What `trainc build` writes, which is made once."""
    if not folder.exists():
        write(tree, folder)
        here = Path.cwd()
        os.chdir(folder)
        try:
            said = run("build")
        finally:
            os.chdir(here)
        assert said.status == 0, said.stderr
    files = (folder / "clusters").rglob("*.yaml")
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def path_of(cause: Change) -> str:
    return str(os.path.normpath(cause["file"]).rpartition("repository/")[2])


def shown(change: Change) -> str:
    places = [f"{c['file']}:{c['line']}{'' if c['side'] == 'after' else ' gone'}" for c in change["causes"]]
    return "causes " + (", ".join([*places, *filter(None, [change["reason"]])]) or "none")


def matters(name: str, names: set[str], made: Any) -> bool:
    """Whether an edit makes a difference beside some of the others."""
    others = sorted(names - {name})
    subsets = [set(some) for size in range(len(others) + 1) for some in combinations(others, size)]
    pairs = ((made(some), made({*some, name})) for some in subsets)
    return any(a != b for a, b in pairs if a is not None and b is not None)


def lines_only_in(text: str, other: str | None) -> set[int]:
    """The numbers of the lines of a text that another one does not have."""
    matcher = difflib.SequenceMatcher(None, (other or "").splitlines(), text.splitlines(), autojunk=False)
    return {line + 1 for tag, _, _, a, b in matcher.get_opcodes() if tag != "equal" for line in range(a, b)}


def lines_replaced(before: str, after: str, line: int) -> set[int]:
    """The numbers of the lines before in whose place a line is now."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    places = [(a, b) for tag, a, b, c, d in matcher.get_opcodes() if tag == "replace" and c < line <= d]
    return {number + 1 for a, b in places for number in range(a, b)}


def rounds(seeds: Sequence[int], folder: Path) -> tuple[list[str], int]:
    """All that breaks the law in some rounds, and the number of changes."""
    broken: list[str] = []
    changes = 0
    for seed in seeds:
        more, count = Round(seed, folder / str(seed), folder / "rendered").broken()
        broken += more
        changes += count
    return broken, changes
