"""Nothing that a user sees names a site, a repository or a package that does not exist."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from commands import run
from packaging.requirements import Requirement

from trainc.cli.command import Command, commands
from trainc.cli.parser import build_parser

ROOT = Path(__file__).parents[1]
SHIPPED = [path for folder in ("compiler/trainc", "runtimes") for path in (ROOT / folder).rglob("*") if path.is_file()]
SHIPPED = [path for path in SHIPPED if path.suffix not in (".pyc", ".gz")]
# Hosts of nobody (RFC 2606). Rule pages use them for images, `--help` for the URL of the reader's own repository.
_RESERVED = re.compile(r"[\w.-]*\bexample\.(?:com|org|net)\b|[\w-]+\.example\b")
WRONG = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNode: 4}
"""


def job(folder: Path, settings: str = 'release: "2.3"\n') -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs" / "llm.yaml").write_text(WRONG)
    (folder / "trainc.yaml").write_text(settings)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRAINC_DOCS_URL", raising=False)
    return tmp_path


def test_no_file_of_the_package_names_the_site_of_a_trainc_that_is_not_published() -> None:
    found = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in SHIPPED
        for name in _RESERVED.findall(path.read_text(encoding="utf-8", errors="replace"))
        if name.startswith("trainc") or "rules" in name
    ]
    assert found == []


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_a_diagnostic_names_the_command_that_explains_it(form: str, here: Path) -> None:
    job(here)
    result = run("check", "--format", form)
    assert "numNodes" in result.stdout + result.stderr
    assert _RESERVED.findall(result.stdout + result.stderr) == []
    if form in ("text", "github"):
        assert "trainc rule UnknownField" in result.stdout + result.stderr


@pytest.mark.parametrize("set_by", ["trainc.yaml", "environment", "both"])
def test_a_company_links_to_its_own_copy_of_the_documentation(
    set_by: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "docsUrl: https://docs.corp/trainc/\n" if set_by != "environment" else ""
    if set_by != "trainc.yaml":
        monkeypatch.setenv("TRAINC_DOCS_URL", "https://docs.corp/trainc" if not own else "https://elsewhere.corp")
    job(here, f'release: "2.3"\n{own}')
    url = "https://docs.corp/trainc/rules/UnknownField.html"
    assert f"  rule: {url}\n" in run("check").stderr
    assert json.loads(run("check", "--format", "json").stdout)["diagnostics"][0]["url"] == url
    (rule,) = json.loads(run("check", "--format", "sarif").stdout)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == url
    assert url in run("check", "--format", "github").stdout


def test_the_link_of_one_repository_does_not_reach_the_next_command(here: Path) -> None:
    job(here, 'release: "2.3"\ndocsUrl: https://docs.corp/trainc\n')
    run("check")
    (here / "trainc.yaml").write_text('release: "2.3"\n')
    assert "docs.corp" not in run("check").stderr


@pytest.mark.parametrize("url", ["javascript:alert(1)", "docs.corp", "7"])
def test_what_is_no_web_address_is_refused(url: str, here: Path) -> None:
    job(here, f"docsUrl: {url}\n")
    result = run("check")
    assert result.status == 1
    assert "error[InvalidConfiguration] docsUrl" in result.stderr


@pytest.mark.parametrize("command", commands(), ids=[command.name for command in commands()])
def test_help_names_reserved_hosts_only_for_what_is_the_readers_own(command: Command) -> None:
    names = set(_RESERVED.findall(build_parser(command).format_help()))
    assert names <= {"git.example.com", "h100.example.com", "mirror.example.com"}


@pytest.mark.parametrize(
    "words",
    [
        ["completion", "bash"],
        ["completion", "zsh"],
        ["completion", "fish"],
        ["schema"],
        ["schema", "trainc.yaml"],
        ["schema", "Overlay"],
        ["version"],
        ["help"],
        ["rule", "--all"],
        ["runtimes", "list"],
    ],
    ids=" ".join,
)
def test_other_output_names_no_reserved_host(words: list[str]) -> None:
    result = run(*words)
    assert result.status == 0
    assert _RESERVED.findall(result.stdout + result.stderr) == []


def test_a_hint_installs_packages_that_exist_and_that_the_extra_names() -> None:
    """`pip install 'trainc[lsp]'` would install whatever somebody publishes under that name; tables are about others'."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    allowed = {str(Requirement(each)) for extra in extras.values() for each in extra}
    shown = [path for folder in ("compiler/trainc", "editors/vscode/src") for path in (ROOT / folder).rglob("*.*s*")]
    text = "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in (*SHIPPED, *shown)
        if path.is_file() and "tables" not in path.parts
    )
    hints = re.findall(r"pip install '([^']+)'", text)
    assert len(hints) >= 4
    assert {str(Requirement(hint)) for hint in hints} <= allowed
