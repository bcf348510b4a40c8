"""What conditions, states and events mean, and what to do about them, as tables.

Kueue: kubernetes-sigs/kueue apis/kueue/v1beta2/{workload,clusterqueue,localqueue}_types.go, v0.19.2. JobSet:
kubernetes-sigs/jobset pkg/constants/constants.go, v0.12.0. Jobs and pods: kubernetes/api batch/v1, core/v1, v0.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

# What it means, as a sentence about the object, and what to do.
Meaning: TypeAlias = tuple[str, str]
# Condition type and status -> reason ("" for any other) -> meaning.
Conditions: TypeAlias = Mapping[tuple[str, str], Mapping[str, Meaning]]

_QUOTA = "wait, request less, or raise the quota: `trainc fits --now` says what is missing and who uses it"
_NEVER = "request less, or raise the quota of the ClusterQueue or what its cohort lends: `trainc fits` says by how much"
_QUEUE_OWNER = "ask the administrator of the queues"
_REQUEUED = "nothing: it starts again by itself when there is room"

WORKLOAD: Conditions = {
    ("QuotaReserved", "False"): {
        "NoMatchingFlavor": ("no flavor of its queue suits its pods", "compare node selectors, tolerations and topology with the flavors: `trainc fits`"),
        "WaitingForQuota": ("others hold the quota that it needs", _QUOTA),
        "ExceedsMaxQuota": ("it requests more than its queue could ever get", _NEVER),
        "TopologyPlacementFailed": ("its pods do not fit into one domain of the topology", "request a wider level, or fewer pods: `trainc fits` says what would fit"),
        "WaitingForPreemptedWorkloads": ("Kueue evicts others for it, and waits until they have stopped", "nothing: it starts when their pods are gone"),
        "Misconfigured": ("its namespace, queue or requests are not acceptable", "correct what the message names"),
        "Suspended": ("its queue is stopped", _QUEUE_OWNER),
        "PendingEvaluation": ("Kueue has not decided about it yet", "wait; if it stays so, check the jobs before it in its queue"),
        "WaitingForPodsReady": ("Kueue waits until the pods of an earlier job are ready", "check the job that was admitted last: its pods do not become ready"),
        "Pending": ("Kueue cannot admit it now", _QUOTA),
        "Inadmissible": ("Kueue cannot admit it", "correct what the message names"),
        "OnHold": ("it is put on hold", "remove the hold from the job"),
        "Waiting": ("Kueue waits for other jobs first", "check the job that was admitted last"),
        "AdmissionGated": ("it has an admission gate", "remove the annotation kueue.x-k8s.io/admission-gated-by when it may start"),
        "": ("it has no quota", _QUOTA),
    },
    ("Admitted", "False"): {
        "NoReservation": ("it has no quota", _QUOTA),
        "UnsatisfiedAdmissionChecks": ("its admission checks have not passed", "check status.admissionChecks of the Workload"),
        "PendingDelayedTopologyRequests": ("its nodes are chosen only when they exist", "check the ProvisioningRequest"),
    },
    ("Evicted", "True"): {
        "Preempted": ("it was evicted for another job", _REQUEUED),
        "FlavorMigration": ("it is moved to a flavor that it prefers", _REQUEUED),
        "PodsReadyTimeout": ("its pods were not ready in time, so Kueue stopped it", "find out why its pods do not become ready: image, nodes, quota"),
        "AdmissionCheck": ("an admission check failed, so Kueue stopped it", "check status.admissionChecks of the Workload"),
        "ClusterQueueStopped": ("its ClusterQueue was stopped", _QUEUE_OWNER),
        "LocalQueueStopped": ("its LocalQueue was stopped", _QUEUE_OWNER),
        "NodeFailures": ("a node that it ran on failed", _REQUEUED),
        "EvictedOnManagerCluster": ("the manager cluster took it back", "check its Workload on the manager cluster"),
        "Deactivated": ("it was deactivated", "set spec.active: true on the Workload to queue it again"),
        "": ("it was evicted", _REQUEUED),
    },
    ("DeactivationTarget", "True"): {
        "RequeuingLimitExceeded": ("it was queued again too often", "find out why its pods do not become ready, then set spec.active: true"),
        "MaximumExecutionTimeExceeded": ("it ran as long as kueue.x-k8s.io/max-exec-time-seconds allows", "raise that label and create the job again"),
        "": ("Kueue deactivates it", "check the message, then set spec.active: true on the Workload"),
    },
    ("Requeued", "False"): {
        "": ("Kueue queues it again only later", "wait until status.requeueState.requeueAt, or correct why it was stopped"),
    },
    ("PodsReady", "False"): {
        "WaitForStart": ("it is admitted, and its pods are not ready yet", "check its pods"),
        "WaitForRecovery": ("pods that were ready no longer are", "check its pods"),
    },
    ("BlockedOnPreemptionGates", "True"): {
        "": ("it may not evict others until its gate is opened", "check spec.preemptionGates of the Workload"),
    },
    ("WaitingForReplacementPods", "True"): {
        "": ("it waits for pods that replace others", "check its pods"),
    },
    ("Finished", "True"): {
        "Failed": ("it has failed", "check the JobSet and its pods"),
        "OutOfSync": ("its Workload no longer matches the job, which was changed while it waited or ran", "nothing if Kueue made another Workload; otherwise create the job again"),
        "OwnerNotFound": ("the job that it belonged to is gone", "delete the Workload"),
        "FailedToStart": ("Kueue could not start it", "correct what the message names, and create the job again"),
        "AdmissionChecksRejected": ("an admission check rejected it", "correct what the check objects to, and create the job again"),
    },
}  # fmt: skip

QUEUE: Conditions = {
    ("Active", "False"): {
        "Terminating": ("it is being deleted", "use another queue"),
        "Stopped": ("it is stopped (stopPolicy)", _QUEUE_OWNER),
        "FlavorNotFound": ("a ResourceFlavor that it names does not exist", "create the flavor, or take it out of the queue"),
        "AdmissionCheckNotFound": ("an AdmissionCheck that it names does not exist", "create the check, or take it out of the queue"),
        "AdmissionCheckInactive": ("an AdmissionCheck of it is not active", "check the conditions of the AdmissionCheck"),
        "MultipleMultiKueueAdmissionChecks": ("it has several MultiKueue checks, and may have one", "keep one of them"),
        "MultiKueueAdmissionCheckAppliedPerFlavor": ("its MultiKueue check is for some flavors only", "remove onFlavors from the check"),
        "MultiKueueWithProvisioningRequest": ("it has both a MultiKueue and a ProvisioningRequest check", "keep one of them"),
        "TopologyNotFound": ("a Topology that its flavors name does not exist", "create the Topology"),
        "ClusterQueueIsInactive": ("its ClusterQueue is not active", "check the conditions of the ClusterQueue"),
        "ClusterQueueDoesNotExist": ("its ClusterQueue does not exist", "create it, or point the LocalQueue to another one"),
        "": ("it is not active", _QUEUE_OWNER),
    },
}  # fmt: skip

JOBSET: Conditions = {
    ("Failed", "True"): {
        "FailedJobs": ("one of its Jobs failed, and no failure policy restarts it", "check the pod that failed first; spec.failurePolicy restarts a job"),
        "ReachedMaxRestarts": ("it was restarted as often as failurePolicy.maxRestarts allows", "check the pod that failed first"),
        "DeadlineExceeded": ("it ran longer than activeDeadlineSeconds", "raise activeDeadlineSeconds, or save checkpoints and run again"),
        "FailJobSetFailurePolicyAction": ("a rule of its failure policy ends it", "check the Job that failed, and at spec.failurePolicy.rules"),
        "": ("it has failed", "check the pod that failed first"),
    },
    ("StartupPolicyInProgress", "True"): {
        "": ("its replicated jobs start one after the other, and one is not ready yet", "check the pods of the first replicated job that is not ready"),
    },
    ("Restarting", "True"): {
        "DefaultFailurePolicy": ("it is restarted because a Job failed", "check the logs of the pod that failed first"),
        "": ("it is being restarted", "check the logs of the pod that failed first"),
    },
    ("Suspended", "True"): {
        "": ("it is suspended", "resume it with spec.suspend: false, or add the label kueue.x-k8s.io/queue-name so that Kueue does"),
    },
}  # fmt: skip

TRAINJOB: Conditions = {
    ("Failed", "True"): {
        "TrainingRuntimeNotSupported": ("its runtime does not exist or is not supported", "check spec.runtimeRef against `kubectl get clustertrainingruntimes`"),
        "": ("it has failed", "check its JobSet and pods"),
    },
    ("Suspended", "True"): {
        "": ("it is suspended", "resume it with spec.suspend: false, or name a queue so that Kueue does"),
    },
}  # fmt: skip

JOB: Conditions = {
    ("Failed", "True"): {
        "BackoffLimitExceeded": ("its pods failed more often than backoffLimit allows", "check the exit code and logs of its pods"),
        "DeadlineExceeded": ("it ran longer than activeDeadlineSeconds", "raise activeDeadlineSeconds"),
        "PodFailurePolicy": ("a rule of its podFailurePolicy ends it", "check the exit code of its pods"),
        "FailedIndexes": ("some of its indexes failed", "check the pods of these indexes"),
        "MaxFailedIndexesExceeded": ("more indexes failed than maxFailedIndexes allows", "check the pods of these indexes"),
        "": ("it has failed", "check its pods"),
    },
}  # fmt: skip

POD: Conditions = {
    ("PodScheduled", "False"): {
        "SchedulingGated": ("it has a scheduling gate, which Kueue or a gang scheduler removes", "check the Workload or PodGroup that it belongs to"),
        "Unschedulable": ("no node takes it", "`trainc fits` compares its requests, selectors and tolerations with the nodes"),
        "": ("it has no node", "`trainc fits` compares its requests, selectors and tolerations with the nodes"),
    },
}  # fmt: skip

# Reasons for which a container waits.
CONTAINER: Mapping[str, Meaning] = {
    **dict.fromkeys(("ErrImagePull", "ImagePullBackOff"), ("its image cannot be pulled", "check the name and tag of the image, and imagePullSecrets")),
    "InvalidImageName": ("the name of its image is not valid", "correct the image"),
    "ErrImageNeverPull": ("its image is not on the node, and imagePullPolicy: Never forbids pulling it", "change imagePullPolicy, or load the image"),
    "CreateContainerConfigError": ("a Secret, ConfigMap or key that it names does not exist", "create what the message names"),
    "CreateContainerError": ("the container runtime cannot create it", "correct what the message names"),
    "RunContainerError": ("its command cannot be started", "check that the command exists in the image"),
    "CrashLoopBackOff": ("it ends again and again", "check its logs: `kubectl logs --previous`"),
}  # fmt: skip
EXIT_CODES: Mapping[int, Meaning] = {
    1: ("its program failed", "check its logs; with torchrun, at those of the rank that failed first"),
    2: ("its program was called wrongly", "check the arguments: code 2 is what argparse and shells return for them"),
    126: ("its command cannot be executed", "make the file executable, or call its interpreter"),
    127: ("its command was not found", "check the path of the command, and that the image has it"),
    134: ("its program aborted", "check its logs, often for an error of CUDA or NCCL"),
    137: ("it was killed (SIGKILL)", "it may have used more memory than the node had, or did not stop in time"),
    139: ("its program crashed (SIGSEGV)", "look for native libraries that do not match the driver or each other"),
    143: ("it was stopped (SIGTERM)", "look for an eviction or preemption of the pod"),
}
OUT_OF_MEMORY: Meaning = (
    "it used more memory than its limit",
    "raise the memory limit, or use less: fewer loader workers, smaller batches",
)

# Words in warning events, and what they mean.
EVENTS: tuple[tuple[str, Meaning], ...] = (
    ("exceeded quota", ("a ResourceQuota of the namespace refuses its pods", "request less, or raise the ResourceQuota")),
    ("violates PodSecurity", ("Pod Security of the namespace refuses its pods", "set the securityContext that the message requests")),
    ("ValidatingAdmissionPolicy", ("a policy of the cluster refuses it", "change what the message of the policy names")),
    ("admission webhook", ("a webhook of the cluster refuses it", "change what the message of the webhook names")),
    ("failed calling webhook", ("a webhook of the cluster does not answer", "ask the administrator of the webhook")),
    ("usage per", ("a LimitRange of the namespace refuses its pods", "request what the LimitRange allows")),
    ("error looking up service account", ("its service account does not exist", "create it, or name another one")),
    ("no PriorityClass with name", ("its PriorityClass does not exist", "create it, or name another one")),
    ("workloadpriorityclass", ("its WorkloadPriorityClass does not exist, so Kueue makes no Workload", "create it, or change the label kueue.x-k8s.io/priority-class")),
    ("unable to mount volumes", ("a volume of it cannot be mounted", "create the claim, Secret or ConfigMap that the message names")),
    ("MountVolume", ("a volume of it cannot be mounted", "create the claim, Secret or ConfigMap that the message names")),
    ("Multi-Attach", ("its volume is attached to another node", "use a ReadWriteMany claim")),
)  # fmt: skip
EVENT_REASONS: Mapping[str, Meaning] = {
    "JobCreationFailed": ("JobSet cannot create its Jobs", "correct what the message names"),
    "HeadlessServiceCreationFailed": ("JobSet cannot create its Service", "correct what the message names"),
    "SchedulingObjectsReconcileFailed": ("JobSet cannot create the objects of its gang", "correct what the message names"),
    "PVCCreationFailed": ("JobSet cannot create its claims", "correct what the message names"),
    "FailedResourcePropagation": ("its resources cannot be changed on resuming", "create the job again"),
    "ExclusivePlacementViolation": ("its pods are not all in one domain of its exclusive topology", "nothing: JobSet deletes the pod and tries again"),
    "ErrWorkloadCompose": ("Kueue cannot make a Workload for it", "correct what the message names"),
    "FailedCreate": ("its pods cannot be created", "correct what the message names"),
    "FailedCreatePodSandBox": ("the node cannot start the pod", "check the network plugin of the node"),
    "FailedMount": ("a volume of it cannot be mounted", "create the claim, Secret or ConfigMap that the message names"),
    "FailedAttachVolume": ("a volume of it cannot be attached", "check the claim that the message names"),
}  # fmt: skip
