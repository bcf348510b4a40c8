"""`trainc init --only gitops` writes what applies the outputs that trainc.yaml has, each to its own cluster."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import run
from published_schemas import of_kind

CLUSTERS = """\
release: "2.3"
sources: [jobs]
environments:
  h100: {output: rendered/h100, select: {queue: h100}}
  tpu: {output: rendered/tpu, select: {queue: tpu}}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "ml").mkdir()
    (tmp_path / "ml/trainc.yaml").write_text(CLUSTERS, encoding="utf-8")


def written(folder: str) -> dict[str, list[Any]]:
    paths = sorted(Path(folder).glob("*.yaml"))
    return {path.name: list(yaml.safe_load_all(path.read_text(encoding="utf-8"))) for path in paths}


def test_an_application_for_each_environment_with_its_cluster() -> None:
    result = run("init", "ml", "--only", "gitops", "--cluster", "h100=https://h100.example.com")
    assert result.status == 0, result.stderr
    found = written("ml/argocd")
    assert list(found) == ["h100.yaml", "tpu.yaml"]
    specs = {name: documents[0]["spec"] for name, documents in found.items()}
    assert [spec["source"]["path"] for spec in specs.values()] == ["ml/rendered/h100", "ml/rendered/tpu"]
    assert [spec["destination"] for spec in specs.values()] == [
        {"server": "https://h100.example.com"},
        {"server": "https://kubernetes.default.svc"},
    ]
    # The jobs have namespaces of their own, which belong to their teams.
    assert all(spec["syncPolicy"]["syncOptions"] == ["ServerSideApply=true"] for spec in specs.values())


def test_a_kustomization_for_each_environment() -> None:
    assert run("init", "ml", "--only", "gitops", "--gitops", "flux").status == 0
    found = written("ml/flux")
    assert [[each["spec"]["path"] for each in documents] for documents in found.values()] == [
        ["./ml/rendered/h100"],
        ["./ml/rendered/tpu"],
    ]


def test_one_output_without_environments() -> None:
    Path("ml/trainc.yaml").write_text('release: "2.3"\noutput: out\n', encoding="utf-8")
    assert run("init", "ml", "--only", "gitops").status == 0
    [application] = written("ml/argocd")["training.yaml"]
    assert (application["metadata"]["name"], application["spec"]["source"]["path"]) == ("training", "ml/out")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--cluster", "h200=https://a.example.com"],
            "there is no environment 'h200' with an output; known: h100, tpu",
        ),
        (["--cluster", "h100=http://a.example.com"], "does not have the form ENV=https://..."),
        (["--cluster", "https://a.example.com"], "does not have the form ENV=https://..."),
        (["--cluster", "h100=https://a\n  b: c"], "does not have the form ENV=https://..."),
    ],
)
def test_a_cluster_of_no_environment_is_refused(words: list[str], said: str) -> None:
    result = run("init", "ml", "--only", "gitops", *words)
    assert (result.status, said in result.stderr) == (2, True), result.stderr
    assert not Path("ml/argocd").exists()


def test_without_an_output_there_is_nothing_to_apply() -> None:
    Path("ml/trainc.yaml").write_text('release: "2.3"\n', encoding="utf-8")
    result = run("init", "ml", "--only", "gitops")
    assert (result.status, "trainc.yaml has no `output`" in result.stderr) == (2, True)


@pytest.mark.parametrize("name", ["Big_GPU", "a.b"])
def test_the_name_of_an_environment_becomes_a_valid_name(name: str) -> None:
    settings = f'release: "2.3"\nenvironments: {{{name}: {{output: "rendered/a b: c"}}}}\n'
    Path("ml/trainc.yaml").write_text(settings, encoding="utf-8")
    assert run("init", "ml", "--only", "gitops").status == 0
    [[application]] = written("ml/argocd").values()
    assert application["metadata"]["name"].replace("-", "").isalnum()
    assert application["metadata"]["name"].islower()
    assert application["spec"]["source"]["path"] == "ml/rendered/a b: c"


