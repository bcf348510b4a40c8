"""Every reason why JobSet would refuse to create a JobSet, the CRD's schema apart."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.diagnostics import Finding
from trainc.target.admission.jobset import read_jobset
from trainc.target.admission.rules_coordinator import check_coordinator
from trainc.target.admission.rules_depends_on import check_depends_on
from trainc.target.admission.rules_names import check_names
from trainc.target.admission.rules_network import check_managed_by, check_network
from trainc.target.admission.rules_policies import check_policies
from trainc.target.admission.rules_volume_claims import check_volume_claims
from trainc.target.admission.versions import jobset_version
from trainc.typing import Any


def creation_refusals(jobset: Mapping[str, Any], version: str) -> list[Finding]:
    """Why that JobSet minor would refuse `jobset`, whose webhook defaults are baked in; empty if it would not.

    What the CRD's schema refuses (types, enums, list keys, bounds, CEL rules) is the schema stage's to say.
    """
    view, facts = read_jobset(jobset), jobset_version(version)
    return [
        *check_names(view, facts),
        *check_depends_on(view, facts),
        *check_network(view),
        *check_managed_by(view),
        *check_policies(view, facts),
        *check_coordinator(view, facts),
        *(check_volume_claims(view) if facts.has_volume_claims else ()),
    ]
