"""Device resources that clusters are known to offer, by the names that their device plugins register.

Sources: the documentation of the NVIDIA (k8s-device-plugin), AMD, Intel, Habana, Google Cloud, AWS Neuron and EFA,
Huawei, Cambricon and Mellanox device plugins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.kube.quantity import parse_quantity
from trainc.startup.patterns import pattern

# Whole accelerators: one process uses one of them.
ACCELERATORS = frozenset(
    (
        *("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "google.com/tpu"),
        *("habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice"),
        *("huawei.com/Ascend910", "huawei.com/Ascend910B", "huawei.com/Ascend310P", "cambricon.com/mlu"),
        *("metax-tech.com/gpu", "mthreads.com/gpu", "iluvatar.ai/gpu", "enflame.com/gcu", "hygon.com/dcu"),
    )
)
NETWORK = frozenset(("vpc.amazonaws.com/efa", "rdma/hca", "rdma/ib", "rdma/hca_shared_devices_a", "rdma/shared_ib"))
KNOWN = (
    ACCELERATORS | NETWORK | {"nvidia.com/gpu.shared", "nvidia.com/pgpu", "nvidia.com/gpumem", "nvidia.com/gpucores"}
)
_MIG = pattern(r"nvidia\.com/mig-\d+g\.\d+gb(\.me)?(\.\w+)?(\.shared)?")
# Variables that hide devices from a process, and the resources that they apply to.
VISIBLE = {
    "CUDA_VISIBLE_DEVICES": ("nvidia.com/gpu",),
    "HIP_VISIBLE_DEVICES": ("amd.com/gpu",),
    "ROCR_VISIBLE_DEVICES": ("amd.com/gpu",),
    "HABANA_VISIBLE_MODULES": ("habana.ai/gaudi",),
}


def is_mig(name: str) -> bool:
    """Return whether a resource is a MIG slice of an NVIDIA GPU."""
    return name.startswith("nvidia.com/mig-") and _MIG.fullmatch(name) is not None


def accelerator(resource: str) -> str:
    """Return what to call one device ("GPU", "TPU"); empty for resources that do not compute (RDMA, CPU)."""
    name = resource.lower()
    if is_mig(resource):
        return "MIG slice"
    if name in _SHARES:
        return ""
    found = next((noun for part, noun in _NOUNS.items() if part in name), "")
    return found or ("accelerator" if resource in ACCELERATORS else "")


_NOUNS = {"gpu": "GPU", "tpu": "TPU"}
# Shares of a GPU's memory and cores, which are not devices.
_SHARES = ("nvidia.com/gpumem", "nvidia.com/gpucores")


def accelerators(resources: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of whole accelerators of a container by resource name; limits take precedence over requests."""
    amounts = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
    return {
        name: count for name, value in amounts.items() if name in ACCELERATORS and (count := whole_units(value)) > 0
    }


def whole_units(amount: Any) -> int:
    """Return a quantity in whole units, rounded up, or 0 if it is not a quantity."""
    try:
        return parse_quantity(str(amount)).units
    except ValueError:
        return 0
