"""The style of printed texts, as far as a test can hold it: words that no message, hint or rule page may have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from trainc.cli.command import commands
from trainc.findings.codes import codes, page

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "compiler" / "trainc"
PAGES = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").glob("*.md")])
RULES = sorted(PACKAGE.rglob("rules/*.md"))
COMMAND_MODULES = {f"{command.module.removeprefix('trainc.').replace('.', '/')}.py" for command in commands()}
# Files that `report`, `init` and `cmp` fill in and write, and what the help of the compiler's own commands says.
TEMPLATES = sorted(
    path
    for path in (PACKAGE / "features").rglob("*")
    if "rules" not in path.parts
    and path.name != "arguments.txt"
    and (path.suffix in (".yaml", ".md", ".j2", ".js", ".sh", ".lua", ".txt") or path.name == "Dockerfile")
) + sorted((PACKAGE / "cli" / "arguments").glob("*.txt"))


class Foreign(NamedTuple):
    """What a reader has to read twice: a pattern, a text in which it has to be found, and what to write instead."""

    pattern: str
    example: str
    instead: str


# Each row: pattern, a text that it has to find, what to write instead.
FOREIGN = (
    Foreign(r"\bmend", "mend it", "fix, help"),
    Foreign(r"\bremark", "a remark", "diagnostic"),
    Foreign(r"\bwhoever\b", "whoever reads it", "who or what it is"),
    Foreign(r"\b(?:some|no)body\b", "until somebody deletes it", "you, someone, no one"),
    Foreign(r"\bfor ever\b", "waits for ever", "forever"),
    Foreign(r"\bany more\b", "not there any more", "no longer"),
    Foreign(r"\banew\b", "it starts anew", "again; restarts"),
    Foreign(r"\bbesides?\b(?! the built-in)", "a field beside it", "together with, next to, in addition to"),
    Foreign(r"\bsaid\b|\btold\b", "as the pod is told", "set, reported, configured"),
    Foreign(r"\bsays? (?:nothing )?of\b|\bknows? of\b", "it says nothing of queues", "does not set, knows"),
    Foreign(r"\bthere is to say\b", "what there is to say", "the findings"),
    Foreign(r"\bask(?:s|ed|ing)? for\b", "the pods ask for GPUs", "request"),
    Foreign(r"\basked\b", "16 GPUs asked", "requested"),
    Foreign(r"\bexclude each other\b", "they exclude each other", "cannot be used together"),
    Foreign(r"(?<!there )\b(?:is|are) no (?!longer\b|action\b)\S", "'a b' is no label", "is not a valid"),
    Foreign(r"(?<!there )\b(?:is|are) (?-i:none)\b", "a label that is none", "is not one"),
    Foreign(r"\bnames? (?:no|none)\b", "the job names none", "has no, does not set"),
    Foreign(r"\bless the\b", "all less the last", "without the"),
    Foreign(r"\bas it stands\b", "passed as it stands", "unchanged"),
    Foreign(r"\bstands? (?!for\b)", "the key stands here", "is"),
    Foreign(r"\blies (?!in\b)|\blie beside\b", "it lies below", "is"),
    Foreign(r"\bwithout a word\b", "skipped without a word", "silently"),
    Foreign(r"\bof ours\b", "a file of ours", "of trainc's"),
    Foreign(r"\bis open (?:which|whether)\b", "it is open which", "it is unknown, it is ambiguous"),
    Foreign(r"\bget about\b", "they get about", "move"),
    Foreign(r"\bput right\b", "until it is put right", "fixed"),
    Foreign(r"\bmeets? at\b", "the ranks meet at it", "rendezvous"),
    Foreign(r"\b(?:process(?:es)?|pods?|GPUs?) each$", "8 processes each", "per pod"),
    Foreign(r"\bways? of deliver", "a way of delivery", "delivery mode"),
    Foreign(r"\bfinds? no place\b", "the pod finds no place", "does not fit"),
    Foreign(r"\bnot whole\b", "a list that is not whole", "incomplete"),
    Foreign(r"\bholds (?!back\b)", "the file holds a job", "contains, has room for"),
    Foreign(r"\bfits? nothing\b", "a pattern that fits nothing", "matches"),
    Foreign(r"\btak(?:e|es|ing) \w+ away\b", "it takes it away", "remove"),
    Foreign(r"\bleads? (?:out|to)\b", "the link leads out", "points outside"),
    Foreign(r"\bone a (?:line|file)\b", "one a line", "one per line"),
    Foreign(r"\bis to (?:be|do|say|stay)\b", "what is to stay", "should, must"),
    Foreign(r"\blook(?:s|ed)? at (?:it|twice)\b|\bnot looked at\b", "it is not looked at", "check, evaluate"),
    Foreign(r"\bdid not look\b|\bin the way of\b", "a file in the way of it", "already exists"),
    Foreign(r"\bblanks?\b", "it has blanks in it", "spaces"),
    Foreign(
        r"colour|behaviour|honour|labelled(?!by)|neighbour|flavour|centre\b", "the labelled job", "American spelling"
    ),
    Foreign(r"\b(?:lower|upper)-case\b", "lower-case letters", "lowercase, uppercase"),
    Foreign(r"\bhas never existed\b", "it has never existed", "does not exist"),
    Foreign(r"\bserves? (?:as|its own)\b", "it serves its own", "is used as, is for"),
    Foreign(r"\bgoes with\b", "it goes with 2.3", "belongs to, needs"),
    Foreign(r"\ba text\b(?! file)", "it is a text", "a string, text"),
    Foreign(r"\bnothing to do\b", "nothing to do", "no action needed"),
    Foreign(r"\bteach", "the help teaches it", "explain"),
    Foreign(r"\bnowhere\b", "set nowhere", "not set; to nothing"),
    Foreign(r"\bwherever\b", "wherever it is", "where, everywhere"),
    Foreign(r"\bbe it\b", "be it a link or a copy", "whether it is"),
    Foreign(r"\bas seen from\b", "as seen from the page", "relative to"),
)
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
_FOREIGN = re.compile("|".join(f"(?:{row.pattern})" for row in FOREIGN), re.IGNORECASE)
_EXAMPLE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def texts(source: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that may be printed, with their lines: those with a space, `{}` for each value in them.

    Docstrings are none, except those of the commands, which are the text of their -h.
    """
    tree = ast.parse(source.read_text(encoding="utf-8"))
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    if source.relative_to(PACKAGE).as_posix() in COMMAND_MODULES:
        yield 1, ast.get_docstring(tree) or ""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
        if id(node) not in skipped and " " in (text := _text(node)).strip():
            yield getattr(node, "lineno", 0), text


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in parts)
    return ""


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


