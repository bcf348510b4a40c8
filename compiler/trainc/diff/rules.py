"""The interface to the cluster's admission rules, which the caller implements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from trainc.api.documents import Manifest
from trainc.diagnostics import Finding
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Stored:
    """A JobSet as stored by the API server: the document, and its decoded form."""

    document: Manifest
    typed: Manifest

    def suspended(self) -> Stored:
        """A copy with `suspend` set."""
        return Stored(suspended(self.document), suspended(self.typed))


def suspended(jobset: Manifest) -> Manifest:
    """A copy of the JobSet with `suspend` set."""
    return {**jobset, "spec": {**jobset.get("spec", {}), "suspend": True}}


class ClusterRules(Protocol):
    """How the API server treats a JobSet under one Trainer release. No method modifies its arguments."""

    def created(self, jobset: Manifest) -> Stored:
        """The JobSet as stored on creation, with all defaults filled in."""

    def creation_refusals(self, jobset: Manifest) -> Sequence[Finding]:
        """Why creating the JobSet would be refused; empty if it would be accepted."""

    def updated(self, stored: Stored, jobset: Manifest) -> tuple[Stored, Sequence[Finding]]:
        """The object that would replace `stored`, without the CREATE webhook's defaults, and the reasons for refusal.

        The paths of the findings use list indexes. There are no findings if the update is accepted.
        """

    def answers_forbidden(self, refusals: Sequence[Finding]) -> bool:
        """Whether an update refused for these reasons is answered with 403 rather than 422."""

    def leaves_out_defaults(self, jobset: Manifest) -> bool:
        """Whether the CREATE webhook would fill in any default."""

    def content_hash(self, manifests: Iterable[Manifest]) -> str:
        """The suffix that a name hash would give a job with these objects."""
