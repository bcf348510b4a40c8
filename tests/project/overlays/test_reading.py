"""`overlay.yaml` read: every field arrives, and everything that is wrong is said with a way to mend it."""

from __future__ import annotations

from typing import Any

import pytest
from builders import is_text

from trainc.findings import Diagnostic
from trainc.project.overlays.overlay import ImageChange, Overlay, Pair, is_overlay, read_overlay
from trainc.reading.document import Document

HEAD: dict[str, Any] = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay"}


def read(**fields: Any) -> tuple[Overlay, list[Diagnostic]]:
    return read_overlay(Document.of({**HEAD, **fields}))


def test_every_field_arrives() -> None:
    operations = [{"op": "remove", "path": "/spec/suspend"}]
    overlay, problems = read(
        metadata={"name": "prod"},
        resources=["../base", "extra.yaml"],
        patches=[
            {"path": "p.yaml"},
            {"patch": "text", "target": {"kind": "TrainJob", "name": "llm.*", "labelSelector": "a=b"}},
            {"patch": operations, "target": {}},
        ],
        namespace="team-b",
        namePrefix="prod-",
        nameSuffix="-v2",
        labels=[{"pairs": {"a": "1"}}, {"pairs": {"b": "2"}, "includeSelectors": False}],
        commonAnnotations={"c": "3"},
        images=[{"name": "x", "newName": "y", "newTag": "1", "digest": "sha256:0"}, {"name": "z", "newTag": "2"}],
        values={"size": 4},
        runtimes=["rts"],
        release="v2.2",
        semantics="controller",
        secrets="existing",
        keygenImage="k:1",
        delivery="kubectl",
        syncOptions=["Prune=false"],
        nameHash=True,
    )
    assert not problems
    assert overlay.label == "Overlay prod"
    assert overlay.resources == ("../base", "extra.yaml")
    in_file, text, listed = overlay.patches
    assert (in_file.path, in_file.file, in_file.body, in_file.target) == (("patches", 0), "p.yaml", None, None)
    assert (text.path, text.file, text.body) == (("patches", 1), None, "text")
    assert text.target is not None
    assert [p.text if p else None for p in (text.target.kind, text.target.name, text.target.group)] == [
        "TrainJob",
        "llm.*",
        None,
    ]
    assert [(r.key, r.operator, r.values) for r in text.target.labels] == [("a", "In", ("b",))]
    assert listed.body == operations
    assert (overlay.namespace, overlay.name_prefix, overlay.name_suffix) == ("team-b", "prod-", "-v2")
    assert overlay.labels == (Pair("a", "1", ("labels", 0, "pairs", "a")), Pair("b", "2", ("labels", 1, "pairs", "b")))
    assert overlay.annotations == (Pair("c", "3", ("commonAnnotations", "c")),)
    assert overlay.images == (
        ImageChange(("images", 0), "x", "y", "1", "sha256:0"),
        ImageChange(("images", 1), "z", None, "2", None),
    )
    assert overlay.values == {"size": 4}
    assert overlay.runtimes == ("rts",)
    assert overlay.settings == {
        "release": "2.2",
        "semantics": "controller",
        "secrets": "existing",
        "keygen_image": "k:1",
        "delivery": "kubectl",
        "sync_options": ("Prune=false",),
        "name_hash": True,
    }


def test_an_empty_overlay_changes_nothing() -> None:
    overlay, problems = read(labels=None, values=None, metadata=None)
    assert not problems
    assert overlay == Overlay(overlay.document)
    assert overlay.label == "Overlay"
    assert overlay.settings == {}


