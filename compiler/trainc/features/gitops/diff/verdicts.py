"""Predict what a cluster does with one object and each of its changes under each delivery method.

The verdict on an object follows from what the API server would receive and answer. The verdict on a change follows from
the refusals that concern it; if the object is deleted and recreated, so is every change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from trainc.api.admission import updates
from trainc.api.findings import Finding, Path
from trainc.api.kube import Manifest, names
from trainc.api.records import dataclass
from trainc.features.gitops.diff import delivery
from trainc.features.gitops.diff.changes import Change, compare_manifests, normalize, strip_server_fields
from trainc.features.gitops.diff.delivery import DELIVERY_METHODS, Apply, DeliveryMethod, Outcome

_ABOUT_UPDATES = ("FieldImmutable", "WebhookDefaultMissing", "ObjectRenamed")
# Kinds that accompany a job and have no immutable fields.
_FREEZABLE_KINDS = ("ConfigMap", "Secret")
_MUTABLE_KINDS = (*_FREEZABLE_KINDS, "PodGroup", "ExternalSecret", "SSHKey", "SealedSecret", "ServiceAccount", "Role")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for an object, for each of its changes in order, and the refusals behind it."""

    outcome: Outcome
    per_change: tuple[Outcome, ...] = ()
    refusals: tuple[Finding, ...] = ()


def verdict_on(
    before: Manifest | None, after: Manifest | None, changes: Sequence[Change], rules: updates.JobSetRules
) -> dict[str, Verdict]:
    """A verdict for each method, by method id. The manifests are normalized; None means that git has no such object."""
    if before is not None and after is None:
        prunes = {method.id: delivery.effective_method(method, before, None).prunes for method in DELIVERY_METHODS}
        return {method: Verdict("deleted" if is_pruned else "nothing") for method, is_pruned in prunes.items()}
    assert after is not None
    if before is None or before["metadata"].get("name") != after["metadata"].get("name"):
        accepted: Outcome = "created" if before is None else "re-created"
        verdict = _all("invalid" if _refused_new(after, rules) else accepted, changes)
        return dict.fromkeys((method.id for method in DELIVERY_METHODS), verdict)
    update = JobSetUpdate(before, after, rules) if before["kind"] == "JobSet" else None
    verdicts = {}
    for method in DELIVERY_METHODS:
        effective = delivery.effective_method(method, before, after)
        if delivery.is_left_alone(effective, before, after):
            verdicts[method.id] = _all("nothing", changes)
        elif update is not None:
            verdicts[method.id] = _judge_jobset(effective, changes, update)
        else:
            verdicts[method.id] = _judge_other(effective, before, changes)
    return verdicts


def sync_outcome(
    method: DeliveryMethod, live: Manifest, applied: Manifest, manifest: Manifest, rules: updates.JobSetRules
) -> Outcome:
    """What happens to the object `live` of a cluster when `manifest` is applied; `applied` is what was applied before."""
    effective = delivery.effective_method(method, live, manifest)
    live, applied, manifest = strip_server_fields(live), strip_server_fields(applied), strip_server_fields(manifest)
    if delivery.is_left_alone(effective, live, manifest):
        return "nothing"
    if manifest["kind"] == "JobSet":
        return _judge_jobset(effective, (), JobSetUpdate(applied, manifest, rules, rules.put(live)[0])).outcome
    sent = delivery.submit(effective.apply, live, applied, manifest)
    changes, _ = compare_manifests(normalize(live), normalize(sent))
    return _judge_other(effective, live, changes).outcome


def _all(outcome: Outcome, changes: Sequence[Change]) -> Verdict:
    return Verdict(outcome, (outcome,) * len(changes))


def _refused_new(manifest: Manifest, rules: updates.JobSetRules) -> bool:
    return manifest["kind"] == "JobSet" and bool(rules.creation_refusals(manifest))


def _judge_jobset(method: DeliveryMethod, changes: Sequence[Change], update: JobSetUpdate) -> Verdict:
    if method.force == "always":
        return _all("re-created" if update.comes_back else "lost", changes)
    attempt = update.by(method.apply)
    alone = tuple(_of_change(change, attempt) for change in changes)
    if not attempt.refusals:
        return Verdict("in-place" if attempt.effective else "nothing", alone)
    # kubectl checks only the status code, Flux also the message, and every refused update says "immutable".
    if method.force == "if refused" and not (method.apply == "client" and update.is_forbidden(attempt.refusals)):
        forced: Outcome = "re-created" if update.comes_back else "lost"
        per_change = tuple(outcome if outcome in {"nothing", "in-place"} else forced for outcome in alone)
        return Verdict(forced, per_change, attempt.refusals)
    return Verdict(_outcome_of(attempt.refusals, attempt.while_suspended), alone, attempt.refusals)


def _outcome_of(refusals: Sequence[Finding], while_suspended: Sequence[Finding]) -> Outcome:
    if any(refusal.code not in _ABOUT_UPDATES for refusal in refusals):
        return "invalid"
    return "immutable" if while_suspended else "needs-suspend"


def _of_change(change: Change, attempt: Attempt) -> Outcome:
    refused, lasting = (
        [refusal for refusal in refusals if _overlap(refusal.path, change.old) or _overlap(refusal.path, change.new)]
        for refusals in (attempt.refusals, attempt.while_suspended)
    )
    if refused or lasting:
        return _outcome_of(refused, lasting)
    return "in-place" if any(_overlap(change.path, other.path) for other in attempt.effective) else "nothing"


def _overlap(left: Path, right: Path) -> bool:
    """Return whether the paths are equal or one contains the other."""
    shorter = min(len(left), len(right))
    return left[:shorter] == right[:shorter]