def test_an_application_set_for_all_environments() -> None:
    words = ["init", "ml", "--only", "gitops", "--application-set", "--cluster", "h100=https://h100.example.com"]
    result = run(*words)
    assert result.status == 0, result.stderr
    assert "kubectl apply -f argocd/" in result.stderr
    found = written("ml/argocd")
    assert list(found) == ["training.yaml"]
    [application_set] = found["training.yaml"]
    assert [each["list"]["elements"] for each in application_set["spec"]["generators"]] == [
        [
            {"name": "training-h100", "path": "ml/rendered/h100", "server": "https://h100.example.com"},
            {"name": "training-tpu", "path": "ml/rendered/tpu", "server": "https://kubernetes.default.svc"},
        ]
    ]
    # What the elements name is what the template uses, and the rest is as in the Applications.
    template = application_set["spec"]["template"]
    assert template["metadata"] == {"name": "{{.name}}"}
    shutil.rmtree("ml/argocd")
    assert run("init", "ml", "--only", "gitops", *words[-2:]).status == 0
    for element in application_set["spec"]["generators"][0]["list"]["elements"]:
        [application] = written("ml/argocd")[f"{element['name'].removeprefix('training-')}.yaml"]
        spec = {**template["spec"], "destination": {"server": element["server"]}}
        spec["source"] = {**spec["source"], "path": element["path"]}
        assert (application["metadata"]["name"], application["spec"]) == (element["name"], spec)
    # Whoever drops an environment from trainc.yaml does not end its jobs.
    assert application_set["spec"]["syncPolicy"] == {"preserveResourcesOnDeletion": True}


def test_an_application_set_of_a_new_repository_creates_the_namespaces() -> None:
    assert run("init", "new", "--application-set").status == 0
    [application_set] = written("new/argocd")["training.yaml"]
    elements = application_set["spec"]["generators"][0]["list"]["elements"]
    assert [each["namespace"] for each in elements] == ["ml-dev", "ml-prod"]
    spec = application_set["spec"]["template"]["spec"]
    assert spec["destination"] == {"server": "{{.server}}", "namespace": "{{.namespace}}"}
    assert spec["syncPolicy"]["syncOptions"] == ["CreateNamespace=true", "ServerSideApply=true"]


def test_flux_has_no_application_set() -> None:
    result = run("init", "ml", "--only", "gitops", "--gitops", "flux", "--application-set")
    assert (result.status, "--application-set is for Argo CD" in result.stderr) == (2, True)


@pytest.mark.parametrize("words", [[], ["--application-set"], ["--gitops", "flux"]], ids=" ".join)
def test_what_applies_the_outputs_fits_the_schemas_of_argo_cd_and_flux(words: list[str]) -> None:
    from jsonschema import Draft202012Validator

    assert run("init", "new", *words).status == 0
    assert run("init", "ml", "--only", "gitops", *words).status == 0
    documents = [
        each
        for folder in ("ml", "new")
        for tool in ("argocd", "flux")
        for file in written(f"{folder}/{tool}").values()
        for each in file
    ]
    custom = [each for each in documents if each["kind"] != "Namespace"]
    assert len(custom) == (2 if "--application-set" in words else 4)
    for each in custom:
        assert list(Draft202012Validator(of_kind(each)).iter_errors(each)) == []


def test_environments_that_would_be_one_application_are_refused() -> None:
    Path("ml/trainc.yaml").write_text(CLUSTERS.replace("tpu:", "H100:"), encoding="utf-8")
    result = run("init", "ml", "--only", "gitops")
    assert result.status == 2
    assert "environments 'h100' and 'H100' would both be 'training-h100'" in result.stderr
    assert not Path("ml/argocd").exists()


@pytest.mark.parametrize(
    "url", ["https://a/b: c", "https://a/b # c", "https://a/b:", "{a: b}", "&a", "%a", "@a", "|", "1"]
)
def test_a_repository_is_written_as_it_was_given(url: str) -> None:
    cluster = () if " " in url or not url.startswith("https") else (f"--cluster=h100={url}",)
    for kind in ((), ("--application-set",)):
        shutil.rmtree("ml/argocd", ignore_errors=True)
        assert run("init", "ml", "--only", "gitops", f"--repository={url}", *cluster, *kind).status == 0
        documents, *_ = written("ml/argocd").values()
        (spec,) = [document["spec"] for document in documents]
        spec = spec["template"]["spec"] if kind else spec
        assert spec["source"]["repoURL"] == url
        assert kind or not cluster or spec["destination"]["server"] == url


def test_a_folder_that_looks_like_an_option_is_refused() -> None:
    shutil.move("ml", "-ml")
    result = run("init", "./-ml", "--only", "hooks", "--print")
    assert result.status == 2
    assert "do not take the folder '-ml' as one word" in result.stderr
