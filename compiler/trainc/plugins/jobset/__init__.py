"""JobSet: builds the object that runs the job."""

from __future__ import annotations

from trainc.plugins.plugin import Plugin, always

PLUGIN = Plugin(name="JobSet", passes="trainc.plugins.jobset.passes", applies_to=always)
