"""Scores trainc on the recorded cases of tests/recorded, set by set; `make conformance` prints the table."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

Case = dict[str, Any]
# What is wrong with trainc's answer to each case, by the case's id: nothing if the list is empty.
Judge = Callable[[Iterable[Case]], Iterator[tuple[str, list[str]]]]


class Recorded(NamedTuple):
    """A set of recorded cases: its file, the module and function that judge it, and the share that must be right."""

    name: str
    judge: str
    least: float = 1.0

    def cases(self, folder: Path) -> Iterator[Case]:
        """Yield the cases of the set in `folder`."""
        with gzip.open(folder / f"{self.name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    def problems(self, folder: Path) -> Iterator[tuple[str, list[str]]]:
        """Yield each case's id with what is wrong with trainc's answer."""
        module, _, function = self.judge.partition(".")
        judge: Judge = getattr(import_module(f"conformance.{module}"), function)
        return judge(self.cases(folder))


SETS = (
    *(Recorded(f"trainer-2.{minor}", "controllers.judge_objects") for minor in range(5)),
    Recorded("admission", "controllers.judge_admission"),
    Recorded("updates", "controllers.judge_updates"),
    Recorded("pods", "api_server.judge_jobs"),
    Recorded("pods2", "api_server.judge_pods"),
    Recorded("policies", "policies.judge_policies"),
    Recorded("live", "live.judge_dumps"),
    Recorded("fits", "queues.judge_fits"),
    Recorded("now", "queues.judge_now"),
    Recorded("now-facts", "queues.judge_now"),
    Recorded("incidents", "queues.judge_incidents"),
    Recorded("v1", "v1.judge_pods"),
    Recorded("runs", "runs.judge_runs"),
    Recorded("runs2", "runs.judge_runs"),
    Recorded("runs3", "runs.judge_twins", least=0.97),
    Recorded("field", "runs.judge_twins", least=0.97),
    Recorded("round-1", "runs.judge_twins", least=0.9),
    Recorded("round-2", "runs.judge_twins", least=0.9),
    Recorded("round-3", "runs.judge_twins", least=0.8),
    Recorded("round-4", "runs.judge_twins", least=0.97),
    Recorded("round-5", "runs.judge_twins", least=0.52),
    Recorded("round-6", "runs.judge_twins", least=0.9),
    Recorded("round-7", "runs.judge_twins", least=0.9),
    Recorded("round-8", "runs.judge_twins", least=0.75),
    Recorded("round-9", "runs.judge_twins", least=0.85),
    Recorded("round-10", "runs.judge_twins", least=0.85),
    Recorded("round-11", "runs.judge_twins", least=0.85),
    Recorded("round-12", "runs.judge_twins", least=0.8),
    Recorded("round-13", "runs.judge_twins", least=0.95),
    Recorded("round-14", "runs.judge_twins", least=0.5),
    Recorded("round-15", "runs.judge_twins", least=0.07),
    Recorded("round-16", "runs.judge_twins", least=0.8),
    Recorded("round-17", "runs.judge_twins", least=0.75),
    Recorded("threads", "runs.judge_twins", least=0.9),
)
