"""Overlays over documents: what they change, and in which order."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from overlaid import JOB, OPTIONS, RUNTIME, built, overlay, refused, write

from trainc import CompileError, Options
from trainc.compilation import Compilation
from trainc.paths import compile_paths
from trainc.project.overlays.overlay import read_overlay
from trainc.project.overlays.stack import Loaded, Stack, load_overlay
from trainc.reading.catalog import NotFound
from trainc.reading.document import Document

DIGEST = "0123456789abcdef" * 4


def jobset(result: Compilation) -> dict[str, Any]:
    (found,) = [m for m in result.manifests if m["kind"] == "JobSet"]
    return found


def node(result: Compilation) -> dict[str, Any]:
    spec = jobset(result)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    found: dict[str, Any] = spec["containers"][0]
    return found


def test_a_renamed_job_keeps_working_addresses(folder: Path) -> None:
    result = built(overlay("namespace: prod\nnamePrefix: prod-\nnameSuffix: -v2\n"))
    assert jobset(result)["metadata"] == {"name": "prod-llm-v2", "namespace": "prod"}
    variables = {v["name"]: v.get("value") for v in node(result)["env"]}
    assert variables["PET_MASTER_ADDR"] == "prod-llm-v2-node-0-0.prod-llm-v2"


def test_labels_and_annotations_reach_the_jobset(folder: Path) -> None:
    text = "labels:\n- pairs: {team: a}\n- pairs: {kueue.x-k8s.io/queue-name: q}\ncommonAnnotations: {owner: ml}\n"
    metadata = jobset(built(overlay(text)))["metadata"]
    assert metadata["labels"] == {"team": "a", "kueue.x-k8s.io/queue-name": "q"}
    assert metadata["annotations"] == {"owner": "ml"}


@pytest.mark.parametrize(
    ("change", "image"),
    [
        ("newTag: '2'", "registry:5000/torch:2"),
        ("newName: mirror/torch", "mirror/torch:1"),
        ("newName: mirror/torch\n  newTag: '2'", "mirror/torch:2"),
        (f"digest: sha256:{DIGEST}", f"registry:5000/torch@sha256:{DIGEST}"),
        (f"newTag: '2'\n  digest: sha256:{DIGEST}", f"registry:5000/torch:2@sha256:{DIGEST}"),
    ],
)
def test_images_change_by_name(folder: Path, change: str, image: str) -> None:
    write("jobs/llm.yaml", JOB.replace("    image: example.com/train:1\n", ""))
    assert node(built(overlay(f"images:\n- name: registry:5000/torch\n  {change}\n")))["image"] == image


def test_an_image_of_the_trainjob_changes_too(folder: Path) -> None:
    assert node(built(overlay("images:\n- {name: example.com/train, newTag: '9'}\n")))["image"] == "example.com/train:9"


def test_an_image_that_nobody_uses_is_a_warning(folder: Path) -> None:
    result = built(overlay("images:\n- {name: example.com/trian, newTag: '9'}\n"))
    (diagnostic,) = [d for d in result.diagnostics if d.code == "ImageNotUsed"]
    assert (diagnostic.severity, diagnostic.hint) == ("warning", "did you mean example.com/train?")


def test_of_two_entries_for_an_image_the_first_has_no_effect(folder: Path) -> None:
    entry = "- {name: example.com/train, newTag: '8'}\n"
    result = built(overlay(f"images:\n{entry}{entry.replace('8', '9')}"))
    (diagnostic,) = [d for d in result.diagnostics if d.code == "ImageNotUsed"]
    assert (diagnostic.path, "so this one has no effect" in diagnostic.message) == ("images[0]", True)
    assert node(result)["image"] == "example.com/train:9"


def test_patches_come_before_names_and_see_the_names_as_written(folder: Path) -> None:
    text = "namePrefix: prod-\npatches:\n- target: {name: llm}\n  patch: {spec: {trainer: {numNodes: 8}}}\n"
    result = built(overlay(text))
    assert jobset(result)["spec"]["replicatedJobs"][0]["template"]["spec"]["completions"] == 8


@pytest.mark.parametrize("name", ["llm", "prod-llm"])
def test_a_later_overlay_may_call_a_job_by_any_of_its_names(folder: Path, name: str) -> None:
    later = overlay(f"patches:\n- target: {{name: {name}}}\n  patch: {{spec: {{trainer: {{image: x}}}}}}\n", "later")
    assert node(built(overlay("namePrefix: prod-\n"), later))["image"] == "x"


def test_the_last_overlay_wins(folder: Path) -> None:
    def image(tag: str, name: str) -> str:
        return overlay(
            f"patches:\n- target: {{name: llm}}\n  patch: {{spec: {{trainer: {{image: 'x:{tag}'}}}}}}\n", name
        )

    one, two = image("1", "one"), image("2", "two")
    assert node(built(one, two))["image"] == "x:2"
    assert node(built(two, one))["image"] == "x:1"


def test_patches_stand_in_place_as_text_or_in_files(folder: Path) -> None:
    write("overlays/prod/env.yaml", "spec: {trainer: {env: [{name: FILE, value: x}]}}\n")
    write("overlays/prod/ops.yaml", "- {op: add, path: /spec/trainer/env/-, value: {name: OPS, value: x}}\n")
    write("overlays/prod/t.yaml.j2", "spec: {trainer: {env: [{name: TEMPLATE, value: {{ x }}}]}}\n")
    text = """\
