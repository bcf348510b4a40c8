"""What a cluster does about one object, and about each of its changes, when it is delivered in one way.

The object is judged by what the API server would be sent and would answer. A change is judged by the refusals that
concern it; where an object is deleted and created again, every change is.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainc.diagnostics import Finding, Path
from trainc.diff.attempts import Attempt, JobSetUpdate
from trainc.diff.changes import Change
from trainc.diff.normal import Manifest
from trainc.diff.outcomes import Outcome
from trainc.diff.own_options import is_left_alone, own_way
from trainc.diff.rules import ClusterRules
from trainc.diff.ways import WAYS, Way
from trainc.startup.records import dataclass

_ABOUT_UPDATES = ("FieldImmutable", "WebhookDefaultMissing", "ObjectRenamed")
# Kinds without frozen fields among those that go with a job.
_MUTABLE_KINDS = (
    "PodGroup",
    "ConfigMap",
    "Secret",
    "ExternalSecret",
    "SSHKey",
    "SealedSecret",
    "ServiceAccount",
    "Role",
)
_FREEZABLE_KINDS = ("ConfigMap", "Secret")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for an object, for each of its changes in order, and the refusals behind it."""

    outcome: Outcome
    per_change: tuple[Outcome, ...] = ()
    refusals: tuple[Finding, ...] = ()


def judge(
    before: Manifest | None, after: Manifest | None, changes: Sequence[Change], rules: ClusterRules
) -> dict[str, Verdict]:
    """A verdict per way, by its id. The manifests are stripped (`normal`); a missing one is not in git."""
    if before is None or after is None:
        return {way.id: _one_sided(way, before, after, rules) for way in WAYS}
    if before["metadata"].get("name") != after["metadata"].get("name"):
        return dict.fromkeys(
            (way.id for way in WAYS), _all("invalid" if _refused_new(after, rules) else "re-created", changes)
        )
    update = JobSetUpdate(before, after, rules) if before["kind"] == "JobSet" else None
    verdicts = {}
    for way in WAYS:
        own = own_way(way, before, after)
        if is_left_alone(own, before, after):
            verdicts[way.id] = _all("nothing", changes)
        elif update is not None:
            verdicts[way.id] = _judge_jobset(own, changes, update)
        else:
            verdicts[way.id] = _judge_other(own, before, changes)
    return verdicts


def _all(outcome: Outcome, changes: Sequence[Change], refusals: Sequence[Finding] = ()) -> Verdict:
    return Verdict(outcome, (outcome,) * len(changes), tuple(refusals))


def _one_sided(way: Way, before: Manifest | None, after: Manifest | None, rules: ClusterRules) -> Verdict:
    if before is not None:
        return Verdict("deleted" if own_way(way, before, None).prunes else "nothing")
    assert after is not None
    return Verdict("invalid" if _refused_new(after, rules) else "created")


def _refused_new(manifest: Manifest, rules: ClusterRules) -> bool:
    return manifest["kind"] == "JobSet" and bool(rules.creation_refusals(manifest))


def _judge_jobset(way: Way, changes: Sequence[Change], update: JobSetUpdate) -> Verdict:
    if way.force == "always":
        return _all("lost" if update.invalid else "re-created", changes)
    attempt = update.by(way.apply)
    alone = tuple(_of_change(change, attempt) for change in changes)
    if not attempt.refusals:
        return Verdict("in-place" if attempt.effective else "nothing", alone)
    # kubectl looks at the status alone, Flux at the message too, and every refusal of an update says "immutable".
    if way.force == "if refused" and not (way.apply == "client" and update.is_forbidden(attempt.refusals)):
        forced: Outcome = "lost" if update.invalid else "re-created"
        per_change = tuple(outcome if outcome in {"nothing", "in-place"} else forced for outcome in alone)
        return Verdict(forced, per_change, attempt.refusals)
    return Verdict(_refused(attempt), alone, attempt.refusals)


def _refused(attempt: Attempt) -> Outcome:
    if any(refusal.code not in _ABOUT_UPDATES for refusal in attempt.refusals):
        return "invalid"
    return "immutable" if attempt.while_suspended else "needs-suspend"


def _of_change(change: Change, attempt: Attempt) -> Outcome:
    refused = [refusal for refusal in attempt.refusals if _concerns(refusal.path, change)]
    if any(refusal.code not in _ABOUT_UPDATES for refusal in refused):
        return "invalid"
    if any(_concerns(refusal.path, change) for refusal in attempt.while_suspended):
        return "immutable"
    if refused:
        return "needs-suspend"
    return "in-place" if any(_related(change.path, other.path) for other in attempt.effective) else "nothing"


def _concerns(path: Path, change: Change) -> bool:
    return _related(path, change.old) or _related(path, change.new)


def _related(left: Path, right: Path) -> bool:
    """Whether one path lies inside the other, or is it."""
    shorter = min(len(left), len(right))
    return left[:shorter] == right[:shorter]


def _judge_other(way: Way, before: Manifest, changes: Sequence[Change]) -> Verdict:
    if way.force == "always":
        return _all("re-created", changes)
    if not changes:
        return Verdict("nothing")
    if before["kind"] not in _MUTABLE_KINDS:
        return _all("unknown", changes)
    if before["kind"] not in _FREEZABLE_KINDS or before.get("immutable") is not True:
        return _all("in-place", changes)
    refused: Outcome = "re-created" if way.force == "if refused" else "immutable"
    per_change = tuple("in-place" if change.path[0] == "metadata" else refused for change in changes)
    return Verdict(refused if refused in per_change else "in-place", per_change)
