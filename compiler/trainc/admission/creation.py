"""Every reason why JobSet would refuse to create a JobSet, the CRD's schema apart."""

from __future__ import annotations

from trainc.admission.jobset import JobSet
from trainc.admission.rules_coordinator import check_coordinator
from trainc.admission.rules_depends_on import check_depends_on
from trainc.admission.rules_names import check_names
from trainc.admission.rules_network import check_managed_by, check_network
from trainc.admission.rules_policies import check_policies
from trainc.admission.rules_volume_claims import check_volume_claims
from trainc.admission.versions import JobSetVersion
from trainc.diagnostics import Finding


def check_creation(jobset: JobSet, version: JobSetVersion) -> list[Finding]:
    """Why that JobSet minor would refuse `jobset`, whose webhook defaults are baked in; empty if it would not.

    What the CRD's schema refuses (types, enums, list keys, bounds, CEL rules) is the schema stage's to say.
    """
    return [
        *check_names(jobset, version),
        *check_depends_on(jobset, version),
        *check_network(jobset),
        *check_managed_by(jobset),
        *check_policies(jobset, version),
        *check_coordinator(jobset, version),
        *(check_volume_claims(jobset) if version.has_volume_claims else ()),
    ]