def _judge_other(method: DeliveryMethod, before: Manifest, changes: Sequence[Change]) -> Verdict:
    if method.force == "always":
        return _all("re-created", changes)
    if not changes:
        return Verdict("nothing")
    if delivery.has_rules(before):
        frozen = [delivery.is_frozen(before, change.path) for change in changes]
    elif before["kind"] not in _MUTABLE_KINDS:
        return _all("unknown", changes)
    elif before["kind"] not in _FREEZABLE_KINDS or before.get("immutable") is not True:
        return _all("in-place", changes)
    else:
        frozen = [change.path[0] != "metadata" for change in changes]
    refused: Outcome = "re-created" if method.force == "if refused" else "immutable"
    per_change: tuple[Outcome, ...] = tuple(refused if is_frozen else "in-place" for is_frozen in frozen)
    return Verdict(refused if refused in per_change else "in-place", per_change)


# A simulated update of one JobSet: what is stored, what would be stored, and what is refused.


@dataclass(frozen=True, slots=True)
class Attempt:
    """One update: its refusals, those left if git suspends the JobSet first, and its effect on the stored object.

    `effective` takes defaults into account, so it excludes fields that only spell out their default.
    """

    sent: Manifest
    refusals: tuple[Finding, ...]
    while_suspended: tuple[Finding, ...]
    effective: tuple[Change, ...]


class JobSetUpdate:
    """The update of the applied `before` to `after`, by any apply method. Evaluated lazily.

    `live` is what is stored, if it is known; otherwise it is `before` as the API server stores it.
    """

    def __init__(
        self, before: Manifest, after: Manifest, rules: updates.JobSetRules, live: updates.Submitted | None = None
    ) -> None:
        self._before, self._after, self._rules, self._known = before, after, rules, live
        self._attempts: dict[Apply, Attempt] = {}

    @cached_property
    def comes_back(self) -> bool:
        """Return whether the new manifest is accepted once the old object has been deleted."""
        return not (self._rules.creation_refusals(self._after) or delivery.lasting_claims(self._before, self._after))

    def by(self, apply: Apply) -> Attempt:
        """The update by one apply method; methods that send the same request share a result."""
        if apply in self._attempts:
            return self._attempts[apply]
        sent = delivery.submit(apply, dict(self._live.document), self._before, self._after)
        same = next((attempt for attempt in self._attempts.values() if attempt.sent == sent), None)
        return self._attempts.setdefault(apply, same or self._attempt(sent))

    def _attempt(self, sent: Manifest) -> Attempt:
        becomes, refusals = self._rules.put(sent)
        refused = self._refusals(self._live, becomes, refusals)
        # The schema does not ask whether a JobSet is suspended.
        refused_while_suspended = self._refusals(_suspend(self._live), _suspend(becomes), refusals) if refused else ()
        effective, _ = compare_manifests(self._normal_live, normalize(dict(becomes.document)))
        return Attempt(sent, refused, refused_while_suspended, effective)

    def is_forbidden(self, refusals: Sequence[Finding]) -> bool:
        """Return whether the API server answers 403 to an update refused for these reasons."""
        return self._rules.answers_forbidden(refusals)

    @cached_property
    def _live(self) -> updates.Submitted:
        return self._known or self._rules.created(self._before)

    @cached_property
    def _normal_live(self) -> Manifest:
        return normalize(dict(self._live.document))

    def _refusals(
        self, stored: updates.Submitted, becomes: updates.Submitted, findings: Sequence[Finding]
    ) -> tuple[Finding, ...]:
        by_kueue = kueue_refusals(stored.document, becomes.document)
        return (*findings, *self._rules.update_refusals(stored, becomes), *by_kueue)


def _suspend(jobset: updates.Submitted) -> updates.Submitted:
    document, typed = (
        {**side, "spec": {**side.get("spec", {}), "suspend": True}} for side in (jobset.document, jobset.typed)
    )
    return updates.Submitted(document, typed)


# The update rules of Kueue's own webhook for queued JobSets, in addition to those of JobSet's webhook.
#
# Source: kubernetes-sigs/kueue pkg/controller/jobframework/validation.go (ValidateJobOnUpdate).

_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"


def kueue_refusals(stored: Mapping[str, Any], jobset: Mapping[str, Any]) -> Iterator[Finding]:
    """Why Kueue would refuse to replace `stored` with `jobset`; empty if neither names a queue."""
    before, after = _labels(stored), _labels(jobset)
    if names.QUEUE_LABEL not in {*before, *after}:
        return
    was_suspended, is_suspended = _is_suspended(stored), _is_suspended(jobset)
    if not is_suspended and before.get(names.QUEUE_LABEL) != after.get(names.QUEUE_LABEL):
        yield _immutable(names.QUEUE_LABEL, "Kueue moves a job to another queue only while the job is suspended")
    if not (was_suspended and is_suspended) and before.get(_TIME_LABEL) != after.get(_TIME_LABEL):
        yield _immutable(_TIME_LABEL, "Kueue accepts a new time limit only while the job is suspended")
    if _PRIORITY_LABEL in after and _PRIORITY_LABEL not in before and not is_suspended:
        yield _immutable(_PRIORITY_LABEL, "Kueue accepts a first priority class only while the job is suspended")
    if _PRIORITY_LABEL in before and _PRIORITY_LABEL not in after:
        yield _immutable(_PRIORITY_LABEL, "Kueue does not allow the priority class to be removed")


def _immutable(label: str, message: str) -> Finding:
    return Finding("FieldImmutable", "error", message, hint="", path=("metadata", "labels", label))


def _labels(jobset: Mapping[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = jobset["metadata"].get("labels") or {}
    return labels


def _is_suspended(jobset: Mapping[str, Any]) -> bool:
    return jobset.get("spec", {}).get("suspend") is True
