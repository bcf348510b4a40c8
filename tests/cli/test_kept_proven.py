"""Proven, not believed: pull requests that lie about kept files, played in real repositories, and their honest twins."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from commands import Result, run
from repositories import (
    SETTINGS,
    branch,
    build,
    checked,
    commit,
    edit,
    git,
    job,
    merge,
    read,
    runtime,
    starting_with,
    write,
)

LLM, OTHER = "rendered/nlp/llm.yaml", "rendered/nlp/bert.yaml"
RUNTIME, SOURCE = "runtimes/torch-h100.yaml", "jobs/nlp/llm.yaml"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: miner}\nspec: {containers: [{name: a, image: example.com/miner}]}\n"
DIGEST = re.compile(r"(?<=TrainJob )2:[0-9a-f]{12}")


@starting_with
def repository() -> None:
    """Three jobs on main, kept as they were built before their runtime changed, and a branch of a pull request."""
    git("init", "-q", "-b", "main")
    write("trainc.yaml", SETTINGS)
    runtime()
    for name in ("llm", "bert", "rank"):
        job("nlp", name)
    build()
    commit("jobs")
    edit(RUNTIME, "WARN", "INFO")
    build()
    commit("a changed runtime")
    branch("pull-request")


def codes(result: Result) -> set[str]:
    return set(re.findall(r"error\[(\w+)\]", result.stderr))


def forge_the_body() -> None:
    edit(LLM, "registry.example.com/train:1", "registry.example.com/evil:1")


def forge_digest_and_body() -> None:
    """Change the TrainJob, and say in the rendered file that it was built from that."""
    edit(SOURCE, "numNodes: 2", "numNodes: 3")
    build()
    digest = DIGEST.search(read(LLM))
    assert digest
    git("checkout", "-q", "--", LLM)
    write(LLM, DIGEST.sub(digest[0], read(LLM), count=1))
    forge_the_body()


def keep_a_changed_job() -> None:
    """Say that the old body was built from the changed TrainJob."""
    old = read(LLM)
    edit(SOURCE, "numNodes: 2", "numNodes: 3")
    build()
    digest = DIGEST.search(read(LLM))
    assert digest
    write(LLM, DIGEST.sub(digest[0], old, count=1))


def take_over() -> None:
    """Delete the first line and exclude the source, so that trainc neither compiles the job nor knows its file."""
    write(LLM, read(LLM).partition("\n")[2])
    forge_the_body()
    write("trainc.yaml", f"{SETTINGS}exclude: [{SOURCE}]\n")


def take_over_by_removing() -> None:
    write(LLM, read(LLM).partition("\n")[2])
    forge_the_body()
    Path(SOURCE).unlink()


def add_a_job_that_was_never_compiled() -> None:
    job("nlp", "new")
    build()
    edit("rendered/nlp/new.yaml", "registry.example.com/train:1", "registry.example.com/evil:1")


def replace_by_a_link() -> None:
    write("elsewhere.yaml", POD)
    Path("rendered/nlp/link.yaml").symlink_to("../../elsewhere.yaml")


def link_a_folder() -> None:
    write("elsewhere/pod.yaml", POD)
    Path("rendered/elsewhere").symlink_to("../elsewhere")


def link_the_output() -> None:
    """To the same bytes. Flux leaves out links, and what is behind one is not where reviewers look for it."""
    Path("rendered").rename("elsewhere")
    Path("rendered").symlink_to("elsewhere")


def add_a_submodule() -> None:
    """Argo CD clones submodules; the clone in which the check runs has an empty folder."""
    git("update-index", "--add", "--cacheinfo", f"160000,{git('rev-parse', 'HEAD')},rendered/nlp/more")
    git("commit", "-q", "-m", "a submodule")
    Path("rendered/nlp/more").mkdir()


def grant_oneself() -> None:
    write("rendered/nlp/pod.yaml", POD)
    write("trainc.yaml", f"{SETTINGS}adopted: [rendered/nlp/*]\n")


def move_the_output() -> None:
    """Let trainc render to another folder, and change the one that the cluster still gets."""
    write("trainc.yaml", SETTINGS.replace("output: rendered", "output: out"))
    build()
    forge_the_body()


def revert_to_older_bodies() -> None:
    """Bring back what main had before it was built again."""
    old = read(LLM)
    git("checkout", "-q", "main")
    build("--rebuild", "all")
    commit("built again")
    git("checkout", "-q", "-B", "pull-request")
    write(LLM, old)


LIES: dict[str, tuple[Callable[[], None], set[str]]] = {
    "a forged body": (forge_the_body, {"KeptNotProven"}),
    "a forged body and a forged digest": (forge_digest_and_body, {"KeptNotProven"}),
    "a changed job with its old body": (keep_a_changed_job, {"KeptNotProven"}),
    "a new job that was never compiled": (add_a_job_that_was_never_compiled, {"KeptNotProven"}),
    "the first line deleted and the source excluded": (take_over, {"ForeignFile"}),
    "the first line deleted and the source removed": (take_over_by_removing, {"ForeignFile"}),
    "a Pod in rendered/": (lambda: write("rendered/nlp/pod.yaml", POD), {"ForeignFile"}),
    "a Pod as .yml": (lambda: write("rendered/pod.yml", POD), {"ForeignFile"}),
    "a Pod as .json": (lambda: write("rendered/nlp/pod.json", "{}"), {"ForeignFile"}),
    "a Pod in a deeper folder": (lambda: write("rendered/a/b/c/pod.yaml", POD), {"ForeignFile"}),
    "a Pod in a hidden folder": (lambda: write("rendered/.a/.pod.yaml", POD), {"ForeignFile"}),
    "a Pod with trainc's first line in a deeper folder": (
        lambda: write("rendered/a/b/pod.yaml", read(LLM).partition("\n")[0] + "\n" + POD),
        {"ForeignFile"},
    ),
    "a kustomization that takes over the folder": (
        lambda: write("rendered/Kustomization", "resources: [https://git.example.com/evil]\n"),
        {"ForeignFile"},
    ),
    **{
        f"a new {name}": (partial(write, f"rendered/{name}", "*\n"), {"ForeignFile"})
        for name in (
            *(
                ".sourceignore",
                "nlp/.sourceignore",
                ".argocd-source.yaml",
                ".argocd-source-llm.yaml",
                "kustomization.yml",
            ),
            *(
                ".gitattributes",
                ".gitignore",
                "Chart.yaml",
                "main.jsonnet",
                "OWNERS",
                "notes.txt",
                ".trainc/pod.yaml",
                "x",
            ),
        )
    },
    "a link called README.md": (lambda: Path("rendered/README.md").symlink_to("../jobs"), {"ForeignFile"}),
    "a link to a Pod": (replace_by_a_link, {"ForeignFile"}),
    "a link to a folder": (link_a_folder, {"ForeignFile"}),
    "the output as a link to the same bytes": (link_the_output, {"ForeignFile"}),
    "a submodule": (add_a_submodule, {"ForeignFile"}),
    "a Pod, and in the same change the permission for it": (grant_oneself, {"ForeignFile"}),
    "a moved output, and the old one changed": (move_the_output, {"ForeignFile"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_pull_request_that_lies_is_not_merged(lie: str) -> None:
    tell, found = LIES[lie]
    tell()
    commit(lie)
    result = checked()
    assert (result.status, codes(result)) == (1, found)


@pytest.mark.parametrize("lie", [lie for lie, (_, found) in LIES.items() if found == {"KeptNotProven"}])
def test_compiling_again_makes_a_lie_true(lie: str) -> None:
    LIES[lie][0]()
    build("--rebuild", "all")
    commit(lie)
    assert checked().status == 0


def test_a_file_under_an_unknown_second_line_is_compiled() -> None:
    edit(LLM, "# Built from TrainJob", "# Built from a TrainJob")
    forge_the_body()
    result = checked()
    assert (result.status, codes(result)) == (1, {"KeepOrRebuild"})
    assert codes(run("build")) == {"KeepOrRebuild"}


def change_nothing() -> None:
    pass


def add_a_job() -> None:
    job("nlp", "new")
    build()


def rename_the_source() -> None:
    Path("jobs/nlp/deep").mkdir()
    git("mv", SOURCE, "jobs/nlp/deep/renamed.yaml")
    build()
    assert read(LLM).startswith("# Compiled by trainc from jobs/nlp/deep/renamed.yaml. Edit that file instead.\n")


def comment_on_a_job() -> None:
    write(SOURCE, f"# Ask nlp before you change this.\n{read(SOURCE)}")
    before = read(LLM)
    build()
    assert read(LLM) == before


def reorder_a_job() -> None:
    edit(SOURCE, "metadata: {name: llm, namespace: nlp}", "metadata: {namespace: nlp, name: llm}")


def edit_a_job() -> None:
    edit(SOURCE, "numNodes: 2", "numNodes: 4")
    build()


def roll_out_to_one() -> None:
    build("--rebuild", "nlp/llm")


def remove_a_job() -> None:
    Path(SOURCE).unlink()
    build()


def turn_it_off() -> None:
    edit("trainc.yaml", "changed-jobs", "all")
    build()


def move_output_with_its_files() -> None:
    git("mv", "rendered", "out")
    edit("trainc.yaml", "output: rendered", "output: out")


def move_output_and_carry() -> None:
    edit("trainc.yaml", "output: rendered", "output: out")
    build("--keep", "all")


def document_the_folder() -> None:
    write("rendered/README.md", "Compiled by trainc.\n")


HONEST = (
    change_nothing,
    add_a_job,
    rename_the_source,
    comment_on_a_job,
    reorder_a_job,
    edit_a_job,
    roll_out_to_one,
    remove_a_job,
    turn_it_off,
    move_output_with_its_files,
    move_output_and_carry,
    document_the_folder,
    revert_to_older_bodies,
)


@pytest.mark.parametrize("change", HONEST, ids=lambda change: change.__name__)
def test_an_honest_change_passes(change: Callable[[], None]) -> None:
    change()
    commit()
    result = checked()
    assert result.status == 0, result.stderr
    assert run("build").status == 0
    assert git("status", "--porcelain") == ""


# Which revision is the base, and what happens without one.


def test_a_squashed_pull_request_leaves_nothing_to_prove() -> None:
    build("--rebuild", "nlp/llm")
    commit("rolled out")
    assert checked().status == 0
    git("checkout", "-q", "main")
    git("merge", "-q", "--squash", "pull-request")
    commit("rolled out (#1)")
    # The push to main compares with HEAD; the branch of the next pull request may still be the old one.
    assert run("build", "--check").status == 0
    git("checkout", "-q", "pull-request")
    edit(SOURCE, "numNodes: 2", "numNodes: 5")
    build()
    commit("more")
    assert checked().status == 0


def test_the_base_is_where_the_branch_left_it_not_where_it_is_now() -> None:
    add_a_job()
    commit("a job")
    git("checkout", "-q", "main")
    Path("rendered/nlp/rank.yaml").unlink()
    Path("jobs/nlp/rank.yaml").unlink()
    commit("a job ends on main")
    git("checkout", "-q", "pull-request")
    assert checked().status == 0


@pytest.fixture
def shallow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What actions/checkout fetches if nothing is set: one commit of the pull request."""
    add_a_job()
    commit("a job")
    git("clone", "-q", "--depth", "1", "--branch", "pull-request", f"file://{tmp_path}", str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")


@pytest.mark.usefixtures("shallow")
def test_a_shallow_clone_cannot_prove_and_says_how_to_fetch() -> None:
    result = checked("origin/main")
    assert (result.status, codes(result)) == (1, {"NoBase"})
    assert "there is no revision 'origin/main'" in result.stderr
    assert "git fetch --unshallow" in result.stderr
    git("fetch", "-q", "--depth", "1", "origin", "main:refs/remotes/origin/main")
    result = checked("origin/main")
    assert (result.status, codes(result)) == (1, {"NoBase"})
    assert "have no common commit" in result.stderr
    git("fetch", "-q", "--unshallow", "origin", "+refs/heads/*:refs/remotes/origin/*")
    assert checked("origin/main").status == 0


@pytest.mark.usefixtures("shallow")
def test_a_shallow_clone_of_a_merged_commit_is_enough() -> None:
    assert run("build", "--check").status == 0


def test_a_branch_that_was_not_fetched_is_named_with_the_command_that_fetches_it() -> None:
    result = checked("origin/main")
    assert (result.status, codes(result)) == (1, {"NoBase"})
    assert "run `git fetch origin main:refs/remotes/origin/main`" in result.stderr


def test_without_git_kept_files_need_trust() -> None:
    Path(".git").rename("git")
    result = run("build", "--check")
    assert (result.status, codes(result)) == (1, {"NoBase"})
    trusted = run("build", "--check", "--base", "none")
    assert trusted.status == 0
    assert "info[NoBase] --base none trusts 3 files in rendered that differ from what compiling gives" in trusted.stderr


def test_without_git_files_that_are_what_compiling_gives_need_none() -> None:
    build("--rebuild", "all")
    Path(".git").rename("git")
    assert run("build", "--check").status == 0


def test_what_is_merged_is_trusted_on_main() -> None:
    forge_the_body()
    commit("merged without the check")
    merge("pull-request")
    assert run("build", "--check").status == 0


# Files that trainc did not compile.


def test_one_pull_request_permits_and_the_next_adopts() -> None:
    write("trainc.yaml", f"{SETTINGS}adopted: [rendered/nlp/pod.yaml, rendered/kustomization.yaml, rendered/ads/**]\n")
    commit("permit")
    assert checked().status == 0
    merge("pull-request")
    branch("adopt")
    write("rendered/nlp/pod.yaml", POD)
    write("rendered/kustomization.yaml", "resources: [nlp/llm.yaml]\n")
    job("ads", "adopted")
    build()
    edit("rendered/ads/adopted.yaml", "registry.example.com/train:1", "registry.example.com/as-in-the-cluster:7")
    commit("adopt")
    result = checked()
    assert result.status == 0, result.stderr
    files = "rendered/ads/adopted.yaml, rendered/kustomization.yaml, rendered/nlp/pod.yaml"
    assert f"permits 3 files that trainc did not compile: {files}" in result.stderr


def test_a_permission_is_for_new_files_and_for_bodies_as_they_are() -> None:
    write("trainc.yaml", f"{SETTINGS}adopted: [rendered/**]\n")
    commit("permit")
    merge("pull-request")
    branch("next")
    keep_a_changed_job()
    commit("keep")
    assert checked().status == 0
    forge_the_body()
    commit("forge")
    assert codes(checked()) == {"KeptNotProven"}


def test_a_foreign_file_of_main_is_left_alone_until_it_changes() -> None:
    git("checkout", "-q", "main")
    write("rendered/kustomization.yaml", "resources: [nlp/llm.yaml]\n")
    commit("by hand")
    git("checkout", "-q", "-B", "pull-request")
    assert checked().status == 0
    write("rendered/kustomization.yaml", "resources: [https://git.example.com/evil]\n")
    assert codes(checked()) == {"ForeignFile"}
    Path("rendered/kustomization.yaml").unlink()
    assert checked().status == 0


def test_a_file_of_any_kind_is_left_alone_as_the_base_has_it() -> None:
    git("checkout", "-q", "main")
    for name in (".sourceignore", "nlp/.sourceignore", "notes.txt"):
        write(f"rendered/{name}", "# of main\n")
    commit("by hand")
    git("checkout", "-q", "-B", "pull-request")
    write("rendered/README.md", "# What this folder is\n")
    write("rendered/nlp/.gitkeep", "")
    assert checked().status == 0
    # No line of it matches any file then.
    write("rendered/nlp/.sourceignore", "# of main\r\n")
    assert codes(checked()) == {"ForeignFile"}
    write("rendered/nlp/.sourceignore", "*\n")
    result = checked()
    assert codes(result) == {"ForeignFile"}
    assert result.stderr.startswith("rendered/nlp/.sourceignore:1:1: error[ForeignFile] trainc did not write this file")


def test_with_all_jobs_rebuilt_only_a_base_asks_about_foreign_files() -> None:
    git("checkout", "-q", "main")
    turn_it_off()
    commit("off")
    write("rendered/nlp/pod.yaml", POD)
    assert run("build", "--check").status == 0
    assert codes(checked()) == {"ForeignFile"}


def test_a_submodule_of_main_is_left_alone_until_it_moves() -> None:
    git("checkout", "-q", "main")
    add_a_submodule()
    git("checkout", "-q", "-B", "pull-request")
    assert checked().status == 0
    git("update-index", "--cacheinfo", f"160000,{git('rev-parse', 'HEAD')},rendered/nlp/more")
    assert codes(checked()) == {"ForeignFile"}


def test_a_broken_base_is_named_with_what_is_wrong_with_it() -> None:
    git("checkout", "-q", "main")
    write("trainc.yaml", SETTINGS.replace("rebuild", "rebiuld"))
    commit("broken")
    git("checkout", "-q", "-B", "pull-request")
    write("trainc.yaml", SETTINGS)
    commit("repaired")
    result = checked()
    assert (result.status, codes(result)) == (1, {"NoBase"})
    assert "rebiuld" in result.stderr
    assert "git fetch" not in result.stderr
    assert run("build", "--check", "--base", "main~1").status == 0


# A folder of a larger repository.


def test_a_monorepo_is_compared_in_the_folder_of_trainc_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("checkout", "-q", "main")
    Path("ml").mkdir()
    for name in ("jobs", "runtimes", "rendered", "trainc.yaml"):
        git("mv", name, f"ml/{name}")
    write("web/values.yaml", "trainer.kubeflow.org: [\n")
    commit("moved")
    git("checkout", "-q", "-B", "pull-request")
    monkeypatch.chdir("ml")
    job("nlp", "new")
    build()
    commit("a job")
    assert checked().status == 0
    monkeypatch.chdir(tmp_path)
    assert run("build", "--config", "ml/trainc.yaml", "--check", "--base", "main").status == 0
    assert run("build", "ml/jobs", "-o", "ml/rendered", "--check", "--base", "main").status == 0
    monkeypatch.chdir("ml/jobs")
    assert checked().status == 0
    monkeypatch.chdir("..")
    forge_the_body()
    assert codes(checked()) == {"KeptNotProven"}


def link_the_sources() -> None:
    git("mv", "jobs", "../all-jobs")
    Path("jobs").symlink_to("../all-jobs")


def name_sources_outside() -> None:
    git("mv", "jobs", "../all-jobs")
    edit("trainc.yaml", "sources: [jobs]", "sources: [../all-jobs]")


def name_a_base_outside() -> None:
    job("nlp", "base")
    write("../base.yaml", read("jobs/nlp/base.yaml").replace("train.py]", 'train.py, "--lr=${trialParameters.lr}"]'))
    Path("jobs/nlp/base.yaml").unlink()
    write(
        "jobs/nlp/sweep.yaml",
        "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: ../../../base.yaml\nparameters: {lr: [1, 2]}\n",
    )


def use_an_overlay_outside() -> None:
    write("../shared/overlay.yaml", "apiVersion: trainc/v1alpha1\nkind: Overlay\nlabels:\n- pairs: {team: nlp}\n")
    write("overlay/overlay.yaml", "apiVersion: trainc/v1alpha1\nkind: Overlay\nresources: [../jobs, ../../shared]\n")
    write("trainc.yaml", SETTINGS.replace("sources: [jobs]\n", "") + "overlay: overlay\n")


@pytest.mark.parametrize("refer", [link_the_sources, name_sources_outside, use_an_overlay_outside, name_a_base_outside])
def test_what_a_monorepo_has_outside_that_folder_is_read_if_it_is_needed(
    refer: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    git("checkout", "-q", "main")
    Path("ml").mkdir()
    for name in ("jobs", "runtimes", "rendered", "trainc.yaml"):
        git("mv", name, f"ml/{name}")
    monkeypatch.chdir("ml")
    refer()
    build("--rebuild", "all", "--allow-outside")
    commit("moved")
    edit(RUNTIME, "INFO", "TRACE")
    build("--allow-outside")
    commit("a changed runtime")
    git("checkout", "-q", "-B", "pull-request")
    result = run("build", "--check", "--base", "main", "--allow-outside")
    assert result.status == 0, result.stderr
    forge_the_body()
    assert codes(run("build", "--check", "--base", "main", "--allow-outside")) == {"KeptNotProven"}


def test_each_environment_has_its_own_base() -> None:
    git("checkout", "-q", "main")
    for name, team in (("dev", "nlp"), ("prod", "ads")):
        write(
            f"overlays/{name}/overlay.yaml",
            f"apiVersion: trainc/v1alpha1\nkind: Overlay\nnamespace: {team}-{name}\n",
        )
    environments = "\n".join(f"  {name}: {{overlay: overlays/{name}, output: out/{name}}}" for name in ("dev", "prod"))
    write("trainc.yaml", SETTINGS.replace("output: rendered\n", "") + f"environments:\n{environments}\n")
    git("rm", "-rq", "rendered")
    build()
    commit("two environments")
    edit(RUNTIME, "INFO", "TRACE")
    build()
    commit("a changed runtime")
    git("checkout", "-q", "-B", "pull-request")
    assert checked().status == 0
    edit("out/prod/ads-prod/llm.yaml", "registry.example.com/train:1", "registry.example.com/evil:1")
    result = checked()
    assert codes(result) == {"KeptNotProven"}
    assert "out/prod/ads-prod/llm.yaml:51:1" in result.stderr
    assert run("build", "--env", "dev", "--check", "--base", "main").status == 0


def roll_back_the_file_alone() -> None:
    """Take back what main has built, and not the edit that it was built from."""
    before = read(LLM)
    edit(SOURCE, "numNodes: 2", "numNodes: 3")
    build()
    commit("three nodes")
    git("branch", "-f", "main", "HEAD")
    write(LLM, before)


# What has been done to a rendered file, and what is to be done instead.
APART: dict[str, tuple[Callable[[], object], str, str]] = {
    "a file that was deleted": (
        lambda: Path(LLM).unlink(),
        f"this file was deleted since main, and {SOURCE} still has its job",
        f"to end nlp/llm, remove it from {SOURCE}, too",
    ),
    "a file that was rolled back": (
        roll_back_the_file_alone,
        f"this file has changed since main, and {SOURCE} has not",
        f"to have nlp/llm as in this file, change {SOURCE}, too",
    ),
    "a source that was deleted": (
        lambda: Path(SOURCE).unlink(),
        f"{SOURCE} is gone, and this file keeps nlp/llm in the cluster until a build removes it",
        "run `trainc build`",
    ),
}


@pytest.mark.parametrize("name", APART)
def test_of_a_file_and_its_source_that_part_the_one_that_was_left_is_named(name: str) -> None:
    change, message, hint = APART[name]
    change()
    commit("by hand")
    said = re.sub(r"main \(\w+\)", "main", run("build", "--check", "--base", "main").stderr)
    assert f"{LLM}:1:1: error[OutputStale] {message}\n" in said
    assert f"  help: {hint}" in said
    assert not said.endswith("commit what it writes\n")
    assert "`: OutputStale " in run("diff", "git:main...", "--format", "markdown").stdout


def test_of_a_file_that_is_not_built_yet_nothing_is_said_but_that() -> None:
    edit(SOURCE, "numNodes: 2", "numNodes: 3")
    commit("not built")
    assert "OutputStale" not in run("build", "--check", "--base", "main").stderr
    comment = run("diff", "git:main...", "--format", "markdown").stdout
    assert not {"OutputStale", "KeptNotProven"} & set(re.findall(r"\w+", comment))


UNPROVEN = {
    "a body that was forged": (forge_the_body, "KeptNotProven"),
    "a job that was never compiled": (add_a_job_that_was_never_compiled, "KeptNotProven"),
    "a pod that was let in by its own pull request": (grant_oneself, "ForeignFile"),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_reviewers_see_what_the_base_does_not_prove(name: str) -> None:
    lie, code = UNPROVEN[name]
    lie()
    commit("by hand")
    assert f"`: {code} " in run("diff", "git:main...", "--format", "markdown").stdout


def test_the_file_of_a_job_that_is_defined_twice_goes_on_naming_the_source_that_it_is_of() -> None:
    write("jobs/nlp/0.yaml", read(SOURCE))
    commit("two of one name")
    before = read(LLM)
    assert run("build").status == 0
    assert read(LLM) == before
