"""Behavior of each Trainer release: one row per concern, one column per release.

Passes never compare release numbers; they read the fact that they need. Each fact comes from kubeflow/trainer at the
tags that PORT.yaml pins, and is verified by the recorded cases of that release.
"""

from __future__ import annotations

from functools import cache

from trainc.findings import Finding, Path
from trainc.kube.names import CLAIMS_GATE
from trainc.kube.releases import RELEASES, Columns
from trainc.startup.records import dataclass
from trainc.startup.typing import Literal


@dataclass(frozen=True, slots=True)
class Release:
    """The behavior of one Trainer minor, as facts."""

    minor: str
    jobset: str

    # Patches: the TrainJob field that contains them, and which part of a replicated job they can change.
    patch_field: Literal["podSpecOverrides", "podTemplateOverrides", "runtimePatches"]
    patch_scope: Literal["pod spec", "pod template", "job template", "job set"]
    patched_job_twice_refused: bool

    # spec.trainer.resourcesPerNode: how it combines with the template's resources, and what takes it into account.
    resources: Literal["replace", "merge"]
    resources_reach_mpi_node: bool
    gang_sees_resources: bool
    pod_level_resources: tuple[str, ...]
    claims_merge: bool

    # Torch and torchtune.
    torch_needs_trainer: bool
    torch_processes: Literal["limits then requests", "from runtime too"]
    torch_checks_need_num_proc: bool
    torchtune_models: tuple[str, ...]
    torchtune_lora: Literal["unknown", "mentioned", "parsed"]
    torchtune_kept: tuple[str, ...]
    torchtune_kept_are_reserved: bool

    # MPI.
    mpi_slots_from_gpus: bool
    mpi_env_reaches_node: bool
    mpi_file_modes: bool
    mpi_env_reserved: bool
    mpi_successors: bool
    mpi_image_reaches_node: bool
    hostfile_counts_replicas: bool

    # The other plugins.
    flux_sees_template_command: bool
    flux_checks_trainer_processes: bool
    flux_shared_memory: bool
    gang_label_for_any_policy: bool
    pods_name_their_group: bool
    jax_needs_trainer: bool
    initializer_needs_mount: bool
    sharing_runtime: str
    dataset_schemes: tuple[str, ...]
    model_schemes: tuple[str, ...]
    init_container_ports_rebuilt: bool
    all_trainers_take_first_count: bool

    # Entry points.
    warns_deprecated_runtime: bool
    managed_by_honored: bool
    runtime_snapshot: bool
    feature_gates: tuple[str, ...]


_TUNE_2_0 = ("llama3_2/1B", "llama3_2/7B", "llama3_3/70B")
_TUNE_2_1 = ("llama3_2/1B", "llama3_2/3B", "llama3_3/70B", "qwen2_5/1.5B")
_KEPT_2_0 = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir")
_KEPT_2_1 = (*_KEPT_2_0, "tokenizer.merges_file")
_TUNE, _TORCH = "torchtune-llama3.2-1b", "torch-distributed-with-initializers"
_HUB = ("hf",)
_HUB_S3 = (*_HUB, "s3")
_HUB_S3_CACHE = (*_HUB_S3, "cache")
_POD_2_0 = ("cpu", "memory")
_POD_2_1 = (*_POD_2_0, "hugepages-")

# fmt: off
_FACTS = Columns(RELEASES, {
    #                                2.0                     2.1                     2.2                 2.3         2.4
    "jobset":                       ("0.8",                  "0.10",                 "0.11",             "0.12"),
    "patch_field":                  ("podSpecOverrides",     "podTemplateOverrides", "runtimePatches",   "runtimePatches"),
    "patch_scope":                  ("pod spec",             "pod template",         "job template",     "job set"),
    "patched_job_twice_refused":    (True,                   False,                  False,              False),
    "resources":                    ("replace",              "replace",              "replace",          "merge"),
    "resources_reach_mpi_node":     (False,                  True,                   True,               True),
    "gang_sees_resources":          (False,                  False,                  True,               True),
    # From component-helpers: 0.32 does not support pod-level huge pages.
    "pod_level_resources":          (_POD_2_0,               _POD_2_1,               _POD_2_1,           _POD_2_1),
    "claims_merge":                 (False,                  False,                  False,              False,      True),
    "torch_needs_trainer":          (True,                   True,                   True,               True,       False),
    "torch_processes":              ("limits then requests", "from runtime too",     "from runtime too", "from runtime too"),
    "torch_checks_need_num_proc":   (True,                   True,                   False,              False),
    "torchtune_models":             (_TUNE_2_0,              _TUNE_2_1,              _TUNE_2_1,          _TUNE_2_1),
    "torchtune_lora":               ("unknown",              "mentioned",            "mentioned",        "parsed"),
    "torchtune_kept":               (_KEPT_2_0,              _KEPT_2_1,              _KEPT_2_1,          _KEPT_2_1),
    "torchtune_kept_are_reserved":  (False,                  False,                  False,              True),
    "mpi_slots_from_gpus":          (False,                  True,                   True,               True),
    "mpi_env_reaches_node":         (False,                  True,                   True,               True),
    "mpi_file_modes":               (False,                  False,                  False,              True),
    "mpi_env_reserved":             (False,                  False,                  False,              True),
    # Variables for Open MPI 5, which reads none of Open MPI 4's.
    "mpi_successors":               (False,                  False,                  False,              False,      True),
    "mpi_image_reaches_node":       (False,                  False,                  False,              False,      True),
    "hostfile_counts_replicas":     (False,                  False,                  False,              True),
    "flux_sees_template_command":   (False,                  False,                  False,              True),
    "flux_checks_trainer_processes": (False,                 False,                  False,              True),
    "flux_shared_memory":           (False,                  False,                  False,              True),
    "gang_label_for_any_policy":    (True,                   False,                  False,              False),
    # JobSet's CRD has schedulingGroup in pod specs since 0.12.
    "pods_name_their_group":        (False,                  False,                  False,              True),
    "jax_needs_trainer":            (False,                  False,                  True,               False),
    "initializer_needs_mount":      (False,                  False,                  False,              True),
    # The runtime of the catalog to name where initializers are configured: its trainer mounts what they download.
    "sharing_runtime":              (_TUNE,                  _TUNE,                  _TUNE,              _TORCH),
    # pkg/initializers/dataset/__main__.py and model/__main__.py.
    "dataset_schemes":              (_HUB,                   _HUB_S3_CACHE,          _HUB_S3_CACHE,      _HUB_S3_CACHE),
    "model_schemes":                (_HUB,                   _HUB_S3,                _HUB_S3,            _HUB_S3),
    "init_container_ports_rebuilt": (False,                  False,                  False,              True),
    "all_trainers_take_first_count": (True,                  False,                  False,              False),
    "warns_deprecated_runtime":     (False,                  True,                   True,               True),
    "managed_by_honored":           (False,                  False,                  False,              True),
    "runtime_snapshot":             (False,                  False,                  False,              True),
    "feature_gates":                ((),                     (),                     (),                 (),         (CLAIMS_GATE,)),
})
# fmt: on


@cache
def release_facts(minor: str) -> Release:
    """Return the facts of a release; `minor` is one of api.releases.RELEASES."""
    return Release(minor=minor, **_FACTS.at(minor))


def controller_panics(why: str, path: Path) -> Finding:
    """Create the error for input on which the controller dereferences a nil value and crashes, creating nothing."""
    message = f"the controller of this release panics on it: {why}"
    hint = "set the value, or compile with --semantics gitops"
    return Finding("ControllerPanics", "error", message, hint, path)
