"""A repository of sixty jobs over some weeks: what a sync re-creates at each step is what was asked for, and no more."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from commands import run
from repositories import SETTINGS, branch, build, checked, commit, edit, git, job, merge, runtime, write

from trainc import Options, refusals

pytestmark = pytest.mark.slow

# Sixty jobs of six teams; the numbers of those that share a runtime.
RUNTIMES = {"torch-h100": 18, "torch-a100": 36, "deepspeed-distributed": 6}
TEAMS = ("ads", "cv", "nlp", "rank", "speech", "vision")
EVERYTHING = "all.yaml"


class Synced(NamedTuple):
    """What a sync with pruning does from one commit of main to the next: JobSets by what becomes of them."""

    recreated: int
    started: int
    ended: int
    # The same change if every build compiled every job.
    recreated_by_all: int


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the jobs, in the order of their runtimes."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    settings = SETTINGS.replace('"2.3"', '"2.2"')
    write("trainc.yaml", settings)
    # The twin, which compiles everything, is not part of the repository.
    write(".gitignore", f"all/\n{EVERYTHING}\n")
    write(EVERYTHING, settings.replace("output: rendered", "output: all").replace("changed-jobs", "all"))
    names = []
    for name in ("torch-h100", "torch-a100"):
        runtime(name)
    for used, count in RUNTIMES.items():
        for number in range(count):
            team, name = TEAMS[number % len(TEAMS)], f"{used.partition('-')[2][:4]}-{number}"
            job(team, name, used)
            names.append(f"{team}/{name}")
    for name in names[-6:]:
        edit(f"jobs/{name}.yaml", "command: [torchrun, train.py]", "command: [mpirun, python, train.py]")
    assert len(names) == 60
    build()
    everything()
    commit("sixty jobs")
    return names


def everything() -> dict[str, dict[str, Any]]:
    """The JobSets that a build of everything gives now."""
    assert run("build", "--config", EVERYTHING).status == 0
    return jobsets("all")


def jobsets(folder: str) -> dict[str, dict[str, Any]]:
    """The JobSets of a folder, by the path of their file."""
    return {
        path.relative_to(folder).as_posix(): one
        for path in Path(folder).rglob("*.yaml")
        for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))
        if one["kind"] == "JobSet"
    }


def recreated(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> int:
    """The jobs whose JobSet gets another name. Under the same name, the API server takes every change."""
    both = before.keys() & after.keys()
    renamed = {path for path in both if before[path]["metadata"]["name"] != after[path]["metadata"]["name"]}
    assert [
        refusals(before[path], after[path], Options()) for path in both - renamed if before[path] != after[path]
    ] == []
    return len(renamed)


def pull_request(change: Callable[[], None], *words: str) -> None:
    """Change something on a branch, build it, and pass the required check."""
    git("checkout", "-q", "main")
    branch(f"pr-{len(git('branch').splitlines())}")
    change()
    build(*words)
    commit()
    assert checked().status == 0


def merged(change: Callable[[], None], *words: str) -> Synced:
    """Merge such a pull request, and look at what main has before and after."""
    git("checkout", "-q", "main")
    before, all_before = jobsets("rendered"), jobsets("all")
    pull_request(change, *words)
    return sync(before, all_before, git("branch", "--show-current"))


def sync(before: dict[str, dict[str, Any]], all_before: dict[str, dict[str, Any]], name: str) -> Synced:
    merge(name)
    assert run("build", "--check").status == 0
    release = re.search(r"release: .*", Path("trainc.yaml").read_text(encoding="utf-8"))
    assert release
    twin = Path(EVERYTHING)
    twin.write_text(re.sub(r"release: .*", release[0], twin.read_text(encoding="utf-8")), encoding="utf-8")
    after = jobsets("rendered")
    started, ended = len(after.keys() - before.keys()), len(before.keys() - after.keys())
    return Synced(recreated(before, after), started, ended, recreated(all_before, everything()))


def change_runtime(name: str, old: str, new: str) -> Callable[[], None]:
    return lambda: edit(f"runtimes/{name}.yaml", old, new)


def nothing() -> None:
    pass


def rebuild(names: list[str]) -> list[str]:
    return [word for name in names for word in ("--rebuild", name)]


def test_what_a_sync_recreates_is_what_was_asked_for(repository: list[str]) -> None:
    three, mpi, hot = repository[:3], repository[-3:], repository[10]
    steps = {
        "a line of a runtime that 18 jobs share": merged(change_runtime("torch-h100", "WARN", "INFO")),
        "the runtime rolled out to three jobs": merged(nothing, *rebuild(three)),
        "a runtime changed and rolled out to three jobs at once": merged(
            change_runtime("torch-a100", "WARN", "INFO"), *rebuild(repository[20:23])
        ),
        "the release upgraded": merged(lambda: edit("trainc.yaml", '"2.2"', '"2.3"')),
        "the release rolled out to three MPI jobs": merged(nothing, *rebuild(mpi)),
        "a hotfix on one job": merged(lambda: edit(f"jobs/{hot}.yaml", "train.py", "fixed.py")),
        "the runtime rolled back for the three jobs that have it": merged(
            change_runtime("torch-h100", "INFO", "WARN"), *rebuild(three)
        ),
        "a job that is done removed": merged(lambda: Path(f"jobs/{repository[30]}.yaml").unlink()),
        "the rest rolled out": merged(nothing, "--rebuild", "all"),
    }
    assert steps == {
        "a line of a runtime that 18 jobs share": Synced(0, 0, 0, 18),
        "the runtime rolled out to three jobs": Synced(3, 0, 0, 0),
        "a runtime changed and rolled out to three jobs at once": Synced(3, 0, 0, 36),
        "the release upgraded": Synced(0, 0, 0, 6),
        "the release rolled out to three MPI jobs": Synced(3, 0, 0, 0),
        # It gets the changed runtime too.
        "a hotfix on one job": Synced(1, 0, 0, 1),
        "the runtime rolled back for the three jobs that have it": Synced(3, 0, 0, 18),
        "a job that is done removed": Synced(0, 0, 1, 0),
        # 32 of torch-a100, 3 of MPI, and the one with the hotfix, whose runtime was rolled back since.
        "the rest rolled out": Synced(36, 0, 0, 0),
    }


def test_a_merge_queue_builds_the_second_of_two_green_pull_requests_again(repository: list[str]) -> None:
    before, all_before = jobsets("rendered"), jobsets("all")
    pull_request(change_runtime("torch-a100", "WARN", "INFO"))
    first = git("branch", "--show-current")
    pull_request(lambda: job("nlp", "new", "torch-a100"))
    second = git("branch", "--show-current")
    assert sync(before, all_before, first) == Synced(0, 0, 0, 36)
    base = git("rev-parse", "main")

    # The queue merges the second on top of the first, and checks what main would become.
    git("checkout", "-q", "-b", "queue", "main")
    git("merge", "-q", "--no-ff", "-m", "merge group", second)
    result = checked(base)
    assert result.status == 1
    assert re.findall(r"(\S+):1:1: error\[(\w+)\]", result.stderr) == [("rendered/nlp/new.yaml", "KeptNotProven")]
    assert "compile it: trainc build --rebuild nlp/new" in result.stderr

    git("checkout", "-q", second)
    git("merge", "-q", "--no-edit", "main")
    build("--rebuild", "nlp/new")
    commit("built with the changed runtime")
    assert checked().status == 0
    before, all_before = jobsets("rendered"), jobsets("all")
    before.pop("nlp/new.yaml")
    git("checkout", "-q", "main")
    assert sync(before, all_before, second) == Synced(0, 1, 0, 0)


def test_a_reverted_pull_request_passes_if_it_had_the_runtime_and_the_jobs(repository: list[str]) -> None:
    original = jobsets("rendered")
    merged(change_runtime("torch-h100", "WARN", "INFO"), *rebuild(repository[:3]))
    git("checkout", "-q", "-b", "revert")
    git("revert", "--no-edit", "-m", "1", "main")
    assert checked().status == 0
    assert jobsets("rendered") == original


def test_a_reverted_rollout_alone_gives_back_what_was(repository: list[str]) -> None:
    merged(change_runtime("torch-h100", "WARN", "INFO"))
    before = jobsets("rendered")
    merged(nothing, *rebuild(repository[:3]))
    git("checkout", "-q", "-b", "revert")
    git("revert", "--no-edit", "-m", "1", "main")
    assert checked().status == 0
    assert jobsets("rendered") == before
