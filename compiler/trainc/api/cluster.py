"""What a dump of a cluster holds."""

from trainc.reading.cluster import KINDS, UNCOUNTED, Dump, Key, group_of

__all__ = [
    "KINDS",
    "UNCOUNTED",
    "Dump",
    "Key",
    "group_of",
]
