"""What Kueue's scheduler decides: each JobSet alone on the idle cluster, and all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from conformance import Case
from trainc import Fit, fits


def judge_fits(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Compare verdicts, flavors, borrowing, topology, placement, requests and pods with what was recorded of each."""
    for case in cases:
        cluster = [item for kind, items in case["input"].items() if kind != "jobSets" for item in items]
        answer = fits(case["input"]["jobSets"], cluster)
        problems = []
        for part in ("alone", "together"):
            for fit, recorded in zip(getattr(answer, part), case[part], strict=True):
                answered = _recorded_fields(fit, recorded)
                wanted = {key: recorded[key] for key in answered}
                if answered != wanted:
                    problems.append(f"{part} {fit.job}: {answered}, recorded {wanted}")
        yield case["id"], problems


def _recorded_fields(fit: Fit, recorded: Case) -> dict[str, Any]:
    answered = {key: getattr(fit, key) for key in ("job", "verdict", "cause", "flavors", "borrows", "pods", "requests")}
    answered["topology"] = fit.topology
    answered["placement"] = {name: [f"{d}={n}" for d, n in places.items()] for name, places in fit.places.items()}
    # Of jobs that are never admitted together with others, it was not recorded what topology had to do with it.
    silent = {"topology"} if recorded["verdict"] == "never" and "requests" not in recorded else set()
    return {key: value for key, value in answered.items() if key in recorded and key not in silent}
