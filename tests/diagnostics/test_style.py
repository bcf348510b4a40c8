"""The style of printed texts, as far as a test can hold it: words that no message, hint or rule page may have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainc.diagnostics.codes import CODES
from trainc.diagnostics.rulebook import page

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "compiler" / "trainc"
RULES = sorted((PACKAGE / "diagnostics" / "rules").glob("*.md"))
# Folders whose texts are all messages and hints of diagnostics.
FOLDERS = (
    "admission", "api", "dialects", "emit", "integrations", "ir", "lints", "migration", "output", "overlays", "pipeline",
    "plugins", "reading",
)  # fmt: skip
# What a reader has to read twice, with what to write instead.
FOREIGN = {
    r"\bmend": "fix",
    r"\bremark": "diagnostic",
    r"\bwhoever\b": "who or what it is",
    r"\bfor ever\b": "forever",
    r"\bexclude each other\b": "cannot be used together",
    r"\bless the\b": "without the",
    r"(?<!there )\bis no (?!longer)[a-z0-9]": "is not a",
    r"(?<!there )\bare no [a-z0-9]": "are not",
    r"\bwhich is none\b": "which is not one",
    r"\bthere is to say\b": "the findings",
    r"\bare told\b(?! to)": "get",
    r"\bstands? beside\b": "is set together with",
    r"\bas it stands\b": "unchanged",
    r"\bwithout a word\b": "silently",
    r"\bof ours\b": "of trainc's kinds",
    r"\bit is open which\b": "it is ambiguous which",
    r"\bnobody\b": "nothing, or no one in particular",
    r"\bget about\b": "move",
}  # fmt: skip
# Words that no module, class, function, parameter or variable is named with, and what to call it instead.
FOREIGN_NAMES = {
    "anew": "again",
    "asked": "requested",
    "because": "reason",
    "beside": "siblings, others",
    "brought": "what brings it: overlay_files",
    "former": "removed, old",
    "graver": "more_severe",
    "honouring": "a verb, and with what: check_with_removed_fields",
    "mend": "fix, hint",
    "remark": "finding, diagnostic",
    "remarks": "findings, diagnostics",
    "said": "text, reported",
    "shouted": "upper",
    "told": "configured, reported",
    "unheeded": "ignored",
    "whoever": "author, owner",
}
_FOREIGN = re.compile("|".join(f"(?:{pattern})" for pattern in FOREIGN), re.IGNORECASE)
_EXAMPLE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def texts(source: Path) -> Iterator[tuple[int, str]]:
    """The string literals of a module that are no docstrings, with their lines; those with a blank are sentences."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def names(source: Path) -> Iterator[tuple[int, str]]:
    """What a module defines: itself, classes, functions, parameters and variables, with their lines."""
    yield 1, source.stem
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name


def foreign(text: str) -> list[str]:
    return [found.group() for found in _FOREIGN.finditer(text)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_messages_and_hints_are_plain_english(folder: str) -> None:
    sources = sorted((PACKAGE / folder).rglob("*.py"))
    assert sources
    found = [
        f"{source.relative_to(PACKAGE)}:{line}: {words} in {text!r}"
        for source in sources
        for line, text in texts(source)
        if " " in text.strip() and (words := foreign(text))
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["compiler/trainc", "scripts"])
def test_names_in_the_code_are_plain_english(folder: str) -> None:
    found = [
        f"{source.relative_to(REPOSITORY)}:{line}: {name}: write {FOREIGN_NAMES[word]}"
        for source in sorted((REPOSITORY / folder).rglob("*.py"))
        for line, name in names(source)
        for word in re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", name).lower())
        if word in FOREIGN_NAMES
    ]
    assert found == []


def test_rule_pages_are_plain_english() -> None:
    assert RULES
    found = [(rule.stem, foreign(_EXAMPLE.sub("", rule.read_text(encoding="utf-8")))) for rule in RULES]
    assert [(code, words) for code, words in found if words] == []


def test_the_list_finds_what_it_is_for() -> None:
    assert foreign("'a b' is no RFC 1035 label; mend it, whoever wrote it") == ["is no R", "mend", "whoever"]
    assert foreign("'a b' is not a valid name; fix it") == []


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_page_says_how_to_silence_its_code(code: str) -> None:
    section = (page(code) or "").partition("\n## How to silence it\n\n")[2]
    assert f"ignore[{code}]" in section or section.startswith("This error cannot be silenced")
