"""Output that is kept as built: which files, and why they differ from what compiling gives."""

from trainc.cli.compiling import kept_in
from trainc.cli.kept import causes_of, digests_of

__all__ = [
    "causes_of",
    "digests_of",
    "kept_in",
]
