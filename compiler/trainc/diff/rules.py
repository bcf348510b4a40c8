"""What the comparison asks about a cluster; the answers are admission's, and the caller brings them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from trainc.api.documents import Manifest
from trainc.diagnostics import Finding
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Stored:
    """A JobSet in the API server: the document, and what Go's types make of it."""

    document: Manifest
    typed: Manifest

    def suspended(self) -> Stored:
        """The same, suspended."""
        return Stored(suspended(self.document), suspended(self.typed))


def suspended(jobset: Manifest) -> Manifest:
    """The JobSet with `suspend` set."""
    return {**jobset, "spec": {**jobset.get("spec", {}), "suspend": True}}


class ClusterRules(Protocol):
    """How the API server treats a JobSet under one Trainer release. No method changes what it is given."""

    def created(self, jobset: Manifest) -> Stored:
        """The JobSet as it is stored when it is new, all defaults filled in."""

    def creation_refusals(self, jobset: Manifest) -> Sequence[Finding]:
        """Why the JobSet would be refused as a new object; empty if it would not."""

    def updated(self, stored: Stored, jobset: Manifest) -> tuple[Stored, Sequence[Finding]]:
        """What would be stored in the place of `stored`, the CREATE webhook's defaults left out, and why it is refused.

        The findings have paths by index; there are none if the update is accepted.
        """

    def answers_forbidden(self, refusals: Sequence[Finding]) -> bool:
        """Whether an update that is refused for these reasons is answered 403, where others are 422."""

    def leaves_out_defaults(self, jobset: Manifest) -> bool:
        """Whether the CREATE webhook would fill in anything."""

    def content_hash(self, manifests: Iterable[Manifest]) -> str:
        """The suffix that a name hash would give the job with these objects."""
