"""Render a comparison with a cluster: sentences about a sync, text, a section for a pull request, and JSON."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.findings import counted, escape_line, first_of, format_path, markdown
from trainc.api.kube import documents
from trainc.features.gitops.diff.delivery import LABELS, MEANINGS, REFUSED
from trainc.features.gitops.diff.live import Drift, LiveDiff, LiveObject
from trainc.features.gitops.diff.text import SIGNS, Paint, Part, fields, inline, note_lines

_MOST_ROWS = 50
_LONGEST = 72
_FILES_PER_LINE = 10
# What fits into a comment beside the change itself.
_MOST_COMMANDS, _LONGEST_CELL = 10, 300


def live_notes(live: LiveDiff) -> list[str]:
    """What a sync would do to jobs, in sentences, the most urgent first."""
    jobs = [obj for obj in live.objects if obj.kind == "JobSet"]
    return [
        *_restarts(jobs, live),
        *_missing(jobs),
        *_ended(jobs, live),
        *_refused(live),
        *_refused_again(live),
        *_unmanaged(live),
    ]


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
    orphans = [job for job in jobs if job.object == "extra" and job.successor and not live.method.prunes]
    if orphans:
        yield f"{live.method.label} does not delete the earlier versions, which keep running next to the new ones: {_names(orphans)}."


def _refused(live: LiveDiff) -> Iterator[str]:
    refused = [obj for obj in live.objects if obj.object == "drifted" and obj.sync in REFUSED]
    if refused:
        yield (
            f"A sync cannot undo the drift of {counted(len(refused), 'object')}, because JobSet refuses the update, and "
            f"the sync fails: {first_of([obj.label for obj in refused])}."
        )


def _refused_again(live: LiveDiff) -> Iterator[str]:
    again = [obj for obj in live.objects if obj.sync == "refused"]
    if again:
        hint = (
            "apply with `kubectl apply --server-side`"
            if live.method.apply == "client"
            else "leave tolerations to the ResourceFlavor, and out of the runtime"
        )
        whole = " For Flux, that stops the whole Kustomization." if live.method.tool == "flux" else ""
        yield (
            f"{counted(len(again), 'job')} cannot be applied again ({live.method.label}), although nothing changed: it would "
            f"undo what Kueue has set in the pods since, and JobSet refuses it.{whole} Either {hint}, or apply other files "
            f"only: {_names(again)}."
        )


def _unmanaged(live: LiveDiff) -> Iterator[str]:
    untouched = (obj for obj in live.objects if obj.object == "extra" and obj.sync == "nothing")
    extra = [obj for obj in untouched if obj.kind != "PodGroup"]
    if extra:
        verb = "is" if len(extra) == 1 else "are"
        yield (
            f"{counted(len(extra), 'object')} in the cluster {verb} not in git, and no sync touches {'it' if len(extra) == 1 else 'them'}: "
            f"{first_of([obj.label for obj in extra])}. `trainc import` brings jobs into git."
        )


def _are(jobs: Sequence[LiveObject]) -> str:
    return f"{counted(len(jobs), 'job')} {'is' if len(jobs) == 1 else 'are'}"


def _names(jobs: Sequence[LiveObject]) -> str:
    return first_of([job.job for job in jobs])


def retirement(live: LiveDiff) -> list[str]:
    """The commands that remove the finished jobs from git, and the jobs whose source has others that have not finished."""
    sources: dict[str, list[LiveObject]] = {}
    for obj in live.objects:
        if obj.kind == "JobSet" and obj.object != "extra" and obj.source:
            sources.setdefault(obj.source, []).append(obj)
    mixed = {
        source: [job for job in jobs if job.is_finished]
        for source, jobs in sources.items()
        if not all(job.is_finished for job in jobs)
    }
    finished = [source for source in sources if source not in mixed]
    removed = [
        f"git rm {' '.join(map(shlex.quote, finished[i : i + _FILES_PER_LINE]))}"
        for i in range(0, len(finished), _FILES_PER_LINE)
    ]
    return [
        *removed,
        *(f"# remove {_names(jobs)} from {shlex.quote(source)}" for source, jobs in mixed.items() if jobs),
    ]


def _counts(live: LiveDiff) -> list[str]:
    presence: Counter[str] = Counter(obj.object for obj in live.objects)
    states: Counter[str] = Counter(obj.state for obj in live.objects if obj.state != "none")
    lines = [
        f"{counted(len(live.objects), 'object')}: " + _count_text(presence, ("same", "drifted", "missing", "extra"))
    ]
    if states:
        order = ("running", "suspended", "succeeded", "failed", "unknown")
        lines.append(f"{counted(sum(states.values()), 'job')} in the cluster: {_count_text(states, order)}")
    return lines


def _count_text(counts: Counter[str], order: Sequence[str]) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in order if counts[name]) or "none"


def live_text(live: LiveDiff, paint: Paint, *, show_values: bool) -> str:
    """Render the comparison for a terminal. Jobs that run as git says are only counted."""
    lines = [
        f"{paint('removed', live.git)} ↔ {paint('added', live.dump)}",
        *(paint("title", line) for line in _counts(live)),
    ]
    for obj in live.objects:
        if _is_worth_showing(obj):
            lines += ["", *_object(obj, paint, show_values)]
    notes = [*live_notes(live), *(f"Unknown: {reason}." for reason in live.unknown)]
    if notes:
        lines += ["", *(line for note in notes for line in note_lines(escape_line(note), "", paint))]
    if commands := retirement(live):
        lines += ["", "To retire finished jobs; a sync that prunes then deletes the JobSets with their pods and logs:"]
        lines += [f"  {command}" for command in (*commands, "trainc build")]
    return "".join(f"{line}\n" for line in lines)


def _is_worth_showing(obj: LiveObject) -> bool:
    return obj.object != "same" or bool(obj.waits) or obj.sync != "nothing" or obj.state == "failed"


def _object(obj: LiveObject, paint: Paint, show_values: bool) -> Iterator[str]:
    name = obj.job if obj.kind == "JobSet" else obj.label
    state = [] if obj.state == "none" else [obj.state]
    reason = f" ({obj.condition.get('reason')})" if obj.condition and obj.state == "failed" else ""
    tone: Part = "harmless" if obj.object == "same" else "refused"
    yield f"{paint('title', name)}  {', '.join([*state, paint(tone, obj.object)])}{reason}"
    for drift in obj.drift:
        if not drift.is_expected:
            sign, part = SIGNS[drift.kind]
            by = paint("quiet", f"  by {drift.by}") if drift.by else ""
            yield f"  {paint(part, sign)} {documents.format_field(drift.field)}: {_values(drift, show_values)}{by}"
    expected = Counter(drift.by or "admission" for drift in obj.drift if drift.is_expected)
    if expected:
        text = ", ".join(f"{counted(count, 'field')} by {by}" for by, count in expected.items())
        yield f"  {paint('quiet', f'set as expected: {text}')}"
    for wait in obj.waits:
        yield f"  {paint('note', '!')} {escape_line(f'{wait.object}: {wait.cause}')}"
        if wait.place or wait.path:
            where = f"{wait.place}  " if wait.place else ""
            yield f"      {paint('quiet', f'{where}{format_path(wait.path)}')}"
        if wait.hint:
            yield f"      help: {escape_line(wait.hint)}"
    if obj.successor:
        yield f"  in a sync: {paint('harmful', f'ends, and {obj.successor} starts')}"
    elif obj.sync != "nothing":
        harm: Part = "harmless" if obj.sync in ("in-place", "created") else "harmful"
        yield f"  in a sync: {paint(harm, LABELS[obj.sync])} ({MEANINGS[obj.sync]})"


def _values(drift: Drift, show_values: bool) -> str:
    sides = [] if drift.git is None else [_short(drift.git)]
    if drift.live is not None:
        hidden = _may_be_secret(drift.live) and not show_values
        sides.append(f"({len(_plain(drift.live)):,} characters)" if hidden else _short(drift.live))
    return " → ".join(sides)


def _short(value: Any) -> str:
    text = inline(value)
    return f"({len(_plain(value)):,} characters)" if text is None or len(text) > _LONGEST else text


def _may_be_secret(value: Any) -> bool:
    """Return whether a value that git does not have may be a secret, so that only its length is shown."""
    return isinstance(value, str | dict | list)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def live_markdown(live: LiveDiff) -> str:
    """Render the comparison as a section of a pull-request comment, without any value of the cluster."""
    title = f"### {markdown.code(live.git)} and the cluster ({markdown.code(live.dump)})"
    lines = [title, "", ". ".join(_counts(live)) + ".", ""]
    lines += [f"- {_cell(note).replace('AGAIN', '**again**')}" for note in live_notes(live)]
    lines += [f"- Unknown: {_cell(reason)}." for reason in live.unknown]
    objects = [obj for obj in live.objects if _is_worth_showing(obj)]
    if objects:
        lines += ["", "| object | cluster | state | drift | in a sync |", "|---|---|---|---|---|"]
        lines += [markdown.row(map(_cell, _row(obj))) for obj in objects[:_MOST_ROWS]]
        if len(objects) > _MOST_ROWS:
            lines += ["", f"{counted(len(objects) - _MOST_ROWS, 'more object')}: run `trainc diff --live` to see them."]
    if commands := retirement(live):
        shown_commands = [
            *map(escape_line, commands[:_MOST_COMMANDS]),
            *(["# and more"] if commands[_MOST_COMMANDS:] else []),
        ]
        lines += ["", "To retire finished jobs:", "", *markdown.fenced([*shown_commands, "trainc build"], "sh")]
    return "\n".join(lines) + "\n"


def _row(obj: LiveObject) -> tuple[str, ...]:
    drifts = [drift for drift in obj.drift if not drift.is_expected]
    fields = first_of(
        [documents.format_field(drift.field) + (f" by {drift.by}" if drift.by else "") for drift in drifts], 3
    )
    reason = f": {obj.waits[0].cause}" if obj.waits else ""
    sync = f"{obj.successor} starts" if obj.successor else LABELS[obj.sync]
    return obj.label, obj.object, f"{obj.state}{reason}", fields, sync


def _cell(text: str) -> str:
    return markdown.words(text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}...")


def live_json(live: LiveDiff, *, show_values: bool) -> dict[str, Any]:
    """The keys that a comparison with a cluster adds to the JSON document."""
    return {
        "live": [_object_json(obj, show_values) for obj in live.objects],
        "liveNotes": live_notes(live),
        "liveUnknown": list(live.unknown),
        "liveDrifted": live.has_drift,
        "retire": retirement(live),
    }


def _object_json(obj: LiveObject, show_values: bool) -> dict[str, Any]:
    def drift_json(drift: Drift) -> dict[str, Any]:
        hidden = _may_be_secret(drift.live) and not show_values
        live = f"({len(_plain(drift.live))} characters)" if hidden else drift.live
        of_field = {"path": format_path(drift.path), **fields(drift, "by", "kind"), "expected": drift.is_expected}
        return {**of_field, "git": drift.git, "live": live}

    condition = obj.condition
    return {
        "name": obj.label,
        "object": obj.object,
        "drift": list(map(drift_json, obj.drift)),
        "state": obj.state,
        "condition": condition and {key: condition.get(key) for key in ("type", "reason", "message")},
        "waits": [
            {**fields(wait, "object", "cause", "hint"), "path": format_path(wait.path), "place": wait.place}
            for wait in obj.waits
        ],
        "sync": obj.sync,
        "successor": obj.successor or None,
        "source": obj.source or None,
    }
