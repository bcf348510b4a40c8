"""The rules' verdict on a JobSet's document: what is refused on creation, and what fails once it is accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.admission.accepted_but_fails import check_later
from trainc.admission.creation import check_creation
from trainc.admission.jobset import read_jobset
from trainc.admission.versions import jobset_version
from trainc.diagnostics import Finding, Severity

Json = Mapping[str, Any]


def verdict(jobset: Json, version: str, later: Severity) -> list[Finding]:
    """Both in one, for a JobSet whose webhook defaults are baked in; `later` is how bad it is to fail later."""
    view, facts = read_jobset(jobset), jobset_version(version)
    return check_creation(view, facts) + check_later(view, facts, later)


def creation_refusals(jobset: Json, version: str) -> list[Finding]:
    """Why that JobSet minor would refuse `jobset`, whose webhook defaults are baked in; empty if it would not."""
    return check_creation(read_jobset(jobset), jobset_version(version))
