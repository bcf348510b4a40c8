"""Bounds, lengths, sizes and allowed values in the CRDs of Trainer and JobSet.

Keys are "group.Definition.field"; a "[]" suffix refers to the items of the list. Source: the CRDs of kubeflow/trainer
and kubernetes-sigs/jobset at the tags that PORT.yaml pins. Rules for several values are in cel.py.
"""

from __future__ import annotations

from functools import cache

from trainc.api.releases import Since
from trainc.api.schema.cel import ML_POLICY, RULES, Rule, one_framework
from trainc.api.schema.shapes import API_VERSIONS, ROOTS, Struct, definition
from trainc.startup.records import dataclass

# All other integers are int32. These are int64 in the CRD, or a Go `int`, which has no format there.
INT64 = frozenset(
    {
        "batch.JobSpec.activeDeadlineSeconds",
        "core.PodSecurityContext.fsGroup",
        "core.PodSecurityContext.runAsGroup",
        "core.PodSecurityContext.runAsUser",
        "core.PodSecurityContext.supplementalGroups[]",
        "core.PodSpec.activeDeadlineSeconds",
        "core.PodSpec.terminationGracePeriodSeconds",
        "core.Probe.terminationGracePeriodSeconds",
        "core.SecurityContext.runAsGroup",
        "core.SecurityContext.runAsUser",
        "core.ServiceAccountTokenProjection.expirationSeconds",
        "core.SleepAction.seconds",
        "core.Toleration.tolerationSeconds",
        "jobset.Coordinator.jobIndex",
        "jobset.Coordinator.podIndex",
        "meta.ObjectMeta.deletionGracePeriodSeconds",
        "meta.ObjectMeta.generation",
        "trainer.PodSpecPatch.terminationGracePeriodSeconds",
        "trainer.TrainJobSpec.activeDeadlineSeconds",
        "volcano.NetworkTopologySpec.highestTierAllowed",
    }
)

MINIMUM = Since[int](
    {
        "2.0": {"jobset.JobSetSpec.ttlSecondsAfterFinished": 0},
        "2.2": {"trainer.TrainJobSpec.activeDeadlineSeconds": 1, "trainer.FluxMLPolicySource.numProcPerNode": 1},
        "2.3": {"trainer.PodSpecPatch.terminationGracePeriodSeconds": 0},
    }
)

ENUM = Since[tuple[str, ...]](
    {
        "2.0": {
            **{f"{root}.kind": (kind,) for kind, root in ROOTS.items()},
            **{f"{root}.apiVersion": (API_VERSIONS[kind],) for kind, root in ROOTS.items()},
            "trainer.TrainJobSpec.managedBy": (
                "trainer.kubeflow.org/trainjob-controller",
                "kueue.x-k8s.io/multikueue",
            ),
            "trainer.MPIMLPolicySource.mpiImplementation": ("OpenMPI",),
            "jobset.DependsOn.status": ("Ready", "Complete"),
            "jobset.FailurePolicy.restartStrategy": ("Recreate", "BlockingRecreate"),
            "jobset.FailurePolicyRule.action": ("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"),
            "jobset.StartupPolicy.startupPolicyOrder": ("AnyOrder", "InOrder"),
            "jobset.SuccessPolicy.operator": ("All", "Any"),
        },
        "2.1": {
            "trainer.MPIMLPolicySource.mpiImplementation": ("OpenMPI", ""),
            "volcano.NetworkTopologySpec.mode": ("hard", "soft"),
        },
        "2.2": {
            "jobset.FailurePolicy.restartStrategy": ("Recreate", "BlockingRecreate", "InPlaceRestart"),
            "jobset.VolumeRetentionPolicy.whenDeleted": ("Delete", "Retain"),
        },
        "2.3": {
            "jobset.FailurePolicyRule.action": (
                "FailJobSet",
                "RestartJobSet",
                "RestartJobSetAndIgnoreMaxRestarts",
                "RestartJob",
                "RestartJobAndIgnoreMaxRestarts",
            ),
        },
    }
)

MIN_LENGTH = Since[int](
    {
        "2.1": {
            "trainer.RuntimeRef.name": 1,
            "trainer.ContainerOverride.name": 1,
            "trainer.PodTemplateOverrideTargetJob.name": 1,
        },
        "2.2": {
            "trainer.RuntimePatch.manager": 1,
            "trainer.ReplicatedJobPatch.name": 1,
            "trainer.ContainerPatch.name": 1,
        },
        "2.3": {"trainer.EnvInjectionTarget.jobName": 1},
    }
)

