"""Six mistakes in one file are six findings in the first report, and none of them is about a value that trainc made up."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Json
from tables import cases
from trainings import reported, training

TOKEN = {"name": "HF_TOKEN", "value": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"}


def changed(path: str, value: Any, **fields: Any) -> Json:
    """A job with another value at a dotted path."""
    document = training(**{"command": ["torchrun", "t.py"], **fields})
    *parents, last = path.split(".")
    inner: Any = document
    for step in parents:
        inner = inner.setdefault(step, {})
    inner[last] = value
    return document


def codes(document: Json) -> list[str]:
    return sorted(d.code for d in reported(document) if d.severity != "info")


def test_six_mistakes_are_six_findings() -> None:
    document = changed("spec.trainer.numNodes", "four", command=["torchrun", "--nproc-per-node=16", "t.py"])
    document["spec"]["trainer"] |= {
        "comand": ["x"],
        "image": "My/Img",
        "env": [TOKEN, {"name": "NCCL_SOCKET_IFNAME", "value": "lo"}],
    }
    assert codes(document) == sorted(
        ["WrongType", "UnknownField", "InvalidImage", "PlainToken", "LoopbackInterface", "MoreProcessesThanDevices"]
    )


def test_a_runtime_that_is_misspelt_is_one_finding_of_several() -> None:
    command = ["torchrun", "--nproc_per_node 4", "t.py", "--out=s3://<your-bucket>/x"]
    document = training(command, runtime="torch-distribued", env={"NCCL_IB_DISABLE": "true"})
    assert codes(document) == sorted(
        ["RuntimeNotFound", "InvalidLauncherArguments", "PlaceholderNotReplaced", "InvalidVariableValue"]
    )
    document["spec"]["runtimeRef"]["name"] = "our-own-runtime"
    assert codes(document) == ["InvalidLauncherArguments", "InvalidVariableValue", "RuntimeNotFound"]
    document["spec"]["trainer"]["numNodes"] = "two"
    assert {"RuntimeNotFound", "InvalidLauncherArguments", "WrongType"} <= set(codes(document))


@pytest.mark.parametrize("fields", [{"env": {"PET_NNODES": "4"}}, {"mounts": [{"name": "x", "mountPath": "/x"}]}])
def test_a_job_that_is_refused_shows_what_is_wrong_with_its_command(fields: Json) -> None:
    document = training(["torchrun", "--nnodes=8", "--nproc_per_node=16", "t.py"], **fields)
    for patch in document["spec"].get("runtimePatches", ()):
        patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]["name"] = "worker"
    refused = {"UnknownPatchTarget", "ReservedEnv"} & set(codes(document))
    assert set(codes(document)) == {*refused, "RanksDoNotMeet", "MoreProcessesThanDevices"}
    assert len(refused) == 1
    # The nodes of a runtime that nobody sees are its own.
    document = training(["torchrun", "--nnodes=8", "t.py"], runtime="our-own-runtime")
    assert codes(document) == ["RanksDoNotMeet", "RuntimeNotFound"]
    del document["spec"]["trainer"]["numNodes"]
    assert codes(document) == ["RuntimeNotFound"]


@cases("document", "expected")
def test_what_is_wrong_with_the_rest_is_in_the_first_report(document: Json, expected: list[str]) -> None:
    assert codes(document) == sorted(expected)


# What follows only from what was left out.
CONSEQUENCES: dict[str, Json] = {
    "nodes": changed("spec.trainer.numNodes", "many", command=["torchrun", "--nnodes=4", "t.py"]),
    "ranks": changed(
        "spec.trainer.numNodes", "many", command=["torchrun", "t.py", "--tensor-model-parallel-size=8"], gpus=4
    ),
    "devices": changed(
        "spec.trainer.resourcesPerNode", {"limits": {"nvidia.com/gpu": "x"}}, command="torchrun --nproc_per_node=8 t.py"
    ),
    "one node of torchtune": changed(
        "spec.trainer.numNodes", "one", command=["tune", "run"], gpus=2, runtime="torchtune-llama3.2-1b"
    ),
    "a command": changed("spec.trainer.command", {"a": "b"}),
    "a reference": changed("spec.runtimeRef", "torch-distributed"),
    "a namespace": changed("metadata.namespace", 4.5e300),
    "an integer that is too long to write": changed("spec.trainer.env", [{"name": "A", "value": 10**300}]),
    "a text that is too long for an integer": changed("spec.trainer.numNodes", "9" * 5000),
}


@pytest.mark.parametrize("case", CONSEQUENCES)
def test_what_only_follows_from_it_is_not_reported(case: str) -> None:
    found = [d for d in reported(CONSEQUENCES[case]) if d.severity != "info" and d.code != "ArgumentsDropped"]
    assert len(found) == 1, found


def test_a_refused_job_stays_refused() -> None:
    from trainc import CompileError, Options, catalog, compile_trainjob

    with pytest.raises(CompileError):
        compile_trainjob(changed("spec.trainer.numNodes", "4"), list(catalog("2.3")), Options(release="2.3"))
