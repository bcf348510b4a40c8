"""Degrees of parallelism and batch sizes against the ranks of a job: what exits, what is slow, and what is right."""

from __future__ import annotations

import json
from typing import Any

from builders import Json, diagnostics_of, job, runtime, trainjob
from tables import cases
from trainings import findings, reported, training

from trainc import CompileError, Diagnostic, Options, compile_paths
from trainc.ir.parallelism import frameworks, groups

MEGATRON = "torchrun pretrain_gpt.py --bf16 --num-layers 32 "


@cases("command", "fields", "code", "words")
def test_what_cannot_be_divided_is_an_error(
    command: list[str] | str, fields: dict[str, Any], code: str, words: str
) -> None:
    (found,) = [d for d in reported(training(command, **fields)) if d.severity == "error"]
    assert found.code == {"Mismatch": "ParallelismMismatch", "Batch": "BatchDoesNotDivide"}[code]
    assert words in found.message + found.hint


@cases("command", "fields")
def test_what_can_be_divided_or_is_not_all_visible_gets_nothing(
    command: list[str] | str, fields: dict[str, Any]
) -> None:
    assert findings(training(command, **fields)) == []


def test_a_command_under_a_condition_is_a_warning() -> None:
    command = f"if [ -f x ]; then {MEGATRON} --tensor-model-parallel-size 5; else torchrun t.py; fi"
    assert findings(training(command)) == [("warning", "ParallelismMismatch")]


ACROSS = "TensorParallelAcrossNodes"
DOMAIN = {"resourceClaims": [{"name": "channel", "resourceClaimTemplateName": "llm-compute-domain-channel"}]}


@cases("command", "fields", "found")
def test_a_tensor_parallel_group_stays_on_a_node(command: str, fields: dict[str, Any], found: int) -> None:
    assert findings(training(command, **fields)) == [("warning", ACROSS)] * found


def test_a_compute_domain_is_a_rack() -> None:
    command = ["torchrun", "pretrain_gpt.py", "--tensor-model-parallel-size=16"]
    document = trainjob({"numNodes": 4, "command": command, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}})
    for pod, found in ((DOMAIN, 0), ({}, 1)):
        assert len(diagnostics_of(ACROSS, document, runtime(job(pod=pod), policy={"torch": {}}))) == found


def written(folder: Any, document: Json, **files: str) -> list[Diagnostic]:
    """What is reported of a job with a ConfigMap of these files, mounted at /cfg."""
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "team-a"}}
    texts = [
        json.dumps({**settings, "data": {name.replace("__", "."): text for name, text in files.items()}}),
        json.dumps(document),
    ]
    (folder / "job.yaml").write_text("\n---\n".join(texts), encoding="utf-8")
    try:
        found = compile_paths([str(folder)], options=Options(release="2.3")).diagnostics
    except CompileError as error:
        found = error.diagnostics
    return [diagnostic for diagnostic in found if diagnostic.severity != "info"]


MOUNTED: Json = {
    "pod": {"volumes": [{"name": "settings", "configMap": {"name": "settings"}}]},
    "mounts": [{"name": "settings", "mountPath": "/cfg"}],
}


@cases("command", "files", "expected")
def test_settings_are_read_from_files_of_the_input(
    command: str, files: dict[str, str], expected: list[tuple[str, str]], tmp_path: Any
) -> None:
    found = written(tmp_path, training(command, **MOUNTED), **files)
    assert [(d.severity, d.code) for d in found] == [tuple(each) for each in expected]


def test_every_framework_says_how_its_ranks_are_numbered() -> None:
    for framework in frameworks():
        axes = {axis for each in framework.divides for axis in each} | set(framework.fills)
        assert framework.anchors <= framework.keys.keys()
        assert set(framework.keys.values()) >= axes
        assert not framework.order or set(framework.order) >= (axes & {"tp", "pp"})


def test_groups_of_neighbors_come_first() -> None:
    sizes, order = {"tp": 2, "dp": 2, "pp": 2}, ("tp", "dp", "pp")
    assert groups(sizes, order, "tp") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert groups(sizes, order, "dp") == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert groups(sizes, order, "pp") == [[0, 4], [1, 5], [2, 6], [3, 7]]