MAX_LENGTH = Since[int](
    {
        "2.2": {
            "trainer.RuntimeRef.name": 253,
            "trainer.RuntimeRef.apiGroup": 253,
            "trainer.RuntimeRef.kind": 253,
            "trainer.TrainJobSpec.managedBy": 253,
            "trainer.DatasetInitializer.storageUri": 2048,
            "trainer.ModelInitializer.storageUri": 2048,
            "trainer.Trainer.image": 500,
            "trainer.Trainer.command[]": 65536,
            "trainer.Trainer.args[]": 65536,
            "trainer.MPIMLPolicySource.sshAuthMountPath": 4096,
            "trainer.RuntimePatch.manager": 253,
            "trainer.ReplicatedJobPatch.name": 253,
            "trainer.PodSpecPatch.serviceAccountName": 253,
            "trainer.ContainerPatch.name": 253,
        },
        "2.3": {
            "trainer.Trainer.command[]": 1048576,
            "trainer.Trainer.args[]": 1048576,
            "trainer.EnvInjectionTarget.jobName": 253,
            "trainer.EnvInjectionTarget.containerNames[]": 63,
        },
    }
)

MIN_ITEMS = Since[int](
    {
        "2.3": {"trainer.EnvInjectionTarget.containerNames": 1},
    }
)

MAX_ITEMS = Since[int](
    {
        "2.0": {"jobset.ReplicatedJob.dependsOn": 1},
        "2.1": {"jobset.ReplicatedJob.dependsOn": 5},
        "2.2": {
            "trainer.TrainJobSpec.runtimePatches": 16,
            "trainer.Trainer.command": 128,
            "trainer.Trainer.args": 128,
            "trainer.Trainer.env": 128,
            "trainer.DatasetInitializer.env": 128,
            "trainer.ModelInitializer.env": 128,
            "trainer.JobSetSpecPatch.replicatedJobs": 100,
            "trainer.PodSpecPatch.containers": 64,
            "trainer.PodSpecPatch.initContainers": 64,
            "trainer.PodSpecPatch.imagePullSecrets": 64,
            "trainer.PodSpecPatch.schedulingGates": 16,
            "trainer.PodSpecPatch.tolerations": 128,
            "trainer.PodSpecPatch.volumes": 128,
            "trainer.ContainerPatch.env": 128,
            "trainer.ContainerPatch.volumeMounts": 128,
            "jobset.JobSetSpec.volumeClaimPolicies": 50,
            "jobset.VolumeClaimPolicy.templates": 50,
        },
        "2.3": {"trainer.EnvInjection.targets": 16, "trainer.EnvInjectionTarget.containerNames": 8},
    }
)

MIN_PROPERTIES = Since[int](
    {
        "2.1": {
            "trainer.TrainingRuntime.spec": 1,
            "trainer.ClusterTrainingRuntime.spec": 1,
            "trainer.TrainingRuntimeSpec.template": 1,
        },
    }
)


@dataclass(frozen=True, slots=True)
class Limits:
    """The constraints of a release on single values, by "group.Definition.field"."""

    minimum: dict[str, int]
    enum: dict[str, tuple[str, ...]]
    min_length: dict[str, int]
    max_length: dict[str, int]
    min_items: dict[str, int]
    max_items: dict[str, int]
    min_properties: dict[str, int]


@cache
def limits(release: str) -> Limits:
    """Return the tables above for `release`."""
    return Limits(
        MINIMUM.at(release),
        ENUM.at(release),
        MIN_LENGTH.at(release),
        MAX_LENGTH.at(release),
        MIN_ITEMS.at(release),
        MAX_ITEMS.at(release),
        MIN_PROPERTIES.at(release),
    )


def integer_bounds(key: str, release: str) -> tuple[int, int]:
    """Return the smallest and the largest allowed value of the integer field `key`."""
    bits = 63 if key in INT64 else 31
    return limits(release).minimum.get(key, -(1 << bits)), (1 << bits) - 1


@cache
def rules_of(release: str) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of `release` by definition.

    Each struct in an MLPolicy belongs to a framework, and they are mutually exclusive.
    """
    rules = RULES.at(release)
    fields = definition(release, ML_POLICY).fields
    frameworks = frozenset(field for field, shape in fields.items() if isinstance(shape, Struct))
    return {**rules, ML_POLICY: (one_framework(frameworks), *rules.get(ML_POLICY, ()))}
