"""What other features show of a comparison: notebooks all of it, editors what the cluster does about one job."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.jobs import Compilation
from trainc.api.kube import NEWEST_RELEASE, Manifest
from trainc.api.settings import Options
from trainc.features.diff.comparison import compare
from trainc.features.diff.delivery import chosen_method
from trainc.features.diff.manifests import names_of
from trainc.features.diff.model import Diff, Side
from trainc.features.diff.text import diff_text
from trainc.features.diff.values import fate_of
from trainc.features.diff.verdicts import JobSetRules


def text_between(before: Compilation, after: Compilation) -> str:
    """Compare two compilations: the changes, and what the cluster does about them."""
    sessions = after.sessions or before.sessions
    options = sessions[0].options if sessions else Options()
    left = Side("before", before.manifests, names_of(before.jobs))
    right = Side("after", after.manifests, names_of(after.jobs))
    return diff_text(_compared(left, right, options), lambda _, text: text)


def fate_between(before: Sequence[Manifest], after: Sequence[Manifest], options: Options) -> str:
    """Return what the delivery tool does with a job against what it was: `re-created under Argo CD`."""
    diff, method = _compared(Side("before", before), Side("after", after), options), chosen_method(options)
    changed = [job for job in diff.jobs if job.status != "unchanged"]
    return f"{fate_of(changed[0], method)} under {method.label.partition(',')[0]}" if changed else "unchanged"


def _compared(before: Side, after: Side, options: Options) -> Diff:
    release = options.release or NEWEST_RELEASE
    return compare(before, after, JobSetRules(release), [chosen_method(options)], release)
