"""A lint for claims that outlive their job, which prevent the next job of the same name from being created."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.options import Options


def retained_claims(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """Yield a finding for each policy that retains claims; a warning if the delivery mode recreates the job.

    With a name hash, each version has its own claims.
    """
    if options.name_hash:
        return
    for index, policy in enumerate(info.template.get("volumeClaimPolicies") or ()):
        if (policy.get("retentionPolicy") or {}).get("whenDeleted") == "Retain":
            names = ", ".join(str((t.get("metadata") or {}).get("name")) for t in policy.get("templates") or ())
            yield Finding(
                "RetainedClaim",
                "warning" if _replaces(options) else "info",
                f"claims of {names or 'this policy'} stay when the JobSet is deleted, and JobSet refuses to create a job "
                "of this name again while they are there",
                "compile with --name-hash, which gives each version of the job claims of its own, or mount a "
                "PersistentVolumeClaim that does not belong to the job",
                ("spec", "template", "spec", "volumeClaimPolicies", index, "retentionPolicy"),
                about="runtime",
            )


def _replaces(options: Options) -> bool:
    return {"Force=true", "Replace=true"} <= {*options.sync_options} or "force=enabled" in options.sync_options
