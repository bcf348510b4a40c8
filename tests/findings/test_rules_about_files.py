"""The rules about paths, files and settings: their examples, laid out as the rules describe them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from commands import run
from repositories import commit, edit, git

from trainc.findings.codes import page


def blocks(code: str) -> tuple[str, str]:
    wrong, right = re.findall(r"^```yaml\n(.*?)^```$", page(code) or "", re.MULTILINE | re.DOTALL)
    return wrong, right


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def codes(*words: str) -> set[str]:
    return set(re.findall(r"(?:error|warning|info)\[(\w+)\]", run(*words, "--release", "2.3").stderr))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_file_in_the_way() -> None:
    by_hand, job = blocks("FileInTheWay")
    write("jobs/llm.yaml", job)
    assert codes("build", "jobs", "-o", "rendered") == set()
    write("other/team-a/llm.yaml", by_hand)
    assert codes("build", "jobs", "-o", "other") == {"FileInTheWay"}


def test_interrupted_build() -> None:
    wrong, right = blocks("InterruptedBuild")
    write("jobs/llm.yaml", wrong)
    assert codes("build", "jobs", "-o", "rendered") == set()
    os.mkdir("rendered/.trainc")
    write("rendered/.trainc/journal", "trainc journal 1\n- team-a/llm.yaml\n")
    assert codes("build", "jobs", "-o", "rendered", "--check") == {"InterruptedBuild"}
    write("jobs/llm.yaml", right)
    assert codes("build", "jobs", "-o", "rendered") == set()
    assert not os.path.exists("rendered/.trainc")


def test_files_kept() -> None:
    wrong, right = blocks("FilesKept")
    write("jobs/one.yaml", wrong)
    write("jobs/other.yaml", right)
    assert codes("build", "jobs", "-o", "rendered") == set()
    assert codes("build", "jobs/one.yaml", "-o", "rendered") == {"FilesKept"}
    assert codes("build", "jobs", "-o", "rendered") == set()


def test_source_skipped() -> None:
    wrong, right = blocks("SourceSkipped")
    write("trainc.yaml", "sources: [jobs]\noutput: rendered\n")
    write("jobs/llm.yaml", right)
    write("jobs/other.yaml", blocks("FilesKept")[1])
    assert codes("build") == set()
    write("jobs/llm.yaml", wrong)
    assert codes("build") == {"SkippedDocument", "SourceSkipped"}
    write("jobs/llm.yaml", right)
    assert codes("build") == set()


def test_outside_root() -> None:
    wrong, right = blocks("OutsideRoot")
    write("another-team/shared.yaml", wrong)
    write("repository/jobs/other.yaml", right.replace("llm", "other"))
    os.symlink("../../another-team/shared.yaml", "repository/jobs/shared.yaml")
    assert codes("build", "repository/jobs") == {"OutsideRoot"}
    os.remove("repository/jobs/shared.yaml")
    write("repository/jobs/shared.yaml", right)
    assert codes("build", "repository/jobs") == set()


def test_unreadable_file() -> None:
    wrong, right = blocks("UnreadableFile")
    write("jobs/llm.yaml", wrong)
    # Another user's file cannot be had in a test that may run as root; a named pipe is as unreadable.
    os.mkfifo("jobs/pipe.yaml")
    assert codes("build", "jobs") == {"UnreadableFile"}
    os.remove("jobs/pipe.yaml")
    write("jobs/llm.yaml", right)
    assert codes("build", "jobs") == set()


def test_invalid_configuration() -> None:
    wrong, right = blocks("InvalidConfiguration")
    write("jobs/llm.yaml", blocks("FileInTheWay")[1])
    write("trainc.yaml", wrong)
    assert codes("build") == {"InvalidConfiguration"}
    write("trainc.yaml", right)
    assert codes("build") == set()


def test_other_extension() -> None:
    wrong, right = blocks("OtherExtension")
    write("llm.yaml", wrong)
    assert codes("build") == set()
    write("llm.yaml.bak", wrong)
    assert codes("build") == {"OtherExtension"}
    write("trainc.yaml", right)
    assert codes("build") == set()


KEEPING = 'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\noutput: rendered\nrebuild: changed-jobs\n'
OF_TEAM = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: team}
"""


