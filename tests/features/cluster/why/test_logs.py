"""The first line of a log with a known cause is found, with what to do and the settings that it is about."""

from __future__ import annotations

import re

import pytest

from trainc.features.cluster.why.command import cause_in_log, causes_in_logs

LINES = {
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB": "resourcesPerNode",
    "[rank3]: [E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)": "ddp_timeout",
    "train.py: error: unrecognized arguments: --nproc_per_node=8": "command",
    "ModuleNotFoundError: No module named 'flash_attn'": "image",
    "huggingface_hub.errors.GatedRepoError: 401 Client Error.": "HF_TOKEN",
    "RuntimeError: DataLoader worker (pid 123) is killed by signal: Bus error.": "volumes",
    "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError": "rdzv_endpoint",
    "There are not enough slots available in the system to satisfy the 40": "np",
    "exitcode  : -9 (pid: 12)": "resourcesPerNode",
    "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu": "deepspeed",
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_has_its_cause(line: str) -> None:
    found = cause_in_log(
        f"epoch 1\nloss 0.3\n{line}\nTraceback (most recent call last):\nCUDA error: invalid device ordinal"
    )
    assert found is not None
    assert (found[0], found[2]["settings"][0]) == (3, LINES[line])


def test_a_log_without_a_known_cause_has_none() -> None:
    assert cause_in_log("epoch 1\nstep 10 loss 0.3 no errors, 0 failed\nsaved\n") is None


def test_lines_that_are_shorter_than_any_cause_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cause_in_log("x\nOOMKilled\n") is not None
    monkeypatch.setattr("trainc.features.cluster.why.command.causes_in_logs", lambda: [{"pattern": ""}])
    assert cause_in_log("\nepoch 1\n" * 3) is None


@pytest.mark.parametrize("row", causes_in_logs(), ids=lambda row: row["pattern"][:40])
def test_each_row_is_complete(row: dict[str, object]) -> None:
    assert set(row) == {"pattern", "cause", "hint", "settings", "source"}
    assert all(row.values())
    assert re.compile(str(row["pattern"])).search("") is None
