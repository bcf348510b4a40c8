"""What a dump of a cluster holds."""

from trainc.kube import kueue_versions as kueue_versions, live_objects as live_objects
from trainc.reading.cluster import KINDS as KINDS, Dump as Dump, group_of as group_of
