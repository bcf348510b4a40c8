"""Whatever stands in a repository, trainc reads inside it: paths, links, overlays, settings, templates, revisions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from commands import Result, run

from trainc.project.settings_file import read_configuration
from trainc.reading.opening import folders_upward

pytestmark = pytest.mark.slow

JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec: {runtimeRef: {name: torch-distributed}}
"""
OVERLAY = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
SECRET = "kind: TrainJob\nsecret: hunter2\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a job, beside a folder that is no part of it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.yaml").write_text(SECRET, encoding="utf-8")
    (outside / "overlay.yaml").write_text(OVERLAY + "resources: [secret.yaml]\n", encoding="utf-8")
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    (top / "jobs").mkdir()
    (top / "jobs" / "llm.yaml").write_text(JOB, encoding="utf-8")
    (top / "overlays" / "dev").mkdir(parents=True)
    monkeypatch.chdir(top)
    return top


def build(*words: str) -> Result:
    return run("build", "--release", "2.3", *words)


def outside_is_refused(*words: str) -> None:
    result = build(*words)
    assert (result.status, result.stdout) == (1, "")
    assert "error[OutsideRoot]" in result.stderr or "error[InvalidOverlay]" in result.stderr
    assert "hunter2" not in result.stderr


@pytest.mark.parametrize(
    "path", ["../../../outside", "../../../outside/secret.yaml", "link", "link/secret.yaml", "file.yaml"]
)
@pytest.mark.parametrize(
    "field", ["resources: [{}]", "runtimes: [{}]", "patches: [{{path: {}, target: {{kind: TrainJob}}}}]"]
)
def test_an_overlay_leads_nowhere_else(field: str, path: str, repository: Path) -> None:
    folder = repository / "overlays" / "dev"
    (folder / "link").symlink_to(repository.parent / "outside")
    (folder / "file.yaml").symlink_to(repository.parent / "outside" / "secret.yaml")
    (folder / "overlay.yaml").write_text(OVERLAY + field.format(path) + "\n", encoding="utf-8")
    outside_is_refused("jobs", "--overlay", "overlays/dev")


def test_an_absolute_path_in_an_overlay_is_refused_and_may_be_allowed(repository: Path) -> None:
    resource = repository.parent / "outside" / "job.yaml"
    resource.write_text(JOB, encoding="utf-8")
    (repository / "overlays" / "dev" / "overlay.yaml").write_text(
        f"{OVERLAY}resources: [{resource}]\n", encoding="utf-8"
    )
    outside_is_refused("overlays/dev")
    assert build("overlays/dev", "--allow-outside").status == 0


def test_an_overlay_s_file_is_not_a_link_to_elsewhere(repository: Path) -> None:
    (repository / "overlays" / "dev" / "overlay.yaml").symlink_to(repository.parent / "outside" / "overlay.yaml")
    outside_is_refused("overlays/dev")


def test_an_overlay_may_use_all_of_its_repository(repository: Path) -> None:
    text = OVERLAY + "resources: [../../jobs/llm.yaml]\n"
    (repository / "overlays" / "dev" / "overlay.yaml").write_text(text, encoding="utf-8")
    assert build("overlays/dev").status == 0


@pytest.mark.parametrize("path", ["../outside", "/etc", "link"])
@pytest.mark.parametrize("key", ["sources: [{}]", "runtimes: [{}]", "overlay: {}", "output: {}"])
def test_trainc_yaml_leads_nowhere_else(key: str, path: str, repository: Path) -> None:
    (repository / "link").symlink_to(repository.parent / "outside")
    (repository / "trainc.yaml").write_text(key.format(path) + "\n", encoding="utf-8")
    outside_is_refused()
    assert not list((repository.parent / "outside").glob("team-a/*"))


def test_trainc_yaml_itself_is_not_a_link_to_elsewhere(repository: Path) -> None:
    (repository / "trainc.yaml").symlink_to(repository.parent / "outside" / "secret.yaml")
    outside_is_refused()


@pytest.mark.parametrize("target", ["../../outside/secret.yaml", "../../outside", "/etc/hosts"])
def test_a_link_among_the_jobs_leads_nowhere_else(target: str, repository: Path) -> None:
    (repository / "jobs" / "more.yaml").symlink_to(target)
    outside_is_refused("jobs")


def test_without_git_the_nearest_trainc_yaml_is_the_top(repository: Path) -> None:
    (repository / ".git").rmdir()
    (repository / "trainc.yaml").write_text("{}\n", encoding="utf-8")
    text = OVERLAY + "resources: [../../jobs/llm.yaml]\n"
    (repository / "overlays" / "dev" / "overlay.yaml").write_text(text, encoding="utf-8")
    assert build("overlays/dev").status == 0
    text = OVERLAY + "resources: [../../../outside/secret.yaml]\n"
    (repository / "overlays" / "dev" / "overlay.yaml").write_text(text, encoding="utf-8")
    outside_is_refused("overlays/dev")


