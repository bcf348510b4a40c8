"""Implement the cluster rules of a comparison with JobSet's admission (`admit` and `refusals`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainc.admission.admit import as_submitted, creation_refusals
from trainc.admission.defaults import bake_defaults
from trainc.admission.updates import Submitted, update_refusals
from trainc.admission.versions import jobset_version
from trainc.api.documents import Manifest
from trainc.api.schema import check
from trainc.diagnostics import Finding
from trainc.diff.rules import Stored
from trainc.emit.name_hash import name_hash
from trainc.ir.release import release_facts
from trainc.startup.records import dataclass

_BY_WEBHOOK = (("spec", "replicatedJobs"), ("spec", "managedBy"))


@dataclass(frozen=True, slots=True)
class JobSetRules:
    """The rules of the JobSet minor version that belongs to a Trainer release."""

    release: str

    @property
    def _jobset(self) -> str:
        return release_facts(self.release).jobset

    def created(self, jobset: Manifest) -> Stored:
        """The JobSet as stored on creation, with all defaults filled in."""
        submitted, _ = as_submitted(bake_defaults(jobset, self._jobset), self.release)
        return _stored(submitted)

    def creation_refusals(self, jobset: Manifest) -> Sequence[Finding]:
        """Why creating the JobSet would be refused; empty if it would be accepted."""
        baked = bake_defaults(jobset, self._jobset)
        _, findings = check(baked, "JobSet", self.release, prune=True)
        return _errors([*findings, *creation_refusals(baked, self._jobset)])

    def updated(self, stored: Stored, jobset: Manifest) -> tuple[Stored, Sequence[Finding]]:
        """The object that would replace `stored`, and the reasons for refusal."""
        after, findings = as_submitted(jobset, self.release)
        before = Submitted(stored.document, stored.typed)
        return _stored(after), _errors([*findings, *update_refusals(before, after, self._jobset)])

    def answers_forbidden(self, refusals: Sequence[Finding]) -> bool:
        """Whether an update refused for these reasons is answered with 403 rather than 422.

        The API server checks schema and CEL rules first and calls the webhook only for objects that pass.
        """
        return not jobset_version(self._jobset).answers_invalid and all(
            refusal.path[:2] in _BY_WEBHOOK for refusal in refusals
        )

    def leaves_out_defaults(self, jobset: Manifest) -> bool:
        """Whether the CREATE webhook would fill in any default."""
        return bake_defaults(jobset, self._jobset) != jobset

    def content_hash(self, manifests: Iterable[Manifest]) -> str:
        """The suffix that `--name-hash` would give a job with these objects."""
        return name_hash({**manifest, "spec": manifest.get("spec", {})} for manifest in manifests)


def _stored(submitted: Submitted) -> Stored:
    return Stored(dict(submitted.document), dict(submitted.typed))


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity == "error"]
