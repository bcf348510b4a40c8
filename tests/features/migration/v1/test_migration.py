"""Migration: the newest API, the same manifests, and every line that need not change as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import job, runtime, trainjob
from hypothesis import given, strategies as st

from trainc import Options
from trainc.emit.yaml_writer import dump_yaml
from trainc.features.migration.v1.migrate import MigratedFile, migrate_text
from trainc.functions import compile_documents
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy:
    torch:
      numProcPerNode: auto   # the default
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
            spec:
              template:
                spec:
                  containers:
                    - {name: node, image:   "example.com/train:1"}
"""
OVERRIDES = """\
# Our first job.
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
    name: llm
    namespace: team-a   # ours
spec:
    runtimeRef: {name: rt}
    labels:
        team: 'a'
    trainer:
        numNodes:   4
        numProcPerNode: auto
    podTemplateOverrides:
        - targetJobs: [{name: node}]
          metadata:
              annotations: {note: "yes"}
          # The fast nodes.
          spec:
              nodeSelector: {pool: fast}
"""


def migrated(text: str) -> MigratedFile:
    return migrate_text(text, "input.yaml", Limits())


def compiled(text: str) -> str:
    documents, problems = read_documents(text.encode(), "input.yaml", Limits())
    assert not problems
    return compile_documents(documents, (), Options(release="2.3")).to_yaml()


@pytest.mark.parametrize("text", [f"{OVERRIDES}---\n{RUNTIME}", f"---\n{RUNTIME}---\n{OVERRIDES}"])
def test_a_migrated_file_compiles_to_the_same_manifests_and_does_not_change_again(text: str) -> None:
    once = migrated(text)
    assert once.diagnostics == ()
    assert compiled(once.text) == compiled(text)
    assert migrated(once.text).text == once.text


def test_lines_that_need_not_change_are_as_they_were() -> None:
    new = migrated(OVERRIDES).text.splitlines()
    kept = ["# Our first job.", "    namespace: team-a   # ours", "    runtimeRef: {name: rt}", "        numNodes:   4"]
    assert [line for line in new if line in kept] == kept
    assert any("# The fast nodes." in line for line in new)
    assert any("team: 'a'" in line for line in new)


def test_old_fields_become_patches_in_their_order() -> None:
    (document,), _ = read_documents(migrated(OVERRIDES).text.encode(), "x", Limits())
    spec = document.data["spec"]
    assert not {"labels", "podTemplateOverrides"} & set(spec)
    assert [p["manager"] for p in spec["runtimePatches"]] == [
        "migrated.trainer.kubeflow.org/1",
        "migrated.trainer.kubeflow.org/2",
    ]
    assert "numProcPerNode" not in spec["trainer"]


def test_a_number_of_processes_that_was_quoted_becomes_a_number() -> None:
    text = OVERRIDES.replace("numProcPerNode: auto", 'numProcPerNode: "8"')
    (document,), _ = read_documents(migrated(text).text.encode(), "x", Limits())
    assert document.data["spec"]["trainer"]["numProcPerNode"] == 8


def test_a_patch_that_is_there_already_stays_last() -> None:
    text = OVERRIDES + "    runtimePatches:\n        - manager: migrated.trainer.kubeflow.org/1\n"
    (document,), _ = read_documents(migrated(text).text.encode(), "x", Limits())
    managers = [p["manager"].rpartition("/")[2] for p in document.data["spec"]["runtimePatches"]]
    assert managers == ["2", "3", "1"]


@pytest.mark.parametrize(
    ("policy", "path"),
    [
        ("{torch: {numProcPerNode: 4}}", "spec.mlPolicy.torch.numProcPerNode"),
        ("{torch: {elasticPolicy: {minNodes: 1, maxNodes: 2}}}", "spec.mlPolicy.torch.elasticPolicy"),
    ],
)
def test_what_cannot_be_expressed_stays_and_is_reported(policy: str, path: str) -> None:
    text = RUNTIME.replace("    torch:\n      numProcPerNode: auto   # the default\n", "").replace(
        "  mlPolicy:\n", f"  mlPolicy: {policy}\n"
    )
    result = migrated(text)
    assert [(d.code, d.path) for d in result.diagnostics] == [("CannotMigrate", path)]
    assert result.text == text


def test_a_dialect_that_trainer_would_refuse_is_left_alone() -> None:
    text = """\
apiVersion: ome.io/v1beta1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {mpi: {mpiImplementation: Intel}}
  template: {spec: {replicatedJobs: []}}
"""
    result = migrated(text)
    assert [d.code for d in result.diagnostics] == ["CannotMigrate"]
    assert result.text == text


