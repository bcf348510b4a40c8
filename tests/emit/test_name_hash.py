"""The name hash: what changes it, what does not, and that every derived name follows it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from builders import compiled, job, main, one, runtime, trainjob
from hypothesis import given, strategies as st

from trainc import CompileError
from trainc.emit.name_hash import name_hash

MPI = runtime(job("launcher"), job("node", None), policy={"mpi": {}}, gang={"coscheduling": {}})
HASHED = re.compile(r"llm-[bcdfghjklmnpqrstvwxz2456789]{6}")
PLAIN = re.compile(r"zqxjob(?!-[bcdfghjklmnpqrstvwxz2456789]{6}(?![a-z0-9]))[-a-z0-9]*")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def name(document: dict[str, Any], *runtimes: dict[str, Any], **options: Any) -> str:
    result = compiled(document, *(runtimes or (runtime(),)), name_hash=True, **options)
    text: str = one(result, "JobSet")["metadata"]["name"]
    return text


def with_env(value: str) -> dict[str, Any]:
    return trainjob({"env": [{"name": "LEARNING_RATE", "value": value}]})


def test_the_name_is_the_plain_one_and_six_characters() -> None:
    assert HASHED.fullmatch(name(trainjob()))
    assert name(trainjob()) == name(trainjob())


@given(st.text(), st.text())
def test_another_value_of_a_variable_is_another_job(one_value: str, other: str) -> None:
    assert (name(with_env(one_value)) == name(with_env(other))) is (one_value == other)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.sampled_from(["a", "b"]), max_size=3))
def test_labels_and_annotations_of_the_jobset_do_not_count(values: dict[str, str]) -> None:
    document = trainjob()
    document["metadata"] |= {"labels": values, "annotations": values}
    assert name(document) == name(trainjob())


def test_suspend_and_ttl_do_not_count() -> None:
    assert name(trainjob(suspend=True)) == name(trainjob())
    assert name(trainjob(), runtime(ttlSecondsAfterFinished=60)) == name(trainjob())


def test_labels_of_pods_count() -> None:
    labelled = job()
    labelled["template"]["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    assert name(trainjob(), runtime(labelled)) != name(trainjob())


def test_how_it_is_delivered_does_not_count() -> None:
    names = {name(trainjob(), delivery=delivery) for delivery in ("argocd", "flux", "kubectl")}
    assert names == {name(trainjob(), sync_options=("Prune=false",))}


def test_a_hook_does_not_count() -> None:
    def hashed(image: str) -> str:
        return name(trainjob(), MPI, secrets="presync-job", keygen_image=image)

    assert hashed("example.com/keygen:1") == hashed("example.com/keygen:2") == name(trainjob(), MPI)


def test_every_derived_name_follows_and_existing_secrets_do_not() -> None:
    document = trainjob({"numNodes": 2})
    hashed = name(document, MPI)
    text = json.dumps(compiled(document, MPI, name_hash=True).manifests)
    plain = json.dumps(compiled(document, MPI).manifests)
    # Put the plain name back, and nothing distinguishes the two: so nothing else was missed, or touched.
    assert text.replace(hashed, "llm") == plain
    assert text.count(hashed) == plain.count("llm") - text.count('"llm-mpi-ssh-auth"')
    assert '"llm-mpi-ssh-auth"' in text


def test_new_key_pairs_follow() -> None:
    result = compiled(trainjob(), MPI, name_hash=True, secrets="external-secrets")
    (secret,) = result.secrets
    assert HASHED.match(secret)
    assert one(result, "ExternalSecret")["spec"]["target"]["name"] == secret


def test_the_curve_certificate_keeps_its_name() -> None:
    result = compiled(trainjob({"numNodes": 2}), runtime(policy={"flux": {}}), name_hash=True)
    assert result.secrets == ["llm-flux-curve"]
    assert HASHED.match(one(result, "ConfigMap")["metadata"]["name"])


def test_addresses_follow() -> None:
    result = compiled(trainjob({}), runtime(policy={"torch": {}}), name_hash=True)
    jobset = one(result, "JobSet")["metadata"]["name"]
    variables = {v["name"]: v.get("value") for v in main(result)["env"]}
    assert variables["PET_MASTER_ADDR"] == f"{jobset}-node-0-0.{jobset}"


def test_files_keep_the_plain_name() -> None:
    assert [j.name for j in compiled(trainjob(), MPI, name_hash=True).jobs] == ["llm"]


@pytest.mark.conformance
@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_every_derived_name_of_recorded_jobs_follows(release: str, vectors: Path) -> None:
    lines = gzip.decompress((vectors / f"trainer-{release}.jsonl.gz").read_bytes()).splitlines()
    checked = 0
    for case in map(json.loads, lines[::3]):
        case["trainjob"]["metadata"]["name"] = "zqxjob"
        try:
            result = compiled(case["trainjob"], case["runtime"], release=release, name_hash=True)
        except CompileError:
            continue
        plain_names = {found[0] for found in PLAIN.finditer(json.dumps(result.manifests))}
        assert plain_names <= {f"zqxjob-{secret}" for secret in ("mpi-ssh-auth", "flux-curve")}
        checked += 1
    assert checked >= 10  # Many of them run what cannot meet.


@given(st.lists(st.fixed_dictionaries({"data": JSON}), max_size=3), st.randoms())
def test_the_order_of_objects_and_keys_does_not_count(contents: list[dict[str, Any]], random: Any) -> None:
    manifests = [{"kind": "ConfigMap", "metadata": {"name": f"c{i}"}, **body} for i, body in enumerate(contents)]
    shuffled = [dict(random.sample(sorted(m.items(), key=lambda e: e[0]), len(m))) for m in manifests]
    random.shuffle(shuffled)
    assert name_hash(shuffled) == name_hash(manifests)
