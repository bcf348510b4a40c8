"""What a content hash in the names does: a job whose content changes is another job, and the old one goes."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.diff.jobs import JobPairs
from trainc.diff.model import ObjectDiff
from trainc.diff.normal import Manifest
from trainc.diff.outcomes import Outcome
from trainc.diff.patching import with_change
from trainc.diff.rules import ClusterRules
from trainc.diff.verdicts import Verdict
from trainc.diff.ways import NAME_HASH
from trainc.startup.records import replace


def with_new_names(group: JobPairs, objects: Sequence[ObjectDiff], rules: ClusterRules) -> list[ObjectDiff]:
    """The objects of a job, judged anew for names that carry a content hash: all of them get a new name, or none."""
    jobset = group.jobset
    if jobset is None or jobset.before is None or jobset.after is None or jobset.is_renamed or not objects:
        return list(objects)
    if rules.content_hash(group.manifests("before")) == rules.content_hash(group.manifests("after")):
        return list(objects)
    outcome: Outcome = "invalid" if rules.creation_refusals(jobset.after) else "re-created"
    before = {pair.key: pair.before for pair in group.pairs}
    return [_renamed(diff, before[diff.key], outcome, rules) for diff in objects]


def _renamed(diff: ObjectDiff, before: Manifest | None, outcome: Outcome, rules: ClusterRules) -> ObjectDiff:
    old = diff.verdicts[NAME_HASH.id]
    if before is None or diff.status == "removed":
        return diff
    plain = rules.content_hash([before])
    changed = [rules.content_hash([with_change(before, change)]) != plain for change in diff.changes]
    alone = tuple(outcome if c else was for c, was in zip(changed, old.per_change, strict=True))
    return replace(diff, verdicts={**diff.verdicts, NAME_HASH.id: Verdict(outcome, alone)})
