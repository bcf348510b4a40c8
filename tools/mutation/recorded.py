"""The recorded controller cases as checks: hundreds of whole jobs at a few milliseconds each."""

from __future__ import annotations

import functools
import gzip
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mutation.trial import Check


def recorded_checks(folder: Path) -> Iterator[tuple[str, Check]]:
    """Each case in `folder` with its name; none if the folder does not exist."""
    program = folder / "check_vectors.py"
    if not program.is_file():
        return
    spec = importlib.util.spec_from_file_location("check_vectors", program)
    assert spec is not None
    assert spec.loader is not None
    judging = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(judging)
    for path in sorted(folder.glob("trainer-*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            case = json.loads(line)
            answers = [judging.comparable(manifests) for manifests in case["expect"].get("manifests", ())]
            yield f"{path.name}/{case['id']}", functools.partial(_is_exact, case, answers, judging)


def _is_exact(case: Any, answers: list[Any], judging: Any) -> bool:
    """The comparison of check_vectors.py, with a single compilation and without output."""
    from trainc import CompileError, Options, compile_trainjob

    expect = case["expect"]
    try:
        result = compile_trainjob(
            case["trainjob"], [case["runtime"]], Options(release=case["release"], semantics="controller")
        )
    except CompileError as error:
        paths = [str(d.path or "") for d in error.diagnostics if d.severity == "error"]
        wanted = expect.get("rejected", ())
        return all(any(judging.at(p, want) for p in paths) for want in wanted) and (
            all(any(judging.at(p, want) for want in wanted) for p in paths)
        )
    if "rejected" in expect or sorted(result.secrets) != expect["secrets"]:
        return False
    if any(d.code == "DeprecatedRuntime" for d in result.diagnostics) != expect.get("deprecated", False):
        return False
    got = judging.comparable(result.manifests)
    return any(not any(judging.differences(answer, got)) for answer in answers)
