"""Who is named for a field: one test for each kind of origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import container, job, runtime, trainjob
from explained import explain_documents, explained

from trainc import Options
from trainc.explain.model import Origin
from trainc.kube.documents import format_field
from trainc.kube.names import ANCESTOR_LABEL
from trainc.options import Limits
from trainc.pipeline.inputs import read_inputs
from trainc.project.overlays.stack import load_overlays
from trainc.reading.yaml_reader import read_documents

MPI = (job("launcher"), job("node", None))


def origin_row(origin: Origin) -> tuple[str, str, str, list[str]]:
    return origin.kind, origin.by, origin.at, [format_field(given.path) for given in origin.inputs]


def test_a_plugin_is_named_with_what_it_read() -> None:
    subject = explained(trainjob({"numNodes": 4}), runtime(policy={"torch": {}, "numNodes": 1}))
    assert origin_row(subject.origin("env[PET_NNODES].value")) == (
        "plugin",
        "Torch",
        "EnforceMLPolicy",
        ["spec.trainer.numNodes"],
    )
    pods = subject.field("template.spec.parallelism")
    assert [origin.value for origin in pods.origins] == [4, 1]
    assert origin_row(pods.origins[1])[0::3] == ("runtime", ["spec.mlPolicy.numNodes"])


def test_who_writes_the_same_value_again_is_who_decides() -> None:
    subject = explained(trainjob({"numNodes": 2}), runtime(policy={"torch": {}, "numNodes": 2}))
    pods = subject.field("template.spec.parallelism")
    assert [origin_row(origin)[3] for origin in pods.origins] == [["spec.trainer.numNodes"], ["spec.mlPolicy.numNodes"]]


def test_a_setting_of_the_trainjob_stands_over_the_runtimes() -> None:
    subject = explained(trainjob({"image": "mine:1"}), runtime())
    chain = subject.field("containers[node].image").origins
    assert [(origin.kind, origin.value) for origin in chain] == [
        ("trainjob", "mine:1"),
        ("runtime", "example.com/train:1"),
    ]


def test_patches_are_named_by_manager_and_in_order() -> None:
    patches = [
        {
            "manager": f"example.com/{name}",
            "trainingRuntimeSpec": {
                "template": {
                    "spec": {
                        "replicatedJobs": [
                            {
                                "name": "node",
                                "template": {"spec": {"template": {"spec": {"nodeSelector": {"zone": name}}}}},
                            }
                        ]
                    }
                }
            },
        }
        for name in ("first", "second")
    ]
    subject = explained(trainjob(runtimePatches=patches), runtime(job(pod={"nodeSelector": {"zone": "0"}})))
    chain = subject.field("nodeSelector.zone").origins
    assert [(origin.kind, origin.by) for origin in chain] == [
        ("patch", "example.com/second"),
        ("patch", "example.com/first"),
        ("runtime", "ClusterTrainingRuntime rt"),
    ]
    assert format_field(chain[0].inputs[0].path).startswith("spec.runtimePatches[example.com/second].")


@pytest.mark.parametrize(
    ("release", "field", "item"),
    [
        ("2.0", "podSpecOverrides", {"nodeSelector": {"zone": "a"}}),
        ("2.1", "podTemplateOverrides", {"spec": {"nodeSelector": {"zone": "a"}}}),
    ],
)
def test_overrides_of_older_releases_are_named_by_number(release: str, field: str, item: dict[str, Any]) -> None:
    overrides: dict[str, Any] = {field: [{"targetJobs": [{"name": "node"}], **item}]}
    subject = explained(trainjob(**overrides), runtime(), release=release)
    origin = subject.origin("nodeSelector.zone")
    assert (origin.kind, origin.by) == ("patch", f"{field}[0]")
    assert format_field(origin.inputs[0].path).endswith("nodeSelector.zone")


def test_a_default_names_its_rule() -> None:
    subject = explained(trainjob(), runtime(gang={"coscheduling": {}}))
    group = subject.origin("replicatedJobs[node].groupName")
    assert (group.kind, group.rule) == (
        "default",
        "default of ClusterTrainingRuntime spec.template.spec.replicatedJobs[].groupName",
    )
    timeout = subject.origin("spec.scheduleTimeoutSeconds", "PodGroup")
    assert timeout.rule == "default of ClusterTrainingRuntime spec.podGroupPolicy.coscheduling.scheduleTimeoutSeconds"
    assert subject.origin("spec.suspend").rule == "default of TrainJob spec.suspend"


def test_admission_is_told_apart_from_the_crd() -> None:
    subject = explained(trainjob({}), runtime(policy={"torch": {}}))
    mode, protocol = subject.origin("completionMode"), subject.origin("ports[29500].protocol")
    assert (mode.kind, mode.by, mode.deviation) == ("admission", "JobSet webhook", "admission-defaults")
    assert (protocol.kind, protocol.by, protocol.deviation) == ("admission", "JobSet CRD", "")


def test_deviations_are_named_where_they_show() -> None:
    subject = explained(
        {**trainjob(), "metadata": {"name": "llm", "labels": {"team": "a"}}},
        runtime(*MPI, policy={"mpi": {}, "numNodes": 3}, network={"subdomain": "pods"}),
    )
    assert subject.origin("replicatedJobs[node].template.spec.parallelism").deviation == "mpi-nodes-size-the-nodes"
    assert subject.origin("metadata.labels.team").deviation == "metadata-moves-to-jobset"
    inferred = explained(trainjob(), runtime(job(step=None)))
    label = inferred.origin(f'[node].template.metadata.labels["{ANCESTOR_LABEL}"]')
    assert (label.kind, label.deviation) == ("deviation", "ancestor-label-injection")
    elsewhere = explained(trainjob({}), runtime(job("worker"), policy={"torch": {}}))
    assert elsewhere.origin("env[PET_MASTER_ADDR].value").deviation == "real-master-address"


def test_delivery_names_the_tool_and_the_flag() -> None:
    origin = explained(trainjob(), runtime()).origin('annotations["argocd.argoproj.io/sync-wave"]')
    assert (origin.kind, origin.by, origin.rule) == ("delivery", "Argo CD", "--delivery argocd")


def test_a_name_hash_is_part_of_the_name_and_of_what_follows_from_it() -> None:
    subject = explained(trainjob({}), runtime(policy={"torch": {}}), name_hash=True)
    name = subject.origin("metadata.name")
    assert name.kind == "trainjob"
    assert "--name-hash" in name.rule
    assert "--name-hash" in subject.origin("env[PET_MASTER_ADDR].value").rule


def test_a_gang_counts_what_its_pods_were_given() -> None:
    subject = explained(
        trainjob({"numNodes": 4, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}),
        runtime(job(containers=[container()]), policy={"torch": {}}, gang={"coscheduling": {}}),
    )
    origin = subject.origin('minResources["nvidia.com/gpu"]', "PodGroup")
    assert origin_row(origin) == (
        "plugin",
        "CoScheduling",
        "Build",
        ["spec.trainer.numNodes", 'spec.trainer.resourcesPerNode.limits["nvidia.com/gpu"]'],
    )


def test_positions_lead_to_the_lines_of_the_files() -> None:
    text = b"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template: {spec: {template: {spec: {containers: [
          {name: node, image: x}]}}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm}
spec:
  runtimeRef: {name: rt}
  trainer:
    env:
    - {name: A, value: b}
"""
    documents, problems = read_documents(text, "jobs.yaml", Limits())
    assert not problems
    subject = explain_documents(documents, Options(release="2.3"))
    for field, line in (("containers[node].image", 10), ("env[A].value", 19), ("metadata.name", 14)):
        source = subject.origin(field).inputs[0].source
        assert source is not None
        assert (source.file, source.line) == ("jobs.yaml", line)