@pytest.mark.parametrize("folder", sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}))
def test_printed_texts_are_plain_english(folder: str) -> None:
    path = PACKAGE / folder
    found = [
        f"{source.relative_to(PACKAGE)}:{line}: {words} in {text!r}"
        for source in ([path] if path.is_file() else sorted(path.rglob("*.py")))
        for line, text in texts(source)
        if (words := foreign(text))
    ]
    assert found == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_files_that_commands_write_are_plain_english(path: Path) -> None:
    assert foreign(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("folder", ["compiler/trainc", "tools/scripts"])
def test_names_in_the_code_are_plain_english(folder: str) -> None:
    found = [
        f"{source.relative_to(REPOSITORY)}:{line}: {name}: write {FOREIGN_NAMES[word]}"
        for source in sorted((REPOSITORY / folder).rglob("*.py"))
        for line, name in names(source)
        for word in re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", name).lower())
        if word in FOREIGN_NAMES
    ]
    assert found == []


@pytest.mark.parametrize("written", PAGES, ids=lambda path: path.name)
def test_documentation_is_plain_english(written: Path) -> None:
    assert foreign(_EXAMPLE.sub("", written.read_text(encoding="utf-8"))) == []


def test_rule_pages_are_plain_english() -> None:
    assert RULES
    found = [(rule.stem, foreign(_EXAMPLE.sub("", rule.read_text(encoding="utf-8")))) for rule in RULES]
    assert [(code, words) for code, words in found if words] == []


@pytest.mark.parametrize("row", FOREIGN, ids=lambda row: row.example)
def test_each_row_finds_what_it_is_for(row: Foreign) -> None:
    assert re.search(row.pattern, row.example, re.IGNORECASE)
    assert foreign(row.instead) == []


@pytest.mark.parametrize("text", ["'a b' is not a valid name; fix it", "there is no job", "it is no longer read"])
def test_plain_words_are_not_found(text: str) -> None:
    assert foreign(text) == []


def test_a_foreign_word_in_a_message_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "cli" / "rule.py"
    source.parent.mkdir()
    source.write_text(
        '"""Whoever reads the help."""\ndef f(name):\n    """A remark."""\n    return f"{name} is no {name}, mend it"\n'
    )
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path)
    assert [(line, foreign(text)) for line, text in texts(source)] == [(1, ["Whoever"]), (4, ["is no {", "mend"])]


@pytest.mark.parametrize("code", list(codes()))
def test_every_page_says_how_to_silence_its_code(code: str) -> None:
    section = (page(code) or "").partition("\n## How to silence it\n\n")[2]
    assert f"ignore[{code}]" in section or section.startswith("This error cannot be silenced")
