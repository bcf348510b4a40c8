"""The defaults of a release, and the zero values that its Go types write.

The CRDs of Trainer and JobSet declare the defaults; a default only applies if its parent object is present. Source:
manifests/base/crds of kubeflow/trainer and config/components/crd/bases of kubernetes-sigs/jobset, at the tags that
PORT.yaml pins.
"""

from __future__ import annotations

from functools import cache

from trainc.kube.releases import Since
from trainc.schema.shapes import definition
from trainc.startup.shipped import read_sections
from trainc.startup.typing import Literal, TypeAlias

Default: TypeAlias = str | int | bool

DEFAULTS = Since[Default](
    {
        "2.0": {
            "trainer.TrainJobSpec.suspend": False,
            "trainer.TrainJobSpec.managedBy": "trainer.kubeflow.org/trainjob-controller",
            "trainer.RuntimeRef.apiGroup": "trainer.kubeflow.org",
            "trainer.RuntimeRef.kind": "ClusterTrainingRuntime",
            "trainer.TorchMLPolicySource.numProcPerNode": "auto",
            "trainer.MPIMLPolicySource.numProcPerNode": 1,
            "trainer.MPIMLPolicySource.mpiImplementation": "OpenMPI",
            "trainer.MPIMLPolicySource.sshAuthMountPath": "/root/.ssh",
            "trainer.MPIMLPolicySource.runLauncherAsNode": False,
            "trainer.CoschedulingPodGroupPolicySource.scheduleTimeoutSeconds": 60,
            "jobset.FailurePolicy.restartStrategy": "Recreate",
            "jobset.ReplicatedJob.replicas": 1,
            "core.ContainerPort.protocol": "TCP",
            "core.GRPCAction.service": "",
            "core.ConfigMapEnvSource.name": "",
            "core.ConfigMapKeySelector.name": "",
            "core.ConfigMapProjection.name": "",
            "core.ConfigMapVolumeSource.name": "",
            "core.LocalObjectReference.name": "",
            "core.SecretEnvSource.name": "",
            "core.SecretKeySelector.name": "",
            "core.SecretProjection.name": "",
            "core.AzureDiskVolumeSource.fsType": "ext4",
            "core.AzureDiskVolumeSource.readOnly": False,
            "core.ISCSIVolumeSource.iscsiInterface": "default",
            "core.RBDVolumeSource.keyring": "/etc/ceph/keyring",
            "core.RBDVolumeSource.pool": "rbd",
            "core.RBDVolumeSource.user": "admin",
            "core.ScaleIOVolumeSource.fsType": "xfs",
            "core.ScaleIOVolumeSource.storageMode": "ThinProvisioned",
        },
        "2.1": {
            "jobset.ReplicatedJob.groupName": "default",
            "core.FileKeySelector.optional": False,
            "volcano.NetworkTopologySpec.mode": "hard",
            "volcano.NetworkTopologySpec.highestTierAllowed": 1,
        },
        "2.2": {"trainer.FluxMLPolicySource.numProcPerNode": 1, "jobset.VolumeRetentionPolicy.whenDeleted": "Delete"},
    }
)


# Fields that keep a zero value ("", 0, false) when a release's Go types marshal the object. Runtime templates,
# overrides and JobSets pass through Go types, where `omitempty` drops empty lists and maps and the zero value of every
# optional non-pointer field. The fields in pointers.txt are pointers. `spec.trainer` and `spec.initializer` of a TrainJob are
# only read and never marshaled, so there `args: []` and `image: ""` have a meaning. Source: k8s.io/api core/v1,
# batch/v1 and autoscaling/v2, jobset v1alpha2, trainer v1alpha1, volcano scheduling v1beta1 Go types at the versions
# that each release pins; all of them have the same pointers.


_POINTERS = read_sections(__file__, "pointers.txt")["pointers"]
KEEPS_ZERO = frozenset(f"{definition}.{field}" for definition, fields in _POINTERS for field in fields.split())

# Non-pointer structs: Go writes them even if they are empty, but the API ignores them, so they are omitted.
EMPTY_STRUCT_DROPPED = frozenset({"metadata", "resources", "status"})

# Which zero values are dropped. "read": none. "marshalled": all except in pointers and required fields. "applied": also
# empty lists in required fields, as by Go's apply configurations, which runtime templates pass through.
Form: TypeAlias = Literal["read", "marshalled", "applied"]

# Required by the CRDs, but omitted by Go if they are empty.
OMITTED_THOUGH_REQUIRED = frozenset(
    {"core.ContainerRestartRule.action", "core.ContainerRestartRuleOnExitCodes.operator"}
)

# Fields that Go types always write, with the value that they write for a missing one.
EMPTY = object()  # a struct without fields, created for each document
ALWAYS_WRITTEN: dict[str, object] = {
    "batch.PodFailurePolicyOnPodConditionsPattern.status": "",  # Required until 2.1.
    "core.PersistentVolumeClaim.spec": EMPTY,
    "core.ResourceFieldSelector.divisor": "0",
}

# TrainJob fields that the controller reads but never marshals, so nothing inside them is dropped.
NEVER_MARSHALLED = frozenset({"trainer.TrainJobSpec.trainer", "trainer.TrainJobSpec.initializer"})


def keeps_zero(key: str, form: Form, *, required: bool, is_list: bool) -> bool:
    """Return whether the zero value of the field `key` ("group.Definition.field") is written."""
    if form == "read":
        return True
    omitted = key in OMITTED_THOUGH_REQUIRED or (form == "applied" and is_list)
    return not omitted and (required or key in KEEPS_ZERO)


@cache
def defaults_of(release: str) -> dict[str, dict[str, Default]]:
    """Return the defaults of `release` by definition and field."""
    grouped: dict[str, dict[str, Default]] = {}
    for key, value in DEFAULTS.at(release).items():
        name, _, field = key.rpartition(".")
        grouped.setdefault(name, {})[field] = value
    return grouped


def added_values(release: str, name: str, marshalled: bool) -> tuple[tuple[str, Default | object], ...]:
    """Return the fields that are added to a struct: CRD defaults, except for zero values that Go drops again."""
    schema_fields = definition(release, name).fields
    defaults = {field: value for field, value in defaults_of(release).get(name, {}).items() if field in schema_fields}
    if not marshalled:
        return tuple(defaults.items())
    marshalled_defaults = {
        field: value for field, value in defaults.items() if value or f"{name}.{field}" in KEEPS_ZERO
    }
    always = {key.rpartition(".")[2]: value for key, value in ALWAYS_WRITTEN.items() if key.startswith(f"{name}.")}
    return tuple({**marshalled_defaults, **always}.items())
