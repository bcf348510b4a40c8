"""torchtune: which recipe and configuration it is told, and what is refused because it could not do it."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, env, job, main, pods, refused, runtime, trainjob
from tables import cases


def gpu_job(devices: int, **fields: Any) -> dict[str, Any]:
    return job(containers=[container(resources={"limits": {"nvidia.com/gpu": devices}}, **fields)])


def tune(
    release_runtime: str, trainer: dict[str, Any], *, release: str = "2.3", devices: int = 1, **policy: Any
) -> Any:
    """A torchtune job on a runtime of that name."""
    jobs = gpu_job(devices, command=["tune", "run", "tokenizer.path=/w/t", "output_dir=/w/o", "dropped=1"])
    body = {"command": ["tune", "run"], **trainer}
    document = trainjob(body, runtime=release_runtime)
    return document, runtime(jobs, policy={"numNodes": 1, "torch": policy}, name=release_runtime), release


def words(case: Any) -> list[str]:
    document, rt, release = case
    found: list[str] = main(compiled(document, rt, release=release))["command"]
    return found


@cases("case", "trainer", "devices", "command")
def test_torchtune_is_told_the_recipe_for_its_size(
    case: str, trainer: dict[str, Any], devices: int, command: list[str]
) -> None:
    endpoint = "--rdzv_endpoint=llm-node-0-0.llm:29500"
    expected = [endpoint if word == "RDZV" else word for word in command]
    found = words(tune("torchtune-llama3.2-1b", trainer, devices=devices))
    assert found == ["tune", "run", *expected, "tokenizer.path=/w/t", "output_dir=/w/o"], case


def test_qlora_has_a_configuration_of_its_own() -> None:
    trainer = {"args": ["model.lora_attn_modules=[q]", "model.quantize_base= True "]}
    found = words(tune("torchtune-llama3.2-3b", trainer))
    assert found[2:5] == ["lora_finetune_single_device", "--config", "llama3_2/3B_qlora_single_device"]


def test_the_largest_model_trains_on_several_nodes() -> None:
    found = words(tune("torchtune-llama3.3-70b", {"numNodes": 2}, devices=8))
    assert found[2:6] == [
        "--rdzv_endpoint=llm-node-0-0.llm:29500",
        "full_finetune_distributed",
        "--config",
        "llama3_3/70B_full_multinode",
    ]
    result = compiled(*tune("torchtune-llama3.3-70b", {"numNodes": 2}, devices=8)[:2])
    assert pods(result) == 2
    assert "PET_MASTER_ADDR" not in env(result)
    assert env(result)["PET_NNODES"] == "2"


@cases("case", "name", "trainer", "devices", "code", "paths", "part")
def test_what_torchtune_cannot_do_is_refused(
    case: str, name: str, trainer: dict[str, Any], devices: int, code: str, paths: list[str], part: str
) -> None:
    document, rt, release = tune(name, trainer, devices=devices)
    errors = refused(document, rt, release=release)
    assert [(e.code, e.path) for e in errors] == [(code, path) for path in paths], case
    assert all(part in e.message for e in errors), case


@pytest.mark.parametrize(
    ("release", "requested", "recipe"),
    [
        ("2.0", "model.quantize_base=True", "full_finetune_single_device"),
        ("2.1", "model.quantize_base=True", "lora_finetune_single_device"),
        ("2.2", "model.quantize_base=False", "lora_finetune_single_device"),
        ("2.3", "model.quantize_base=False", "full_finetune_single_device"),
    ],
)
def test_each_release_reads_the_arguments_in_its_way(release: str, requested: str, recipe: str) -> None:
    size = "70b" if release == "2.0" else "1.5b"
    name = "torchtune-llama3.3-70b" if size == "70b" else "torchtune-llama3.2-1b"
    trainer = {"args": [requested], "numNodes": 1, "numProcPerNode": 1}
    assert recipe in words(tune(name, trainer, release=release))
