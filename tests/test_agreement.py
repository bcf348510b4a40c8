"""What two ways of asking trainc say of the same documents is the same: build and krm, check and the language server."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
import yaml
from commands import run
from lsprotocol import types
from requests_of_editors import answer

from trainc.emit.yaml_writer import dump_yaml
from trainc.findings.codes import codes, page

CASES = {path.stem: path for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))}
SEVERITIES = {1: "error", 2: "warning", 3: "info"}
# The first YAML of each page, which has what the page is about. Of a file without an API group of ours, an editor says
# nothing.
PAGES = {
    code: found[1]
    for code in codes()
    if code != "TooManyAliases"
    and (found := re.search(r"^```yaml\n(.*?)^```", page(code) or "", re.MULTILINE | re.DOTALL))
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def flags_of(case: str) -> list[str]:
    first_line = CASES[case].read_text(encoding="utf-8").partition("\n")[0]
    return shlex.split(first_line.removeprefix("# trainc:"))


@pytest.mark.parametrize("case", CASES)
def test_krm_gives_the_bytes_of_build(case: str) -> None:
    text = CASES[case].read_text(encoding="utf-8")
    Path("case.yaml").write_text(text, encoding="utf-8")
    flags = flags_of(case)
    built = run("build", "case.yaml", *flags)
    assert built.status == 0, built.stderr
    options = {flag.removeprefix("--"): value for flag, value in zip(flags[::2], flags[1::2], strict=True)}
    overlay = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay", **options}
    items = [document for document in yaml.safe_load_all(text) if document]
    request = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "functionConfig": overlay,
        "items": items,
    }
    function = run("krm", stdin=json.dumps(request).encode())
    assert function.status == 0, function.stderr
    given = [dump_yaml([item]) for item in items]
    made = [item for item in yaml.safe_load(function.stdout)["items"] if dump_yaml([item]) not in given]
    assert dump_yaml(made) == built.stdout


def found_by_check(file: str, *flags: str) -> Counter[tuple[str, str]]:
    report = json.loads(run("check", file, "--format", "json", *flags).stdout)
    return Counter(
        (each["code"], each["severity"])
        for each in report["diagnostics"]
        # An editor opens any file, so it is not told that one is not for trainc.
        if each["source"] and each["source"]["file"] == file and each["code"] != "SkippedDocument"
    )


def found_by_the_server(text: str, release: str) -> Counter[tuple[str, str]]:
    published: list[types.Diagnostic] = answer(types.TEXT_DOCUMENT_DID_OPEN, text, Path().absolute(), release=release)
    found = ((str(d.code), SEVERITIES[int(d.severity or 1)]) for d in published)
    return Counter(one for one in found if one[0] != "SkippedDocument")


@pytest.mark.parametrize("case", CASES)
def test_the_language_server_finds_in_a_case_what_check_finds(case: str) -> None:
    text = CASES[case].read_text(encoding="utf-8")
    flags = flags_of(case)
    settings = {flag.removeprefix("--"): value for flag, value in zip(flags[::2], flags[1::2], strict=True)}
    Path("trainc.yaml").write_text(json.dumps(settings), encoding="utf-8")
    Path("open.yaml").write_text(text, encoding="utf-8")
    assert found_by_the_server(text, "") == found_by_check("open.yaml")


@pytest.mark.parametrize("code", PAGES)
def test_the_language_server_finds_in_an_example_what_check_finds(code: str) -> None:
    text = PAGES[code]
    Path("trainc.yaml").write_text('release: "2.3"\n', encoding="utf-8")
    Path("open.yaml").write_text(text, encoding="utf-8")
    assert found_by_the_server(text, "") == found_by_check("open.yaml")