def test_a_dialects_runtime_gets_the_names_that_the_controller_serves() -> None:
    text = """\
apiVersion: kubeflow.org/v2alpha1
kind: TrainingRuntime
metadata: {name: rt, namespace: team-a}
spec:
  template:
    spec:
      successPolicy: {operator: All, targetReplicatedJobs: [trainer-node]}
      replicatedJobs:
        - name: trainer-node
          template: {spec: {template: {spec: {containers: [{name: trainer, image: "example.com/x:1"}]}}}}
"""
    result = migrated(text)
    (document,), _ = read_documents(result.text.encode(), "x", Limits())
    spec = document.data["spec"]["template"]["spec"]
    assert document.data["apiVersion"] == "trainer.kubeflow.org/v1alpha1"
    assert spec["successPolicy"]["targetReplicatedJobs"] == ["node"]
    (replicated_job,) = spec["replicatedJobs"]
    assert replicated_job["name"] == "node"
    assert replicated_job["template"]["spec"]["template"]["spec"]["containers"][0]["name"] == "node"
    said = [d.message for d in result.diagnostics if d.code == "JobRenamed"]
    assert [message.split(",")[0] for message in said] == [
        "job 'trainer-node' becomes 'node'",
        "the container 'trainer' of job 'trainer-node' becomes 'node'",
    ]
    assert migrated(result.text).text == result.text


def test_items_of_a_list_and_other_documents_are_kept() -> None:
    items = "".join("- " + line if i == 0 else "  " + line for i, line in enumerate(RUNTIME.splitlines(keepends=True)))
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}---\nkind: Other   # untouched\nvalue:   1\n"
    result = migrated(text)
    assert "kind: Other   # untouched\nvalue:   1\n" in result.text
    assert "numProcPerNode" not in result.text


def test_a_file_with_an_error_is_left_alone() -> None:
    text = OVERRIDES + "  wrong: [indentation\n"
    result = migrated(text)
    assert result.text == text
    assert result.diagnostics


def test_auto_stays_where_the_runtime_counts_processes_itself() -> None:
    counting = RUNTIME.replace("numProcPerNode: auto   # the default", "numProcPerNode: 4")
    text = f"{OVERRIDES}---\n{counting}"
    result = migrated(text)
    assert "numProcPerNode: auto" in result.text
    assert [d.code for d in result.diagnostics] == ["CannotMigrate", "CannotMigrate"]
    assert compiled(result.text) == compiled(text)


def test_line_ends_are_those_of_the_file() -> None:
    result = migrated(OVERRIDES.replace("\n", "\r\n"))
    assert result.text == migrated(OVERRIDES).text.replace("\n", "\r\n")
    untouched = "kind: Other\r\n"
    assert migrated(untouched).text == untouched


def test_a_mapping_that_loses_its_last_field_keeps_its_comments() -> None:
    text = RUNTIME.replace("torch:\n", "torch: # One.\n      # Two.\n").replace(
        "  template:\n", "  # Three.\n  template:\n", 1
    )
    result = migrated(text)
    assert [result.text.count(comment) for comment in ("# One.", "# Two.", "# the default", "# Three.")] == [1] * 4
    assert compiled(f"{result.text}---\n{migrated(OVERRIDES).text}") == compiled(f"{text}---\n{OVERRIDES}")


def test_lines_of_other_indentations_stay_as_they_are() -> None:
    mixed = OVERRIDES.replace(
        "    namespace: team-a   # ours\n", "    namespace: team-a\n    annotations:\n      a: b\n"
    )
    result = migrated(mixed)
    assert "    annotations:\n      a: b\n" in result.text
    assert migrated(result.text).text == result.text


def test_what_is_moved_into_an_equal_mapping_does_not_hold_itself() -> None:
    """The new metadata equals the old spec, which stays where it is and changes."""
    text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  labels: {team: research}\n"
    migrated = migrate_text(text, "job.yaml", Limits()).text
    assert "&" not in migrated
    assert migrated.endswith("        metadata:\n          labels: {team: research}\n")