@pytest.mark.parametrize("tag", ["include", "import", "extends", "from"])
@pytest.mark.parametrize("path", ["secret.yaml", "../outside/secret.yaml", "/etc/hosts"])
def test_a_template_reads_no_file(tag: str, path: str, repository: Path) -> None:
    written = {"import": f"import '{path}' as x", "from": f"from '{path}' import x"}.get(tag, f"{tag} '{path}'")
    (repository / "jobs" / "t.yaml.j2").write_text(f"{{% {written} %}}\n", encoding="utf-8")
    result = build("jobs")
    assert (result.status, result.stdout) == (1, "")
    assert "error[TemplateError]" in result.stderr


def test_a_revision_leads_nowhere_else(repository: Path) -> None:
    (repository / ".git").rmdir()
    (repository / "jobs" / "more.yaml").symlink_to(repository.parent / "outside" / "secret.yaml")
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "jobs"]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    (repository / "jobs" / "more.yaml").unlink()
    result = run("diff", "git:HEAD", "jobs", "--release", "2.3")
    assert result.status == 1
    assert "error[OutsideRoot]" in result.stderr
    assert "hunter2" not in result.stderr + result.stdout


def test_an_application_s_parameters_lead_nowhere_else(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "jobs" / "link").symlink_to(repository.parent / "outside")
    monkeypatch.chdir(repository / "jobs")
    monkeypatch.setenv("ARGOCD_APP_SOURCE_PATH", "jobs")
    for path in ("link", "../../outside", "../jobs/link"):
        monkeypatch.setenv("PARAM_OVERLAY", path)
        result = run("cmp")
        assert (result.status, result.stdout) == (1, "")
        assert "error[InvalidParameter]" in result.stderr


def test_migrate_writes_through_no_link(repository: Path) -> None:
    text = JOB.replace("trainer.kubeflow.org", "kubeflow.org").replace("v1alpha1", "v2alpha1")
    job = repository / "jobs" / "llm.yaml"
    job.write_text(text, encoding="utf-8")
    (repository / "jobs" / "llm.yaml.trainc-new").symlink_to(repository.parent / "outside" / "secret.yaml")
    assert run("migrate", "jobs/llm.yaml").status == 0
    assert job.read_text(encoding="utf-8") != text
    assert (repository.parent / "outside" / "secret.yaml").read_text(encoding="utf-8") == SECRET


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder as /tmp is, with settings that a stranger has left there, and a folder of ours in it."""
    folder = tmp_path / "shared"
    (folder / "ours").mkdir(parents=True)
    (folder / "ours" / "llm.yaml").write_text(JOB, encoding="utf-8")
    (folder / "secret.yaml").write_text(SECRET, encoding="utf-8")
    (folder / "trainc.yaml").write_text("output: evil\n", encoding="utf-8")
    folder.chmod(0o1777)
    return folder


@pytest.mark.parametrize("git", [False, True])
def test_a_folder_that_everybody_shares_decides_nothing(
    git: bool, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if git:
        (shared / ".git").mkdir()
    for here, words in ((shared / "ours", []), (shared, ["ours"]), (shared, [])):
        monkeypatch.chdir(here)
        assert read_configuration(words, None).file is None
    (shared / "ours" / "overlay.yaml").write_text(OVERLAY + "resources: [../secret.yaml]\n", encoding="utf-8")
    monkeypatch.chdir(shared / "ours")
    outside_is_refused(".")


def test_one_s_own_settings_in_it_count_and_those_that_are_named(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared / "ours")
    assert read_configuration([], str(shared / "trainc.yaml")).output is not None
    (shared / "ours" / "trainc.yaml").write_text("output: out\n", encoding="utf-8")
    (shared / "ours" / "deep").mkdir()
    assert read_configuration(["deep"], None).file == "trainc.yaml"


@pytest.mark.parametrize(("owner", "counts"), [(0, True), (None, True), (4242, False)])
def test_settings_of_another_user_count_where_the_input_is_theirs(
    owner: int | None, counts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "trainc.yaml").write_text("{}\n", encoding="utf-8")
    real = os.stat

    def stat(path: str) -> os.stat_result:
        found = list(real(path))
        if owner is not None and os.path.realpath(path) == str(tmp_path):
            found[4] = owner
        return os.stat_result(found)

    monkeypatch.setattr("trainc.reading.opening.os.stat", stat)
    found = [os.path.join(each, "trainc.yaml") for each in folders_upward(str(tmp_path / "input"))]
    assert (str(tmp_path / "trainc.yaml") in found) == counts
