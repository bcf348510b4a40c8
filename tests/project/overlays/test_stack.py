"""Overlays one upon the other: what of them met a document, and what met none."""

from __future__ import annotations

from typing import Any

import pytest
from builders import is_text

from trainc.project.overlays.apply import target_of_body
from trainc.project.overlays.overlay import ImageChange, Overlay, Patch, PatchEntry
from trainc.project.overlays.patterns import Target, identity_target, target_of
from trainc.project.overlays.stack import Loaded, Stack, values_of
from trainc.reading.catalog import NotFound
from trainc.reading.document import Document

API = "trainer.kubeflow.org/v1alpha1"
Json = dict[str, Any]


def document(kind: str, name: str, **spec: Any) -> Document:
    return Document.of({"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec})


def job(name: str, runtime: str = "rt", **spec: Any) -> Document:
    return document("TrainJob", name, runtimeRef={"name": runtime}, **spec)


def patch(body: Any, index: int = 0, file: str | None = None, **target: Any) -> Patch:
    entry = PatchEntry(("patches", index), None, file, None)
    return Patch(body, Document.of({}), (), target_of(target), entry)


def loaded(
    *patches: Patch, bases: tuple[Loaded, ...] = (), resources: tuple[Document, ...] = (), **fields: Any
) -> Loaded:
    named = Document.of({"kind": "Overlay", "metadata": {"name": fields.pop("name", "prod")}})
    return Loaded(Overlay(named, **fields), "", bases, (), patches, resources)


def catalog(name: str, release: str) -> Any:
    return (
        document("ClusterTrainingRuntime", name, made="shipped")
        if name == "shipped"
        else lambda: NotFound(f"no {name} in {release}")
    )


def stack(
    *overlays: Loaded, documents: tuple[Document, ...] = (), sources: tuple[tuple[Document, ...], ...] = ()
) -> Stack:
    return Stack(overlays, documents, sources, catalog, "2.3")


def test_layers_apply_to_documents_and_to_further_sources() -> None:
    source = (document("ClusterTrainingRuntime", "rt"),)
    one = loaded(patch({"spec": {"a": 1}}))
    result = stack(one, loaded(patch({"spec": {"a": 2, "b": 3}})), documents=(job("x"),), sources=(source,))
    assert result.documents[0].data["spec"] == {"runtimeRef": {"name": "rt"}, "a": 2, "b": 3}
    assert result.sources[0][0].data["spec"] == {"a": 2, "b": 3}
    assert result.diagnostics() == []


def test_a_base_changes_what_it_brings_and_not_the_input() -> None:
    base = loaded(patch({"spec": {"base": True}}), resources=(job("own"),), name="base")
    result = stack(
        loaded(patch({"spec": {"top": True}}), bases=(base,), resources=(job("more"),)), documents=(job("x"),)
    )
    found = {d.data["metadata"]["name"]: {k for k in d.data["spec"] if k != "runtimeRef"} for d in result.documents}
    assert found == {"x": {"top"}, "own": {"base", "top"}, "more": {"top"}}
    assert [d.data["metadata"]["name"] for d in result.documents] == ["x", "own", "more"]


def test_a_shipped_runtime_passes_through_when_it_is_asked_for() -> None:
    overlay = loaded(patch({"spec": {"a": 1}}, kind="ClusterTrainingRuntime"))
    result = stack(overlay, documents=(job("x", "shipped"),))
    found = result.catalog("shipped", "2.3")
    assert isinstance(found, Document)
    assert found.data["spec"] == {"made": "shipped", "a": 1}
    assert result.catalog("shipped", "2.3") is found
    missing = result.catalog("gone", "2.3")
    assert not isinstance(missing, Document)
    assert missing() == NotFound("no gone in 2.3")
    assert result.diagnostics() == []
    deleted = stack(loaded(patch({"$patch": "delete"}, name="shipped"))).catalog("shipped", "2.3")
    assert not isinstance(deleted, Document)
    assert deleted() == NotFound("an overlay deletes it")


@pytest.mark.parametrize(
    ("reference", "met"),
    [
        ({"name": "shipped"}, True),
        ({"name": "shipped", "kind": "ClusterTrainingRuntime"}, True),
        ({"name": "shipped", "kind": "TrainingRuntime"}, False),
        ({"name": ""}, False),
        ({"name": 3}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_patch_of_a_shipped_runtime_meets_it_where_a_job_refers_to_it(reference: Any, met: bool) -> None:
    overlay = loaded(patch({"spec": {"a": 1}}, kind="ClusterTrainingRuntime"))
    result = stack(overlay, documents=(document("TrainJob", "x", runtimeRef=reference), Document.of({"spec": 3})))
    assert ([d.code for d in result.diagnostics()] == []) is met


def test_a_runtime_of_the_input_hides_the_shipped_one() -> None:
    overlay = loaded(patch({"spec": {"a": 1}}, kind="ClusterTrainingRuntime", annotationSelector="made"))
    input_ = (job("x", "shipped"), document("ClusterTrainingRuntime", "shipped"))
    assert [d.code for d in stack(overlay, documents=input_).diagnostics()] == ["PatchTargetMissing"]


def test_more_documents_pass_through_the_same_layers() -> None:
    overlay = loaded(
        patch({"spec": {"a": 1}}, name="late"), patch([{"op": "remove", "path": "/spec/b"}], 1, name="late")
    )
    result = stack(overlay, documents=(job("x"),))
    assert [d.code for d in result.diagnostics()] == ["PatchTargetMissing"] * 2
    passed = result.more([job("late", "shipped", b=1)])
    assert passed.documents[0].data["spec"] == {"runtimeRef": {"name": "shipped"}, "a": 1}
    assert (passed.runtimes, passed.failed) == (("shipped",), False)
    assert result.diagnostics(passed.uses, passed.runtimes) == []
    assert result.more([job("late")]).failed
    assert len(result.documents) == 1


def test_a_base_does_not_touch_further_documents() -> None:
    base = loaded(patch({"spec": {"base": True}}), name="base")
    result = stack(loaded(patch({"spec": {"top": True}}), bases=(base,)))
    assert set(result.more([job("late")]).documents[0].data["spec"]) == {"runtimeRef", "top"}


def test_what_met_nothing_is_named_with_what_is_there() -> None:
    there = [job(name) for name in ("llm", "b", "c", "d", "e", "f")]
    named = {"kind": "TrainJob", "metadata": {"name": "lm"}, "spec": {}}
    near, far = patch(named, 0, name="lm"), patch([], 1, name="zzzzzzzz")
    changes = (
        ImageChange(("images", 0), "tran", None, "2", None),
        ImageChange(("images", 1), "zzzzzzz", None, "2", None),
    )
    pods = (document("TrainJob", "p", trainer={"image": "train:1"}),)
    found = stack(loaded(near, far, images=changes), documents=(*there, *pods)).diagnostics()
    assert [(d.code, d.severity, d.path, d.object) for d in found] == [
        ("PatchTargetMissing", "error", "patches[0]", "Overlay prod"),
        ("PatchTargetMissing", "error", "patches[1]", "Overlay prod"),
        ("ImageNotUsed", "warning", "images[0]", "Overlay prod"),
        ("ImageNotUsed", "warning", "images[1]", "Overlay prod"),
    ]
    assert all(is_text(d.message) and is_text(d.hint) for d in found)
    assert "llm" in found[0].hint
    assert found[1].hint == "documents here: TrainJob llm, TrainJob b, TrainJob c, TrainJob d, TrainJob e and 2 more"
    assert "'tran'" in found[2].message
    assert "train" in found[2].hint.removeprefix("tran")
    assert found[3].hint == "images here: train"
    (alone,) = stack(loaded(far)).diagnostics()
    assert alone.hint == "documents here: none"
    (unused,) = stack(loaded(images=changes[1:])).diagnostics()
    assert unused.hint == "images here: none"


@pytest.mark.parametrize(
    ("body", "file", "place", "why"),
    [
        ([{"op": "remove", "path": "/spec/gone"}], None, "patches[0].patch[0].path", "no 'gone' to remove"),
        ({"spec": {"$patch": "burn"}}, None, "patches[0].patch.spec.$patch", "'burn'"),
        ({"spec": {"$patch": "burn"}}, "p.yaml", "patches[0].path", "'burn'"),
    ],
)
def test_a_patch_that_fails_leaves_the_document_and_says_where(
    body: Any, file: str | None, place: str, why: str
) -> None:
    homed = Document.of(
        {"apiVersion": API, "kind": "TrainJob", "metadata": {"name": "x", "namespace": "n"}, "spec": {}}
    )
    result = stack(loaded(patch(body, file=file)), documents=(homed, job("y")))
    assert [d.data for d in result.documents] == [homed.data, job("y").data]
    first, second = result.diagnostics()
    assert (first.code, first.severity, first.object) == ("PatchFailed", "error", "Overlay prod")
    assert (first.path or "").replace('["$patch"]', ".$patch") == place
    assert "TrainJob n/x: " in first.message
    assert "TrainJob y: " in second.message
    assert why in first.message
    assert "narrow its target" in first.hint


def test_what_identifies_a_document_is_not_a_change_of_it() -> None:
    body = {
        "apiVersion": "other/v1",
        "kind": "TrainJob",
        "metadata": {"name": "new", "namespace": "n", "labels": {"l": "1"}},
    }
    (result,) = stack(loaded(patch(body)), documents=(job("x"),)).documents
    assert result.data["apiVersion"] == API
    assert result.data["metadata"] == {"name": "x", "labels": {"l": "1"}}


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"kind": "TrainJob", "metadata": {"name": "x"}}, True),
        ({"kind": "TrainJob", "metadata": {}}, False),
        ({"kind": "TrainJob", "metadata": "x"}, False),
        ({"kind": "TrainJob"}, False),
        ({"metadata": {"name": "x"}}, False),
        ([{"op": "remove"}], False),
    ],
)
def test_a_body_that_names_its_document_is_its_own_target(body: Any, answer: bool) -> None:
    target = target_of_body(body)
    assert (target == identity_target(body)) if answer else (target is None)


def test_an_exact_target_takes_every_part_that_is_named() -> None:
    target = identity_target({"apiVersion": "g.io/v1", "kind": "K", "metadata": {"name": "n.x", "namespace": "ns"}})
    parts = (target.group, target.version, target.kind, target.name, target.namespace)
    assert [part.text if part else None for part in parts] == ["g.io", "v1", "K", "n.x", "ns"]
    assert identity_target({}) == Target()
    assert identity_target({"apiVersion": "v1", "metadata": 3}).group is None


def test_values_and_settings_of_later_overlays_win_and_mappings_merge() -> None:
    base = loaded(
        values={"a": {"x": 1, "y": 1}, "l": [1]}, settings={"release": "2.2", "secrets": "existing"}, runtimes=("r",)
    )
    top = Loaded(
        Overlay(
            Document.of({}), values={"a": {"y": 2}, "l": [2], "b": 1}, settings={"release": "2.3"}, runtimes=("s",)
        ),
        "top",
        (base,),
    )
    assert values_of([top]) == {"a": {"x": 1, "y": 2}, "l": [2], "b": 1}
    assert top.settings == {"release": "2.3", "secrets": "existing"}
    assert top.all_runtimes == ("top/s", "r")
    assert top.in_order == (base, top)
    assert not top.has_resources
    assert loaded(bases=(loaded(resources=(job("x"),)),)).resource_files == {""}
