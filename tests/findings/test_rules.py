"""Every documented rule: what it calls wrong gives its code, what it calls right does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import run

from trainc import CompileError, Options, admit, refusals
from trainc.cli.command import commands
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

RULES = {
    rule.stem: rule.read_text(encoding="utf-8")
    for rule in (Path(__file__).parents[2] / "compiler" / "trainc").rglob("rules/*.md")
}
SOURCES = sorted((Path(__file__).parents[2] / "compiler" / "trainc").rglob("*.py"))
_BLOCK = re.compile(r"^## (Wrong|Right)\n+```(yaml|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"""(?:Finding|Diagnostic)\(\s*f?"([A-Z][A-Za-z]+)\"""")


# What is wrong with a path, a file or a setting cannot be shown in a block of input.
ABOUT_FILES = {
    "AdoptedFile",
    "AppliedDifferently",
    "FileInTheWay",
    "FilesKept",
    "ForeignFile",
    "FrozenJob",
    "InterruptedBuild",
    "InvalidConfiguration",
    "KeepOrRebuild",
    "KeptAsBuilt",
    "JobsReplaced",
    "KeptCannotRebuild",
    "KeptNotProven",
    "LeftOut",
    "NoBase",
    "OtherExtension",
    "OutputStale",
    "OutsideRoot",
    "RulesChanged",
    "RuntimeReplaced",
    "SettingsLoosened",
    "SettingsNotUsed",
    "SourceSkipped",
    "UnknownPodAddress",
    "UnreadableFile",
}

# What is wrong with a plugin depends on what is installed; tests/test_plugins_of_others.py runs it.
ABOUT_PLUGINS = {"BrokenPlugin", "PolicyNeedsExtra", "UnknownPlugin"}

# What is wrong with a machine depends on what it has; tests/features/authoring/run/test_plan.py makes one up.
ABOUT_MACHINES = {"RecipeReplaced"}
# What a cluster answers is no input; tests/features/cluster/doctor has one that does not.
ABOUT_CLUSTERS = {"ClusterUnreachable"}

# What kustomize and Argo CD hand over is no input of `build` either; tests/features/gitops run the examples.
ABOUT_CALLERS = {
    "ImageNotReplaced",
    "InvalidParameter",
    "InvalidResourceList",
    "KeepsNothing",
    "NameHashTooEarly",
    "ReferenceNotFollowed",
    "UsedAsValidator",
}
# Shown in files, or by other programs.
ELSEWHERE = ABOUT_FILES | ABOUT_CALLERS | ABOUT_PLUGINS | ABOUT_MACHINES | ABOUT_CLUSTERS


def blocks_of(code: str) -> dict[str, str]:
    """What a page calls wrong, and what it calls right, which a long page says as a difference of it."""
    blocks: dict[str, str] = {}
    for heading, language, text in _BLOCK.findall(RULES[code]):
        blocks[heading] = text if language == "yaml" else _patched(blocks["Wrong"], text)
    return blocks


def _patched(text: str, difference: str) -> str:
    for hunk in re.split(r"^@@\n", difference, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        assert {line[0] for line in lines} <= set(" +-")
        old, new = ("".join(line[1:] for line in lines if line[0] != other) for other in "+-")
        assert f"\n{text}".count(f"\n{old}") == 1, f"it does not say where this is:\n{old}"
        text = f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:]
    return text


def reported(block: str, tmp_path: Path) -> set[tuple[str, str]]:
    """The severities and codes that a block gives. Its first line may name a command or a function of trainc's, and flags.

    Lines `# file: NAME` divide a block into the files of a folder, which is then the input.
    """
    words = block.partition("\n")[0].removeprefix("# trainc:").split() if block.startswith("# trainc:") else []
    known = {"admit", "refusals", *(command.name for command in commands())}
    command = words.pop(0) if words and words[0] in known else "build"
    if command in ("admit", "refusals"):
        return _of_function(command, block)
    path = tmp_path / "example.yaml"
    files_of = re.split(r"^# file: (.*)\n", block, flags=re.MULTILINE)
    for name, text in zip(files_of[1::2], files_of[2::2], strict=True):
        path = tmp_path
        (path / name).write_text(text, encoding="utf-8")
    if path != tmp_path:
        path.write_text(block, encoding="utf-8")
    # An option's file is one of those of the block.
    words = [str(tmp_path / word) if (tmp_path / word).is_file() else word for word in words]
    more = ["--verbose"] if command in ("build", "check") else []
    result = run(command, str(path), *words, *more)
    return set(re.findall(r"(error|warning|info)\[([A-Za-z]+)\]", result.stderr))


def _of_function(name: str, block: str) -> set[tuple[str, str]]:
    first, *rest = (document.data for document in read_documents(block.encode(), "", Limits())[0])
    options = Options(release="2.3")
    try:
        found = admit(first, options).diagnostics if name == "admit" else refusals(first, rest[0], options)
    except CompileError as error:
        found = error.diagnostics
    return {(diagnostic.severity, diagnostic.code) for diagnostic in found}


@pytest.mark.parametrize("code", sorted(set(RULES) - ELSEWHERE))
def test_a_rule_tells_wrong_from_right(code: str, tmp_path: Path) -> None:
    blocks = blocks_of(code)
    assert RULES[code].startswith(f"# {code}\n\n")
    assert set(blocks) == {"Wrong", "Right"}
    assert code in {name for _, name in reported(blocks["Wrong"], tmp_path)}
    right = reported(blocks["Right"], tmp_path)
    assert code not in {name for _, name in right}
    # What is right is so for the release that the example names, or the newest.
    assert [name for severity, name in right if severity == "error"] == []


OLDER = ("2.0", "2.1", "2.2")


@pytest.mark.parametrize("code", sorted(set(RULES) - ELSEWHERE))
def test_what_is_right_is_so_for_all_releases_that_have_its_fields(code: str, tmp_path: Path) -> None:
    right = blocks_of(code)["Right"]
    if right.startswith("# trainc:"):
        return  # For one release, or for another command.
    for release in OLDER:
        found = reported(f"# trainc: --release {release}\n{right}", tmp_path)
        errors = {name for severity, name in found if severity == "error"}
        assert errors <= {"UnknownField"}, release
        assert errors or code not in {name for _, name in found}, release


def test_every_code_in_the_source_has_its_rule_and_every_rule_its_code() -> None:
    text = "\n".join(source.read_text(encoding="utf-8") for source in SOURCES)
    used = set(_CODE.findall(text))
    assert used, "the search for codes finds nothing"
    assert used - set(RULES) == set()
    package = Path(__file__).parents[2] / "compiler" / "trainc"
    text += "".join(table.read_text(encoding="utf-8") for table in package.glob("knowledge/tables/*.json"))
    deviations = (package / "PORT.yaml").read_text(encoding="utf-8")
    unused = {code for code in RULES if f'"{code}"' not in text and f"warning: {code}\n" not in deviations}
    assert unused == set()
