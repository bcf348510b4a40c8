"""Shell variables that no shell will see."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of as of_code, job, runtime, trainjob
from tables import cases
from trainings import RUNTIMES, findings, training

from trainc import Diagnostic

CODE = "UnexpandedShellVariable"
TORCH: dict[str, Any] = {"torch": {}}
SHELL = ["bash", "-c"]


def diagnostics_of(code: str, document: dict[str, Any], *runtimes: dict[str, Any]) -> list[Diagnostic]:
    return of_code(code, document, *(runtimes or RUNTIMES))


@cases("command", "args", "hint")
def test_a_variable_that_stays_as_it_is_written_is_reported(command: list[str], args: list[str], hint: str) -> None:
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


JOB = {"numNodes": 4, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}


@cases("command", "severity", "words")
def test_a_variable_that_nothing_sets_is_reported(command: list[str] | str, severity: str, words: str) -> None:
    found = diagnostics_of("UnsetVariable", training(command))
    assert [d.severity for d in found] == [severity]
    assert words in found[0].message + found[0].hint


def test_a_variable_that_a_launcher_has_to_read_is_an_error_without_a_shell_too() -> None:
    for word in ("--nnodes=$SLURM_NNODES", "--node_rank=${PET_NODE_RANK}", "--nproc_per_node=$(nproc)"):
        assert findings(training(["torchrun", word, "t.py"])) == [("error", CODE)]


@cases("command", "fields")
def test_a_variable_that_may_be_set_is_left_alone(command: list[str] | str, fields: dict[str, Any]) -> None:
    assert findings(training(command, **fields)) == []


@pytest.mark.parametrize("command", ["torchrun --nnodes=$NNODES t.py", ["torchrun", "--nnodes=$(NNODES)", "t.py"]])
def test_a_container_that_takes_all_of_a_config_map_may_have_it(command: list[str] | str) -> None:
    words = [*SHELL, command] if isinstance(command, str) else command
    own = container(command=words, envFrom=[{"configMapRef": {"name": "settings"}}])
    assert diagnostics_of("UnsetVariable", trainjob(JOB), runtime(job(containers=[own]), policy=TORCH)) == []


PLACEHOLDERS = ["${trialParameters.lr}", "x-${trialSpec.Name}"]


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_value_of_a_sweep_is_an_error_in_a_job_by_itself(text: str) -> None:
    (found,) = diagnostics_of("PlaceholderNotReplaced", training(["torchrun", "t.py", f"--lr={text}"]))
    assert (found.severity, found.path) == ("error", "spec.trainer.command[2]")
    (found,) = diagnostics_of("PlaceholderNotReplaced", training(env={"LR": text}))
    assert (found.severity, found.path) == ("error", "spec.trainer.env[0]")


def test_references_of_other_tools_are_no_values_of_a_sweep() -> None:
    command = ["torchrun", "t.py", "--lr=${optimizer.lr}", "hydra.run.dir=${now:%Y}", "x=${trial.number}"]
    assert findings(training(command)) == []
