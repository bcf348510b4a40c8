"""The differences between the admission rules of JobSet minors, as facts that the rules read."""

from __future__ import annotations

from functools import cache

from trainc.kube.releases import JOBSETS, Columns
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class JobSetVersion:
    """The admission behavior of one JobSet minor, with its feature gates at their defaults.

    Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go at v0.8.2, v0.10.1, v0.11.1 and v0.12.0.
    """

    minor: str
    has_groups: bool
    has_message_patterns: bool
    has_volume_claims: bool
    has_in_place_restart: bool
    has_restart_job: bool
    checks_coordinator_label: bool
    crashes_on_empty_depends_on: bool
    answers_invalid: bool


# fmt: off
_FACTS = Columns(JOBSETS, {
    #                               0.8    0.10   0.11   0.12
    "has_groups":                  (False, True,  True,  True),
    "has_message_patterns":        (False, True,  True,  True),
    "has_volume_claims":           (False, False, True,  True),
    "has_in_place_restart":        (False, False, True,  True),
    "has_restart_job":             (False, False, False, True),
    "checks_coordinator_label":    (False, False, True,  True),
    "crashes_on_empty_depends_on": (True,  False, False, False),
    # The webhook responds with 422, like the API server itself; older ones with 403 (jobset pull request 1207).
    "answers_invalid":             (False, False, False, True),
})
# fmt: on


@cache
def jobset_version(minor: str) -> JobSetVersion:
    """Return the facts of a JobSet minor. Raises KeyError if no Trainer release uses it (`ir.release`)."""
    return JobSetVersion(minor=minor, **_FACTS.at(minor))
