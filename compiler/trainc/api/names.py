"""Well-known names of the Trainer and JobSet APIs.

Source: kubeflow/trainer pkg/constants/constants.go v2.3.0; kubernetes-sigs/jobset api/jobset/v1alpha2.
"""

from __future__ import annotations

TRAINER_GROUP = "trainer.kubeflow.org"
TRAINER_API = f"{TRAINER_GROUP}/v1alpha1"
JOBSET_API = "jobset.x-k8s.io/v1alpha2"

RUNTIME_KINDS = ("TrainingRuntime", "ClusterTrainingRuntime")
KINDS = ("TrainJob", *RUNTIME_KINDS)

ANCESTOR_LABEL = f"{TRAINER_GROUP}/trainjob-ancestor-step"
SUPPORT_LABEL = f"{TRAINER_GROUP}/support"

# Ancestor steps: the values of ANCESTOR_LABEL.
TRAINER = "trainer"
DATASET_INITIALIZER = "dataset-initializer"
MODEL_INITIALIZER = "model-initializer"

# Names of replicated jobs and containers with a special meaning.
NODE = "node"
LAUNCHER = "launcher"
INITIALIZER_VOLUME = "initializer"

TRAINER_PORT = 29500
COMPLETION_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"

CONTROLLER_MANAGED_BY = f"{TRAINER_GROUP}/trainjob-controller"
MULTIKUEUE_MANAGED_BY = "kueue.x-k8s.io/multikueue"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def first_host(job: str, replicated_job: str, subdomain: str) -> str:
    """Return the DNS name, within the namespace, of the first pod of a replicated job: rank 0 listens there."""
    return f"{pod_host(job, replicated_job, 0, 0)}.{subdomain}"


def pod_host(job: str, replicated_job: str, replica: int, index: int) -> str:
    """Return the hostname that JobSet gives to a pod."""
    return f"{job}-{replicated_job}-{replica}-{index}"
