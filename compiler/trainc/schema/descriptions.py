"""One-line descriptions of the fields of Trainer's own types, for editors."""

from __future__ import annotations

_INITIALIZER = {
    "storageUri": "Where to download from, as scheme://path (hf://, s3://, pvc://, ...).",
    "env": "Environment of the initializer container.",
    "secretRef": "Secret whose keys become environment variables of the initializer container.",
}
_PATCHED_POD = {
    "serviceAccountName": "Service account the pods run as.",
    "nodeSelector": "Node labels to add to the pods' selector.",
    "affinity": "Affinity to merge into the pods'.",
    "tolerations": "Tolerations that replace the pods' own.",
    "volumes": "Volumes to add or to merge, by name.",
    "initContainers": "Changes to init containers, by name.",
    "containers": "Changes to containers, by name.",
    "imagePullSecrets": "Secrets for pulling images, added by name.",
    "schedulingGates": "Gates that keep the pods from being scheduled until they are removed.",
    "securityContext": "Security settings to merge into the pods'.",
    "terminationGracePeriodSeconds": "Seconds that a pod has to stop.",
    "resourceClaims": "Claims of devices to add to the pods, by name.",
}
_PATCHED_CONTAINER = {
    "name": "The container to change.",
    "env": "Environment to add or replace, by name.",
    "volumeMounts": "Mounts to add or merge, by path; a volume can be mounted once per patch.",
    "securityContext": "Security settings to merge into the container's.",
    "resources": "Limits and requests to merge into the container's; a list of claims replaces its own.",
}
_BY_DEFINITION = {
    "TrainJob": {"spec": "What to train, and with which runtime."},
    "TrainJobSpec": {
        "runtimeRef": "The runtime that defines how to train.",
        "initializer": "What to download before training starts.",
        "trainer": "Settings of this job for the training.",
        "labels": "Labels for the JobSet.",
        "annotations": "Annotations for the JobSet.",
        "podSpecOverrides": "Changes to the pods of the runtime's jobs.",
        "podTemplateOverrides": "Changes to the pod templates of the runtime's jobs.",
        "runtimePatches": "Changes to the runtime's template, one entry per manager.",
        "suspend": "If true, the job does not start.",
        "managedBy": "What reconciles the job: the Trainer controller or MultiKueue.",
        "activeDeadlineSeconds": "Seconds after which the job is stopped and fails.",
    },
    "RuntimeRef": {
        "name": "Name of the runtime.",
        "kind": "TrainingRuntime (in the job's namespace) or ClusterTrainingRuntime.",
        "apiGroup": "API group of the runtime.",
    },
    "Initializer": {"dataset": "The dataset to download.", "model": "The model to download."},
    "DatasetInitializer": _INITIALIZER,
    "ModelInitializer": _INITIALIZER,
    "Trainer": {
        "image": "Image of the trainer container.",
        "command": "Command of the trainer container; an empty list clears the runtime's.",
        "args": "Arguments of the trainer container; an empty list clears the runtime's.",
        "env": "Environment of the trainer container.",
        "numNodes": "Number of training nodes (pods).",
        "resourcesPerNode": "Resources of the trainer container on each node.",
        "resourceClaimsPerNode": "Claims of devices for each node, which the trainer container uses.",
        "numProcPerNode": "Processes per node; by default one per GPU, or the number of CPUs.",
    },
    "TrainerResourceClaim": {
        "name": "Name of the claim in the pods.",
        "resourceClaimTemplateName": "The ResourceClaimTemplate, in the job's namespace.",
    },
    "RuntimePatch": {
        "manager": "Who owns this patch, as a domain and a path: acme.io/team.",
        "time": "When the patch was last changed; the webhook fills it in.",
        "trainingRuntimeSpec": "The part of the runtime to change.",
    },
    "TrainingRuntimeSpecPatch": {"template": "Changes to the JobSet template."},
    "JobSetTemplatePatch": {"metadata": "Labels and annotations for the JobSet.", "spec": "Changes to its jobs."},
    "JobSetSpecPatch": {"replicatedJobs": "Changes to replicated jobs, by name."},
    "ReplicatedJobPatch": {"name": "The replicated job to change.", "template": "Changes to its Job template."},
    "JobTemplatePatch": {"metadata": "Labels and annotations for the Jobs.", "spec": "Changes to the Job."},
    "JobSpecPatch": {"template": "Changes to the pod template."},
    "PodTemplatePatch": {"metadata": "Labels and annotations for the pods.", "spec": "Changes to the pods."},
    "PodTemplateOverride": {
        "targetJobs": "Replicated jobs that the change is for.",
        "metadata": "Labels and annotations for the pods.",
        "spec": "Changes to the pods.",
    },
    "PodSpecOverrideTargetJob": {"name": "Name of the replicated job."},
    "PodTemplateOverrideTargetJob": {"name": "Name of the replicated job."},
    "PodSpecPatch": _PATCHED_POD,
    "PodSpecOverride": {**_PATCHED_POD, "targetJobs": "Replicated jobs that the change is for."},
    "PodTemplateSpecOverride": _PATCHED_POD,
    "ContainerPatch": _PATCHED_CONTAINER,
    "ContainerOverride": _PATCHED_CONTAINER,
    "TrainingRuntime": {"spec": "How to train, for jobs of one namespace."},
    "ClusterTrainingRuntime": {"spec": "How to train, for jobs of every namespace."},
    "TrainingRuntimeSpec": {
        "mlPolicy": "The framework, and how many nodes it starts with.",
        "podGroupPolicy": "The gang scheduler that starts all pods together.",
        "template": "Template of the JobSet.",
    },
    "JobSetTemplateSpec": {"metadata": "Labels and annotations of the JobSet.", "spec": "The JobSet's jobs."},
    "MLPolicy": {
        "numNodes": "Number of training nodes, unless the TrainJob sets it.",
        "torch": "PyTorch: torchrun's PET_ environment, or torchtune.",
        "mpi": "MPI: a host file, SSH keys and a launcher.",
        "jax": "JAX: coordinator address and process ids.",
        "xgboost": "XGBoost: Rabit tracker address and task ids.",
        "flux": "Flux Framework: a resource manager inside the job.",
    },
    "TorchMLPolicySource": {
        "numProcPerNode": "Processes per node: auto, cpu, gpu or a number.",
        "elasticPolicy": "Bounds of an elastic job.",
        "envInjection": "Further containers that get the PET_ environment.",
    },
    "TorchElasticPolicy": {
        "minNodes": "Fewest nodes.",
        "maxNodes": "Most nodes.",
        "maxRestarts": "Restarts of the worker group before the job fails.",
        "metrics": "Metrics to scale by.",
    },
    "EnvInjection": {"targets": "Containers to inject into, by job."},
    "EnvInjectionTarget": {
        "jobName": "Name of the replicated job.",
        "containerNames": "Its containers, other than node.",
    },
    "MPIMLPolicySource": {
        "numProcPerNode": "Slots per host in the host file.",
        "mpiImplementation": "The MPI implementation.",
        "sshAuthMountPath": "Folder for the SSH keys.",
        "runLauncherAsNode": "If true, the launcher is one of the nodes.",
    },
    "FluxMLPolicySource": {"numProcPerNode": "Tasks per node."},
    "PodGroupPolicy": {
        "coscheduling": "The coscheduling plugin of kube-scheduler.",
        "volcano": "The Volcano scheduler.",
    },
    "CoschedulingPodGroupPolicySource": {"scheduleTimeoutSeconds": "Seconds to wait for the whole gang."},
    "VolcanoPodGroupPolicySource": {"networkTopology": "How close to each other the pods must be."},
}

DESCRIPTIONS: dict[str, str] = {
    f"trainer.{definition}.{field}": text
    for definition, fields in _BY_DEFINITION.items()
    for field, text in fields.items()
}
