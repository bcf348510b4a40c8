"""What a change of trainc.yaml makes less strict; each with the change the other way round, which says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainc.project.boundaries import describe_loosening
from trainc.project.configuration import Configuration
from trainc.project.settings_file import read_configuration

CHANGES = {
    "a rule that ignores a code": (
        "",
        "rules: {MovingImageTag: ignore}",
        "`rules`: MovingImageTag is ignored; it was a warning.",
    ),
    "an error that becomes a warning in some files": (
        "",
        "rules: {'jobs/nlp/**': {PolicyDenied: {level: warning, reason: x}}}",
        "`rules`: PolicyDenied is a warning in jobs/nlp/**; it was an error.",
    ),
    "a stricter rule that is gone": (
        "rules: {MovingImageTag: error}",
        "",
        "`rules`: MovingImageTag is a warning; it was an error.",
    ),
    "more files that are not read": (
        "",
        "exclude: ['jobs/nlp/**']",
        "`exclude`: Files that match jobs/nlp/** are no longer read.",
    ),
    "policies that are gone": (
        "policies: [policies]",
        "",
        "`policies`: Policies in policies are no longer evaluated.",
    ),
    "files that need not be compiled": (
        "",
        "adopted: ['rendered/old/**']",
        "`adopted`: Rendered files that match rendered/old/** may be new without being compiled.",
    ),
    "a namespace more": (
        "namespaces: {'jobs/**': [nlp]}",
        "namespaces: {'jobs/**': [nlp, ads]}",
        "`namespaces`: jobs/** may use ads.",
    ),
    "a registry more": (
        "images: {registries: [ghcr.io/my-org]}",
        "images: {registries: [ghcr.io/my-org, quay.io]}",
        "`images` may come from quay.io.",
    ),
    "images by tag": (
        "images: {pinned: true}",
        "images: {pinned: false}",
        "`images` need no longer be pinned.",
    ),
    "a cluster that is gone": (
        "cluster: snapshot",
        "",
        "`cluster` is gone: jobs are no longer checked against snapshot.",
    ),
    "an output that is gone": (
        "output: rendered",
        "",
        "`output` was rendered: what is in that folder is no longer checked.",
    ),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings(text: str) -> Configuration:
    Path("trainc.yaml").write_text('release: "2.3"\n' + text)
    return read_configuration((), None)


@pytest.mark.parametrize(("before", "after", "sentence"), CHANGES.values(), ids=CHANGES)
def test_less_strict_is_told_and_stricter_is_not(before: str, after: str, sentence: str) -> None:
    was, now = settings(before), settings(after)
    assert list(describe_loosening(was, now)) == [sentence]
    assert list(describe_loosening(now, was)) == []
    assert list(describe_loosening(was, was)) == []


def test_a_repository_without_settings_had_nothing_to_loosen() -> None:
    assert list(describe_loosening(Configuration(), settings("exclude: [a]"))) == []
    assert list(describe_loosening(settings(""), Configuration())) == ["trainc.yaml is gone."]
