"""PlainML: sizes the trainer and sets the TrainJob's variables, for runtimes without a framework."""

from __future__ import annotations

from trainc.plugins.plugin import Plugin, always

PLUGIN = Plugin(name="PlainML", passes="trainc.plugins.plain.passes", applies_to=always, yields=True)
