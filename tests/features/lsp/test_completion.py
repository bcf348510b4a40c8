"""Completion: fields and values of the schema, and the names of what there is, while the text is not right yet."""

from __future__ import annotations

from typing import Any

import pytest
from editor import JOB, PATCHED, RUNTIME, Editor

SETTINGS = 'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\n'


def offered(editor: Editor, name: str, text: str) -> dict[str, Any]:
    """What is offered at the bar in a text, by label."""
    before, _, after = text.partition("|")
    editor.open(name, before + after)
    line, character = before.count("\n"), len(before.rpartition("\n")[2])
    found = editor.request("textDocument/completion", editor.at(name, line, character))
    return {one["label"]: one for one in found}


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        (JOB.replace("numNodes: 4", "n|"), {"numNodes", "numProcPerNode", "image"}, {"command", "resourcesPerNode"}),
        (JOB.replace("numNodes: 4", "n|: ["), {"numNodes", "image"}, {"command"}),
        (JOB.replace("  trainer:", "  |\n  trainer:"), {"suspend", "initializer"}, {"runtimeRef", "trainer", "status"}),
        (JOB.replace("    name: pretrain", "    name: |"), {"pretrain", "torch-distributed"}, {"llm"}),
        (JOB.replace("    name: pretrain", "    {name: x, k|"), {"kind", "apiGroup"}, {"name"}),
        (JOB.replace("    name: pretrain", "    kind: |"), {"TrainingRuntime", "ClusterTrainingRuntime"}, {"TrainJob"}),
        (JOB.replace("queue-name: research", "queue-name: |"), {"research"}, {"llm", "None", ""}),
        (JOB.replace("numNodes: 4", "env:\n    - name: |"), {"NCCL_DEBUG", "HF_HOME", "OMP_NUM_THREADS"}, {"None"}),
        (JOB.replace("nvidia.com/gpu: 8", "|"), {"nvidia.com/gpu", "memory"}, {"numNodes"}),
        (JOB.replace("numNodes: 4", "env:\n    - name: a\n      |"), {"value", "valueFrom"}, {"name"}),
        (JOB.replace("spec:\n", "spec:\n  suspend: |\n"), {"true", "false"}, set()),
        ("|", {"apiVersion", "kind", "metadata", "spec"}, set()),
        ("kind: |", {"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"}, set()),
        ("apiVersion: |", {"trainer.kubeflow.org/v1alpha1"}, set()),
        (PATCHED.replace("- name: node\n            t", "- name: |\n            t"), {"node"}, {"data"}),
        (
            PATCHED.replace("- name: node\n                      v", "- name: |\n                      v"),
            {"node"},
            {"data"},
        ),
        (PATCHED.replace("{name: data,", "{name: |,"), {"data", "scratch"}, {"node"}),
        (
            RUNTIME.replace("mlPolicy: {numNodes: 2, torch: {}}", "mlPolicy: {numNodes: 2, |}"),
            {"torch", "mpi"},
            {"numNodes"},
        ),
        (RUNTIME.replace("    spec:\n", "    spec:\n      successPolicy: {operator: |}\n", 1), {"All", "Any"}, set()),
    ],
)
def test_what_fits_is_offered(text: str, some: set[str], none: set[str], editor: Editor) -> None:
    found = set(offered(editor, "jobs/new.yaml", text))
    assert (some - found, none & found) == (set(), set())


@pytest.mark.parametrize(
    ("name", "text", "some"),
    [
        ("trainc.yaml", SETTINGS + "|", {"rules", "cluster", "environments", "delivery"}),
        ("trainc.yaml", SETTINGS + "delivery: |", {"argocd", "flux", "kubectl"}),
        ("trainc.yaml", SETTINGS + "kubernetes: |", {"1.36", "1.37"}),
        ("trainc.yaml", SETTINGS + "rules:\n  UnknownField: |", {"error", "ignore"}),
        ("sweep.yaml", "apiVersion: trainc/v1alpha1\nkind: Sweep\n|", {"base", "parameters", "budget"}),
        ("trainc.yaml", SETTINGS + "environments:\n  prod:\n    |", {"overlay", "output"}),
        (
            "overlays/large/overlay.yaml",
            "apiVersion: trainc/v1alpha1\nkind: Overlay\n|",
            {"patches", "resources", "images"},
        ),
        (
            "overlays/large/overlay.yaml",
            "apiVersion: trainc/v1alpha1\nkind: Overlay\npatches:\n- target: {kind: TrainJob, name: |",
            {"llm", "patched"},
        ),
    ],
)
def test_settings_and_overlays_are_completed_too(name: str, text: str, some: set[str], editor: Editor) -> None:
    assert some - set(offered(editor, name, text)) == set()


def test_the_transcript_of_a_completion(editor: Editor) -> None:
    found = offered(editor, "jobs/new.yaml", JOB.replace("numNodes: 4", "numN|"))
    start, end = {"line": 10, "character": 4}, {"line": 10, "character": 8}
    assert found["numNodes"] == {
        "label": "numNodes",
        "kind": 5,
        "detail": "whole number",
        "documentation": "Number of training nodes (pods).",
        "sortText": found["numNodes"]["sortText"],
        "filterText": "numNodes",
        "textEdit": {"range": {"start": start, "end": end}, "newText": "numNodes: "},
    }
    assert found["env"]["textEdit"]["newText"] == "env:\n    - "


def test_nothing_is_offered_in_a_comment(editor: Editor) -> None:
    assert offered(editor, "jobs/new.yaml", JOB + "# |") == {}
