"""What other features show of a comparison: notebooks all of it, editors the fate of one job, the report what changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainc.api.admission import updates
from trainc.api.arguments import Arguments, Streams, UsageError
from trainc.api.jobs import Compilation
from trainc.api.kube import Manifest, releases
from trainc.api.settings import Options
from trainc.features.gitops.diff.command import compare_sides, read_both
from trainc.features.gitops.diff.comparison import compare
from trainc.features.gitops.diff.delivery import LABELS, chosen_method
from trainc.features.gitops.diff.manifests import names_of
from trainc.features.gitops.diff.markdown import HARMFUL, what, who
from trainc.features.gitops.diff.model import Diff, Side, across, error_line, reason_of
from trainc.features.gitops.diff.sides import environments_of_sides, look_up, sides_of, with_arguments
from trainc.features.gitops.diff.text import diff_text, fate_of, headline


def text_between(before: Compilation, after: Compilation) -> str:
    """Compare two compilations: the changes, and what the cluster does about them."""
    sessions = after.sessions or before.sessions
    options = sessions[0].options if sessions else Options()
    left = Side("before", before.manifests, names_of(before.jobs))
    right = Side("after", after.manifests, names_of(after.jobs))
    return diff_text(_compare(left, right, options), lambda _, text: text)


def fate_between(before: Sequence[Manifest], after: Sequence[Manifest], options: Options) -> str:
    """Return what the delivery tool does with a job against what it was: `re-created under Argo CD`."""
    diff, method = _compare(Side("before", before), Side("after", after), options), chosen_method(options)
    changed = [job for job in diff.jobs if job.status != "unchanged"]
    return f"{fate_of(changed[0], method)} under {method.label.partition(',')[0]}" if changed else "unchanged"


def _compare(before: Side, after: Side, options: Options) -> Diff:
    release = options.release or releases.NEWEST_RELEASE
    return compare(before, after, updates.JobSetRules(release), [chosen_method(options)], release)


# What the report shows of the changes since a revision.


def changes_since(revision: str, arguments: Arguments, streams: Streams) -> dict[str, Any]:
    """Compare a revision, `git:REV`, with the input; return the headline, a row for each group, and the review.

    Raises CompileError if the revision cannot be read, and UsageError for several inputs.
    """
    if not revision.startswith("git:"):
        raise UsageError(f"argument --since: write git:{revision}")
    if len(arguments.paths) > 1 or "-" in arguments.paths:
        raise UsageError("--since compares one folder, or what trainc.yaml names")
    side = revision + "".join(f":./{path}" for path in arguments.paths)
    requested = with_arguments(
        arguments, sides=[side], releases=None, runtime=None, live=None, all_deliveries=False, paths=[]
    )
    look_up(*sides_of(requested))
    environments = environments_of_sides(requested)
    diffs: dict[str, Diff] = {}
    errors: list[str] = []
    for environment in environments:
        before, after, problems = read_both(environment, streams)
        if before is None or after is None:
            errors += [error_line(d) for d in problems if d.severity == "error"]
        else:
            name = environment.environment if len(environments) > 1 else ""
            diffs[name] = compare_sides(before, after, environment, streams)
    sections: dict[str, list[str]] = {"Not compared": errors} if errors else {}
    for diff in diffs.values():
        for label, diagnostics in diff.review.errors:
            sections.setdefault(f"Does not compile in {label}", []).extend(map(error_line, diagnostics))
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
