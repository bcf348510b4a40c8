"""Format values for readers: short values on one line, long ones as the lines that differ."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.findings import escape_line
from trainc.api.kube import ITEM_KEYS, FieldPath
from trainc.api.records import pattern
from trainc.features.diff.changes import Change
from trainc.features.diff.delivery import LABELS, REFUSED, DeliveryMethod, Outcome
from trainc.features.diff.model import Diff, JobDiff, ObjectDiff, Totals, Versions
from trainc.kube.documents import Item

# A sign ("+", "-", or " " for context) and the text that follows it.
SignedLine: TypeAlias = tuple[str, str]

_BARE = pattern(r"[\w./:@%=~+-]+(?:[ ,][\w./:@%=~+-]+)*")
_NUMBER_LIKE = pattern(r"[-+.]?[\d_]+(?:[.:exob][\d_.:a-fxo]*)?|true|false|null|yes|no|on|off|~", re.IGNORECASE)
_LONGEST_LINE = 72
_CONTEXT = 1


def inline(value: Any) -> str | None:
    """`value` on one line in YAML's flow style; None if it does not fit on one line."""
    if isinstance(value, str):
        return None if "\n" in value else scalar(value)
    if isinstance(value, dict | list):
        return _flow(value)
    return scalar(value)


def one_liners(change: Change, longest: int = _LONGEST_LINE) -> list[str] | None:
    """The one or two values of the change, each on one line; None if they exceed `longest` characters in total."""
    sides = [without_identity(change.path, side) for side in (change.before, change.after) if side is not None]
    texts = [text for text in map(inline, sides) if text is not None]
    return texts if len(texts) == len(sides) and sum(map(len, texts)) <= longest else None


def scalar(value: Any) -> str:
    """A scalar in YAML notation, with terminal control characters and markup made harmless."""
    if not isinstance(value, str):
        return json.dumps(value)
    plain = _BARE.fullmatch(value) and ": " not in value and not value.endswith(":") and not value.startswith("-")
    if plain and not _NUMBER_LIKE.fullmatch(value):
        return value
    return escape_line(json.dumps(value, ensure_ascii=False))


def without_identity(path: FieldPath, value: Any) -> Any:
    """An item without the keys that its path already states: `{name: A, value: 1}` at `env[A]` becomes 1."""
    if not (len(path) > 1 and isinstance(path[-1], Item) and isinstance(value, dict)):
        return value
    rest = {key: inner for key, inner in value.items() if key != ITEM_KEYS.get(str(path[-2]))}
    return rest["value"] if set(rest) == {"value"} else rest or value


def differing_lines(change: Change) -> list[SignedLine]:
    """The differing lines of a multi-line value, with context."""
    before = list(block(without_identity(change.path, change.before))) if change.before is not None else []
    after = list(block(without_identity(change.path, change.after))) if change.after is not None else []
    lines: list[SignedLine] = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT):
        if lines:
            lines.append((" ", "..."))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [(" ", line) for line in before[i1:i2]]
            else:
                lines += [("-", line) for line in before[i1:i2]] + [("+", line) for line in after[j1:j2]]
    return lines


def block(value: Any) -> Iterator[str]:
    """`value` as lines in YAML's block style."""
    if isinstance(value, str) and "\n" in value:
        yield from map(escape_line, value.split("\n"))
    elif isinstance(value, dict) and value:
        yield from _block_mapping(value)
    elif isinstance(value, list) and value:
        for item in value:
            yield from _under("- ", "  ", item)
    else:
        yield "{}" if value == {} else "[]" if value == [] else scalar(value)