def test_documents_of_older_dialects_are_told_as_they_were_written() -> None:
    old = "kubeflow.org/v2alpha1"
    subject = explained(
        {**trainjob({"numNodes": 2}), "apiVersion": old},
        {**runtime(policy={"torch": {}}), "apiVersion": old},
    )
    assert origin_row(subject.origin("env[PET_NNODES].value"))[3] == ["spec.trainer.numNodes"]


def test_an_overlay_is_named_with_its_line_and_what_it_wrote_over(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "prod").mkdir()
    documents = [runtime(), trainjob()]
    (tmp_path / "base" / "jobs.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": documents}))
    (tmp_path / "prod" / "overlay.yaml").write_text(
        'apiVersion: trainc/v1alpha1\nkind: Overlay\nimages:\n- name: example.com/train\n  newTag: "2"\n'
    )
    options = Options(release="2.3")
    loaded, problems = load_overlays([str(tmp_path / "prod")], options.limits)
    assert not problems
    inputs = read_inputs([tmp_path / "base"], (), options, overlays=loaded)
    subject = explain_documents(inputs.documents, options)
    chain = subject.field("containers[node].image").origins
    assert [(origin.kind, origin.value) for origin in chain] == [
        ("overlay", "example.com/train:2"),
        ("runtime", "example.com/train:1"),
    ]
    source = chain[0].inputs[0].source
    assert source is not None
    assert source.file.endswith("overlay.yaml")
    assert source.line == 4
