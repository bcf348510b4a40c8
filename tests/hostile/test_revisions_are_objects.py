"""A revision is the commit that its name has meant to its author, and no program of the repository runs to read it."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
import repositories
from commands import run
from package import GROUP, PACKAGE, nodes
from repositories import edit, git, job, runtime, starting_with, write

from trainc.reading.git import run_git

RENDERED = "rendered/nlp/llm.yaml"
TAKEN = "registry.example.com/taken:1"


@starting_with
def repository() -> None:
    """A clone on a branch whose rendered job has another image."""
    git("init", "-q")
    write("trainc.yaml", repositories.SETTINGS)
    runtime()
    job("nlp", "llm")
    repositories.build()
    base = repositories.commit()
    git("update-ref", "refs/remotes/origin/main", base)
    git("remote", "add", "origin", "https://git.example/team/training.git")
    repositories.branch("evil")
    edit(RENDERED, "registry.example.com/train:1", TAKEN)
    repositories.commit()


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> str:
    """The commit that is the base."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    return git("rev-parse", "refs/remotes/origin/main")


CHECKS = (
    "build --check --base {}",
    "check --base {}",
    "diff git:{}",
    "report --since git:{} -o -",
    "explain git:{}:jobs/nlp/llm.yaml",
)


@pytest.mark.parametrize("command", CHECKS)
@pytest.mark.parametrize("name", ["origin/main", "origin/main~0", "release", "abbreviated"])
def test_a_name_with_two_meanings_is_refused_with_both(command: str, name: str, origin: str) -> None:
    name = origin[:8] if name == "abbreviated" else name
    tag = name.removesuffix("~0")
    git("tag", tag, "HEAD")
    git("update-ref", "refs/heads/release", origin)
    result = run(*command.format(name).split())
    assert (result.status, result.stdout) == (1, "")
    other = {"release": "refs/heads/release", "origin/main": "refs/remotes/origin/main"}.get(tag, origin)
    assert f"the revision '{name}' is ambiguous: refs/tags/{tag} and {other} have that name" in result.stderr
    assert f"write which one is meant, such as {other}" in result.stderr


@pytest.mark.parametrize("name", ["refs/remotes/origin/main", "COMMIT", "remotes/origin/main"])
def test_a_full_name_and_an_id_mean_the_same_whatever_tags_there_are(name: str, origin: str) -> None:
    name = origin if name == "COMMIT" else name
    if name != "remotes/origin/main":  # Which is an abbreviation, too.
        git("tag", name, "HEAD")
    for tag in ("origin/main", "HEAD"):
        git("tag", tag, "HEAD")
    result = run("build", "--check", "--base", name)
    assert result.status == 1
    assert "error[KeptNotProven]" in result.stderr
    assert TAKEN in run("diff", f"git:{name}").stdout


def test_a_tag_does_not_take_the_place_of_a_reference_that_is_missing(origin: str) -> None:
    git("tag", "refs/remotes/origin/gone", "HEAD")
    result = run("build", "--check", "--base", "refs/remotes/origin/gone")
    assert result.status == 1
    assert "there is no revision 'refs/remotes/origin/gone'" in result.stderr
    assert "git fetch origin gone:refs/remotes/origin/gone" in result.stderr


@pytest.mark.parametrize("command", ["build --check --base", "check --base"])
def test_a_base_whose_name_is_empty_is_not_the_change_itself(command: str, origin: str) -> None:
    """As of a variable that is not set."""
    result = run(*command.split(), "")
    assert (result.status, "error[NoBase]" in result.stderr) == (1, True), result


