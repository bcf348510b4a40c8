"""Lists of hosts: hostfiles with their slots, options such as `-H`, and the cluster of TF_CONFIG."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_ATTRIBUTE = pattern(r"(?<![\w-])([A-Za-z][\w-]*+)\s*+=\s*+(\S*)")
_ATTRIBUTES = frozenset(
    "slots slot count cpu cpus max_slots max-slots slots_max slots-max user username user-name user_name port rank".split()
)
_SLOTS = frozenset(("slots", "count", "cpus"))
_CLUSTER = pattern(r"\"cluster\"\s*:\s*(?=\{)")
_LONGEST = 200
_IN_LIST = pattern(r"([\w.-]+)(?::(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts of a list, and their slots: None if a host does not say how many it has.

    `wrong` is the part of the first line that no launcher reads, and empty if there is none.
    """

    names: tuple[str, ...]
    slots: int | None
    wrong: str = ""


def read_file(text: str) -> Hosts:
    """Return the hosts of a hostfile. Source: open-mpi/ompi orte/util/hostfile, deepspeed launcher/runner.py."""
    names: list[str] = []
    total: int | None = 0
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        host, colon, count = words[0].partition(":")
        names.append(host)
        given = [*_ATTRIBUTE.findall(" ".join(words[1:]))]
        wrong = next((name for name, value in given if name not in _ATTRIBUTES or not value), "")
        if wrong or (words[1:] and not given):
            return Hosts(tuple(names), None, (wrong or words[1])[:_LONGEST])
        slots = next((value for name, value in given if name in _SLOTS), count if colon else "")
        if given and not slots.isdecimal() and any(name in _SLOTS for name, _ in given):
            return Hosts(tuple(names), None, "slots")
        total = total + int(slots[:6]) if total is not None and slots.isdecimal() else None
    return Hosts(tuple(names), total)


def read_list(text: str) -> Hosts:
    """Return the hosts of `a:8,b:8`. A host without a number has one slot, and one that stands there twice two."""
    matches = [_IN_LIST.fullmatch(part) for part in text.split(",") if part]
    names = tuple(match[1] for match in matches if match is not None)
    if len(names) < len(matches):
        return Hosts(names, None)
    return Hosts(names, sum(int(match[2] or 1) for match in matches if match is not None))


def tasks(script: str) -> Mapping[str, int] | None:
    """Return how many tasks of each kind the cluster of a TF_CONFIG has; None if that is not visible."""
    import json

    match = _CLUSTER.search(script)
    try:
        cluster = json.JSONDecoder().raw_decode(script, match.end())[0] if match is not None else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(cluster, dict) or "$" in str(cluster):
        return None
    # The evaluator is no part of the cluster.
    return {kind: len(hosts) for kind, hosts in cluster.items() if isinstance(hosts, list) and kind != "evaluator"}
