"""What Sphinx is given to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainc.findings.codes import codes, rule_url
from website.pages import lay_out
from website.words import WORDS

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    lay_out(REPOSITORY, folder, "<div>the demo</div>", playground=True)
    return folder


def test_every_code_has_a_page_where_diagnostics_say_it_is(source: Path) -> None:
    pages = {f"https://docs.example.com/latest/rules/{path.stem}.html" for path in (source / "rules").glob("*.md")}
    pages.discard("https://docs.example.com/latest/rules/index.html")
    assert pages == {rule_url(code, "https://docs.example.com/latest/") for code in codes()}


def test_every_page_of_docs_is_in_the_contents_of_the_first_page(source: Path) -> None:
    home = (source / "index.md").read_text(encoding="utf-8")
    assert "<div>the demo</div>" in home
    assert 'href="playground/index.html"' in home
    missing = [path.stem for path in (source / "docs").glob("*.md") if f"\ndocs/{path.stem}\n" not in home]
    assert missing == []


def test_rules_are_grouped_by_who_needs_them(source: Path) -> None:
    index = (source / "rules" / "index.md").read_text(encoding="utf-8")
    groups = {part.partition("\n")[0]: part for part in index.split("\n## ")[1:]}
    assert sum(part.count("| [") for part in groups.values()) == len(codes())
    homes = {
        "UnknownField": "Jobs and runtimes",
        "PolicyDenied": "Clusters and their policies",
        "OMEFieldIgnored": "Older APIs and dialects",
        "MasterAddressWrong": "Only with `--semantics controller`",
    }
    assert {code: next(title for title, part in groups.items() if f"[{code}]" in part) for code in homes} == homes


def test_words_that_people_search_for_belong_to_pages_that_exist(source: Path) -> None:
    for page, words in WORDS.items():
        text = (source / f"{page}.md").read_text(encoding="utf-8")
        assert text.startswith(f'---\nmyst:\n  html_meta:\n    keywords: "{", ".join(words.split())}"\n---\n# ')


def test_links_to_the_readme_lead_to_the_first_page_and_links_to_other_files_are_their_names(source: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in source.rglob("*.md")]
    assert not any(re.search(r"\]\((\.\./)*README\.md[)#]", text) for text in texts)
    assert not any("](../overlays)" in text for text in texts)


def test_every_command_has_its_help_on_one_page(source: Path) -> None:
    page = (source / "commands.md").read_text(encoding="utf-8")
    assert "## trainc build\n" in page
    assert "--release" in page
