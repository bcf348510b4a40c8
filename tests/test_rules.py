"""Every documented rule: what it calls wrong gives its code, what it calls right does not."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from commands import run

RULES = {
    rule.name.removesuffix(".md"): rule.read_text(encoding="utf-8")
    for rule in files("trainc.rules").iterdir()
    if rule.name.endswith(".md")
}
SOURCES = sorted((Path(__file__).parents[1] / "compiler" / "trainc").rglob("*.py"))
_BLOCK = re.compile(r"^## (Wrong|Right)\n+```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"""(?:Finding|Diagnostic)\(\s*f?"([A-Z][A-Za-z]+)\"""")


def reported(block: str, tmp_path: Path) -> set[str]:
    """The codes that `trainc build` reports for a block; its first line may name another command, and flags."""
    words = block.partition("\n")[0].removeprefix("# trainc:").split() if block.startswith("# trainc:") else []
    path = tmp_path / "example.yaml"
    path.write_text(block, encoding="utf-8")
    command = [words.pop(0)] if words and not words[0].startswith("-") else ["build"]
    result = run(*command, str(path), *words)
    return set(re.findall(r"(?:error|warning|info)\[([A-Za-z]+)\]", result.stderr))


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_tells_wrong_from_right(code: str, tmp_path: Path) -> None:
    blocks = dict(_BLOCK.findall(RULES[code]))
    assert RULES[code].startswith(f"# {code}\n\n")
    assert set(blocks) == {"Wrong", "Right"}
    assert code in reported(blocks["Wrong"], tmp_path)
    assert code not in reported(blocks["Right"], tmp_path)


def test_every_code_in_the_source_has_its_rule_and_every_rule_its_code() -> None:
    text = "\n".join(source.read_text(encoding="utf-8") for source in SOURCES)
    used = set(_CODE.findall(text))
    assert used, "the search for codes finds nothing"
    assert used - set(RULES) == set()
    unused = {code for code in RULES if f'"{code}"' not in text}
    assert unused == set()
