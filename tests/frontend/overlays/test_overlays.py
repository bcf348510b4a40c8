"""Overlays over documents: what they change, in which order, and where a diagnostic points afterwards."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from builders import is_text
from hypothesis import given, settings
from hypothesis import strategies as st

from trainc import CompileError, Options
from trainc.compilation import Compilation
from trainc.frontend.document import Document
from trainc.frontend.overlays.load import load_overlay
from trainc.frontend.overlays.loaded import Loaded
from trainc.frontend.overlays.read import read_overlay
from trainc.frontend.overlays.stack import apply_overlays
from trainc.frontend.resolve import Miss
from trainc.inputs import compile_paths

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: rt}
  trainer:
    numNodes: 2
    image: example.com/train:1
    env:
    - {name: A, value: "1"}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - {name: node, image: "registry:5000/torch:1"}
"""
HEAD = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
OPTIONS = Options(release="2.3", delivery="kubectl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("jobs/llm.yaml", JOB)
    write("jobs/rt.yaml", RUNTIME)
    return tmp_path


def write(path: str, text: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def overlay(text: str, name: str = "prod") -> str:
    write(f"overlays/{name}/overlay.yaml", HEAD + text)
    return f"overlays/{name}"


def built(*overlays: str, paths: tuple[str, ...] = ("jobs",), options: Options = OPTIONS) -> Compilation:
    return compile_paths(paths, overlays=overlays, options=options)


def refused(*overlays: str, paths: tuple[str, ...] = ("jobs",)) -> list[str]:
    with pytest.raises(CompileError) as error:
        built(*overlays, paths=paths)
    assert all(is_text(d.message) for d in error.value.diagnostics)
    assert all(is_text(d.hint) for d in error.value.diagnostics if d.code == "InvalidOverlay")
    return [str(d) for d in error.value.diagnostics if d.severity == "error"]


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
        ("digest: sha256:0", "registry:5000/torch@sha256:0"),
        ("newTag: '2'\n  digest: sha256:0", "registry:5000/torch:2@sha256:0"),
    ],
)
def test_images_change_by_name(folder: Path, change: str, image: str) -> None:
    write("jobs/llm.yaml", JOB.replace("    image: example.com/train:1\n", ""))
    assert node(built(overlay(f"images:\n- name: registry:5000/torch\n  {change}\n")))["image"] == image


def test_an_image_of_the_trainjob_changes_too(folder: Path) -> None:
    assert node(built(overlay("images:\n- {name: example.com/train, newTag: '9'}\n")))["image"] == "example.com/train:9"


def test_an_image_that_nobody_uses_is_a_warning(folder: Path) -> None:
    result = built(overlay("images:\n- {name: example.com/trian, newTag: '9'}\n"))
    (said,) = [d for d in result.diagnostics if d.code == "ImageNotUsed"]
    assert (said.severity, said.hint) == ("warning", "did you mean example.com/train?")


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


def test_a_runtime_of_the_catalog_that_no_job_uses_is_no_target(folder: Path) -> None:
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
    assert error.startswith("overlays/base/overlay.yaml:3:13: error[InvalidOverlay] resources[0]: ../prod leads back")


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


DOCUMENT_ERRORS = [
    ("namespace: UPPER", "overlays/prod/overlay.yaml:3:1: error[InvalidName] metadata.namespace"),
    ("nameSuffix: " + 60 * "x", "jobs/llm.yaml:3:12: error"),
    ("labels:\n- pairs:\n    'a b': x", "overlays/prod/overlay.yaml:5:5: error"),
    (
        "patches:\n- target: {name: llm}\n  patch:\n    spec:\n      trainer:\n        numNodes: many",
        "overlays/prod/overlay.yaml:8:9: error[WrongType] spec.trainer.numNodes",
    ),
    (
        "patches:\n- target: {name: llm}\n  patch:\n    spec:\n      trainer:\n        env:\n        - {name: N, valu: x}",
        "overlays/prod/overlay.yaml:9:21: error[UnknownField] spec.trainer.env[0].valu",
    ),
    (
        "patches:\n- target: {name: llm}\n  patch: |\n    spec:\n      trainer:\n        nodes: 3",
        "overlays/prod/overlay.yaml:8:3: error[UnknownField] spec.trainer.nodes",
    ),
    (
        "patches:\n- target: {name: llm}\n  patch:\n  - op: add\n    path: /spec/trainer/nodes\n    value: 3",
        "overlays/prod/overlay.yaml:8:5: error[UnknownField] spec.trainer.nodes",
    ),
]


