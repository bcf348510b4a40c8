"""`trainc cmp` as Argo CD runs it: a process of user 999 without stdin, HOME or anything that it could write to."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders import runtime, trainjob
from commands import run

from trainc.findings.codes import page

USER = 999
OVERLAY = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay", "metadata": {"name": "prod"}}
# What Argo CD sets for every plugin.
ARGOCD = {
    "ARGOCD_APP_NAME": "training",
    "ARGOCD_APP_NAMESPACE": "team-z",
    "ARGOCD_APP_PROJECT_NAME": "default",
    "ARGOCD_APP_REVISION": "5fba1d0c5a2d0e2a7a1c2f3f4b5c6d7e8f901234",
    "ARGOCD_APP_SOURCE_PATH": ".",
    "ARGOCD_APP_SOURCE_REPO_URL": "https://git.example.com/ml/training.git",
    "KUBE_VERSION": "1.33",
    "KUBE_API_VERSIONS": "v1,batch/v1,jobset.x-k8s.io/v1alpha2",
}
READ_ONLY = 'mount -o remount,ro,bind / && exec "$@"'


@pytest.fixture
def source() -> Iterator[Path]:
    """The source of an Application, where every user may read and nobody write."""
    # pytest's own folders are closed to other users.
    folder = Path(tempfile.mkdtemp(prefix="source-"))
    write(folder, "job.json", trainjob())
    write(folder, "runtime.json", runtime(policy={"torch": {}}))
    write(folder, "trainc.yaml", {"release": "2.3"})
    yield folder
    for path in (folder, *filter(Path.is_dir, folder.rglob("*"))):
        path.chmod(0o755)
    shutil.rmtree(folder)


def write(folder: Path, name: str, document: Any) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


def close(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


@pytest.fixture(scope="session")
def as_argocd() -> Sequence[str]:
    """What makes a command one of user 999; nothing where tests are not root, and so can write no more than that user."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed, which starts a program as another user")
    prefix = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    if subprocess.run([*prefix, sys.executable, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"user {USER} may not run {sys.executable}")
    return prefix


def generate(
    source: Path, prefix: Sequence[str], environment: Mapping[str, str] = {}, *words: str
) -> subprocess.CompletedProcess[str]:
    close(source)
    return subprocess.run(
        [*prefix, sys.executable, "-m", "trainc", "cmp", *words],
        cwd=source,
        env={"PATH": os.environ["PATH"], **ARGOCD, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def parameters(*entries: dict[str, Any]) -> dict[str, str]:
    return {"ARGOCD_APP_PARAMETERS": json.dumps(entries)}


def jobset(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    (found,) = yaml.safe_load_all(done.stdout)
    assert found["kind"] == "JobSet"
    return dict(found)


def test_it_prints_manifests_and_nothing_else(source: Path, as_argocd: Sequence[str]) -> None:
    done = generate(source, as_argocd, {}, "generate")
    assert jobset(done)["metadata"]["name"] == "llm"
    assert done.stderr == ""
    assert generate(source, as_argocd).stdout == done.stdout


def test_it_needs_no_place_to_write(source: Path, as_argocd: Sequence[str]) -> None:
    if not as_argocd or shutil.which("unshare") is None:
        pytest.skip("only root can make all files read-only for a process")
    sealed_off = ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh"]
    probe = [*sealed_off, "sh", "-c", "! touch /tmp/probe"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    assert jobset(generate(source, [*sealed_off, *as_argocd]))["metadata"]["name"] == "llm"


def test_parameters_of_the_application_win_over_trainc_yaml(source: Path, as_argocd: Sequence[str]) -> None:
    write(source, "overlays/eu/overlay.yaml", {**OVERLAY, "nameSuffix": "-eu"})
    settings = parameters(
        {"name": "overlay", "array": ["overlays/eu"]},
        {"name": "release", "string": "2.1"},
        {"name": "semantics", "string": "controller"},
    )
    found = jobset(generate(source, as_argocd, settings))
    assert found["metadata"]["name"] == "llm-eu"
    assert "successPolicy" not in found["spec"]


def test_jobs_cannot_be_kept_as_built_where_every_refresh_compiles_all_of_them(
    source: Path, as_argocd: Sequence[str]
) -> None:
    wrong, right = re.findall(r"```yaml\n(.*?)```", page("KeepsNothing") or "", re.DOTALL)
    (source / "jobs").mkdir()
    (source / "job.json").rename(source / "jobs" / "job.json")
    (source / "runtime.json").rename(source / "jobs" / "runtime.json")
    (source / "trainc.yaml").write_text(wrong, encoding="utf-8")
    done = generate(source, as_argocd)
    assert (done.returncode, done.stdout, "error[KeepsNothing]" in done.stderr) == (1, "", True)
    (source / "trainc.yaml").chmod(0o644)
    (source / "trainc.yaml").write_text(right, encoding="utf-8")
    assert jobset(generate(source, as_argocd))["metadata"]["name"] == "llm"


def test_the_environment_of_the_application_says_whether_jobs_are_kept(source: Path, as_argocd: Sequence[str]) -> None:
    environments = {"dev": {"rebuild": "all"}, "prod": {}}
    write(source, "trainc.yaml", {"release": "2.3", "rebuild": "changed-jobs", "environments": environments})
    for name, status in (("dev", 0), ("prod", 1)):
        assert generate(source, as_argocd, parameters({"name": "environment", "array": [name]})).returncode == status


@pytest.mark.parametrize(
    ("environment", "namespace"),
    [
        ({}, None),
        (parameters({"name": "destination-namespace", "string": "true"}), "team-z"),
        ({"ARGOCD_ENV_NAMESPACE": "team-y"}, "team-y"),
    ],
)
def test_a_missing_namespace_is_filled_only_when_that_is_asked_for(
    environment: dict[str, str], namespace: str | None, source: Path, as_argocd: Sequence[str]
) -> None:
    job = trainjob()
    del job["metadata"]["namespace"]
    write(source, "job.json", job)
    assert jobset(generate(source, as_argocd, environment))["metadata"].get("namespace") == namespace


def test_a_folder_of_an_overlay_is_compiled_with_it(source: Path, as_argocd: Sequence[str]) -> None:
    write(source, "trainc.yaml", {"release": "2.3", "sources": ["job.json", "runtime.json"], "overlay": "overlays/dev"})
    write(source, "overlays/dev/overlay.yaml", {**OVERLAY, "nameSuffix": "-dev"})
    write(source, "overlays/prod/overlay.yaml", {**OVERLAY, "nameSuffix": "-prod"})
    assert jobset(generate(source, as_argocd))["metadata"]["name"] == "llm-dev"
    assert jobset(generate(source / "overlays" / "prod", as_argocd))["metadata"]["name"] == "llm-prod"


def test_finding_no_trainjob_fails_unless_it_is_expected(source: Path, as_argocd: Sequence[str]) -> None:
    (source / "job.json").unlink()
    done = generate(source, as_argocd)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[NoTrainJob]" in done.stderr
    allowed = generate(source, as_argocd, parameters({"name": "allow-empty", "string": "true"}))
    assert (allowed.returncode, allowed.stdout) == (0, "")


def test_wrong_input_fails_and_prints_no_manifest(source: Path, as_argocd: Sequence[str]) -> None:
    write(source, "second.json", trainjob({"numNode": 4}, name="second"))
    done = generate(source, as_argocd)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[UnknownField] spec.trainer.numNode" in done.stderr


def test_wrong_parameters_fail_and_print_no_manifest(source: Path, as_argocd: Sequence[str]) -> None:
    done = generate(source, as_argocd, parameters({"name": "relase", "string": "2.3"}))
    assert (done.returncode, done.stdout) == (1, "")
    assert "relase is not a parameter of trainc\n  help: did you mean release?" in done.stderr


def test_options_that_contradict_each_other_are_wrong_usage(source: Path, as_argocd: Sequence[str]) -> None:
    done = generate(source, as_argocd, parameters({"name": "sync-options", "array": ["Replace", "ServerSideApply"]}))
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be used together" in done.stderr


def test_the_environment_reaches_the_output_only_through_parameters(source: Path, as_argocd: Sequence[str]) -> None:
    write(source, "second.yaml.j2", "kind: TrainJob\nname: {{ env }}")
    done = generate(source, as_argocd, {"env": "x"})
    assert "error[TemplateError]" in done.stderr
    source.chmod(0o755)
    (source / "second.yaml.j2").unlink()
    secrets = {"TOKEN": "hunter2", "ARGOCD_ENV_TOKEN": "hunter2", "LANG": "de_DE.UTF-8", "PYTHONHASHSEED": "7"}
    done = generate(source, as_argocd, secrets)
    assert "hunter2" not in done.stdout + done.stderr
    assert done.stdout == generate(source, as_argocd).stdout


def test_parameters_are_announced_with_what_the_repository_has_decided(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"release": "2.2", "overlay": "overlays/prod", "nameHash": True, "syncOptions": ["Replace"]}
    write(source, "trainc.yaml", settings)
    monkeypatch.chdir(source)
    announced = {entry["name"]: entry for entry in json.loads(run("cmp", "parameters").stdout)}
    assert announced["release"]["string"] == "2.2"
    assert announced["name-hash"]["string"] == "true"
    assert announced["overlay"]["array"] == ["overlays/prod"]
    assert announced["sync-options"]["array"] == ["Replace"]
    assert "string" not in announced["semantics"]


def test_a_broken_trainc_yaml_is_not_an_announcement(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(source, "trainc.yaml", {"relase": "2.3"})
    monkeypatch.chdir(source)
    result = run("cmp", "parameters")
    assert (result.status, result.stdout) == (1, "")
    assert "error[InvalidConfiguration]" in result.stderr


def test_files_are_printed_as_they_are(monkeypatch: pytest.MonkeyPatch, source: Path) -> None:
    monkeypatch.chdir(source)
    shown = run("cmp", "--print", "plugin.yaml")
    assert (shown.status, shown.stderr) == (0, "")
    assert yaml.safe_load(shown.stdout)["kind"] == "ConfigManagementPlugin"
