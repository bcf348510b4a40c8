"""Flags, trainc.yaml and overlays: what each decides about delivery, and which of them wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Result, run

from trainc.kube.sync_options import sync_options_of

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {image: "example.com/train:1"}
"""
OVERLAY = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
WAVE, FORCE = "argocd.argoproj.io/sync-wave", "kustomize.toolkit.fluxcd.io/force: enabled"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("jobs/llm.yaml", JOB)
    return tmp_path


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def output(*words: str) -> str:
    result = run("build", *words)
    assert result.status == 0, result.stderr
    return result.stdout


def test_help_says_what_each_sync_option_does() -> None:
    text = " ".join(run("help", "sync-options").stdout.split())
    for option in (*sync_options_of("argocd"), *sync_options_of("flux")):
        assert f"{option.name} {option.effect}" in text


def test_a_sync_option_that_does_not_fit_is_an_error_at_its_line_of_trainc_yaml() -> None:
    settings = "release: '2.3'\nenvironments:\n  prod: {output: out, syncOptions: [Delete=false, Prunee=false]}\n"
    write("trainc.yaml", f"sources: [jobs]\n{settings}")
    result = run("check")
    assert result.status == 1
    assert (
        "trainc.yaml:4:51: error[InvalidConfiguration] syncOptions: unknown sync option 'Prunee=false'" in result.stderr
    )
    assert "(in prod)" in result.stderr
    assert "help: did you mean Prune=false?" in result.stderr
    write("trainc.yaml", f"sources: [jobs]\n{settings.replace('Prunee=false', 'Delete=confirm')}")
    assert "cannot be used together: the first never deletes" in run("check").stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--sync-option", "Repalce"), "unknown sync option 'Repalce'"),
        (("--sync-option", "Replace", "--delivery", "flux"), "choose one of force=enabled"),
        (("--sync-option", "Force", "--sync-option", "ServerSideApply"), "cannot be used together"),
    ],
)
def test_a_sync_option_that_does_not_fit_is_wrong_usage(words: tuple[str, ...], reason: str) -> None:
    result = run("build", "jobs", *words)
    assert (result.status, result.stdout) == (2, "")
    assert reason in result.stderr


def test_flags_win_over_overlays_and_those_over_trainc_yaml() -> None:
    write("trainc.yaml", "sources: [jobs]\nrelease: '2.3'\ndelivery: argocd\n")
    assert WAVE in output()
    write("overlays/dev/overlay.yaml", OVERLAY + "delivery: flux\nsyncOptions: [force=enabled]\n")
    assert FORCE in output("--overlay", "overlays/dev")
    kubectl = output("--overlay", "overlays/dev", "--delivery", "argocd", "--sync-option", "Prune=false")
    assert "sync-options: Prune=false" in kubectl


def test_sync_options_go_with_the_tool_that_they_are_for() -> None:
    write("overlays/prod/overlay.yaml", OVERLAY + "resources: [../../jobs]\nsyncOptions: [Prune=false]\n")
    assert "Prune=false" in output("overlays/prod")
    assert "Prune=false" in output("overlays/prod", "--delivery", "argocd")
    assert "sync-options" not in output("overlays/prod", "--delivery", "kubectl")
    write("overlays/flux/overlay.yaml", OVERLAY + "resources: [../prod]\ndelivery: flux\n")
    assert "sync-options" not in output("overlays/flux")


def test_trainc_yaml_knows_every_setting_of_delivery() -> None:
    write(
        "trainc.yaml",
        "sources: [jobs]\noverlay: overlays/dev\nrelease: '2.3'\ndelivery: flux\nsyncOptions: [force=enabled]\n"
        "nameHash: true\nkeygenImage: example.com/keygen:1\n",
    )
    write("overlays/dev/overlay.yaml", OVERLAY + "nameSuffix: -dev\n")
    text = output()
    assert FORCE in text
    assert "  name: llm-dev-" in text


