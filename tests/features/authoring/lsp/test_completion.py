"""Completion: fields and values of the schema, and the names of what there is, while the text is not right yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from editor import JOB, PATCHED, RUNTIME, Editor, editing, written

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
        (
            JOB.replace("numNodes: 4", "env:\n    - name: |"),
            {"NCCL_DEBUG", "HF_HOME", "OMP_NUM_THREADS", "PET_RDZV_CONF"},
            {"None", "PET_NNODES"},
        ),
        (JOB.replace("numNodes: 4", "env:\n    - name: NCCL_DEBUG\n      value: |"), {"INFO", "WARN"}, {"0"}),
        (JOB.replace("numNodes: 4", "env: [{name: A}, {name: HF_HUB_OFFLINE, value: |"), {"0", "1"}, {"INFO"}),
        (JOB.replace("numNodes: 4", "env: [{name: EPOCHS, value: |"), set(), {"0", "INFO"}),
        (JOB.replace("nvidia.com/gpu: 8", "|"), {"nvidia.com/gpu", "memory"}, {"numNodes"}),
        (JOB.replace("numNodes: 4", "env:\n    - name: a\n      |"), {"value", "valueFrom"}, {"name"}),
        (JOB.replace("spec:\n", "spec:\n  suspend: |\n"), {"true", "false"}, set()),
        *(
            (JOB.replace("numNodes: 4", f"{{{field}: [{{name: |"), set(), {"llm"})
            for field in ("volumeMounts", "volumeDevices", "containers", "initContainers", "targetJobs")
        ),
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


CLUSTER = """\
apiVersion: trainc/v1alpha1
kind: Cluster
priorityClasses: [high]
storageClasses: [fast]
namespaces:
  team-a: {claims: [corpus, scratch], secrets: {tokens: [hf, wandb]}, queues: [research], serviceAccounts: [trainer]}
  team-b: {claims: [theirs], queues: [other]}
nodes:
- {name: h100, allocatable: {example.com/accelerator: 8}, labels: {pool: h100}}
- {name: spot, labels: {pool: spot}}
"""
# Where something in a cluster is named, and what is offered there.
IN_A_CLUSTER = {
    "a claim": (
        "volumes: [{name: v, persistentVolumeClaim: {claimName: |",
        {"corpus", "scratch"},
        {"theirs", "tokens"},
    ),
    "a claim in block style": (
        "volumes:\n        - name: v\n          persistentVolumeClaim:\n            claimName: |",
        {"corpus", "scratch"},
        {"theirs"},
    ),
    "a Secret": ("volumes: [{name: v, secret: {secretName: |", {"tokens"}, {"corpus"}),
    "a key of a Secret": (
        "containers: [{name: node, env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: tokens, key: |",
        {"hf", "wandb"},
        {"tokens"},
    ),
    "a service account": ("serviceAccountName: |", {"trainer"}, {"corpus"}),
    "a priority class": ("priorityClassName: |", {"high"}, {"fast"}),
    "a label of nodes": ("nodeSelector: {p|", {"pool"}, {"kind"}),
    "a value of a label of nodes": ("nodeSelector: {pool: |", {"h100", "spot"}, {"pool"}),
}


@pytest.fixture(scope="module")
def beside_a_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    root = written(tmp_path_factory.mktemp("cluster").resolve())
    (root / "cluster").mkdir()
    (root / "cluster" / "cluster.yaml").write_text(CLUSTER)
    (root / "trainc.yaml").write_text(SETTINGS + "cluster: cluster\n")
    with editing(root) as session:
        yield session


@pytest.mark.parametrize("case", IN_A_CLUSTER)
def test_what_the_cluster_has_is_offered(case: str, beside_a_cluster: Editor) -> None:
    pod, some, none = IN_A_CLUSTER[case]
    text = JOB + "  podTemplateOverrides:\n  - targetJobs: [{name: node}]\n    spec:\n      "
    found = set(offered(beside_a_cluster, "jobs/new.yaml", text + pod))
    assert (some - found, none & found) == (set(), set())


def test_the_queues_are_those_of_the_namespace_and_devices_those_of_the_nodes(beside_a_cluster: Editor) -> None:
    queues = offered(beside_a_cluster, "jobs/new.yaml", JOB.replace("queue-name: research", "queue-name: |"))
    assert set(queues) == {"research"}
    resources = offered(beside_a_cluster, "jobs/new.yaml", JOB.replace("nvidia.com/gpu: 8", "|"))
    assert {"example.com/accelerator", "nvidia.com/gpu"} <= set(resources)
    assert "pods" not in resources


def test_a_value_that_yaml_would_read_as_a_number_is_quoted(editor: Editor) -> None:
    found = offered(editor, "jobs/new.yaml", JOB.replace("numNodes: 4", "env: [{name: HF_HUB_OFFLINE, value: |"))
    assert found["1"]["textEdit"]["newText"] == '"1"'


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
