"""What an API server, JobSet and quotas say to objects."""

from trainc.admission import updates as updates
from trainc.admission.creation import pod_refusals as pod_refusals
from trainc.pods.admission_plugins import pod_usage as pod_usage
from trainc.pods.resources import read_amounts as read_amounts