def test_a_string_that_yaml_1_1_reads_as_something_else_is_quoted_where_it_is_moved() -> None:
    text = """\
apiVersion: ome.io/v1beta1
kind: TrainingJob
metadata: {name: ft, namespace: team-a}
spec:
  runtimeRef: {name: rt}
  modelConfig: {inputModel: base}
  datasets: {storageUri: "s3://a/b", parameters: {A: "yes", B: "0400", C: plain}}
  trainer: {image: "example.com/x:1"}
---
apiVersion: ome.io/v1beta1
kind: ClusterBaseModel
metadata: {name: base}
spec: {storage: {storageUri: "hf://a/b"}}
"""
    (job, _), problems = read_documents(migrated(text).text.encode(), "x", Limits())
    assert not problems
    initializer = job.data["spec"]["initializer"]
    assert [v["value"] for v in initializer["dataset"]["env"]] == ["yes", "0400", "plain"]
    assert initializer["model"]["storageUri"] == "hf://a/b"


@pytest.mark.parametrize("case", ["v2alpha1-initializers", "ome-finetune", "v2alpha1-mpich", "torch-elastic"])
def test_a_case_whose_runtime_trainer_would_refuse_stays_what_it_was(case: str) -> None:
    text = (Path(__file__).parents[3] / "cases" / f"{case}.yaml").read_text(encoding="utf-8")
    result = migrated(text)
    assert {d.code for d in result.diagnostics} == {"CannotMigrate"}
    assert compiled(result.text) == compiled(text)
    assert migrated(result.text).text == result.text


_OVERRIDDEN = """\
apiVersion: kubeflow.org/v2alpha1
kind: TrainJob
metadata: {name: job, namespace: a}
spec:
  runtimeRef: {name: rt, kind: TrainingRuntime}
  podSpecOverrides:
    - targetJobs: [{name: trainer-node}]
      nodeSelector: {zone: z1}  # near the data
      volumes: [{name: scratch, emptyDir: {}}]
      containers:
        - name: trainer
          volumeMounts: [{name: scratch, mountPath: /scratch}]
        - name: sidecar
          env: [{name: B, value: "2"}]
---
apiVersion: kubeflow.org/v2alpha1
kind: TrainingRuntime
metadata: {name: rt, namespace: a}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: trainer-node
          template:
            spec:
              template:
                spec:
                  containers:
                    - {name: trainer, image: "example.com/x:1"}
                    - {name: sidecar, image: "example.com/y:1"}
"""


@pytest.mark.parametrize("text", [_OVERRIDDEN, "---\n".join(reversed(_OVERRIDDEN.split("---\n")))])
def test_overrides_follow_the_jobs_and_containers_that_the_migration_renames(text: str) -> None:
    result = migrated(text)
    documents, problems = read_documents(result.text.encode(), "x", Limits())
    assert not problems
    (patch,) = next(d.data for d in documents if d.data["kind"] == "TrainJob")["spec"]["runtimePatches"]
    (target,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert target["name"] == "node"
    assert [c["name"] for c in target["template"]["spec"]["template"]["spec"]["containers"]] == ["node", "sidecar"]
    for written in ("zone: z1", "mountPath: /scratch", 'value: "2"'):
        assert written in compiled(result.text)
    assert migrated(result.text).text == result.text


_LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "yes", "0x1F"]), max_size=3)


@given(_LABELS, _LABELS, st.booleans())
def test_any_mixture_of_old_fields_compiles_to_the_same_manifests(
    labels: dict[str, str], selector: dict[str, str], pod_spec: bool
) -> None:
    override: dict[str, Any] = {"targetJobs": [{"name": "node"}]}
    override |= {"nodeSelector": selector} if pod_spec else {"spec": {"nodeSelector": selector}}
    spec: dict[str, Any] = {"labels": labels, ("podSpecOverrides" if pod_spec else "podTemplateOverrides"): [override]}
    document = trainjob({"numNodes": 2}, **spec)
    text = dump_yaml([document, runtime(job(), policy={"torch": {}})])
    result = migrated(text)
    assert json.dumps(list(result.diagnostics)) == "[]"
    assert compiled(result.text) == compiled(text)
    assert migrated(result.text).text == result.text


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("runtimePatches: []", "write `apiVersion: trainer.kubeflow.org/v1alpha1`, which has it"),
        ("trainr: {}", "did you mean trainer?"),
        ("extra: {}", "remove it"),
    ],
)
@pytest.mark.parametrize("group", ["kubeflow.org", "trainer.kubeflow.org"])
def test_a_field_of_todays_api_under_an_older_version_is_about_the_version(group: str, field: str, hint: str) -> None:
    text = f"apiVersion: {group}/v2alpha1\nkind: TrainJob\nmetadata: {{name: a}}\nspec:\n  runtimeRef: {{name: r}}\n  {field}\n"
    (found,) = (d for d in migrated(text).diagnostics if d.code == "UnknownField")
    assert found.hint == hint
