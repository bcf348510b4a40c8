"""What each JobSet minor checks that the others do not, as facts that the rules read."""

from __future__ import annotations

from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class JobSetVersion:
    """The admission behaviour of one JobSet minor, with its feature gates at their defaults.

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


_VERSIONS = {
    "0.8": JobSetVersion("0.8", False, False, False, False, False, False, True),
    "0.10": JobSetVersion("0.10", True, True, False, False, False, False, False),
    "0.11": JobSetVersion("0.11", True, True, True, True, False, True, False),
    "0.12": JobSetVersion("0.12", True, True, True, True, True, True, False),
}


def jobset_version(minor: str) -> JobSetVersion:
    """The facts of a JobSet minor that goes with a Trainer release (`ir.release`). KeyError for any other."""
    return _VERSIONS[minor]