def keep(job: str, runtime: str = "") -> None:
    """A repository whose job is built and committed."""
    write("trainc.yaml", KEEPING)
    os.mkdir("runtimes")
    write("jobs/llm.yaml", job)
    if runtime:
        write("runtimes/team.yaml", runtime)
    git("init", "-q", "-b", "main")
    assert codes("build") == set()
    commit()


def test_kept_not_proven() -> None:
    wrong, right = blocks("KeptNotProven")
    keep(wrong)
    edit("rendered/team-a/llm.yaml", "llm:1", "llm:2")
    assert codes("build", "--check") == {"KeptNotProven"}
    write("jobs/llm.yaml", right)
    assert codes("build") == set()
    assert codes("build", "--check") == set()


def test_foreign_file_and_adopted_file() -> None:
    pod, permission = blocks("ForeignFile")
    also, job = blocks("AdoptedFile")
    assert permission.partition("\n")[2] == also.partition("\n")[2]
    keep(job)
    write("rendered/pod.yaml", pod)
    assert codes("build", "--check") == {"ForeignFile"}
    os.remove("rendered/pod.yaml")
    write("trainc.yaml", permission)
    commit()
    assert codes("build", "--check") == set()
    write("rendered/pod.yaml", pod)
    assert codes("build", "--check") == {"AdoptedFile"}


def test_keep_or_rebuild() -> None:
    wrong, right = blocks("KeepOrRebuild")
    keep(right)
    edit("trainc.yaml", "rebuild: changed-jobs\n", "")
    assert codes("build") == set()
    write("trainc.yaml", KEEPING)
    write("jobs/llm.yaml", wrong)
    assert codes("build") == {"KeepOrRebuild"}
    write("jobs/llm.yaml", right)
    assert codes("build") == set()


def test_kept_as_built() -> None:
    wrong, right = blocks("KeptAsBuilt")
    keep(OF_TEAM, right)
    write("runtimes/team.yaml", wrong)
    assert codes("check") == {"KeptAsBuilt"}
    write("runtimes/team.yaml", right)
    assert codes("check") == set()


def test_kept_cannot_rebuild() -> None:
    wrong, right = blocks("KeptCannotRebuild")
    keep(OF_TEAM, right)
    write("runtimes/team.yaml", wrong)
    assert codes("build") == {"RuntimeNotFound"}
    commit()
    assert codes("build") == {"KeptCannotRebuild"}
    write("runtimes/team.yaml", right)
    assert codes("build") == set()


def test_frozen_job() -> None:
    wrong, right = blocks("FrozenJob")
    git("init", "-q", "-b", "main")
    settings = "sources: [jobs]\noutput: rendered\nrebuild: changed-jobs\n"
    frozen = "frozen: [{jobs: [team-a/llm], reason: its image is gone}]\n"
    for before, found in ((frozen, {"FrozenJob"}), ("", set())):
        write("trainc.yaml", settings + before)
        write("jobs/llm.yaml", right)
        assert codes("build") == set()
        commit()
        # What the change itself grants or takes back does not count.
        write("trainc.yaml", settings + ("" if before else frozen))
        write("jobs/llm.yaml", wrong)
        assert codes("build") == found
        assert codes("build", "--check") - {"KeptAsBuilt"} == found


def test_a_frozen_job_is_no_part_of_all() -> None:
    _, right = blocks("FrozenJob")
    git("init", "-q", "-b", "main")
    write(
        "trainc.yaml",
        "sources: [jobs]\noutput: rendered\nrebuild: changed-jobs\nfrozen: [{jobs: [llm], reason: gone}]\n",
    )
    write("jobs/llm.yaml", right)
    write("jobs/other.yaml", right.replace("name: llm", "name: other"))
    assert codes("build") == set()
    commit()
    write(
        "overlay.yaml",
        "apiVersion: trainc/v1alpha1\nkind: Overlay\nmirrors: {registry.example.com: mirror.example.com}\n",
    )
    edit("trainc.yaml", "output", "overlay: overlay.yaml\noutput")
    assert codes("build", "--rebuild", "all") == set()
    assert git("status", "--porcelain", "rendered") == "M rendered/team-a/other.yaml"
    assert codes("build", "--rebuild", "llm") == {"FrozenJob"}


