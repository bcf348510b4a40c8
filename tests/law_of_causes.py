"""The law of causes, as a check of what `trainc diff` says about one round of edits."""

from __future__ import annotations

import difflib
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from commands import run
from made_up_monorepo import ENVIRONMENTS, Edit, Job, Tree, Truth, monorepo, possible_edits, with_edits, write
from repositories import git

Change = dict[str, Any]


def round_of(seed: int, folder: Path, jobs: int = 30) -> tuple[list[str], int]:
    """Make 1 to 4 edits; return what breaks the law, and how many changes of jobs there were."""
    rng = random.Random(seed)
    tree = monorepo(jobs)
    edits = rng.sample(possible_edits(tree, rng), rng.randint(1, 4))
    after = with_edits(tree, edits)
    repository, here = folder / "repository", Path.cwd()
    write(tree, repository)
    os.chdir(repository)
    try:
        git("init", "--quiet")
        git("add", "--all")
        git("commit", "--quiet", "--message", "before")
        for file in tree.keys() - after.keys():
            Path(file).unlink()
        write(after, repository)
        environment = rng.choice(ENVIRONMENTS)
        said = run("diff", "--format", "json", "--env", environment)
    finally:
        os.chdir(here)
    assert said.status != 3, said.stderr
    if not said.stdout:
        shutil.rmtree(repository)
        return [], 0
    truth = Truth(tree, edits, folder / "truth")
    broken = []
    changes = list(changes_in(json.loads(said.stdout)))
    for job, change in changes:
        names = [edit.name for edit in edits]
        label = f"seed {seed} {environment} {job} {change['status']}, edits {names}, causes {shown(change)}"
        broken += [f"{law}: {label}" for law in laws_broken(job, change, tree, edits, truth, environment)]
    shutil.rmtree(folder)
    return broken, len(changes)


def shown(change: Change) -> str:
    places = [f"{c['file']}:{c['line']}{'' if c['side'] == 'after' else ' gone'}" for c in change["causes"]]
    return ", ".join([*places, *filter(None, [change["reason"]])]) or "none"


def changes_in(diff: dict[str, Any]) -> Iterator[tuple[Job, Change]]:
    for group in diff["groups"]:
        for job in group["jobs"]:
            yield (job["namespace"], job["name"]), group


def laws_broken(
    job: Job, change: Change, tree: Tree, edits: Sequence[Edit], truth: Truth, environment: str
) -> Iterator[str]:
    names = {edit.name for edit in edits}
    before, now = truth.jobs((), environment), truth.jobs(names, environment)
    if before is None or now is None or before.get(job) == now.get(job):
        return
    found = [{edit.name for edit in edits if is_of(cause, edit, tree, edits)} for cause in change["causes"]]
    yield from ("not real" for of_cause in found if not of_cause)
    named = names & {"release"} if change["reason"].startswith("Trainer") else set()
    named = named.union(*found)
    if not named:
        yield "no cause"
        return

    def made(chosen: Iterable[str]) -> object:
        jobs = truth.jobs(chosen, environment)
        if jobs is not None and change["status"] != "changed":
            return job in jobs
        return None if jobs is None else jobs.get(job, "none")

    without, only = made(names - named), made(named)
    if without is not None and without != made(()):
        yield "not undone"
    if only is not None and only != made(names):
        yield "not enough"
    for name in names:
        less = made(names - {name})
        if less is not None and less != made(names) and name not in named:
            yield f"left out: {name}"
    yield from (f"bystander: {name}" for name in named if not matters(name, names, made))


def matters(name: str, names: set[str], made: Callable[[Iterable[str]], object]) -> bool:
    """Whether an edit makes a difference beside some of the others."""
    subsets: list[set[str]] = [set(), names - {name}, *({other} for other in names - {name})]
    pairs = [(made(some), made({*some, name})) for some in subsets]
    return any(a != b for a, b in pairs if a is not None and b is not None)


def is_of(cause: Change, edit: Edit, tree: Tree, edits: Sequence[Edit]) -> bool:
    """Whether a cause is a line that the edit writes or removes."""
    if os.path.normpath(cause["file"]).rpartition("repository/")[2] != edit.file:
        return False
    others = with_edits(tree, [other for other in edits if other is not edit])
    old, new = others.get(edit.file), with_edits(tree, edits).get(edit.file)
    if old is None or new is None:
        return True
    if cause["side"] == "before":
        gone = with_edits(tree, [edit]).get(edit.file, "")
        return cause["line"] in changed_lines(gone, tree.get(edit.file, ""), inserted_only=False)
    return cause["line"] in changed_lines(old, new)


def changed_lines(old: str, new: str, *, inserted_only: bool = True) -> set[int]:
    """The numbers of the lines of the second text that the first one does not have."""
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return {line + 1 for tag, _, _, a, b in matcher.get_opcodes() if tag != "equal" for line in range(a, b)}


def rounds(seeds: Sequence[int], folder: Path) -> tuple[list[str], int, Counter[str]]:
    """All that breaks the law in some rounds, the number of changes, and how often each part is broken."""
    broken: list[str] = []
    changes = 0
    for seed in seeds:
        more, count = round_of(seed, folder / str(seed))
        broken += more
        changes += count
    return broken, changes, Counter(text.partition(":")[0] for text in broken)
