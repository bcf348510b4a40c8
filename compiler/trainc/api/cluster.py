"""What a dump of a cluster holds."""

from trainc.kube import kueue_versions, live_objects
from trainc.reading.cluster import KINDS, Dump, group_of

__all__ = ["KINDS", "Dump", "group_of", "kueue_versions", "live_objects"]
