"""What a dump of a cluster holds."""

from trainc.kube import live_objects
from trainc.reading.cluster import KINDS, Dump, group_of

__all__ = [
    "KINDS",
    "Dump",
    "group_of",
    "live_objects",
]
