"""Where a diagnostic points once overlays have been read and applied: to who wrote the value."""

from __future__ import annotations

from pathlib import Path

import pytest
from overlaid import HEAD, JOB, overlay, refused, write

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
    ("patches: {}", "3:1: error[InvalidOverlay] patches: expected a list, got a mapping"),
    ("patches: [{}]", "3:11: error[InvalidOverlay] patches[0]: path or patch is missing"),
    ("patches: [{patch: 3, target: {name: llm}}]", "3:12: error[InvalidOverlay] patches[0].patch"),
    (
        "patches: [{path: none.yaml, target: {name: llm}}]",
        "3:12: error[InvalidOverlay] patches[0].path: none.yaml cannot",
    ),
    (
        "patches: [{patch: {spec: {}}}]",
        "3:11: error[InvalidOverlay] patches[0]: the patch has no target, and no apiVersion",
    ),
    ("patches: [{target: {name: '('}, patch: {}}]", "3:12: error[InvalidOverlay] patches[0].target"),
    ("patches: [{target: {named: x}, patch: {}}]", "3:21: error[InvalidOverlay] patches[0].target.named"),
    ("patches: [{target: {name: gone}, patch: {}}]", "3:11: error[PatchTargetMissing] patches[0]"),
    ("resources: [none.yaml]", "3:13: error[NoSuchPath]"),
    ("resources: [none]", "3:13: error[InvalidOverlay] resources[0]: none is not a folder or a file"),
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
    ("release: 2.3", "3:1: error[InvalidOverlay] release: expected a string, got the number 2.3"),
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
def test_what_is_not_an_overlay_is_refused(folder: Path, file: str | None, text: str) -> None:
    if file:
        write(f"overlays/prod/{file}", text)
    assert refused("overlays/prod")


def test_an_overlay_by_another_name_is_not_a_resource(folder: Path) -> None:
    write("overlays/base.yaml", HEAD)
    (error,) = refused(overlay("resources: [../base.yaml]\n"))
    assert "overlays/base.yaml is an overlay, but is not called overlay.yaml" in error