@pytest.mark.parametrize(
    ("fields", "path", "message", "hint"),
    [
        ({"kind": "Underlay"}, "", "not an overlay", "trainc/v1alpha1"),
        ({"apiVersion": "trainc/v9"}, "", "not an overlay", "trainc/v1alpha1"),
        ({"patchs": []}, "patchs", "no field patchs", "patches"),
        (
            {"zzzzzzzz": []},
            "zzzzzzzz",
            "no field zzzzzzzz",
            "choose one of apiVersion, kind, metadata, resources, patches",
        ),
        ({"bases": ["x"]}, "bases", "no field bases", "list the folder under `resources`"),
        ({"components": ["x"]}, "components", "no field components", "list the folder under `resources`"),
        ({"patchesStrategicMerge": []}, "patchesStrategicMerge", "", "list it under `patches`"),
        ({"patchesJson6902": []}, "patchesJson6902", "", "with a target"),
        ({"commonLabels": {}}, "commonLabels", "", "under `labels`"),
        ({"replicas": []}, "replicas", "", "numNodes"),
        ({"configMapGenerator": []}, "configMapGenerator", "", "kustomization"),
        ({"resources": "x"}, "resources", "expected a list", "write a list: resources: [x]"),
        ({"resources": ["a", ""]}, "resources[1]", "the text is empty", "write a value"),
        ({"resources": [3]}, "resources[0]", "expected a string", "put quotes around it"),
        ({"runtimes": [{}]}, "runtimes[0]", "expected a string", "write one string here"),
        ({"patches": [3]}, "patches[0]", "expected a mapping", "name its file"),
        ({"patches": [{}]}, "patches[0]", "path or patch is missing", "name its file"),
        (
            {"patches": [{"patch": "x", "path": "y"}]},
            "patches[0]",
            "path and patch cannot be used together",
            "name its file",
        ),
        ({"patches": [{"patch": 3}]}, "patches[0].patch", "got the number 3", "list of JSON Patch operations"),
        ({"patches": [{"path": 3}]}, "patches[0].path", "expected a string, got the number 3", "quotes"),
        ({"patches": [{"path": "x", "option": 1}]}, "patches[0].option", "no field option", "path, patch, target"),
        ({"patches": [{"path": "x", "target": 3}]}, "patches[0].target", "expected a mapping", "key: value"),
        ({"patches": [{"path": "x", "target": {"knd": "x"}}]}, "patches[0].target.knd", "no field knd", "kind"),
        ({"patches": [{"path": "x", "target": {"name": "("}}]}, "patches[0].target", "is not valid", "regular"),
        ({"patches": [{"path": "x", "target": {"labelSelector": "a b"}}]}, "patches[0].target", "'a b'", "kubectl -l"),
        ({"namespace": 3}, "namespace", "got the number 3", "quotes"),
        ({"namePrefix": "A_"}, "namePrefix", "'A_'", "lowercase"),
        ({"nameSuffix": "v2-"}, "nameSuffix", "'v2-'", "lowercase"),
        ({"labels": [3]}, "labels[0]", "expected a mapping", "key: value"),
        ({"labels": [{"pairs": 3}]}, "labels[0].pairs", "expected a mapping", "key: value"),
        ({"labels": [{"pairs": {"a": 1}}]}, "labels[0].pairs.a", "expected a string, got the number 1", "quotes"),
        ({"labels": [{"pair": {}}]}, "labels[0].pair", "no field pair", "pairs"),
        ({"labels": [{"includeSelectors": True}]}, "labels[0].includeSelectors", "not supported", "patch"),
        ({"labels": [{"includeTemplates": True}]}, "labels[0].includeTemplates", "not supported", "patch"),
        ({"labels": [{"fields": [1]}]}, "labels[0].fields", "not supported", "patch"),
        ({"commonAnnotations": {"a": True}}, "commonAnnotations.a", "got true", "quotes"),
        ({"commonAnnotations": []}, "commonAnnotations", "expected a mapping", "remove the dashes"),
        ({"images": [3]}, "images[0]", "expected a mapping", "key: value"),
        ({"images": [{"newTag": "1"}]}, "images[0].name", "name is missing", "add `name:`"),
        ({"images": [{"name": "x"}]}, "images[0]", "newName, newTag or digest is missing", "add one of them"),
        ({"images": [{"name": "x", "newTag": 1, "newName": "y"}]}, "images[0].newTag", "got the number 1", "quotes"),
        ({"images": [{"name": "x", "digest": "d", "tag": 1}]}, "images[0].tag", "no field tag", "newTag"),
        ({"values": [1]}, "values", "expected a mapping", "remove the dashes"),
        ({"release": 2.3}, "release", "got the number 2.3", "quotes"),
        ({"release": "1.9"}, "release", "1.9", "upgrade trainc"),
        ({"semantics": "wild"}, "semantics", "'wild' is not supported", "gitops"),
        ({"secrets": "wild"}, "secrets", "'wild' is not supported", "existing"),
        ({"delivery": "wild"}, "delivery", "'wild' is not supported", "kubectl"),
        ({"keygenImage": 3}, "keygenImage", "got the number 3", "quotes"),
        ({"syncOptions": "x"}, "syncOptions", "expected a list", "write a list: syncOptions: [x]"),
        ({"nameHash": "yes"}, "nameHash", "got the string 'yes'", "true or false"),
    ],
)
def test_what_is_wrong_is_reported_with_a_way_to_fix_it(
    fields: dict[str, Any], path: str, message: str, hint: str
) -> None:
    _, (problem,) = read(metadata={"name": "prod"}, **fields)
    assert (problem.code, problem.severity, problem.path) == ("InvalidOverlay", "error", path)
    assert problem.object == "Overlay prod"
    assert is_text(problem.message)
    assert is_text(problem.hint)
    assert message in problem.message
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (HEAD, True),
        ({"apiVersion": "trainc/v9", "kind": "Overlay"}, True),
        ({"apiVersion": "trainc/v1alpha1", "kind": "Other"}, False),
        ({"apiVersion": "other/v1", "kind": "Overlay"}, False),
        ({"kind": "Overlay"}, False),
        (["trainc/v1alpha1"], False),
    ],
)
def test_overlays_are_known_in_every_version(data: Any, answer: bool) -> None:
    assert is_overlay(data) is answer