@pytest.mark.parametrize(("text", "start"), DOCUMENT_ERRORS)
def test_a_value_of_an_overlay_is_reported_where_the_overlay_has_it(folder: Path, text: str, start: str) -> None:
    assert any(error.startswith(start) for error in refused(overlay(text + "\n"))), refused(overlay(text + "\n"))


def test_a_value_of_the_document_is_reported_there_although_the_list_has_moved(folder: Path) -> None:
    write("jobs/llm.yaml", JOB.replace('{name: A, value: "1"}', "{name: A, value: 1}"))
    errors = refused(overlay("patches:\n- {target: {name: llm}, patch: {spec: {trainer: {env: [{name: B}]}}}}\n"))
    assert [
        error for error in errors if error.startswith("jobs/llm.yaml:10:17: error[WrongType] spec.trainer.env[1].value")
    ]


def test_what_a_patch_file_holds_is_reported_there(folder: Path) -> None:
    write("overlays/prod/a.yaml", "# first\nspec: {}\n---\nspec:\n  trainer:\n    nodes: 3\n")
    errors = refused(overlay("patches:\n- {target: {name: llm}, path: a.yaml}\n"))
    assert [error for error in errors if error.startswith("overlays/prod/a.yaml:6:5: error[UnknownField]")]


OVERLAY_ERRORS = [
    ("patchs: []", "3:1: error[InvalidOverlay] patchs"),
    ("patches: {}", "3:1: error[InvalidOverlay] patches: patches is no list"),
    ("patches: [{}]", "3:11: error[InvalidOverlay] patches[0]: a patch needs"),
    ("patches: [{patch: 3, target: {name: llm}}]", "3:12: error[InvalidOverlay] patches[0].patch"),
    (
        "patches: [{path: none.yaml, target: {name: llm}}]",
        "3:12: error[InvalidOverlay] patches[0].path: none.yaml cannot",
    ),
    ("patches: [{patch: {spec: {}}}]", "3:11: error[InvalidOverlay] patches[0]: the patch says neither"),
    ("patches: [{target: {name: '('}, patch: {}}]", "3:12: error[InvalidOverlay] patches[0].target"),
    ("patches: [{target: {named: x}, patch: {}}]", "3:21: error[InvalidOverlay] patches[0].target.named"),
    ("patches: [{target: {name: gone}, patch: {}}]", "3:11: error[PatchTargetMissing] patches[0]"),
    ("resources: [none.yaml]", "3:13: error[NoSuchPath]"),
    ("resources: [none]", "3:13: error[InvalidOverlay] resources[0]: none is neither a folder"),
    ("resources: ['https://example.com/x?ref=1']", "3:13: error[InvalidOverlay] resources[0]"),
    ("resources: [/etc/hosts]", "3:13: error[InvalidOverlay] resources[0]: /etc/hosts is an absolute path"),
    ("resources: [../../../../../../../etc/hosts]", "3:13: error[OutsideRoot] resources[0]"),
    ("patches: [{path: ../../../../../../etc/hosts, target: {}}]", "3:12: error[OutsideRoot] patches[0].path"),
    ("runtimes: [/etc]", "3:12: error[InvalidOverlay] runtimes[0]"),
    ("namespace: 3", "3:1: error[InvalidOverlay] namespace"),
    ("namePrefix: A_", "3:1: error[InvalidOverlay] namePrefix"),
    ("namePrefix: 9-", "3:1: error[InvalidOverlay] namePrefix"),
    ("nameSuffix: v2-", "3:1: error[InvalidOverlay] nameSuffix"),
    ("labels: [{pairs: {a: 1}}]", "3:19: error[InvalidOverlay] labels[0].pairs.a"),
    ("labels: [{pairs: {}, includeSelectors: true}]", "3:22: error[InvalidOverlay] labels[0].includeSelectors"),
    ("commonAnnotations: [a]", "3:1: error[InvalidOverlay] commonAnnotations"),
    ("images: [{name: x}]", "3:10: error[InvalidOverlay] images[0]"),
    ("values: [1]", "3:1: error[InvalidOverlay] values"),
    ("release: 2.3", "3:1: error[InvalidOverlay] release: release is 2.3, which is no text"),
    ("release: '1.9'", "3:1: error[InvalidOverlay] release"),
    ("semantics: wild", "3:1: error[InvalidOverlay] semantics"),
    ("nameHash: 'yes'", "3:1: error[InvalidOverlay] nameHash"),
    ("bases: [x]", "3:1: error[InvalidOverlay] bases"),
    ("secretGenerator: []", "3:1: error[InvalidOverlay] secretGenerator"),
]


