"""What a job writes, reads and shares: outputs that are gone with the pod, data, shared memory, restarts, variables."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Json, diagnostics_of
from tables import cases
from trainings import RUNTIMES, findings, reported, training

from trainc import Options, compile_trainjob


def claim(path: str, **source: Any) -> Json:
    volume = {"name": "storage", **(source or {"persistentVolumeClaim": {"claimName": "data"}})}
    return {"pod": {"volumes": [volume]}, "mounts": [{"name": "storage", "mountPath": path}]}


def infos(code: str, command: list[str] | str | None, **fields: Any) -> list[Any]:
    found = diagnostics_of(code, training(command, **fields), *RUNTIMES)
    assert {d.severity for d in found} <= {"info"}
    return found


T = "torchrun t.py "


@cases("command", "fields", "words")
def test_an_output_that_is_gone_with_the_pod_is_an_info(
    command: list[str] | str, fields: dict[str, Any], words: str
) -> None:
    (found,) = infos("OutputNotKept", command, **fields)
    assert words in found.message


@cases("command", "fields")
def test_an_output_that_is_kept_or_not_known_gets_nothing(command: list[str] | str, fields: dict[str, Any]) -> None:
    assert infos("OutputNotKept", command, **fields) == []


READ_ONLY = {"persistentVolumeClaim": {"claimName": "a", "readOnly": True}}


@pytest.mark.parametrize(
    ("command", "volume", "found"),
    [
        (T + "--output_dir=/data/out", READ_ONLY, 1),
        (T + "--output_dir=/data/out", {"configMap": {"name": "a"}}, 1),
        (T + "--data-dir=/data", READ_ONLY, 0),
        (T + "--dataset_prepared_path=/data/a", {"configMap": {"name": "a"}}, 1),
        (T + "--dataset_prepared_path=/data/a", READ_ONLY, 0),
        (T + "--output_dir=/data/out", {"persistentVolumeClaim": {"claimName": "a"}}, 0),
        (T + "--log_dir=/data/logs", READ_ONLY, 0),
    ],
)
def test_a_program_cannot_write_to_a_volume_that_is_mounted_read_only(
    command: str, volume: dict[str, Any], found: int
) -> None:
    assert findings(training(command, **claim("/data", **volume))) == [("warning", "OutputNotKept")] * found


@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_the_patch_of_a_hint_works(release: str) -> None:
    import yaml

    options = Options(release=release)
    runtimes = [r for r in __import__("trainc").catalog(release) if r["metadata"]["name"] == "torch-distributed"]
    document = training(["torchrun", "t.py", "--output_dir=/ckpt/out"])
    (found,) = [d for d in compile_trainjob(document, runtimes, options).diagnostics if d.code == "OutputNotKept"]
    patch = found.hint.partition("CLAIM: ")[2]
    document["spec"] |= yaml.safe_load(patch.replace("claimName: CLAIM", "claimName: team-data"))
    result = compile_trainjob(document, runtimes, options)
    assert [d.code for d in result.diagnostics if d.code in ("OutputNotKept", "UnknownField")] == []
    assert "team-data" in result.to_yaml()


@cases("command", "fields", "found")
def test_data_of_a_shared_folder_that_is_not_mounted_is_an_info(command: str, fields: Json, found: int) -> None:
    assert len(infos("DataNotMounted", command, **fields)) == found


@pytest.mark.parametrize(
    ("path", "near"), [("/modles/a", "/models"), ("/model/a", ""), ("/models2/a", ""), ("/opt/a", "")]
)
def test_a_path_that_misspells_a_mount_is_a_warning(path: str, near: str) -> None:
    found = diagnostics_of("DataNotMounted", training(f"torchrun t.py --base={path}", **claim("/models")), *RUNTIMES)
    assert [(d.severity, near in d.message) for d in found] == [("warning", True)] * bool(near)


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("echo x > /models/a.yaml", 1),
        ("sed -i s/a/b/ /models/a.yaml", 1),
        ("cp /models/a.yaml /tmp/a.yaml", 0),
        ("mkdir -p /models", 0),
        ("[ -w /models ] && touch /models/a", 0),
    ],
)
def test_what_a_shell_writes_to_a_read_only_volume_is_a_warning(script: str, found: int) -> None:
    fields = claim("/models", **READ_ONLY)
    reports = diagnostics_of("OutputNotKept", training(f"{script}\ntorchrun t.py", **fields), *RUNTIMES)
    assert [d.severity for d in reports] == ["warning"] * found


@cases("command", "fields", "found")
def test_shared_memory_that_does_not_suit_is_an_info(command: str, fields: dict[str, Any], found: int) -> None:
    assert len(infos("UnsuitableSharedMemory", command, **fields)) == found


@pytest.mark.parametrize(
    ("command", "fields", "words"),
    [
        (["torchrun", "--max_restarts=3", "t.py"], {}, "up to 28 times (4 by the launcher, in 7 pods)"),
        (["torchrun", "--max_restarts=0", "t.py"], {}, ""),
        (["torchrun", "t.py"], {}, ""),
    ],
)
def test_restarts_that_multiply_are_an_info(command: list[str], fields: Json, words: str) -> None:
    found = infos("RestartsMultiply", command, **fields)
    assert [words in d.message for d in found] == ([True] if words else [])


def test_an_output_that_the_job_itself_puts_on_a_claim_that_is_deleted_is_a_warning() -> None:
    fields: Json = {"nodes": 1, "gpus": 2, "runtime": "torchtune-llama3.2-1b"}
    for command, severity in ((["torchrun", "t.py", "--output_dir=/workspace/out"], "warning"), (None, "info")):
        (found,) = [d for d in reported(training(command, **fields)) if d.code == "OutputDeletedWithJob"]
        assert found.severity == severity
        assert "trainc runtimes show torchtune-llama3.2-1b" in found.hint


UNREAD = {
    "NCCL_IB_DISABLE": ("true", 'write "1"'),
    "NCCL_P2P_DISABLE": ("no", 'write "0"'),
    "NCCL_DEBUG": ("infoo", "did you mean INFO?"),
    "TORCH_DISTRIBUTED_DEBUG": ("verbose", "write one of them"),
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": ("true", 'write "1"'),
    "PYTORCH_CUDA_ALLOC_CONF": ("max_split_size_mb=512", "NAME:VALUE"),
    "PYTORCH_ALLOC_CONF": ("expandable_segments:true", "True or False"),
    "OMP_NUM_THREADS": ("auto", "write a number"),
}
READ = {
    "NCCL_IB_DISABLE": "1",
    "NCCL_IB_TIMEOUT": " 22 ",
    "NCCL_IB_TC": "0x6a",
    "NCCL_DEBUG": "info",
    "NCCL_IB_HCA": "=mlx5_0:1",
    "NCCL_P2P_LEVEL": "NVL",
    "TORCH_DISTRIBUTED_DEBUG": "DETAIL",
    "TORCH_NCCL_BLOCKING_WAIT": "true",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,roundup_power2_divisions:[256:1,512:2,>:8]",
    "OMP_NUM_THREADS": "4,2",
    "NCCL_NTHREADS": "$(THREADS)",
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_value_that_is_not_read_is_a_warning(name: str) -> None:
    value, words = UNREAD[name]
    (found,) = [d for d in reported(training(["torchrun", "t.py"], env={name: value})) if d.severity != "info"]
    assert (found.code, found.path) == ("InvalidVariableValue", "spec.trainer.env[0]")
    assert words in found.hint + found.message


@pytest.mark.parametrize("name", READ)
def test_a_value_that_is_read_gets_nothing(name: str) -> None:
    found = [d for d in reported(training(["torchrun", "t.py"], env={name: READ[name]})) if d.severity != "info"]
    assert found == []


@pytest.mark.parametrize(
    ("threads", "limits", "found"),
    [("128", {"cpu": 16}, 1), ("16", {"cpu": 16}, 0), ("2", {"cpu": "1500m"}, 0), ("99", {}, 0)],
)
def test_more_threads_than_cpus_are_an_info(threads: str, limits: Json, found: int) -> None:
    env = {"OMP_NUM_THREADS": threads}
    assert len(infos("MoreThreadsThanCPUs", ["torchrun", "t.py"], env=env, gpus=0, limits=limits)) == found


@pytest.mark.parametrize("name", ["OMP_NUM_THREAD", "HF_HUB_OFLINE", "NCCL_DEUBG"])
def test_a_slip_in_a_name_is_a_warning(name: str) -> None:
    found = [d for d in reported(training(["torchrun", "t.py"], env={name: "1"})) if d.severity != "info"]
    assert [d.code for d in found] == ["MisspeltVariable"]
