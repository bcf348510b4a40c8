"""An update of one JobSet as it would go: what is stored, what would be stored, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from trainc.diagnostics import Finding
from trainc.diff.changes import Change, compare_manifests
from trainc.diff.kueue import kueue_refusals
from trainc.diff.normal import Manifest, normal
from trainc.diff.rules import ClusterRules, Stored, suspended
from trainc.diff.submission import Apply, submitted
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Attempt:
    """One update: its refusals now, those that stay where git suspends the JobSet first, and what it changes in the store.

    `effective` counts defaults in, so that a field which only spells out its default is not among them.
    """

    sent: Manifest
    refusals: tuple[Finding, ...]
    while_suspended: tuple[Finding, ...]
    effective: tuple[Change, ...]


class JobSetUpdate:
    """The update of `before`, which was applied and is stored, to `after`, by any way to apply. Works lazily."""

    def __init__(self, before: Manifest, after: Manifest, rules: ClusterRules) -> None:
        self._before, self._after, self._rules = before, after, rules
        self._attempts: dict[Apply, Attempt] = {}

    @cached_property
    def invalid(self) -> bool:
        """Whether the new manifest would be refused as a new object too."""
        return bool(self._rules.creation_refusals(self._after))

    def by(self, apply: Apply) -> Attempt:
        """The update by one way to apply; two ways that send the same share their answer."""
        if apply in self._attempts:
            return self._attempts[apply]
        sent = submitted(apply, self._live.document, self._before, self._after)
        same = next((attempt for attempt in self._attempts.values() if attempt.sent == sent), None)
        return self._attempts.setdefault(apply, same or self._attempt(apply, sent))

    def _attempt(self, apply: Apply, sent: Manifest) -> Attempt:
        becomes, refusals = self._update(self._live, sent)
        again: Sequence[Finding] = ()
        if refusals:
            paused = self._live.suspended()
            _, again = self._update(paused, submitted(apply, paused.document, self._before, suspended(self._after)))
        effective, _ = compare_manifests(normal(self._live.document), normal(becomes.document))
        return Attempt(sent, tuple(refusals), tuple(again), effective)

    def is_forbidden(self, refusals: Sequence[Finding]) -> bool:
        """Whether the API server answers 403 to an update that is refused for these reasons."""
        return self._rules.answers_forbidden(refusals)

    @cached_property
    def _live(self) -> Stored:
        return self._rules.created(self._before)

    def _update(self, stored: Stored, jobset: Manifest) -> tuple[Stored, Sequence[Finding]]:
        becomes, refusals = self._rules.updated(stored, jobset)
        return becomes, [*refusals, *kueue_refusals(stored.document, jobset)]