values: {x: abc}
patches:
- target: {kind: TrainJob}
  patch: {spec: {trainer: {env: [{name: PLACE, value: x}]}}}
- target: {kind: TrainJob}
  patch: |-
    spec:
      trainer:
        env:
        - {name: TEXT, value: x}
- {target: {kind: TrainJob}, path: env.yaml}
- {target: {kind: TrainJob}, path: ops.yaml}
- {target: {kind: TrainJob}, path: t.yaml.j2}
"""
    names = [v["name"] for v in node(built(overlay(text)))["env"]]
    assert {"A", "PLACE", "TEXT", "FILE", "OPS", "TEMPLATE"} <= set(names)


def test_a_patch_reaches_runtimes_even_those_of_the_catalog(folder: Path) -> None:
    Path("jobs/rt.yaml").unlink()
    write("jobs/llm.yaml", JOB.replace("name: rt", "name: torch-distributed"))
    jobs = "[{name: node, template: {spec: {template: {spec: {nodeSelector: {gpu: h100}}}}}}]"
    text = f"patches:\n- target: {{kind: ClusterTrainingRuntime}}\n  patch: {{spec: {{template: {{spec: {{replicatedJobs: {jobs}}}}}}}}}\n"
    pod = jobset(built(overlay(text)))["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"gpu": "h100"}


def test_a_runtime_of_the_catalog_that_no_job_uses_is_not_a_target(folder: Path) -> None:
    text = "patches:\n- target: {name: jax-distributed}\n  patch: {spec: {}}\n"
    (error,) = refused(overlay(text))
    assert "PatchTargetMissing" in error


def test_a_patch_can_delete_a_job(folder: Path) -> None:
    write("jobs/other.yaml", JOB.replace("name: llm", "name: other"))
    head = "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: other}, $patch: delete}"
    assert jobset(built(overlay(f"patches:\n- patch: {head}\n")))["metadata"]["name"] == "llm"


def test_resources_bring_their_own_overlays(folder: Path) -> None:
    overlay("resources: [../../jobs]\nnameSuffix: -base\nlabels: [{pairs: {from: base}}]\n", "base")
    result = built(overlay("resources: [../base]\nnamePrefix: prod-\nlabels: [{pairs: {from: prod}}]\n"), paths=())
    assert jobset(result)["metadata"]["name"] == "prod-llm-base"
    assert jobset(result)["metadata"]["labels"] == {"from": "prod"}


def test_a_base_changes_its_own_resources_only(folder: Path) -> None:
    write("more/other.yaml", JOB.replace("name: llm", "name: other"))
    overlay("resources: [../../more]\nnameSuffix: -base\n", "base")
    result = built(overlay("resources: [../base]\nnamePrefix: p-\n"))
    assert [job.name for job in result.jobs] == ["p-llm", "p-other-base"]


def test_a_file_that_is_input_and_resource_is_read_once(folder: Path) -> None:
    result = built(overlay("resources: [../../jobs]\nnameSuffix: -x\n"), paths=("jobs", "./jobs/../jobs/llm.yaml"))
    assert [job.name for job in result.jobs] == ["llm-x"]


def test_overlays_that_lead_back_to_themselves_are_refused(folder: Path) -> None:
    overlay("resources: [../prod]\n", "base")
    (error,) = refused(overlay("resources: [../base]\n"))
    assert error.startswith("overlays/base/overlay.yaml:3:13: error[InvalidOverlay] resources[0]: ../prod refers back")


def test_settings_hold_where_the_caller_has_not_decided(folder: Path) -> None:
    text = "release: '2.2'\nsemantics: controller\n"
    assert "suspend" in jobset(built(overlay(text), options=Options()))["spec"]
    assert "network" not in jobset(built(overlay(text), options=Options()))["spec"]
    last = overlay("semantics: gitops\n", "last")
    assert "network" in jobset(built(overlay(text), last, options=Options()))["spec"]


def test_settings_that_contradict_each_other_are_refused(folder: Path) -> None:
    with pytest.raises(CompileError, match="unknown sync option 'Replace=true' for flux"):
        built(overlay("delivery: flux\nsyncOptions: [Replace=true]\n"), options=Options(release="2.3"))


def test_runtimes_of_an_overlay_are_found(folder: Path) -> None:
    write("overlays/prod/runtimes/rt.yaml", RUNTIME)
    Path("jobs/rt.yaml").unlink()
    assert jobset(built(overlay("runtimes: [runtimes]\n")))["metadata"]["name"] == "llm"


def test_runtimes_of_further_sources_change_as_well(folder: Path) -> None:
    Path("lib").mkdir()
    Path("jobs/rt.yaml").rename("lib/rt.yaml")
    write("jobs/llm.yaml", JOB.replace("    image: example.com/train:1\n", ""))
    result = compile_paths(
        ["jobs"],
        runtimes=["lib"],
        overlays=[overlay("images: [{name: registry:5000/torch, newTag: '7'}]\n")],
        options=OPTIONS,
    )
    assert node(result)["image"] == "registry:5000/torch:7"


def test_a_walk_leaves_folders_of_overlays_out(folder: Path) -> None:
    overlay("patches: [{path: patch.yaml, target: {name: x}}]\n")
    write("overlays/prod/patch.yaml", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n")
    assert jobset(built(paths=(".",)))["metadata"]["name"] == "llm"


NAMES = st.from_regex(r"[a-z]{1,6}", fullmatch=True)
# Each touches fields that no other touches.
PARTS: dict[str, Any] = {
    "namespace": NAMES.map(lambda n: f"namespace: ns-{n}\n"),
    "labels": NAMES.map(lambda n: f"labels: [{{pairs: {{one: v{n}}}}}]\n"),
    "annotations": NAMES.map(lambda n: f"commonAnnotations: {{owner: v{n}}}\n"),
    "images": NAMES.map(lambda n: f"images: [{{name: example.com/train, newTag: t{n}}}]\n"),
    "nodes": st.integers(1, 9).map(
        lambda n: f"patches:\n- target: {{kind: TrainJob}}\n  patch: {{spec: {{trainer: {{numNodes: {n}}}}}}}\n"
    ),
    "env": NAMES.map(
        lambda n: (
            f"patches:\n- target: {{kind: TrainJob}}\n  patch: {{spec: {{trainer: {{env: [{{name: A, value: v{n}}}]}}}}}}\n"
        )
    ),
}


@settings(max_examples=15)
@given(st.permutations(sorted(PARTS)), st.data())
def test_overlays_that_touch_different_fields_commute(tmp_path_factory: Any, order: list[str], data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("commute"))
        write("jobs/llm.yaml", JOB)
        write("jobs/rt.yaml", RUNTIME)
        made = {part: overlay(data.draw(text), part) for part, text in PARTS.items()}
        assert built(*(made[part] for part in order)).to_yaml() == built(*made.values()).to_yaml()


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("kubeflow.org/v2alpha1", "TrainJob"),
        ("ome.io/v1beta1", "TrainingJob"),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ],
)
def test_jobs_of_every_dialect_change_and_other_documents_do_not(api: str, kind: str) -> None:
    head = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay", "namePrefix": "p-", "namespace": "n"}
    ours = {"apiVersion": api, "kind": kind, "metadata": {"name": "a"}}
    sealed = {"apiVersion": "bitnami.com/v1alpha1", "kind": "SealedSecret", "metadata": {"name": "a", "namespace": "x"}}
    loaded = Loaded(read_overlay(Document.of(head))[0], "")
    result = Stack([loaded], [Document.of(ours), Document.of(sealed)], [], lambda *_: NotFound, "2.3")
    assert [d.data["metadata"] for d in result.documents] == [{"name": "p-a", "namespace": "n"}, sealed["metadata"]]


def test_an_overlay_can_be_handed_over_as_a_document(folder: Path) -> None:
    data = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay", "resources": ["jobs"], "nameSuffix": "-krm"}
    (loaded,), problems = load_overlay(Document.of(data), ".", OPTIONS.limits)
    assert problems == []
    result = Stack([loaded], [], [], lambda *_: NotFound, "2.3")
    assert {d.data["metadata"]["name"] for d in result.documents} == {"llm-krm", "rt"}


def test_inputs_are_not_changed() -> None:
    data = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "a", "labels": {"x": "y"}},
    }
    diagnostic = {"labels": [{"pairs": {"x": "z"}}], "namespace": "n", "namePrefix": "p-"}
    before = copy.deepcopy((data, diagnostic))
    overlay_, _ = read_overlay(Document.of({"apiVersion": "trainc/v1alpha1", "kind": "Overlay", **diagnostic}))
    result = Stack([Loaded(overlay_, "")], [Document.of(data)], [], lambda *_: NotFound, "2.3")
    assert result.documents[0].data["metadata"] == {"name": "p-a", "namespace": "n", "labels": {"x": "z"}}
    assert (data, diagnostic) == before
