"""The deviations of `gitops` from what the controller would create, with the reason for each, as PORT.yaml lists them."""

from __future__ import annotations

from functools import cache

from trainc.reading.yaml_reader import read_port
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    """A deliberate difference. `code` is the warning that `controller` semantics reports in the same situation."""

    id: str
    summary: str
    reason: str
    code: str


@cache
def deviations() -> tuple[Deviation, ...]:
    """Return all deviations, in the order in which they are listed."""
    return tuple(Deviation(d["id"], d["what"], d["reason"], d.get("warning", "")) for d in read_port()["deviations"])
