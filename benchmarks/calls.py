"""Count the calls in one warm build that cross files: `python -m benchmarks.calls`."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import trainc

_PACKAGE = str(Path(trainc.__file__).parent)
_WARM_UP = 40
_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 4
    command: [torchrun, train.py]
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
"""


def calls(job: Path) -> Counter[tuple[str, str]]:
    """Calls within the package while building `job`, by (caller's file, callee's file)."""
    counted: Counter[tuple[str, str]] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        callee = frame.f_code.co_filename
        if event == "call" and callee.startswith(_PACKAGE):
            counted[_caller(frame) or callee, callee] += 1

    for _ in range(_WARM_UP):
        _build(job)
    sys.setprofile(count)
    try:
        _build(job)
    finally:
        sys.setprofile(None)
    return counted


def _build(job: Path) -> None:
    trainc.compile_paths([job], options=trainc.Options(release="2.3")).to_yaml()


def _caller(frame: FrameType) -> str | None:
    """The file of the nearest caller inside the package; None if there is none."""
    outer = frame.f_back
    while outer is not None and not outer.f_code.co_filename.startswith(_PACKAGE):
        outer = outer.f_back
    return outer and outer.f_code.co_filename


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "job.yaml")
        path.write_text(_JOB, encoding="utf-8")
        found = calls(path)
    total = found.total()
    crossing = sum(count for (caller, callee), count in found.items() if caller != callee)
    print(
        f"{crossing} of {total} calls lead into another file ({crossing / total:.1%}), {len({c for _, c in found})} files"
    )
