"""What the report shows of the changes since a revision."""

from __future__ import annotations

from typing import Any

from trainc.api.arguments import Arguments, Streams, UsageError
from trainc.api.settings import environment_name
from trainc.features.diff.command import compare_sides, read_both
from trainc.features.diff.delivery import LABELS
from trainc.features.diff.grouping import across, reason_of
from trainc.features.diff.markdown import HARMFUL, what, who
from trainc.features.diff.model import Diff, error_line
from trainc.features.diff.sides import environments_of_sides, look_up, sides_of
from trainc.features.diff.values import headline


def changes_since(revision: str, arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Compare a revision, `git:REV`, with the input; return the headline, a row for each group, and the review.

    Raises CompileError if the revision cannot be read, and UsageError for several inputs.
    """
    if not revision.startswith("git:"):
        raise UsageError(f"argument --since: write git:{revision}")
    if len(arguments.paths) > 1 or "-" in arguments.paths:
        raise UsageError("--since compares one folder, or what trainc.yaml names")
    side = revision + "".join(f":./{path}" for path in arguments.paths)
    given = {"sides": [side], "releases": None, "runtime": None, "live": None, "all_deliveries": False}
    requested = Arguments(**{**vars(arguments), **given, "paths": []})
    look_up(*sides_of(requested))
    every = environments_of_sides(requested)
    diffs: dict[str, Diff] = {}
    errors: list[str] = []
    for each in every:
        before, after, problems = read_both(each, streams)
        if before is None or after is None:
            errors += [error_line(d) for d in problems if d.severity == "error"]
        else:
            diffs[environment_name(each) if len(every) > 1 else ""] = compare_sides(before, after, each, streams)
    sections: dict[str, list[str]] = {"Not compared": errors} if errors else {}
    for diff in diffs.values():
        for label, found in diff.review.errors:
            sections.setdefault(f"Does not compile in {label}", []).extend(map(error_line, found))
        for title, sentences in diff.review.sections:
            if sentences:
                sections.setdefault(title, []).extend(sentences)
    rows = [
        {
            "who": who(group),
            "what": what(group),
            "because": reason_of(group),
            "outcome": LABELS[group.outcome],
            "is_harmful": group.outcome in HARMFUL,
        }
        for group in across((name, diff.groups) for name, diff in diffs.items())
    ]
    unchanged = sum(diff.unchanged for diff in diffs.values())
    return {
        "since": revision,
        "headline": headline(*diffs.values()),
        "unchanged": unchanged,
        "rows": rows,
        "sections": sections,
    }
