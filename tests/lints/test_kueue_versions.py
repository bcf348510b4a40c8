"""Topology requests and annotations that Kueue treats differently from version to version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob
from tables import cases

PREFIX = "kueue.x-k8s.io/"
RACK = "cloud.provider.com/topology-rack"
REQUIRED = {f"{PREFIX}podset-required-topology": RACK}
GROUPED = {**REQUIRED, f"{PREFIX}podset-group-name": "g"}


def sliced(size: int) -> dict[str, str]:
    return {
        f"{PREFIX}podset-slice-required-topology": "kubernetes.io/hostname",
        f"{PREFIX}podset-slice-size": str(size),
    }


def layers(*sizes: int) -> dict[str, str]:
    levels = [{"topology": f"level-{i}", "size": size} for i, size in enumerate(sizes)]
    return {**REQUIRED, f"{PREFIX}podset-slice-required-topology-constraints": json.dumps(levels)}


def spreading(share: Any = "0.5", **fields: Any) -> dict[str, str]:
    rules = [{"topologyKey": RACK, "maxShareAllowingPlacement": share}]
    return {**REQUIRED, f"{PREFIX}podset-topology-spreading": json.dumps({"rules": rules, **fields})}


def found(annotations: dict[str, str], kueue: str | None, code: str = "InvalidTopologyRequest") -> list[str]:
    """The severities of what is found about four pods with these annotations, in a group if they name one."""
    document = trainjob({"numNodes": 4, "command": ["torchrun", "train.py"]})
    document["metadata"]["labels"] = {f"{PREFIX}queue-name": "gpus"}
    node = job()
    node["template"]["spec"]["template"]["metadata"] = {"annotations": annotations}
    jobs = [node]
    if f"{PREFIX}podset-group-name" in annotations:
        launcher = job("launcher", step=None, containers=[container("launcher", command=["wait"])])
        launcher["template"]["spec"]["template"]["metadata"] = {"annotations": GROUPED}
        jobs.append(launcher)
    return [one.severity for one in diagnostics_of(code, document, runtime(*jobs, policy={"torch": {}}), kueue=kueue)]


@pytest.mark.parametrize(
    ("annotations", "by_version"),
    [
        ({**GROUPED, **sliced(2)}, {None: ["warning"], "0.19": ["error"], "0.19.6": ["error"], "0.20": []}),
        (GROUPED, {None: [], "0.19": [], "0.20": []}),
        (
            {**REQUIRED, **sliced(3)},
            {None: ["warning"], "0.19": ["error"], "0.19.5": ["error"], "0.19.6": [], "0.20": []},
        ),
        ({**REQUIRED, **sliced(2)}, {None: [], "0.19": [], "0.20": []}),
        (layers(3, 1), {None: ["warning"], "0.19": [], "0.19.6": ["error"], "0.20": ["error"]}),
        (layers(4, 2), {None: [], "0.19": [], "0.20": []}),
        (layers(3), {None: ["warning"], "0.19": ["error"], "0.20": []}),
        (
            {f"{PREFIX}podset-unconstrained-topology": "false"},
            {None: ["warning"], "0.19": [], "0.19.6": ["error"], "0.20": ["error"]},
        ),
        ({f"{PREFIX}podset-unconstrained-topology": "true"}, {None: [], "0.20": []}),
    ],
    ids=[
        "a group with slices",
        "a group",
        "a last smaller slice",
        "whole slices",
        "several levels and a last smaller slice",
        "several levels and whole slices",
        "one level in a list and a last smaller slice",
        "false",
        "true",
    ],
)
def test_requests_are_judged_by_the_version_and_warned_of_without_one(
    annotations: dict[str, str], by_version: dict[str | None, list[str]]
) -> None:
    assert {version: found(annotations, version) for version in by_version} == by_version


@cases("annotations", "expected")
def test_rules_for_spreading_are_read(annotations: dict[str, str], expected: list[str]) -> None:
    assert found(annotations, "0.20") == expected
    assert found(annotations, "0.20", "MisspeltKueueName") == []


@pytest.mark.parametrize("name", ["podset-topology-spreading", "pod-group-max-not-ready-count"])
def test_annotations_of_0_20_are_unknown_only_to_an_older_version(name: str) -> None:
    annotations = {**spreading(), f"{PREFIX}{name}": "1"} if "spreading" not in name else spreading()
    severities = {version: found(annotations, version, "MisspeltKueueName") for version in (None, "0.19.6", "0.20")}
    assert severities[None] == severities["0.20"] == []
    assert set(severities["0.19.6"]) == {"warning"}


def test_the_job_itself_may_wait_for_its_pods() -> None:
    document = trainjob({"command": ["torchrun", "train.py"]})
    document["metadata"]["annotations"] = {f"{PREFIX}wait-for-pods-ready": '{"timeoutSeconds": 60}'}
    rt = runtime(policy={"torch": {}})
    assert diagnostics_of("MisspeltKueueName", document, rt) == []
    (old,) = diagnostics_of("MisspeltKueueName", document, rt, kueue="0.19")
    assert (old.severity, old.path) == ("warning", f'metadata.annotations["{PREFIX}wait-for-pods-ready"]')


def test_rules_for_spreading_belong_into_the_pod_template() -> None:
    document = trainjob({"command": ["torchrun", "train.py"]})
    document["metadata"]["annotations"] = spreading()
    codes = diagnostics_of("MisplacedTopologyRequest", document, runtime(policy={"torch": {}}))
    assert {one.path.partition("podset-")[2].rstrip('"]') for one in codes} == {
        "required-topology",
        "topology-spreading",
    }
