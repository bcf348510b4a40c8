"""Where datasets and models come from: what Trainer's initializers fail at, and what no trainer sees."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob
from tables import cases
from trainings import RUNTIMES, findings, reported, training

from trainc import Options
from trainc.functions import compile_documents
from trainc.reading.document import Document

CACHE = {"METADATA_LOC": "s3a://lake/metadata/1.json", "IAM_ROLE": "arn:aws:iam::123456789012:role/cache"}
TUNE: dict[str, Any] = {"nodes": 1, "gpus": 2, "runtime": "torchtune-llama3.2-1b"}
CACHED: dict[str, Any] = {"nodes": 2, "runtime": "torch-distributed-with-cache", "command": ["torchrun", "t.py"]}


def source(kind: str, uri: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    step: dict[str, Any] = {"storageUri": uri}
    if env:
        step["env"] = [{"name": name, "value": value} for name, value in env.items()]
    return {"initializer": {kind: step}}


OURS: dict[str, Any] = {"nodes": 1, "runtime": "torch-distributed-with-initializers", "command": ["torchrun", "t.py"]}


@pytest.mark.parametrize(
    ("configured", "hints"),
    [
        (
            ("dataset",),
            ["set spec.initializer.model: {storageUri: hf://OWNER/NAME}, or copy the runtime without this job"],
        ),
        (("dataset", "model"), []),
    ],
)
def test_an_initializer_without_a_source_fails(configured: tuple[str, ...], hints: list[str]) -> None:
    steps = {kind: {"storageUri": "hf://acme/x"} for kind in configured}
    found = [d for d in reported(training(initializer=steps, **OURS)) if d.severity != "info"]
    assert [(d.code, d.hint) for d in found] == [("UnusableStorageUri", hint) for hint in hints]


@cases("initializer", "fields", "words")
def test_a_source_at_which_an_initializer_fails_is_an_error(
    initializer: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    found = [
        d
        for d in reported(training(**initializer, **fields))
        if d.code == "UnusableStorageUri" and d.severity == "error"
    ]
    (kind,) = initializer["initializer"]
    assert [(d.severity, d.path) for d in found] == [("error", f"spec.initializer.{kind}.storageUri")]
    assert words in found[0].message + found[0].hint


FINE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a dataset": (source("dataset", "hf://tatsu-lab/alpaca"), TUNE),
    "a dataset with a path, which is not read": (source("dataset", "hf://tatsu-lab/alpaca/tree/main"), TUNE),
    "a scheme in capitals": (source("dataset", "HF://tatsu-lab/alpaca"), TUNE),
    "a bucket": (source("dataset", "s3://acme/alpaca"), TUNE),
    "a model without an owner": (source("model", "hf://gpt2"), TUNE),
    "a model of the recipe": (source("model", "hf://meta-llama/Llama-3.2-1B-Instruct"), TUNE),
    "a cache": (source("dataset", "cache://sales/orders", CACHE), CACHED),
}


@pytest.mark.parametrize("case", FINE)
def test_a_source_that_works_is_left_alone(case: str) -> None:
    initializer, fields = FINE[case]
    found = findings(training(**initializer, **fields))
    assert [f for f in found if f[1] not in ("ArgumentsDropped", "ModelNotOfRecipe")] == []


def own_initializer(image: str, **fields: Any) -> dict[str, Any]:
    mount: dict[str, Any] = {"volumeMounts": [{"name": "initializer", "mountPath": "/workspace"}]}
    pod = {"volumes": [{"name": "initializer", "persistentVolumeClaim": {"claimName": "data"}}]}
    step = job(
        "dataset-initializer", "dataset-initializer", [container("dataset-initializer", **mount, **fields)], pod=pod
    )
    step["template"]["spec"]["template"]["spec"]["containers"][0]["image"] = image
    after = [{"name": "dataset-initializer", "status": "Complete"}]
    return runtime(step, job(containers=[container(**mount)], pod=pod, dependsOn=after), policy={"torch": {}})


UPSTREAM = "registry.acme.io/mirror/kubeflow/trainer/dataset-initializer:v2.3.0"
SECRET = {"secretRef": {"name": "cache"}}


@pytest.mark.parametrize(
    ("runtime", "found"),
    [
        (own_initializer("ghcr.io/acme/fetch:1"), 0),
        (own_initializer(UPSTREAM, command=["/fetch"]), 0),
        (own_initializer(UPSTREAM), 1),
    ],
    ids=["an image of one's own", "a command of one's own", "a mirror of Trainer's"],
)
def test_only_trainer_s_own_initializers_are_known(runtime: dict[str, Any], found: int) -> None:
    document = trainjob({}, **source("dataset", "gs://acme/data"))
    assert len(diagnostics_of("UnusableStorageUri", document, runtime)) == found


def test_what_a_secret_may_have_is_not_missing() -> None:
    cached = own_initializer(UPSTREAM, envFrom=[SECRET])
    assert diagnostics_of("UnusableStorageUri", trainjob({}, **source("dataset", "cache://a/b")), cached) == []


@pytest.mark.parametrize(
    ("uri", "keys", "found"),
    [
        ("hf://meta-llama/Llama-3.1-8B", ["token"], 1),
        ("hf://meta-llama/Llama-3.1-8B", ["HUGGINGFACE_TOKEN", "note"], 1),
        ("s3://acme/model", ["accessKey", "secretKey"], 1),
        ("hf://meta-llama/Llama-3.1-8B", ["ACCESS_TOKEN"], 0),
        ("hf://meta-llama/Llama-3.1-8B", ["token", "HF_TOKEN"], 0),
        ("s3://acme/model", ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY"], 0),
        ("hf://meta-llama/Llama-3.1-8B", [], 0),
    ],
)
def test_a_secret_of_which_an_initializer_reads_nothing_is_said(uri: str, keys: list[str], found: int) -> None:
    steps = {"model": {"storageUri": uri, "secretRef": {"name": "hf"}}, "dataset": {"storageUri": "hf://acme/x"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hf", "namespace": "team-a"}}
    documents = [training(initializer=steps, **OURS), {**secret, "stringData": dict.fromkeys(keys, "x")}, *RUNTIMES]
    said = compile_documents([Document.of(each) for each in documents], (), Options(release="2.3")).diagnostics
    assert len([d for d in said if "reads none of it" in d.message]) == found


@pytest.mark.parametrize(("release", "found"), [("2.0", 1), ("2.1", 0)])
def test_buckets_are_read_since_2_1(release: str, found: int) -> None:
    document = trainjob({}, **source("dataset", "s3://acme/data"))
    assert len(diagnostics_of("UnusableStorageUri", document, own_initializer(UPSTREAM), release=release)) == found


def test_a_download_on_a_runtime_with_a_cache_is_lost() -> None:
    document = training(**source("dataset", "hf://tatsu-lab/alpaca"), **CACHED)
    (found,) = [d for d in reported(document) if d.severity != "info"]
    assert (found.code, found.path) == ("InitializerVolumeNotShared", "spec.initializer.dataset.storageUri")
    assert "trainc runtimes show torch-distributed-with-initializers" in found.hint


@pytest.mark.parametrize("kind", ["dataset", "model"])
def test_the_runtime_of_the_hint_has_both_and_shares_them(kind: str) -> None:
    initializer = source(kind, "hf://acme/x")
    (error,) = [d for d in reported(training(["torchrun", "t.py"], **initializer)) if d.severity == "error"]
    assert "runtimeRef: {name: torch-distributed-with-initializers}" in error.hint
    both: dict[str, Any] = {"initializer": {step: {"storageUri": "hf://acme/x"} for step in ("dataset", "model")}}
    assert findings(training(["torchrun", "t.py"], **both, nodes=1, runtime=OURS["runtime"])) == []


@cases("name", "uri", "found")
@pytest.mark.parametrize("command", [None, ["tune", "run"]], ids=["the runtime's command", "Trainer's command"])
def test_a_model_of_another_recipe_is_a_warning(name: Any, uri: Any, found: Any, command: list[str] | None) -> None:
    document = training(command, **source("model", uri), nodes=1, gpus=2, runtime=name)
    warned = diagnostics_of("ModelNotOfRecipe", document, *RUNTIMES)
    assert [(d.severity, d.path) for d in warned] == [("warning", "spec.initializer.model.storageUri")] * found


def test_a_command_of_one_s_own_may_train_any_model() -> None:
    uri = "hf://meta-llama/Llama-3.2-3B"
    document = training(["torchrun", "t.py"], **source("model", uri), **TUNE)
    assert diagnostics_of("ModelNotOfRecipe", document, *RUNTIMES) == []