def test_no_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed, runtime = blocks("KeptAsBuilt")
    keep(OF_TEAM, runtime)
    write("runtimes/team.yaml", changed)
    commit()
    git("checkout", "-q", "-b", "pull-request")
    for workflow, code in zip(blocks("NoBase"), ("NoBase", "KeptAsBuilt"), strict=True):
        depth = () if "fetch-depth: 0" in workflow else ("--depth", "1")
        git("clone", "-q", *depth, f"file://{tmp_path}", code)
        monkeypatch.chdir(tmp_path / code)
        assert codes(*workflow.partition("trainc ")[2].split()) == {code}
        monkeypatch.chdir(tmp_path)


def test_settings_loosened() -> None:
    wrong, right = blocks("SettingsLoosened")
    git("init", "-q", "-b", "main")
    write("jobs/llm.yaml", blocks("AdoptedFile")[1])
    write("jobs/legacy/README.md", "")
    write("trainc.yaml", right)
    commit()
    assert codes("check", "--base", "main") == set()
    write("trainc.yaml", wrong)
    assert codes("check", "--base", "main") == {"SettingsLoosened"}
    assert codes("check") == set()


def test_rules_changed() -> None:
    wrong, right = blocks("RulesChanged")
    git("init", "-q", "-b", "main")
    write("jobs/llm.yaml", blocks("AdoptedFile")[1])
    write("policies/limits.yaml", right)
    write("trainc.yaml", 'release: "2.3"\nsources: [jobs]\npolicies: [policies]\n')
    commit()
    assert codes("check", "--base", "main") == set()
    write("policies/limits.yaml", wrong)
    assert codes("check", "--base", "main") == {"RulesChanged"}


def test_jobs_replaced_in_an_environment() -> None:
    write("jobs/llm.yaml", blocks("AdoptedFile")[1])
    settings = 'release: "2.3"\nsources: [jobs]\nenvironments:\n  a: {output: out/a}\n  b: {output: out/b}\n'
    write("trainc.yaml", settings)
    git("init", "-q", "-b", "main")
    assert codes("build") == set()
    commit()
    for text, place, of in (
        (f"{settings}nameHash: true\n", "6:1", ""),
        (settings.replace("a: {", "a: {nameHash: true, "), "4:7", " (in a)"),
    ):
        write("trainc.yaml", text)
        for words in (["check"], ["build", "--check"]):
            (found,) = re.findall(
                r"trainc.yaml:(.*): warning\[JobsReplaced\].* starts them again(.*)",
                run(*words, "--base", "main").stderr,
            )
            assert found == (place, of)


def test_jobs_replaced() -> None:
    wrong, right = blocks("JobsReplaced")
    git("init", "-q", "-b", "main")
    write("jobs/llm.yaml", blocks("AdoptedFile")[1])
    write("trainc.yaml", right)
    assert codes("build") == set()
    commit()
    assert codes("check", "--base", "main") == codes("build") == set()
    write("trainc.yaml", wrong)
    assert codes("check", "--base", "main") == codes("build") == {"JobsReplaced"}


def test_output_stale() -> None:
    wrong, right = blocks("OutputStale")
    write("jobs/llm.yaml", right)
    words = ("build", "jobs", "-o", "rendered", "--release", "2.3")
    assert run(*words).status == 0
    assert run(*words, "--check", "--format", "github").stdout == ""
    write("jobs/llm.yaml", wrong)
    result = run(*words, "--check", "--format", "github")
    assert result.status == 1
    assert "::error file=rendered/team-a/llm.yaml,line=1,col=1,title=OutputStale::" in result.stdout
    assert "run `trainc build`, and commit what it writes" in result.stdout
    assert "OutputStale" not in run(*words, "--check").stderr
