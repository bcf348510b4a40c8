"""What a change of trainc.yaml makes less strict; each with the change the other way round, which says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import cases

from trainc.project.boundaries import describe_loosening
from trainc.project.configuration import Configuration
from trainc.project.settings_file import read_configuration


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings(text: str) -> Configuration:
    Path("trainc.yaml").write_text('release: "2.3"\n' + text)
    return read_configuration((), None)


@cases("before", "after", "sentence")
def test_less_strict_is_told_and_stricter_is_not(before: str, after: str, sentence: str) -> None:
    was, now = settings(before), settings(after)
    assert list(describe_loosening(was, now)) == [sentence]
    assert list(describe_loosening(now, was)) == []
    assert list(describe_loosening(was, was)) == []


def test_a_repository_without_settings_had_nothing_to_loosen() -> None:
    assert list(describe_loosening(Configuration(), settings("exclude: [a]"))) == []
    assert list(describe_loosening(settings(""), Configuration())) == ["trainc.yaml is gone."]
