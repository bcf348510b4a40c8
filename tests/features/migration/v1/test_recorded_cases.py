"""Migration of every recorded case of the older releases, in a style of its own: the same manifests, no comment lost."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from yaml_styles import written

from trainc import CompileError, Options
from trainc.features.migration.v1.migrate import migrate_text
from trainc.functions import compile_documents
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

pytestmark = pytest.mark.slow

# A part of the cases, a different one of each release, keeps the test quick; the others are of the same kinds.
_EVERY = 10


def outcome(text: str) -> str:
    """The manifests, or the codes of what is wrong."""
    documents, problems = read_documents(text.encode(), "case.yaml", Limits())
    assert not problems, text
    try:
        return compile_documents(documents, (), Options(release="2.3")).to_yaml()
    except CompileError as error:
        return " ".join(sorted({d.code for d in error.diagnostics if d.severity == "error"}))


def comments(text: str) -> Counter[str]:
    return Counter(re.findall(r"# \d+$", text, re.MULTILINE))


@pytest.mark.parametrize(("release", "first"), [("2.0", 0), ("2.1", 2), ("2.2", 5)])
def test_a_migrated_case_is_the_same_job_with_every_comment(release: str, first: int, vectors: Path) -> None:
    lines = gzip.decompress((vectors / f"trainer-{release}.jsonl.gz").read_bytes()).splitlines()
    changed = 0
    for number, line in list(enumerate(lines))[first::_EVERY]:
        case = json.loads(line)
        random = Random(number)
        text = f"{written(case['trainjob'], random)}---\n{written(case['runtime'], random)}"
        once = migrate_text(text, "case.yaml", Limits()).text
        assert outcome(once) == outcome(text), text
        assert comments(once) == comments(text), text
        assert migrate_text(once, "case.yaml", Limits()).text == once, text
        changed += once != text
    assert changed >= 10 or release == "2.2"
    assert changed == 0 or release != "2.2"
