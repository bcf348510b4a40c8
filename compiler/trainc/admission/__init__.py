"""What JobSet's admission does to a compiled JobSet, offline, for the JobSet minor that goes with a Trainer release."""

from __future__ import annotations

from trainc.admission.defaults import bake_defaults
from trainc.admission.name_budget import DerivedName, name_budget
from trainc.admission.verdict import creation_refusals, verdict

__all__ = ["DerivedName", "bake_defaults", "creation_refusals", "name_budget", "verdict"]
