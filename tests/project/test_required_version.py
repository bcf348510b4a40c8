"""`required-version` in trainc.yaml: which versions of trainc may be used, before anything else is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

import trainc

# Conditions, and whether 0.2.0 meets them.
CONDITIONS = {
    ">=0.2": True,
    ">=0.2,<0.4": True,
    "==0.2": True,
    "==0.2.0": True,
    "==0.2.*": True,
    "~=0.2": True,
    "~=0.2.0": True,
    "!=0.1.*": True,
    "<=0.2.0": True,
    ">0.1.9": True,
    ">=0.3": False,
    ">0.2": False,
    "<0.2": False,
    "==0.3.*": False,
    "!=0.2.*": False,
    "~=0.1.0": False,
    "~=0.2.1": False,
    ">=0.1,<0.2": False,
}


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("command", ["check", "build"])
def test_another_version_is_refused_before_anything_else(
    condition: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trainc, "__version__", "0.2.0")
    Path("trainc.yaml").write_text(f'unknown: 1\nrequired-version: "{condition}"\n', encoding="utf-8")
    result = run(command)
    assert result.status == 1
    refused = f"trainc.yaml:2:1: error[InvalidConfiguration] required-version: trainc.yaml requires trainc {condition}"
    assert (refused in result.stderr) is not CONDITIONS[condition], result.stderr
    assert ("unknown" in result.stderr) is CONDITIONS[condition]


@pytest.mark.parametrize("condition", ["0.2", '"0.2"', '">= a"', "[]", '">=0.2 <0.4"'])
def test_what_is_no_condition_is_said(condition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trainc.yaml").write_text(f"required-version: {condition}\n", encoding="utf-8")
    result = run("check")
    assert (result.status, "error[InvalidConfiguration]" in result.stderr) == (1, True)
    assert 'required-version: ">=0.2,<0.4"' in result.stderr
