"""Shell variables that no shell will see."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob

CODE = "UnexpandedShellVariable"
TORCH: dict[str, Any] = {"torch": {}}

LITERAL: dict[str, tuple[list[str], list[str], str]] = {
    "a bare variable": (["train", "--rank=$RANK"], [], "write $(RANK) and set RANK in env, or run the command through"),
    "a variable in braces": (["train", "${DATA_DIR}/x"], [], "$(DATA_DIR)"),
    "a variable in args": (["train"], ["$HOME/x"], "$(HOME)"),
    "what the runtime injects under another name": (["torchrun", "--rdzv_endpoint=$MASTER_ADDR:1"], [], "PET_MASTER_ADDR"),
    "a number of nodes": (["torchrun", "--nnodes=${NUM_NODES}"], [], "$(PET_NNODES) for NUM_NODES, or remove the flag"),
    "a shell that runs a file": (["bash", "run.sh", "$RANK"], [], "$(RANK)"),
    "a shell that runs a file with flags of its own": (["bash", "run.sh", "-c", "$RANK"], [], "$(RANK)"),
    "a shell with a long flag that has a c": (["bash", "--norc", "$RANK"], [], "$(RANK)"),
    "a program called like a shell": (["/opt/bash-tools/run", "-c", "$RANK"], [], "$(RANK)"),
}  # fmt: skip


@pytest.mark.parametrize("case", LITERAL)
def test_a_variable_that_stays_as_it_is_written_is_reported(case: str) -> None:
    command, args, hint = LITERAL[case]
    (found,) = diagnostics_of(CODE, trainjob({"command": command, "args": args}), runtime(policy=TORCH))
    assert (found.severity, found.object) == ("warning", "TrainJob team-a/llm")
    assert hint in found.hint
    field, words = ("args", args) if args else ("command", command)
    assert found.path == f"spec.trainer.{field}[{len(words) - 1}]"


EXPANDED: dict[str, list[str]] = {
    "Kubernetes' own form": ["train", "--rank=$(RANK)"],
    "an escaped dollar": ["train", "--price=\\$PRICE", "$$PRICE"],
    "a shell": ["bash", "-c", "train --rank=$RANK"],
    "a shell with several flags": ["/bin/sh", "-euxc", "train --rank=$RANK"],
    "a shell with flags apart": ["bash", "-o", "pipefail", "-ec", "train --rank=$RANK"],
    "a shell with a flag's value between": ["bash", "-euo", "pipefail", "-c", "train --rank=$RANK"],
    "a shell whose flags are in another order": ["bash", "-ce", "train --rank=$RANK"],
    "a shell with a flag after its -c": ["bash", "-c", "-e", "train --rank=$RANK"],
    "a shell with a long flag": ["bash", "--norc", "-c", "train --rank=$RANK"],
    "a shell with a long flag that has a value": ["bash", "--rcfile", "x", "-c", "train --rank=$RANK"],
    "a shell behind another program": ["tini", "--", "bash", "-c", "train --rank=$RANK"],
    "a reference of a configuration tool": ["train", "lr=${optimizer.lr}", "path=${oc.env:HOME}"],
    "JSON": ["train", '{"$ref": "#/a"}'],
    "money": ["train", "--budget=$5"],
}


@pytest.mark.parametrize("case", EXPANDED)
def test_what_is_not_a_lost_variable_is_left_alone(case: str) -> None:
    assert diagnostics_of(CODE, trainjob({"command": EXPANDED[case]}), runtime(policy=TORCH)) == []


def test_a_variable_of_the_container_is_fixed_by_kubernetes_form_alone() -> None:
    document: dict[str, Any] = runtime(
        job(containers=[container(command=["$RANK"], env=[{"name": "RANK", "value": "1"}])])
    )
    (found,) = diagnostics_of(CODE, trainjob({}), document)
    assert found.hint == "write $(RANK), which Kubernetes expands"
    assert found.object == "ClusterTrainingRuntime rt"
    assert found.path.endswith("containers[0].command[0]")


def test_every_word_is_reported_once_with_all_its_variables() -> None:
    found = diagnostics_of(CODE, trainjob({"command": ["train", "$A-$B-$A", "$C"]}), runtime())
    assert [d.path for d in found] == ["spec.trainer.command[1]", "spec.trainer.command[2]"]
    assert [name in found[0].hint for name in ("$(A)", "$(B)", "$(C)")] == [True, True, False]
