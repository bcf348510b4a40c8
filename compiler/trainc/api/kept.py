"""Output that is kept as built: what jobs were built from, and why it differs from what compiling gives now."""

from trainc.cli.kept import causes_of, digests_of

__all__ = [
    "causes_of",
    "digests_of",
]
