"""A pytest session for mutants: collect once, run every check once under coverage, then test each mutant."""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest
from _pytest.runner import runtestprotocol

from mutation import trial
from mutation.mutants import Mutant
from mutation.recorded import recorded_checks
from mutation.trial import Check

# Slower checks are not used to kill mutants; a mutant that only they detect counts as survived.
_LONGEST = 1.0
# How many recorded cases, out of all that reach the line, run before the tests; the rest runs after them.
_FIRST_CASES = 60
# Time limit for a mutant; the remaining checks, which are the slowest, are skipped.
_BUDGET = 3.0


@dataclass(slots=True)
class Session:
    """A pytest plugin that runs `mutants` instead of the tests; `report` receives each outcome."""

    root: Path
    package: Path
    mutants: Sequence[Mutant]
    vectors: Path
    processes: int
    report: Callable[[Mutant, str], None]
    _seconds: dict[str, float] = field(default_factory=dict)
    _cases: dict[str, Check] = field(default_factory=dict)
    _items: dict[str, pytest.Item] = field(default_factory=dict)
    _reached: dict[Path, dict[int, list[str]]] = field(default_factory=lambda: defaultdict(dict))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the checks, then test the mutants."""
        self._cases = dict(recorded_checks(self.vectors))
        self._items = {item.nodeid: item for item in session.items}
        self._measure()
        self._try_all()
        return True

    def _measure(self) -> None:
        """Record which lines each check reaches, how long it takes, and whether it passes."""
        measured = coverage.Coverage(data_file=None, config_file=False, include=[f"{self.package}/*"])
        measured.start()
        checks = itertools.chain(self._cases.items(), self._tests(list(self._items)))
        known = trial.caches()
        for number, (name, check) in enumerate(checks):
            if number % 100 == 0:
                known = trial.caches()
            for cache in known:
                cache.cache_clear()
            measured.switch_context(name)
            started = time.process_time()
            well = check()
            taken = time.process_time() - started
            if not well:
                print(f"left out, since it fails without a mutant: {name}")
            elif taken < _LONGEST:
                self._seconds[name] = taken
        measured.stop()
        data = measured.get_data()
        for file in data.measured_files():
            self._reached[Path(file)] = data.contexts_by_lineno(file)
        print(f"{len(self._seconds)} checks, {sum(self._seconds.values()):.0f} s in all")

    def _try_all(self) -> None:
        running: dict[int, Mutant] = {}
        for mutant in self.mutants:
            names = self._affordable(self._order(mutant, self._reaching(mutant)))
            if not names:
                self.report(mutant, "not reached")
                continue
            if len(running) == self.processes:
                self._await_one(running)
            seconds = 5 + int(4 * sum(self._seconds[name] for name in names))
            running[trial.start(self._module(mutant), mutant, self._checks(names), seconds)] = mutant
        while running:
            self._await_one(running)

    def _await_one(self, running: dict[int, Mutant]) -> None:
        process, status = os.wait()
        self.report(running.pop(process), trial.outcome(status))

    def _module(self, mutant: Mutant) -> str:
        relative = mutant.file.relative_to(self.package.parent).with_suffix("")
        return ".".join(relative.parts).removesuffix(".__init__")

    def _reaching(self, mutant: Mutant) -> set[str]:
        reached = self._reached[mutant.file]
        for lines in (mutant.lines, mutant.body):
            names = {name for line in lines for name in reached.get(line, ()) if name in self._seconds}
            if names:
                return names
        return set()

    def _order(self, mutant: Mutant, names: Iterable[str]) -> list[str]:
        known = set(names)
        cases = [name for name in self._cases if name in known]
        first = cases[:: max(1, len(cases) // _FIRST_CASES)]
        rest = [name for name in cases if name not in set(first)]
        folder = "/".join(("tests", *mutant.file.relative_to(self.package).parent.parts, ""))
        near = {name: name.startswith(folder) for name in known}
        tests = sorted(known - self._cases.keys(), key=lambda name: (not near[name], self._seconds[name]))
        return [*first, *tests, *rest]

    def _affordable(self, names: Sequence[str]) -> list[str]:
        costs = itertools.accumulate(self._seconds[name] for name in names)
        return [name for name, cost in zip(names, costs, strict=True) if cost < _BUDGET]

    def _checks(self, names: Iterable[str]) -> Iterator[Check]:
        for is_case, group in itertools.groupby(names, self._cases.__contains__):
            if is_case:
                yield from (self._cases[name] for name in group)
            else:
                yield from (check for _, check in self._tests(list(group)))

    def _tests(self, names: Sequence[str]) -> Iterator[tuple[str, Check]]:
        for name, following in itertools.zip_longest(names, names[1:]):
            yield name, functools.partial(_passes, self._items[name], self._items.get(following))


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
