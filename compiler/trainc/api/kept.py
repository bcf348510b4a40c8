"""Output that is kept as built: what jobs were built from, and why it differs from what compiling gives now."""

from trainc.cli import kept as kept