def test_a_clone_that_lacks_commits_proves_nothing(
    origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path
    for name, more in {"shallow": "--depth=1", "blobless": "--filter=blob:none", "treeless": "--filter=tree:0"}.items():
        git("config", "uploadpack.allowFilter", "true")
        folder = tmp_path.parent / f"{tmp_path.name}-{name}"
        git("clone", "-q", more, "--branch=evil", tmp_path.as_uri(), str(folder))
        monkeypatch.chdir(folder)
        git("fetch", "-q", *[more] * (name == "shallow"), "origin", f"{origin}:refs/remotes/origin/main")
        result = run("build", "--check", "--base", "refs/remotes/origin/main")
        assert (result.status, "error[NoBase]" in result.stderr) == (1, True), (name, result)
        monkeypatch.chdir(tmp_path)
    git("worktree", "add", "-q", "-b", "more", str(folder / "inside"))
    monkeypatch.chdir(folder / "inside")
    assert "error[KeptNotProven]" in run("build", "--check", "--base", origin).stderr


# The keys of git's configuration that name a program, and a value that may. A repository can hold all of them.
PROGRAMS = (
    "core.fsmonitor core.sshCommand core.gitProxy core.askPass core.editor core.pager core.alternateRefsCommand "
    "pager.diff pager.show pager.ls-files pager.ls-tree pager.rev-parse pager.branch diff.external diff.x.textconv diff.x.command "
    "merge.x.driver filter.x.clean filter.x.smudge filter.x.process gpg.program gpg.ssh.program credential.helper "
    "sequence.editor uploadpack.packObjectsHook remote.origin.uploadpack remote.origin.vcs receive.procReceiveRefs "
    "interactive.diffFilter mergetool.x.cmd difftool.x.cmd sendemail.smtpServer alias.ls-files alias.rev-parse "
    "trailer.x.command web.browser man.x.cmd guitool.x.cmd submodule.x.update gc.recentObjectsHook"
).split()
HOOKS = ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman", "pre-auto-gc")
READERS = (
    *(command.format("refs/remotes/origin/main") for command in CHECKS),
    "build --check", "build", "__complete diff git:", "init new", "migrate --check jobs", "fits --cluster cluster",
)  # fmt: skip


def test_no_program_of_the_repository_runs(origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    mark, program = outside / "ran", outside / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\nexit 1\n', encoding="utf-8")
    program.chmod(0o755)
    for key in PROGRAMS:
        git("config", key, f"!{program}" if key.startswith("alias.") else str(program))
    # A repository of partial objects would fetch what it lacks.
    for key, value in {
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "protocol.ext.allow": "always",
    }.items():
        git("config", key, value)
    for name in HOOKS:
        (tmp_path / ".git/hooks" / name).write_bytes(program.read_bytes())
        (tmp_path / ".git/hooks" / name).chmod(0o755)
    write(".gitattributes", "* filter=x diff=x merge=x\n")
    write("cluster/queue.yaml", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: a}\n")
    mark.unlink(missing_ok=True)
    for command in READERS:
        assert run(*command.split()).status in (0, 1, 2), command
        assert not mark.exists(), (command, mark.read_text(encoding="utf-8"))
    git("rev-parse", "HEAD")
    assert run("diff", "git:HEAD", "git:refs/remotes/origin/main").status == 0


def test_what_would_start_a_program_is_set_for_each_command_of_git(origin: str) -> None:
    """Also what the commands that are started today do not read."""
    keys = (
        "core.fsmonitor core.hooksPath core.sshCommand core.gitProxy core.askPass core.editor core.alternateRefsCommand"
    )
    for key in (*keys.split(), "core.pager", "diff.external", "gpg.program", "log.showSignature", "credential.helper"):
        git("config", key, "/program")
        assert run_git(".", ["config", "--get", key]).strip() in (b"false", b"cat", b"/dev/null", b""), key


@pytest.mark.parametrize("how", ["lacks", "replaces"])
def test_a_commit_is_what_its_id_says_or_an_error(how: str, origin: str, tmp_path: Path) -> None:
    """What a partial clone lacks is not fetched, and what refs/replace puts in its place is not taken."""
    mark = tmp_path.parent / f"{tmp_path.name}-ran"
    program = mark.with_name(f"{mark.name}-program")
    program.write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    if how == "lacks":
        blob = git("rev-parse", f"{origin}:{RENDERED}").strip()
        Path(".git/objects", blob[:2], blob[2:]).unlink()
        for key, value in {"url": f"ext::{program}", "promisor": "true", "partialclonefilter": "blob:none"}.items():
            git("config", f"remote.origin.{key}", value)
        git("config", "protocol.ext.allow", "always")
        for key, value in {"core.repositoryformatversion": "1", "extensions.partialClone": "origin"}.items():
            git("config", key, value)
    else:
        git("replace", origin, "HEAD")
    proof, difference = run("build", "--check", "--base", origin), run("diff", f"git:{origin}")
    assert (proof.status, TAKEN in difference.stdout) == (1, how == "replaces"), (proof, difference)
    assert ("KeptNotProven" in proof.stderr, difference.status) == ((True, 0) if how == "replaces" else (False, 1))
    assert not mark.exists()


def test_a_folder_that_looks_like_a_bare_repository_is_none(origin: str) -> None:
    write("jobs/bare/HEAD", "ref: refs/heads/main\n")
    write("jobs/bare/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = /etc\n")
    write("jobs/bare/job.yaml", repositories.JOB)
    for name in ("objects/x", "refs/x"):
        write(f"jobs/bare/{name}", "")
    result = run("diff", "git:HEAD:jobs/bare", "jobs/bare")
    assert "/etc" not in result.stdout + result.stderr
    os.chdir("jobs/bare")
    assert "cannot use bare repository" in run("diff", "git:HEAD", "job.yaml").stderr


def test_what_init_writes_names_the_branch_of_the_remote_in_full() -> None:
    """A tag called `origin/main` would come first."""
    scripts = [
        path for path in (PACKAGE / "features/gitops/init").rglob("*") if path.suffix in (".sh", ".yaml", ".yml", ".py")
    ]
    lines = [line for path in scripts for line in path.read_text(encoding="utf-8").splitlines() if "origin/$" in line]
    assert lines, "what init writes compares with a branch of the remote"
    assert [line for line in lines if "refs/remotes/origin/$" not in line] == []


@GROUP
def test_one_place_starts_git() -> None:
    starters = {
        module
        for module, node in nodes(ast.Attribute)
        if ast.unparse(node).startswith(
            (
                "subprocess.Popen",
                "subprocess.run",
                "asyncio.create_subprocess",
                "os.system",
                "os.exec",
                "os.spawn",
                "os.popen",
            )
        )
    }
    assert starters == {
        "reading/git.py",
        "features/authoring/run/command.py",  # The user's interpreter.
        "features/authoring/run/processes.py",  # The job.
        "features/cluster/doctor/command.py",  # kubectl.
    }
