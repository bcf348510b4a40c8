"""A runtime without jobs is refused, however it comes to have none."""

from __future__ import annotations

from typing import Any

import pytest
from builders import codes, compiled, runtime, trainjob

from trainc import CompileError

WITHOUT = {**runtime(), "spec": {"mlPolicy": {"torch": {}}, "template": {"spec": {"replicatedJobs": []}}}}


@pytest.mark.parametrize("release", ["2.0", "2.3"])
@pytest.mark.parametrize(
    "empty",
    [WITHOUT, {key: value for key, value in WITHOUT.items() if key != "spec"}],
    ids=["without jobs", "without a spec"],
)
def test_a_runtime_without_jobs_is_refused(empty: dict[str, Any], release: str) -> None:
    with pytest.raises(CompileError, match="NothingToRun"):
        compiled(trainjob(), empty, release=release)
    assert "NothingToRun" in codes(compiled(trainjob(), empty, release=release, semantics="controller"))