@pytest.mark.parametrize(("text", "start"), OVERLAY_ERRORS)
def test_what_is_wrong_with_an_overlay_is_reported_at_its_place(folder: Path, text: str, start: str) -> None:
    (error,) = refused(overlay(text + "\n"))
    assert error.startswith(f"overlays/prod/overlay.yaml:{start}"), error


def test_everything_that_is_wrong_is_reported_at_once(folder: Path) -> None:
    other = overlay("nothing: 1\n", "other")
    assert len(refused(overlay("a: 1\nb: 2\nrelease: 2.3\npatches: [{}]\n"), other)) == 5


@pytest.mark.parametrize(
    ("file", "text"),
    [("overlay.yaml", ""), ("overlay.yaml", "kind: Overlay\n"), ("overlay.yaml", HEAD + "---\n" + HEAD), (None, "")],
)
def test_what_is_no_overlay_is_refused(folder: Path, file: str | None, text: str) -> None:
    if file:
        write(f"overlays/prod/{file}", text)
    assert refused("overlays/prod")


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
    result = apply_overlays([loaded], [Document.of(ours), Document.of(sealed)], [], lambda *_: Miss, "2.3")
    assert [d.data["metadata"] for d in result.documents] == [{"name": "p-a", "namespace": "n"}, sealed["metadata"]]


def test_an_overlay_can_be_handed_over_as_a_document(folder: Path) -> None:
    data = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay", "resources": ["jobs"], "nameSuffix": "-krm"}
    (loaded,), problems = load_overlay(Document.of(data), ".", OPTIONS.limits)
    assert problems == []
    result = apply_overlays([loaded], [], [], lambda *_: Miss, "2.3")
    assert {d.data["metadata"]["name"] for d in result.documents} == {"llm-krm", "rt"}


def test_an_overlay_by_another_name_is_no_resource(folder: Path) -> None:
    write("overlays/base.yaml", HEAD)
    (error,) = refused(overlay("resources: [../base.yaml]\n"))
    assert "overlays/base.yaml is an overlay by another name" in error


def test_inputs_are_not_changed() -> None:
    data = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "a", "labels": {"x": "y"}},
    }
    said = {"labels": [{"pairs": {"x": "z"}}], "namespace": "n", "namePrefix": "p-"}
    before = copy.deepcopy((data, said))
    overlay_, _ = read_overlay(Document.of({"apiVersion": "trainc/v1alpha1", "kind": "Overlay", **said}))
    result = apply_overlays([Loaded(overlay_, "")], [Document.of(data)], [], lambda *_: Miss, "2.3")
    assert result.documents[0].data["metadata"] == {"name": "p-a", "namespace": "n", "labels": {"x": "z"}}
    assert (data, said) == before
