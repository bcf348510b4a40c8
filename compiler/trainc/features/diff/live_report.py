"""Render a comparison with a cluster: sentences about a sync, text, a section for a pull request, and JSON."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.findings import counted, escape_line, first_of, format_path
from trainc.api.kube import format_field
from trainc.features.diff.delivery import LABELS, MEANINGS
from trainc.features.diff.live import Drift, LiveDiff, LiveObject
from trainc.features.diff.markdown import cell
from trainc.features.diff.text import SIGNS, Paint, Part, note_lines
from trainc.features.diff.values import inline

_MOST_ROWS = 50
_LONGEST = 72
_FILES_PER_LINE = 10
# What fits into a comment beside the change itself.
_MOST_COMMANDS, _LONGEST_CELL = 10, 300

_REFUSED = ("immutable", "needs-suspend", "invalid")


def live_notes(live: LiveDiff) -> list[str]:
    """What a sync would do to jobs, in sentences, the most urgent first."""
    jobs = [each for each in live.objects if each.kind == "JobSet"]
    return [*_restarts(jobs, live), *_missing(jobs), *_ended(jobs, live), *_refused(live), *_unmanaged(live)]


def _restarts(jobs: Sequence[LiveObject], live: LiveDiff) -> Iterator[str]:
    restarting = [job for job in jobs if job.restarts]
    again = [job for job in restarting if job.is_finished]
    if not restarting:
        return
    start = f"A sync ({live.method.label}) starts {counted(len(restarting), 'job')} from the beginning"
    if not again:
        yield f"{start}: {_names(restarting)}."
        return
    have = "has" if len(again) == 1 else "have"
    count = f"{len(again):,} of the {len(restarting):,}" if len(restarting) > 1 else "It"
    yield f"{start}. {count} {have} finished and would run AGAIN: {_names(again)}."


def _missing(jobs: Sequence[LiveObject]) -> Iterator[str]:
    missing = [job for job in jobs if job.object == "missing" and job.sync == "created"]
    gone = [job for job in missing if job.ttl is not None]
    new = [job for job in missing if job.ttl is None]
    if gone:
        them = "it" if len(gone) == 1 else "them"
        yield (
            f"{_are(gone)} missing and may have finished: ttlSecondsAfterFinished removes {them}. A sync creates "
            f"{them}, and the training runs AGAIN: {_names(gone)}."
        )
    if new:
        yield f"{_are(new)} missing: never applied, or deleted. A sync starts {'it' if len(new) == 1 else 'them'}: {_names(new)}."


def _ended(jobs: Sequence[LiveObject], live: LiveDiff) -> Iterator[str]:
    ended = [job for job in jobs if job.sync == "deleted" and not job.is_finished]
    if ended:
        yield f"A sync that prunes ends {counted(len(ended), 'job')} that git does not have: {_names(ended)}."
    left = [job for job in jobs if job.object == "extra" and job.successor and not live.method.prunes]
    if left:
        yield f"{live.method.label} does not delete the earlier versions, which keep running next to the new ones: {_names(left)}."


def _refused(live: LiveDiff) -> Iterator[str]:
    refused = [each for each in live.objects if each.object == "drifted" and each.sync in _REFUSED]
    if refused:
        yield (
            f"A sync cannot undo the drift of {counted(len(refused), 'object')}, because JobSet refuses the update, and "
            f"the sync fails: {first_of([each.label for each in refused])}."
        )


def _unmanaged(live: LiveDiff) -> Iterator[str]:
    extra = [
        each for each in live.objects if each.object == "extra" and each.sync == "nothing" and each.kind != "PodGroup"
    ]
    if extra:
        verb = "is" if len(extra) == 1 else "are"
        yield (
            f"{counted(len(extra), 'object')} in the cluster {verb} not in git, and no sync touches {'it' if len(extra) == 1 else 'them'}: "
            f"{first_of([each.label for each in extra])}. `trainc import` brings jobs into git."
        )


def _are(jobs: Sequence[LiveObject]) -> str:
    return f"{counted(len(jobs), 'job')} {'is' if len(jobs) == 1 else 'are'}"


def _names(jobs: Sequence[LiveObject]) -> str:
    return first_of([job.job for job in jobs])


def retirement(live: LiveDiff) -> list[str]:
    """The commands that remove the finished jobs from git, and the jobs whose source has others that have not finished."""
    sources: dict[str, list[LiveObject]] = {}
    for each in live.objects:
        if each.kind == "JobSet" and each.object != "extra" and each.source:
            sources.setdefault(each.source, []).append(each)
    whole = [source for source, jobs in sources.items() if all(job.is_finished for job in jobs)]
    removed = [
        f"git rm {' '.join(map(shlex.quote, whole[i : i + _FILES_PER_LINE]))}"
        for i in range(0, len(whole), _FILES_PER_LINE)
    ]
    mixed = {
        source: [job for job in jobs if job.is_finished] for source, jobs in sources.items() if source not in whole
    }
    return [
        *removed,
        *(f"# remove {_names(jobs)} from {shlex.quote(source)}" for source, jobs in mixed.items() if jobs),
    ]


def _counts(live: LiveDiff) -> list[str]:
    presence: Counter[str] = Counter(each.object for each in live.objects)
    states: Counter[str] = Counter(each.state for each in live.objects if each.state != "none")
    lines = [f"{counted(len(live.objects), 'object')}: " + _listed(presence, ("same", "drifted", "missing", "extra"))]
    if states:
        order = ("running", "suspended", "succeeded", "failed", "unknown")
        lines.append(f"{counted(sum(states.values()), 'job')} in the cluster: {_listed(states, order)}")
    return lines


def _listed(counts: Counter[str], order: Sequence[str]) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in order if counts[name]) or "none"


def live_text(live: LiveDiff, paint: Paint, *, show_values: bool) -> str:
    """Render the comparison for a terminal. Jobs that run as git says are only counted."""
    lines = [
        f"{paint('removed', live.git)} ↔ {paint('added', live.dump)}",
        *(paint("title", one) for one in _counts(live)),
    ]
    for each in live.objects:
        if _is_worth_showing(each):
            lines += ["", *_object(each, paint, show_values)]
    notes = [*live_notes(live), *(f"Unknown: {reason}." for reason in live.unknown)]
    if notes:
        lines += ["", *(line for note in notes for line in note_lines(escape_line(note), "", paint))]
    if commands := retirement(live):
        lines += ["", "To retire finished jobs; a sync that prunes then deletes the JobSets with their pods and logs:"]
        lines += [f"  {command}" for command in (*commands, "trainc build")]
    return "".join(f"{line}\n" for line in lines)


def _is_worth_showing(each: LiveObject) -> bool:
    return each.object != "same" or bool(each.waits) or each.sync != "nothing" or each.state == "failed"


def _object(each: LiveObject, paint: Paint, show_values: bool) -> Iterator[str]:
    name = each.job if each.kind == "JobSet" else each.label
    state = [] if each.state == "none" else [each.state]
    reason = f" ({each.condition.get('reason')})" if each.condition and each.state == "failed" else ""
    tone: Part = "harmless" if each.object == "same" else "refused"
    yield f"{paint('title', name)}  {', '.join([*state, paint(tone, each.object)])}{reason}"
    for one in each.drift:
        if not one.is_expected:
            sign, part = SIGNS[one.kind]
            by = paint("quiet", f"  by {one.by}") if one.by else ""
            yield f"  {paint(part, sign)} {format_field(one.field)}: {_values(one, show_values)}{by}"
    expected = Counter(one.by or "admission" for one in each.drift if one.is_expected)
    if expected:
        text = ", ".join(f"{counted(count, 'field')} by {by}" for by, count in expected.items())
        yield f"  {paint('quiet', f'set as expected: {text}')}"
    for wait in each.waits:
        yield f"  {paint('note', '!')} {escape_line(str(wait))}"
        if wait.place or wait.path:
            where = f"{wait.place}  " if wait.place else ""
            yield f"      {paint('quiet', f'{where}{format_path(wait.path)}')}"
    if each.successor:
        yield f"  in a sync: {paint('harmful', f'ends, and {each.successor} starts')}"
    elif each.sync != "nothing":
        harm: Part = "harmless" if each.sync in ("in-place", "created") else "harmful"
        yield f"  in a sync: {paint(harm, LABELS[each.sync])} ({MEANINGS[each.sync]})"


def _values(one: Drift, show_values: bool) -> str:
    sides = [] if one.git is None else [_short(one.git)]
    if one.live is not None:
        hidden = _may_be_secret(one.live) and not show_values
        sides.append(f"({len(_plain(one.live)):,} characters)" if hidden else _short(one.live))
    return " → ".join(sides)


def _short(value: Any) -> str:
    text = inline(value)
    return f"({len(_plain(value)):,} characters)" if text is None or len(text) > _LONGEST else text


def _may_be_secret(value: Any) -> bool:
    """Whether a value that git does not have may be a secret, so that only its length is shown."""
    return isinstance(value, str | dict | list)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def live_markdown(live: LiveDiff) -> str:
    """Render the comparison as a section of a pull-request comment, without any value of the cluster."""
    lines = [f"### {_cell(live.git)} and the cluster ({_cell(live.dump)})", "", ". ".join(_counts(live)) + ".", ""]
    lines += [f"- {_cell(note).replace('AGAIN', '**again**')}" for note in live_notes(live)]
    lines += [f"- Unknown: {_cell(reason)}." for reason in live.unknown]
    shown = [each for each in live.objects if _is_worth_showing(each)]
    if shown:
        lines += ["", "| object | cluster | state | drift | in a sync |", "|---|---|---|---|---|"]
        lines += [f"| {' | '.join(map(_cell, _row(each)))} |" for each in shown[:_MOST_ROWS]]
        if len(shown) > _MOST_ROWS:
            lines += ["", f"{counted(len(shown) - _MOST_ROWS, 'more object')}: run `trainc diff --live` to see them."]
    if commands := retirement(live):
        shown_commands = [
            *map(escape_line, commands[:_MOST_COMMANDS]),
            *(["# and more"] if commands[_MOST_COMMANDS:] else []),
        ]
        lines += ["", "To retire finished jobs:", "", "```sh", *shown_commands, "trainc build", "```"]
    return "\n".join(lines) + "\n"


def _row(each: LiveObject) -> tuple[str, ...]:
    drift = [one for one in each.drift if not one.is_expected]
    fields = (
        first_of([f"{format_field(one.field)}{f' by {one.by}' if one.by else ''}" for one in drift], 3) if drift else ""
    )
    reason = f": {each.waits[0]}" if each.waits else ""
    sync = f"{each.successor} starts" if each.successor else LABELS[each.sync]
    return each.label, each.object, f"{each.state}{reason}", fields, sync


def _cell(text: str) -> str:
    return cell(text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}...")


def live_json(live: LiveDiff, *, show_values: bool) -> dict[str, Any]:
    """The keys that a comparison with a cluster adds to the JSON document."""
    return {
        "live": [_object_json(each, show_values) for each in live.objects],
        "liveNotes": live_notes(live),
        "liveUnknown": list(live.unknown),
        "liveDrifted": live.has_drift,
        "retire": retirement(live),
    }


def _object_json(each: LiveObject, show_values: bool) -> dict[str, Any]:
    condition = each.condition
    return {
        "name": each.label,
        "object": each.object,
        "drift": [
            {
                "path": format_path(one.path),
                "by": one.by,
                "kind": one.kind,
                "expected": one.is_expected,
                "git": one.git,
                "live": one.live
                if show_values or not _may_be_secret(one.live)
                else f"({len(_plain(one.live))} characters)",
            }
            for one in each.drift
        ],
        "state": each.state,
        "condition": condition and {key: condition.get(key) for key in ("type", "reason", "message")},
        "waits": [
            {"by": w.by, "reason": w.reason, "message": w.message, "path": format_path(w.path), "place": w.place}
            for w in each.waits
        ],
        "sync": each.sync,
        "successor": each.successor or None,
        "source": each.source or None,
    }
