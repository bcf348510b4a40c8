"""Targets of patches and label selectors."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases

from trainc.kube.selectors import parse_selector
from trainc.project.overlays.patterns import Edited, identity_target, target_of
from trainc.reading.document import Document

JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {
        "name": "llm-1b",
        "namespace": "team-a",
        "labels": {"tier": "gold", "empty": ""},
        "annotations": {"a": "b"},
    },
}


@cases("selector", "fits")
def test_label_selectors(selector: str, fits: bool) -> None:
    labels = JOB["metadata"]["labels"]  # type: ignore[index]
    assert all(requirement.holds(labels) for requirement in parse_selector(selector)) is fits


@pytest.mark.parametrize("selector", ["a b", "a in b", "a=b=c", "(a)", "a in (b"])
def test_what_is_not_a_selector_is_refused(selector: str) -> None:
    with pytest.raises(ValueError, match="not a valid selector requirement"):
        parse_selector(selector)


@cases("target", "fits")
def test_targets_are_anchored_patterns(target: dict[str, Any], fits: bool) -> None:
    assert target_of(target).matches(Edited.of(Document.of(JOB))) is fits


def test_a_patch_without_a_target_means_one_document() -> None:
    document = Edited.of(Document.of(JOB))
    assert identity_target(JOB).matches(document)
    assert identity_target({"kind": "TrainJob", "metadata": {"name": "llm-1b"}}).matches(document)
    assert not identity_target({"kind": "TrainJob", "metadata": {"name": "llm-.*"}}).matches(document)
    assert not identity_target({**JOB, "apiVersion": "v1"}).matches(document)


def test_a_document_is_known_by_its_former_names_too() -> None:
    before = Edited.of(Document.of(JOB))
    renamed = {**JOB, "metadata": {"name": "prod-llm", "namespace": "prod"}}
    after = before.keep_identities(before.with_data(renamed, ()))
    for name in ("llm-1b", "prod-llm"):
        assert target_of({"name": name}).matches(after)
    assert not target_of({"name": "llm-1b", "namespace": "prod"}).matches(after)
