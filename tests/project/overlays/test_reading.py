"""`overlay.yaml` read: every field arrives, and everything that is wrong is said with a way to mend it."""

from __future__ import annotations

from typing import Any

import pytest
from builders import is_text
from tables import cases

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
        images=[
            {"name": "x", "newName": "y", "newTag": "1", "digest": f"sha256:{'0' * 64}"},
            {"name": "z", "newTag": "2"},
        ],
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
        ImageChange(("images", 0), "x", "y", "1", f"sha256:{'0' * 64}"),
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


@cases("fields", "path", "message", "hint")
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
