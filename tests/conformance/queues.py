"""What Kueue's scheduler decides: each JobSet alone on the idle cluster, all of them together, and one among others now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from conformance import Case
from trainc import Fit, fits, why


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


def judge_now(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Compare what becomes of a new job where others run and wait: what decides, and who is evicted."""
    for case in cases:
        (fit,) = fits([case["job"]], case["case"]["objects"], now=True, at=case["case"]["at"]).now
        wanted = _decided(case["answer"])
        answered = {key: getattr(fit, key) for key in wanted}
        answered |= {key: list(value) for key, value in answered.items() if isinstance(value, tuple)}
        yield case["id"], [] if answered == wanted else [f"{answered}, recorded {wanted}"]


def judge_incidents(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Compare what is said first of a dump: the object, and what cause and help have to name."""
    for case in cases:
        first, wanted = why(case["objects"])[0], case["answer"]
        is_named = first.object == wanted["object"] and wanted["cause"] in first.cause and wanted["hint"] in first.hint
        yield case["id"], [] if is_named else [f"{first}, and it should be {wanted}"]


def _decided(recorded: Case) -> dict[str, Any]:
    verdict = recorded["verdict"]
    wanted: dict[str, Any] = {"verdict": verdict}
    if verdict in ("admitted", "reserved", "preempts"):
        wanted |= {"flavors": recorded["flavors"], "borrows": recorded["borrows"]}
    if verdict == "preempts":
        wanted["preempts"] = sorted(target["workload"] for target in recorded["preempts"])
    if verdict == "waits":
        wanted["tried"] = recorded["tries"] > 0
    return wanted
