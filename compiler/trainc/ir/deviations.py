"""The deviations of `gitops` from what the controller would create, with the reason for each.

The ids are defined here. PORT.yaml lists the same ones, and a test keeps the two in sync.
"""

from __future__ import annotations

from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    """A deliberate difference. `code` is the warning that `controller` semantics reports in the same situation."""

    id: str
    summary: str
    reason: str
    code: str = ""


DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        "no-owner-references",
        "objects carry no ownerReferences",
        "the TrainJob's UID exists only in a cluster; an invented one makes the garbage collector delete the object",
    ),
    Deviation(
        "no-key-material",
        "Secrets with SSH keys or curve certificates are referred to, never built",
        "a key in git is not secret",
    ),
    Deviation(
        "ancestor-label-injection",
        "jobs that are clearly the trainer or an initializer get their ancestor label, and their pods too",
        "without the label the controller configures nothing and reports no error",
        "MissingTrainerAncestor",
    ),
    Deviation(
        "gang-of-pods-that-run-together",
        "jobs that another job waits for with dependsOn Complete are not part of the gang",
        "they are done before the others start, so a gang that counts them is never complete",
        "GangNeverComplete",
    ),
    Deviation(
        "gang-counts-replicas",
        "the gang's size and resources count every replica",
        "the controller counts one replica of each job and lets the scheduler start half a job",
        "GangIgnoresReplicas",
    ),
    Deviation(
        "gang-counts-limits",
        "a limit without a request counts as the request in the gang's resources",
        "Kubernetes defaults the request to the limit; the controller counts nothing, GPUs included",
        "GangIgnoresLimits",
    ),
    Deviation(
        "unnamed-ports-kept",
        "all container ports without a name are kept",
        "the controller treats any two unnamed ports as one and overwrites the first",
        "UnnamedPortsLost",
    ),
    Deviation(
        "patch-targets-checked",
        "a patch that names a job or container the runtime does not have is refused",
        "the controller checks after the merge, when the patch has already created the job or container",
        "PatchCreatesTarget",
    ),
    Deviation(
        "counts-from-merged-resources",
        "process and slot counts come from the resources that the container ends up with",
        "the controller looks only at the TrainJob's resources and misses GPUs that the runtime requests",
        "CountsIgnoreRuntimeResources",
    ),
    Deviation(
        "resources-without-policy",
        "resourcesPerNode works without an mlPolicy",
        "since 2.3 the controller silently ignores it there",
        "ResourcesIgnored",
    ),
    Deviation(
        "resource-claims-kept",
        "claims in resourcesPerNode reach the container, and the container's own stay",
        "the controller copies only limits and requests, and since 2.3 also removes the container's claims",
        "ResourceClaimsLost",
    ),
    Deviation(
        "mpi-nodes-size-the-nodes",
        "mlPolicy.numNodes sizes the MPI node job, never the launcher",
        "the controller applies the number to the labeled job, and starts several launchers",
        "LauncherMultiplied",
    ),
    Deviation(
        "mpi-one-node-is-one-host",
        "runLauncherAsNode with numNodes 1 runs on the launcher alone",
        "the controller keeps one node pod as well, so there are two hosts",
        "ExtraHost",
    ),
    Deviation(
        "mpi-variables-of-open-mpi-5",
        "the launcher also gets the variables that Open MPI 5 reads",
        "before 2.4 the controller sets only those of Open MPI 4; mpirun of Open MPI 5 never reads the hostfile, and starts all"
        " processes on the launcher",
        "HostfileNotRead",
    ),
    Deviation(
        "real-master-address",
        "rendezvous addresses use the trainer job's real name and the JobSet's real subdomain",
        "the controller always writes <job>-node-0-0.<job>, and the pods never find each other",
        "MasterAddressWrong",
    ),
    Deviation(
        "rank-environment-without-trainer",
        "rank variables are injected without a spec.trainer too",
        "the controller leaves them out, and every pod trains alone",
        "RankEnvironmentMissing",
    ),
    Deviation(
        "one-gpu-resource",
        "two resources whose names contain gpu are refused where a count is taken from them",
        "the controller uses whichever comes first in a Go map, which changes from run to run",
        "AmbiguousGPU",
    ),
    Deviation(
        "env-sources-kept",
        "a TrainJob's variables keep their fileKeyRef, and a fieldRef its apiVersion",
        "the controller drops both; without a fileKeyRef it leaves an empty valueFrom, which the API server refuses",
        "EnvSourceLost",
    ),
    Deviation(
        "flux-gpus-per-task",
        "the tasks of a Flux node share its GPUs",
        "the controller requests all GPUs of the node for each task, and a job with several tasks per node never starts",
        "FluxTasksWantAllGPUs",
    ),
    Deviation(
        "flux-command-words",
        "Flux runs the command word by word, with the runtime's args",
        "the controller joins the words with spaces, which splits words that contain spaces",
        "FluxCommandFlattened",
    ),
    Deviation(
        "metadata-moves-to-jobset",
        "the TrainJob's labels and annotations are copied to the JobSet",
        "the controller copies neither; without the TrainJob in the cluster, Kueue would find no queue",
        "MetadataNotPropagated",
    ),
    Deviation(
        "no-suspend-beside-queue",
        "a JobSet with a Kueue queue label has no suspend",
        "Kueue sets suspend itself; a value in git is applied again at every sync and undoes its decision",
        "SuspendFightsKueue",
    ),
    Deviation(
        "managed-by-moves-to-jobset",
        "managedBy for MultiKueue is set on the JobSet",
        "the controller leaves it on the TrainJob, so the JobSet would run in this cluster",
        "ManagedByNotPropagated",
    ),
    Deviation(
        "deadline-moves-to-trainer",
        "activeDeadlineSeconds is set on the trainer Job",
        "Trainer's controller enforces it on the TrainJob; without the controller nothing would stop the job",
        "DeadlineNotPropagated",
    ),
    Deviation(
        "no-empty-placeholders",
        "empty metadata, resources and status are left out",
        "Go serializes them although they have no value; they mean nothing and clutter every diff",
    ),
    Deviation(
        "admission-defaults",
        "the defaults of JobSet's webhook are written to the manifest",
        "the webhook sees CREATE only: a second client-side apply would remove them and be refused as a change",
    ),
    Deviation(
        "elastic-policy-honoured",
        "torch.elasticPolicy sets the range of nodes for torchrun, the JobSet and the gang",
        "the controller never reads it: the job has a fixed size and torchrun waits for all of it",
        "ElasticPolicyIgnored",
    ),
    Deviation(
        "gang-by-kubernetes",
        "with --gang workload the gang is a Workload and PodGroups of scheduling.k8s.io/v1beta1",
        "Kubernetes 1.37 schedules gangs itself; no Trainer release makes these objects",
    ),
    Deviation(
        "volcano-scheduler-name",
        "pods of a Volcano gang without a schedulerName get volcano",
        "the controller leaves schedulerName empty, and the default scheduler ignores the gang",
        "SchedulerNameMissing",
    ),
)
