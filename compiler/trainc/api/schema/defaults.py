"""Defaults that the CRDs of Trainer and JobSet declare; one takes effect only where its parent object is present.

Source: manifests/base/crds of kubeflow/trainer and config/components/crd/bases of kubernetes-sigs/jobset, at the
tags that PORT.yaml pins.
"""

from __future__ import annotations

from typing import TypeAlias

from trainc.api.releases import Since

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
        "2.2": {
            "trainer.FluxMLPolicySource.numProcPerNode": 1,
            "jobset.VolumeRetentionPolicy.whenDeleted": "Delete",
        },
    }
)
