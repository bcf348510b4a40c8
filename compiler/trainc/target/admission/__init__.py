"""What JobSet's admission does to a compiled JobSet, offline, for the JobSet minor that goes with a Trainer release."""

from __future__ import annotations

from trainc.target.admission.accepted_but_fails import later_failures
from trainc.target.admission.creation import creation_refusals
from trainc.target.admission.defaults import bake_defaults
from trainc.target.admission.name_budget import DerivedName, name_budget

__all__ = ["DerivedName", "bake_defaults", "creation_refusals", "later_failures", "name_budget"]
