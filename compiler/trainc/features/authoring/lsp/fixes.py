"""What can be done about the diagnostics in a range: the edits of their hints, and the comments that ignore them."""

from __future__ import annotations

from trainc.api.editing import edits
from trainc.api.findings import Diagnostic
from trainc.api.records import dataclass
from trainc.features.authoring.lsp.hovering import marks_of
from trainc.features.authoring.lsp.snapshot import Snapshot

# An editor asks about a line, or about all that is on the screen.
_MOST_FIXED = 8


@dataclass(frozen=True, slots=True)
class Offer:
    """An edit for a diagnostic, which marks a range; `preferred` where the hint has one fix only."""

    diagnostic: Diagnostic
    range: edits.Range
    edit: edits.Edit
    preferred: bool = False


def offers(snapshot: Snapshot, requested: edits.Range) -> list[Offer]:
    """What an editor offers for a range, the edits of hints first."""
    marks = marks_of(snapshot)
    here = [mark for mark in marks if mark[1].start <= requested.end and requested.start <= mark[1].end]
    lines = range(requested.start.line, requested.end.line + 1)
    chosen = (here or [mark for mark in marks if mark[1].start.line in lines])[:_MOST_FIXED]
    edited, result = edits.EditedText(snapshot.text), []
    for diagnostic, mark_range in chosen:
        proposed = edited.edits(diagnostic)
        result += [Offer(diagnostic, mark_range, edit, preferred=len(proposed) == 1) for edit in proposed]
        if (comment := edited.ignoring(diagnostic)) is not None:
            result.append(Offer(diagnostic, mark_range, comment))
    return sorted(result, key=lambda offer: offer.edit.text.lstrip().startswith("#"))
