"""What an API server, JobSet and quotas say to objects."""

from trainc.admission import updates
from trainc.admission.creation import pod_refusals
from trainc.pods.admission_plugins import pod_usage
from trainc.pods.resources import read_amounts

__all__ = ["pod_refusals", "pod_usage", "read_amounts", "updates"]
