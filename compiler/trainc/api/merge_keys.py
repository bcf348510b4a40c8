"""Merge keys: what identifies the items of lists, for validation by the API server and for patches.

Source: x-kubernetes-list-type and x-kubernetes-list-map-keys in the CRDs of kubeflow/trainer and jobset; the
patchMergeKey tags of core/v1, batch/v1, meta/v1 and jobset v1alpha2. A patchMergeKey is always the first of the list
map keys. The keys are the same in every release; fields that a release lacks simply never occur.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

_Keys: TypeAlias = tuple[str, ...]

_NAME: _Keys = ("name",)
_CONTAINER: dict[str, _Keys] = {
    "env": _NAME,
    "ports": ("containerPort", "protocol"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
}
# Unlike in a container, mounts in a patch are keyed by name: a patch mounts each volume only once.
_CONTAINER_PATCH: dict[str, _Keys] = {"env": _NAME, "volumeMounts": _NAME}
_POD_OVERRIDE: dict[str, _Keys] = {
    "containers": _NAME,
    "initContainers": _NAME,
    "schedulingGates": _NAME,
    "volumes": _NAME,
}
_POD_PATCH: dict[str, _Keys] = {**_POD_OVERRIDE, "imagePullSecrets": _NAME}
_BY_DEFINITION: dict[str, dict[str, _Keys]] = {
    "trainer.TrainJobSpec": {"runtimePatches": ("manager",)},
    "trainer.Trainer": {"env": _NAME},
    "trainer.DatasetInitializer": {"env": _NAME},
    "trainer.ModelInitializer": {"env": _NAME},
    "trainer.JobSetSpecPatch": {"replicatedJobs": _NAME},
    "trainer.PodSpecPatch": _POD_PATCH,
    "trainer.PodSpecOverride": _POD_OVERRIDE,
    "trainer.PodTemplateSpecOverride": _POD_PATCH,
    "trainer.ContainerPatch": _CONTAINER_PATCH,
    "trainer.ContainerOverride": _CONTAINER_PATCH,
    "trainer.EnvInjection": {"targets": ("jobName",)},
    "jobset.JobSetSpec": {"replicatedJobs": _NAME},
    "jobset.ReplicatedJob": {"dependsOn": _NAME},
    "core.Container": _CONTAINER,
    "core.EphemeralContainer": _CONTAINER,
    "core.PodSpec": {
        "containers": _NAME,
        "ephemeralContainers": _NAME,
        "hostAliases": ("ip",),
        "imagePullSecrets": _NAME,
        "initContainers": _NAME,
        "resourceClaims": _NAME,
        "schedulingGates": _NAME,
        "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
        "volumes": _NAME,
    },
    "core.ResourceRequirements": {"claims": _NAME},
    "core.PersistentVolumeClaimStatus": {"conditions": ("type",)},
}

LIST_MAP_KEYS: dict[str, _Keys] = {
    f"{definition}.{field}": keys for definition, fields in _BY_DEFINITION.items() for field, keys in fields.items()
}
SETS = frozenset(
    {
        "batch.PodFailurePolicyOnExitCodesRequirement.values",
        "core.ContainerRestartRuleOnExitCodes.values",
        "trainer.EnvInjectionTarget.containerNames",
    }
)


def _first_keys(*definitions: str) -> dict[str, str]:
    """Return the first key of each list in `definitions`, by bare field name."""
    return {field: keys[0] for definition in definitions for field, keys in _BY_DEFINITION[definition].items()}


# Merge keys of a strategic merge patch, by field name; lists without an entry here are replaced.
MERGE_KEYS: Mapping[str, str] = {
    **_first_keys("core.PodSpec", "core.Container", "jobset.JobSetSpec", "jobset.ReplicatedJob"),
    "ownerReferences": "uid",
}
# Lists that a strategic merge patch merges as sets.
MERGED_SETS = frozenset({"finalizers"})
# Overlays can also patch lists of the TrainJob itself.
OVERLAY_KEYS: Mapping[str, str] = {**MERGE_KEYS, **_first_keys("trainer.TrainJobSpec")}
# Keys that name list items in field paths, including those of lists that cannot be patched.
ITEM_KEYS: Mapping[str, str] = {
    **OVERLAY_KEYS,
    **_first_keys("core.ResourceRequirements", "trainer.EnvInjection"),
    "podGroupTemplates": "name",
}