@pytest.mark.parametrize("line", ["overlay: 3", "syncOptions: Prune", "nameHash: 'true'", "keygenImage: ''"])
def test_a_setting_of_the_wrong_type_is_refused_where_it_stands(line: str) -> None:
    write("trainc.yaml", f"sources: [jobs]\n{line}\n")
    result = run("build")
    assert result.status == 1
    assert "trainc.yaml:2:1" in result.stderr
    assert "InvalidConfiguration" in result.stderr


def test_a_folder_of_an_overlay_is_built_as_kustomize_builds_one() -> None:
    write("overlays/dev/overlay.yaml", OVERLAY + "resources: [../../jobs]\nnameSuffix: -dev\n")
    for words in (("overlays/dev",), ("--overlay", "overlays/dev"), ("--overlay", "overlays/dev/overlay.yaml")):
        assert "name: llm-dev\n" in output(*words)


def test_an_overlay_that_is_named_takes_the_place_of_the_one_in_trainc_yaml() -> None:
    write("trainc.yaml", "sources: [jobs]\noverlay: overlays/dev\n")
    for name in ("dev", "prod"):
        write(f"overlays/{name}/overlay.yaml", OVERLAY + f"resources: [../../jobs]\nnameSuffix: -{name}\n")
    assert "name: llm-dev\n" in output()
    for words in (("overlays/prod",), ("--overlay", "overlays/prod")):
        assert "name: llm-prod\n" in output(*words)


def test_an_overlay_without_resources_changes_what_is_there() -> None:
    write("overlays/dev/overlay.yaml", OVERLAY + "nameSuffix: -dev\n")
    assert "name: llm-dev\n" in output("--overlay", "overlays/dev")
    assert "name: llm-dev\n" in output("jobs", "--overlay", "overlays/dev")


def test_output_files_keep_the_plain_name_under_a_name_hash() -> None:
    assert run("build", "jobs", "--name-hash", "-o", "out").status == 0
    assert [path.name for path in Path("out/team-a").iterdir()] == ["llm.yaml"]


def test_an_address_that_is_written_out_lacks_the_hash_of_the_name() -> None:
    env = "env: [{name: MASTER_ADDR, value: llm-node-0-0.llm}, {name: OTHER, value: eval-node-0-0.eval}]"
    write("jobs/llm.yaml", JOB.replace('train:1"', f'train:1", {env}'))
    assert "UnknownPodAddress" not in run("check", "jobs").stderr
    found = run("check", "jobs", "--name-hash").stderr
    assert found.count("warning[UnknownPodAddress]") == 1
    assert "llm-node-0-0.llm does not resolve" in found
    assert "help: write $(JOBSET)-node-0-0.$(JOBSET), with this variable before it" in found
    label = "metadata.labels['jobset.sigs.k8s.io/jobset-name']"
    first = f'{{name: JOBSET, valueFrom: {{fieldRef: {{fieldPath: "{label}"}}}}}}'
    mended = env.replace("llm-node-0-0.llm", "$(JOBSET)-node-0-0.$(JOBSET)").replace("[", f"[{first}, ", 1)
    write("jobs/llm.yaml", JOB.replace('train:1"', f'train:1", {mended}'))
    assert run("build", "jobs", "--name-hash", "-o", "out").status == 0
    assert run("check", "out").status == 0


def refused(*words: str) -> Result:
    result = run("build", *words)
    assert (result.status, result.stdout) == (1, "")
    return result


def test_what_is_wrong_with_an_overlay_is_shown_with_its_line() -> None:
    write("overlays/dev/overlay.yaml", OVERLAY + "resources: [../../jobs]\nnamePrefixx: a\n")
    stderr = refused("overlays/dev").stderr
    assert "overlays/dev/overlay.yaml:4:1" in stderr
    assert "did you mean namePrefix" in stderr
    write("overlays/dev/overlay.yaml", OVERLAY + "resources: [../../jobs]\nnamespace: A\n")
    assert "overlays/dev/overlay.yaml:4:1" in refused("overlays/dev").stderr