def _block_mapping(mapping: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(mapping, key=lambda k: (k != "name", k)):
        value = mapping[key]
        if isinstance(value, dict | list) and value:
            yield f"{scalar(key)}:"
            yield from ("  " + line for line in block(value))
        else:
            yield from _under(f"{scalar(key)}: ", "  ", value)


def _under(first: str, rest: str, value: Any) -> Iterator[str]:
    lines = list(block(value))
    if isinstance(value, str) and len(lines) > 1:
        lines = ["|", *lines]
    yield first + lines[0]
    yield from (rest + line for line in lines[1:])


def _flow(value: Any) -> str | None:
    if isinstance(value, dict):
        parts = [(scalar(key), _flow(inner)) for key, inner in sorted(value.items())]
        return _joined("{}", [None if text is None else f"{key}: {text}" for key, text in parts])
    if isinstance(value, list):
        return _joined("[]", [_flow(item) for item in value])
    return inline(value)


def _joined(brackets: str, parts: Sequence[str | None]) -> str | None:
    if any(part is None for part in parts):
        return None
    return brackets[0] + ", ".join(part or "" for part in parts) + brackets[1]


# The resources a job requests, as columns: before and after.


_MISSING = "-"
COLUMNS: tuple[tuple[str, Callable[[Totals], str]], ...] = (
    ("nodes", lambda totals: str(totals.nodes)),
    ("GPUs", lambda totals: str(totals.gpus)),
    ("CPU", lambda totals: str(totals.cpu)),
    ("memory", lambda totals: str(totals.memory)),
    ("gang", lambda totals: _MISSING if totals.gang is None else str(totals.gang)),
)


def figures(totals: Versions) -> list[tuple[str, str, str]]:
    """(column, value before, value after); `-` for a missing value."""
    return [
        (
            name,
            _MISSING if totals.before is None else shown(totals.before),
            _MISSING if totals.after is None else shown(totals.after),
        )
        for name, shown in COLUMNS
    ]


def as_arrow(before: str, after: str) -> str:
    """`4 → 8`, or a single value if both are the same."""
    return before if before == after else f"{before} → {after}"


# The order and the headings of changes and delivery methods.


# How far into a JobSet a heading reaches: the Job's spec, the pod's spec, a container.
_JOB, _POD, _CONTAINER = 5, 7, 9


def group_by_heading(diff: ObjectDiff) -> Iterator[tuple[FieldPath, list[tuple[int, Change]]]]:
    """An object's changes with their indexes, grouped by common path; changes without a common path come first."""
    groups: dict[FieldPath, list[tuple[int, Change]]] = {(): []}
    for number, change in enumerate(diff.changes):
        groups.setdefault(_heading(change.path), []).append((number, change))
    yield from ((heading, changes) for heading, changes in groups.items() if changes)


def _heading(path: FieldPath) -> FieldPath:
    if path[:2] != ("spec", "replicatedJobs") or path[3:5] != ("template", "spec") or len(path) <= _JOB:
        return ()
    if path[5:7] != ("template", "spec") or len(path) <= _POD:
        return path[:_JOB]
    in_container = path[_POD] in ("containers", "initContainers") and len(path) > _CONTAINER
    return path[:_CONTAINER] if in_container else path[:_POD]


def by_outcome(
    outcomes: Mapping[str, Outcome], deliveries: Sequence[DeliveryMethod]
) -> list[tuple[Outcome, list[DeliveryMethod]]]:
    """Delivery methods grouped by outcome, from harmless to harmful."""
    grouped = [(outcome, [method for method in deliveries if outcomes[method.id] == outcome]) for outcome in LABELS]
    return [(outcome, methods) for outcome, methods in grouped if methods]


def names_of(methods: Sequence[DeliveryMethod], chosen: DeliveryMethod) -> str:
    """The labels of the methods, with the chosen one marked."""
    return "; ".join(f"{method.label} (*)" if method == chosen else method.label for method in methods)


# The first line of a comparison: how many jobs restart, end, start, are refused or change, and with how many GPUs.


# What happens to one job and to several, by outcome, most harmful first.
_FATES: tuple[tuple[tuple[Outcome, ...], str, str], ...] = (
    (("lost",), "stops for good", "stop for good"),
    (("re-created",), "restarts", "restart"),
    (("deleted",), "ends", "end"),
    (REFUSED, "is refused", "are refused"),
    (("created",), "is new", "are new"),
    (("in-place",), "changes in place", "change in place"),
    (("unknown",), "is of a kind unknown to trainc", "are of kinds unknown to trainc"),
    (("nothing",), "stays as it is in the cluster", "stay as they are in the cluster"),
)


def headline(*diffs: Diff) -> str:
    """`1 of 31 jobs restarts, 384 GPUs; 2 are new, 16 GPUs` for the configured delivery; empty without changes."""
    changed = [(job, job.outcomes[diff.method.id]) for diff in diffs for job in diff.jobs if job.status != "unchanged"]
    parts = []
    for outcomes, one, several in _FATES:
        if jobs := [job for job, outcome in changed if outcome in outcomes]:
            gpus = sum(
                (totals.gpus.units for job in jobs if (totals := job.totals.before or job.totals.after)), start=0
            )
            with_gpus = f", {gpus:,} {'GPU' if gpus == 1 else 'GPUs'}" if gpus else ""
            parts.append(f"{len(jobs):,} {one if len(jobs) == 1 else several}{with_gpus}")
    if not parts:
        return ""
    total = sum(len(diff.jobs) + diff.unchanged for diff in diffs)
    count, _, rest = parts[0].partition(" ")
    return "; ".join((f"{count} of {total:,} {'job' if total == 1 else 'jobs'} {rest}", *parts[1:]))


def fate_of(job: JobDiff, method: DeliveryMethod) -> str:
    """What happens to a changed job under a delivery method, e.g. `restarts`."""
    return next(one for outcomes, one, _ in _FATES if job.outcomes[method.id] in outcomes)
