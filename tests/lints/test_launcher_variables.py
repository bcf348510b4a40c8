"""Launchers under a runtime without their policy: variables of the container stand for their options."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, runtime, trainjob
from v1_jobs import v1

from trainc import Options, compile_trainjob, migrate

MEETING = {"PET_RDZV_ENDPOINT": "llm-node-0-0.llm:23456", "PET_RDZV_BACKEND": "c10d"}
INDEX = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
ADDRESS = {"PET_MASTER_ADDR": "llm-node-0-0.llm", "PET_MASTER_PORT": "23456"}


def is_foreign(command: list[str], variables: dict[str, str]) -> bool:
    env: list[dict[str, Any]] = [
        {"name": name, "valueFrom": INDEX} if value == "INDEX" else {"name": name, "value": value}
        for name, value in variables.items()
    ]
    document = trainjob({"numNodes": 4, "command": command, "env": env})
    return "ForeignLauncher" in {d.code for d in compiled(document, runtime()).diagnostics}


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        (["torchrun", "t.py"], {**MEETING, "PET_NNODES": "1:4"}),
        (["python", "-m", "torch.distributed.run", "t.py"], {**MEETING, "PET_NNODES": "4"}),
        (["torchrun", "--nnodes=4", "t.py"], MEETING),
        (["torchrun", "t.py"], {**ADDRESS, "PET_NNODES": "4", "PET_NODE_RANK": "INDEX"}),
        (["torchrun", "--node_rank=$(RANK)", "t.py"], {**ADDRESS, "PET_NNODES": "4", "RANK": "INDEX"}),
        (["torchrun", "--nnodes=4", "--rdzv_endpoint=etcd:2379", "--rdzv_backend=etcd", "t.py"], {}),
    ],
)
def test_variables_that_the_launcher_reads_are_options_that_it_has(command: list[str], variables: Any) -> None:
    assert not is_foreign(command, variables)


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        (["torchrun", "t.py"], {}),
        (["torchrun", "t.py"], MEETING),
        (["torchrun", "t.py"], {"PET_NNODES": "4"}),
        (["torchrun", "t.py"], {**ADDRESS, "PET_NNODES": "4"}),
        (["torchrun", "t.py"], {"RDZV_ENDPOINT": "a:1", "NNODES": "4"}),
    ],
)
def test_too_few_variables_leave_each_pod_alone(command: list[str], variables: Any) -> None:
    assert is_foreign(command, variables)


def test_a_migrated_elastic_job_has_what_torchrun_reads() -> None:
    job = v1(Worker={"replicas": 3, "command": ["torchrun", "t.py"]})
    job["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 3, "rdzvBackend": "c10d"}
    moved = migrate([job])
    trainjob, built_for = moved.documents
    result = compile_trainjob(trainjob, [built_for], Options(release="2.3"))
    assert [d.code for d in result.diagnostics if d.severity != "info"] == []
