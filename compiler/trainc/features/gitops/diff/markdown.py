"""Render comparisons as a pull-request comment: a table of what changes and why, what else to know, then details to unfold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TypeAlias

from trainc.api.findings import Diagnostic, counted, escape_line, first_of, markdown
from trainc.api.jobs import ReplicatedJob
from trainc.api.kube import documents
from trainc.api.settings import merge_diagnostics
from trainc.features import ask
from trainc.features.gitops.diff.changes import Change
from trainc.features.gitops.diff.delivery import LABELS, MEANINGS, DeliveryMethod, Outcome
from trainc.features.gitops.diff.model import (
    GONE,
    Cause,
    Diff,
    Group,
    JobDiff,
    ObjectDiff,
    Review,
    Versions,
    across,
    finding_line,
    notes_of,
    reason_of,
    status_word,
    sum_of,
)
from trainc.features.gitops.diff.text import (
    COLUMNS,
    as_arrow,
    by_outcome,
    differing_lines,
    figures,
    group_by_heading,
    headline,
    names_of,
    one_liners,
)

# GitHub limits a comment to 65,536 characters.
LONGEST_COMMENT = 60_000
# The old and new value are on separate lines here.
_LONGEST_LINES = 200
# What the table and each section may take of a comment, and how long one line of a section may be.
_OF_TABLE, _OF_SECTION, _LONGEST_SENTENCE = 0.3, 0.1, 600
_MOST_JOBS, _MOST_ENVIRONMENTS = 100, 12
_COUNTED = ("nodes", "GPUs")
NEW = "New findings"
HARMFUL: tuple[Outcome, ...] = ("deleted", "re-created", "lost")


# The address of a cause on the platform, empty where that is not known.
Link: TypeAlias = Callable[[Cause], str]


def comment(
    diffs: Mapping[str, Diff],
    unread: Mapping[str, Sequence[Diagnostic]],
    new: Sequence[Diagnostic] = (),
    *,
    most: int = LONGEST_COMMENT,
    link: Link = lambda _: "",
) -> str:
    """Render the comparisons of all environments in at most `most` characters.

    `unread` has the errors of environments that cannot be compared, and `new` what a check finds that is new. What does
    not fit is counted.
    """
    groups = across((name, diff.groups) for name, diff in diffs.items())
    lines = [*_title(diffs), *_headlines(diffs, groups)]
    if groups:
        lines += _table(groups, diffs, int(most * _OF_TABLE), link)
    reviews = [(name, diff.review) for name, diff in diffs.items()]
    reviews += [(name, Review((("", tuple(errors)),))) for name, errors in unread.items()]
    lines += _sections(reviews, new, int(most * _OF_SECTION))
    if groups:
        lines += ["", *_meanings(groups, diffs)]
    notes = dict.fromkeys(note for diff in diffs.values() for note in diff.notes)
    lines += _limit([f"\n> {markdown.words(note)}" for note in notes], int(most * _OF_SECTION), "note")
    text = "\n".join((*lines, ""))
    # What begins or ends is reported by its row.
    reported = [g for g in groups if g.first.status == "changed" or len(g.members) > 1 or g.first.notes]
    for number, group in enumerate(reported):
        details = "\n".join(("", *_details(group, diffs), ""))
        # Leaves room for the last line.
        if len(text) + len(details) > most - 200:
            left = counted(len(reported) - number, "more change")
            return f"{text}\nThe details of {left} do not fit into a comment; `trainc diff` shows them.\n"
        text += details
    return text


def _title(diffs: Mapping[str, Diff]) -> Iterator[str]:
    sides = dict.fromkeys((diff.before, diff.after) for diff in diffs.values())
    title = "; ".join(f"{markdown.code(before)} → {markdown.code(after)}" for before, after in list(sides)[:3])
    if not diffs:
        yield "### The two sides cannot be compared"
        return
    if any(diff.jobs for diff in diffs.values()):
        yield from (f"### {title}", "")
    else:
        unchanged = sum(diff.unchanged for diff in diffs.values())
        compared = f"no changes in {counted(unchanged, 'job')}"
        yield f"{title}: {compared}{f' of {len(diffs)} environments' if len(diffs) > 1 else ''}."


def _headlines(diffs: Mapping[str, Diff], groups: Sequence[Group]) -> Iterator[str]:
    """The headline over all environments, then that of each."""
    line = headline(*diffs.values())
    if line:
        yield from (f"**{markdown.words(line)}**", "")
    if broken := list(dict.fromkeys(label for diff in diffs.values() for label, _ in diff.review.errors if label)):
        text = f"**Not everything compiles in {markdown.words(' and '.join(broken))}; what does is compared.**"
        yield from (*([] if line else [""]), text, *([""] if groups else []))
    if len(diffs) > 1 and groups:
        first_diffs = list(diffs.items())[:_MOST_ENVIRONMENTS]
        yield from (f"- {markdown.words(f'{name}: ' + (headline(diff) or 'no changes'))}" for name, diff in first_diffs)
        yield from ([f"- and {len(diffs) - len(first_diffs)} more"] if len(diffs) > len(first_diffs) else [])
        yield ""


def _reason(group: Group, link: Link, most: int = 3) -> str:
    """The causes as Markdown, each line with its address."""
    places = {f"{c.source.file}:{c.source.line}{GONE[c.side]}": link(c) for c in reversed(group.causes)}
    spans = [(markdown.code(place), address) for place, address in reversed(places.items())]
    texts = [f"[{span}]({address})" if address else span for span, address in spans]
    return first_of([*texts, *filter(None, (markdown.words(group.reason),))], most)


def _table(groups: Sequence[Group], diffs: Mapping[str, Diff], most: int, link: Link) -> Iterator[str]:
    explained = any(map(reason_of, groups))
    heading = ("job", "change", *(("because of",) if explained else ()), "outcome")
    total_of_all = figures(sum_of(diff.totals for diff in diffs.values()))
    shown = [figures(sum_of(job.totals for _, job in group.members)) for group in groups]
    # A column in which nothing changes says nothing, apart from what people count.
    amounts = (*shown, total_of_all)
    changing = (
        any({f[i][1], f[i][2]} - {"0", "-"} and f[i][1] != f[i][2] for f in amounts) for i in range(len(COLUMNS))
    )
    columns = [i for i, changes in enumerate(changing) if changes or COLUMNS[i][0] in _COUNTED]
    yield markdown.row((*heading, *(COLUMNS[i][0] for i in columns)))
    yield "|" + "---|" * len(heading) + "---:|" * len(columns)
    rows = []
    for group in groups:
        outcome_text = f"**{LABELS[group.outcome]}**" if group.outcome in HARMFUL else LABELS[group.outcome]
        sizes = _figures(sum_of(job.totals for _, job in group.members), columns)
        field, more = what(group)
        change = markdown.code(field) + markdown.words(more)
        reason = [_reason(group, link)] if explained else []
        rows.append(markdown.row((markdown.words(who(group)), change, *reason, outcome_text, *sizes)))
    for row in _limit(rows, most, "change"):
        yield row if row.startswith("|") else f"| {row} |" + " |" * (len(heading) + len(columns) - 1)
    total = sum(diff.unchanged + len(diff.jobs) for diff in diffs.values())
    sizes = _figures(sum_of(diff.totals for diff in diffs.values()), columns)
    yield markdown.row((f"**all {total:,}**", *[""] * (len(heading) - 1), *sizes))


def who(group: Group) -> str:
    """`18 jobs`, `18 jobs in each of dev, prod`, or the name of a single job."""
    by_name: dict[str, int] = {}
    for name, _ in group.members:
        by_name[name] = by_name.get(name, 0) + 1
    counts = set(by_name.values())
    label = {job.label for _, job in group.members}
    noun = "job" if group.first.kind == "JobSet" else group.first.kind
    names = first_of(list(by_name), _MOST_ENVIRONMENTS)
    if len(label) == 1:
        return next(iter(label)) + (f" in {names}" if names else "")
    if len(by_name) > 1 and len(counts) == 1:
        return f"{counted(counts.pop(), noun)} in each of {names}"
    return counted(len(group.members), noun) + (f" in {names}" if names else "")


def what(group: Group) -> tuple[str, str]:
    """The first field that changes, from its container on; the number of others, and what to know first."""
    aside = first_of(list(dict.fromkeys(filter(None, (job.aside for _, job in group.members)))), 3)
    field, more = _what(group)
    return field, " · ".join(filter(None, (more, aside)))


def _what(group: Group) -> tuple[str, str]:
    changes = [
        (heading, change)
        for diff in group.first.objects
        for heading, pairs in group_by_heading(diff)
        for _, change in pairs
    ]
    if not changes or group.first.status != "changed":
        facts = {} if group.first.facts is None else group.first.facts.named()
        facts |= {"runs": "programs that differ by job"} if group.varies and facts else {}
        return "", " · ".join(("new" if facts else status_word(group.first), *(f"{n} {t}" for n, t in facts.items())))
    jobset = {id(change) for diff in group.first.objects if diff.key.kind == "JobSet" for change in diff.changes}
    heading, change = next(((h, c) for h, c in changes if id(c) in jobset), changes[0])
    values = None if group.varies else one_liners(change, 80)
    values_text = f": {' → '.join(values)}" if values else ""
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    sign = {"added": "+ ", "removed": "- "}.get(change.kind, "")
    return f"{sign}{documents.format_field(change.path[len(heading) :])}{values_text}", more


def _sections(reviews: Sequence[tuple[str, Review]], new: Sequence[Diagnostic], most: int) -> Iterator[str]:
    """The reviews of all environments by heading; a sentence that several have is there once, with their names."""
    by_label: dict[str, dict[str, Sequence[Diagnostic]]] = {}
    by_title: dict[str, dict[str, list[str]]] = {}
    for name, review in reviews:
        for label, problems in review.errors:
            by_label.setdefault(label, {})[name] = problems
        for title, sentences in review.sections:
            for sentence in sentences:
                by_title.setdefault(title, {}).setdefault(sentence, []).append(name)
    for label, by_environment in by_label.items():
        title = f"Not compared, because it does not compile in {label}" if label else "Not compared"
        merged = merge_diagnostics({name: by_environment.get(name, ()) for name, _ in reviews})
        yield from _section(title, [f"- {markdown.words(finding_line(d))}" for d in merged], most)
    yield from _section(NEW, [f"- **{d.severity}** {markdown.words(finding_line(d))}" for d in new], most)
    for title, names_by_sentence in by_title.items():
        lines = []
        for sentence, names in names_by_sentence.items():
            where = "" if len(names) == len(reviews) else f"{first_of(names, _MOST_ENVIRONMENTS)}: "
            if title == "Sweeps" and len(names) > 1:  # Each of them pays.
                where = f"in each of {first_of(names, _MOST_ENVIRONMENTS)}: "
            lines.append(f"- {markdown.words(where + _shortened(sentence))}")
        yield from _section(title, lines, most)


def _section(title: str, lines: Sequence[str], most: int) -> Iterator[str]:
    if lines:
        yield from ("", f"#### {markdown.words(title)}", "", *_limit(lines, most, "line", "- "))


def _shortened(sentence: str) -> str:
    return sentence if len(sentence) <= _LONGEST_SENTENCE else sentence[:_LONGEST_SENTENCE] + "..."


def _limit(lines: Iterable[str], most: int, noun: str, sign: str = "") -> list[str]:
    """The lines up to `most` characters, and how many there are more."""
    all_lines = list(lines)
    for number, line in enumerate(all_lines):
        most -= len(line) + 1
        if most < 0:
            return [*all_lines[:number], f"{sign}and {counted(len(all_lines) - number, f'more {noun}')}"]
    return all_lines


def _meanings(groups: Sequence[Group], diffs: Mapping[str, Diff]) -> Iterator[str]:
    """Explain the terms used in the table."""
    outcomes = {group.first.outcomes[m.id] for group in groups for diff in diffs.values() for m in diff.deliveries}
    settings = dict.fromkeys(f"Trainer {diff.release}, {diff.method.phrase}" for diff in diffs.values())
    mark = " (*) marks your delivery mode." if any(len(diff.deliveries) > 1 for diff in diffs.values()) else ""
    yield f"For {'; for '.join(list(settings)[:3])}.{mark}"
    yield ""
    for outcome, meaning in MEANINGS.items():
        if outcome in outcomes:
            yield f"- *{LABELS[outcome]}*: {meaning}"


def _figures(totals: Versions, columns: Sequence[int]) -> list[str]:
    if totals.before is None and totals.after is None:
        return [""] * len(columns)
    amounts = [figures(totals)[i] for i in columns]
    return [before if before == after else f"**{as_arrow(before, after)}**" for _, before, after in amounts]


def _details(group: Group, diffs: Mapping[str, Diff]) -> Iterator[str]:
    job, method = group.first, group.method
    places = {cause.source for cause in group.causes}
    reason = reason_of(group, _MOST_JOBS) if len(places) > 3 else ""
    name = escape(escape_line(who(group)))
    yield f"<details><summary><code>{name}</code>: {status_word(job)}, {LABELS[group.outcome]}</summary>"
    yield ""
    if len(group.members) > 1:
        labels = list(dict.fromkeys(member.label for _, member in group.members))
        yield f"Jobs: {markdown.words(first_of(labels, _MOST_JOBS))}"
        yield ""
    if reason:
        yield f"Because of {markdown.words(reason)}."
    deliveries = next(iter(diffs.values())).deliveries
    if len(deliveries) > 1:
        yield "| outcome | delivery |"
        yield "|---|---|"
        for outcome, methods in by_outcome(job.outcomes, deliveries):
            yield markdown.row((LABELS[outcome], names_of(methods, method)))
    for note in notes_of(group):
        yield ""
        yield f"> {markdown.words(note)}"
    if job.status == "changed" and list(map(_shape, job.steps_before)) != list(map(_shape, job.steps_after)):
        yield from steps_diagram(job)
    for object_diff in job.objects if job.status == "changed" or len(group.members) == 1 else ():
        yield ""
        yield from _object(object_diff, method, with_name=len(group.members) == 1)
    if group.varies:
        yield from ("", f"The values are those of {markdown.code(job.label)}; they differ by job.")
    yield ""
    yield "</details>"


def _object(diff: ObjectDiff, method: DeliveryMethod, *, with_name: bool) -> Iterator[str]:
    outcome = diff.verdicts[method.id].outcome
    name = f" {markdown.code(' → '.join(diff.renamed) if diff.renamed else diff.key.name)}" if with_name else ""
    yield f"**{markdown.words(diff.key.kind)}**{name}: {diff.status}, {LABELS[outcome]}"
    if not diff.changes:
        return
    lines = []
    for heading, changes in group_by_heading(diff):
        if heading:
            lines.append(f"@@ {documents.format_field(heading)} @@")
        for number, change in changes:
            alone = diff.outcomes(number)[method.id]
            note = "" if alone == outcome else f"   # {LABELS[alone]}"
            lines += _change(change, documents.format_field(change.path[len(heading) :]), note)
    yield from ("", *markdown.fenced(lines, "diff"))


def _change(change: Change, field: str, note: str) -> Iterator[str]:
    values = one_liners(change, _LONGEST_LINES)
    if values is None:
        sign = {"added": "+", "removed": "-"}.get(change.kind, " ")
        yield f"{sign} {field}:{note}"
        for line_sign, line in differing_lines(change):
            yield f"{line_sign}     {line}"
    elif change.kind == "changed":
        yield f"- {field}: {values[0]}"
        yield f"+ {field}: {values[1]}{note}"
    else:
        yield f"{'+' if change.kind == 'added' else '-'} {field}: {values[0]}{note}"


# The steps of a job before and after, as one Mermaid diagram.

# Only borders are colored: a fill that works on a light page does not work on a dark one.
_LOOKS = {
    "added": "stroke:#2da44e,stroke-width:3px",
    "removed": "stroke:#cf222e,stroke-width:3px,stroke-dasharray:5 5",
    "changed": "stroke:#bf8700,stroke-width:3px",
}


def steps_diagram(job: JobDiff) -> Iterator[str]:
    """A flowchart of the steps on both sides, with their changes and dependencies, if the feature that draws is there."""
    flowchart_of = ask("graph", "flowchart")
    if flowchart_of is None:
        return
    before = {step.name: step for step in job.steps_before}
    after = {step.name: step for step in job.steps_after}
    sides = {name: (before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))}
    boxes = [(name, *_facts_and_look(*steps)) for name, steps in sides.items()]
    # Dependencies that are gone are dotted.
    old_arrows, new_arrows = (
        {(d.step, name, d.status) for name, step in steps.items() for d in step.depends_on or ()}
        for steps in (before, after)
    )
    arrows = [(*arrow, arrow not in new_arrows) for arrow in sorted(new_arrows | old_arrows)]
    yield from ("", *markdown.fenced([flowchart_of(boxes, arrows, _LOOKS)], "mermaid"))


def _shape(step: ReplicatedJob) -> tuple[object, ...]:
    return step.name, step.pods, step.requests, step.depends_on


def _facts_and_look(before: ReplicatedJob | None, after: ReplicatedJob | None) -> tuple[list[str], str]:
    steps = [step for step in (before, after) if step is not None]
    pods = as_arrow(*(f"{step.pods}" for step in (steps[0], steps[-1])))
    gpus = as_arrow(*(f"{sum(step.devices.values())}" for step in (steps[0], steps[-1])))
    facts = [f"{pods} {'pod' if pods == '1' else 'pods'}"]
    facts += [] if gpus == "0" else [f"{gpus} {'GPU' if gpus == '1' else 'GPUs'} per pod"]
    return facts, "added" if before is None else "removed" if after is None else "changed" if before != after else ""
