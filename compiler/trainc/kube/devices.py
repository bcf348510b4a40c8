"""Device resources that clusters are known to offer, by the names that their device plugins register.

Sources: the documentation of the NVIDIA (k8s-device-plugin), AMD (k8s-device-plugin, with its resource naming strategy
"mixed"), Intel, Habana, Google Cloud, AWS Neuron and EFA, Huawei, Cambricon and Mellanox device plugins; for device
classes, those of the DRA drivers of NVIDIA, AMD, Intel and Google.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from trainc.kube.documents import mapping, objects
from trainc.kube.quantity import read_quantity, whole_number
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass
from trainc.startup.shipped import read_sections
from trainc.startup.typing import Any


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What one device is called, how many processes can use it at most, and whether one process can use all of them."""

    noun: str
    most: int = 1
    alone: bool = False


_GPU = Accelerator("GPU")
_OTHER = Accelerator("accelerator")
# A Neuron device has two cores on trn1 and inf2, and eight on trn2, each for one process.
_NEURON = Accelerator("accelerator", most=8)
ACCELERATORS: Mapping[str, Accelerator] = {
    **dict.fromkeys(("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"), _GPU),
    **dict.fromkeys(("metax-tech.com/gpu", "mthreads.com/gpu", "iluvatar.ai/gpu"), _GPU),
    # With SPMD, one process drives all chips of a host.
    "google.com/tpu": Accelerator("TPU", alone=True),
    "aws.amazon.com/neuron": _NEURON,
    "aws.amazon.com/neurondevice": _NEURON,
    "aws.amazon.com/neuroncore": _OTHER,
    **dict.fromkeys(("habana.ai/gaudi", "cambricon.com/mlu", "enflame.com/gcu", "hygon.com/dcu"), _OTHER),
    **dict.fromkeys(("huawei.com/Ascend910", "huawei.com/Ascend910B", "huawei.com/Ascend310P"), _OTHER),
}
_SLICES = (
    (
        pattern(r"nvidia\.com/mig-[12347]g\.\d+gb(\.me)?(\.\w+)?(\.shared)?"),
        "nvidia.com/mig-",
        Accelerator("MIG slice"),
    ),
    (pattern(r"amd\.com/[a-z]px_nps\d"), "amd.com/", Accelerator("GPU partition")),
)
# Parts of the device classes of accelerators, in claims (DRA).
_CLASSES = ("gpu", "tpu", "mig.", "neuron", "gaudi", "npu")
NETWORK = frozenset(("vpc.amazonaws.com/efa", "rdma/hca", "rdma/ib", "rdma/hca_shared_devices_a", "rdma/shared_ib"))
KNOWN = (
    ACCELERATORS.keys()
    | NETWORK
    | {"nvidia.com/gpu.shared", "nvidia.com/pgpu", "nvidia.com/gpumem", "nvidia.com/gpucores"}
)
# Variables that hide devices from a process, and the resources that they apply to.
VISIBLE = {
    "CUDA_VISIBLE_DEVICES": ("nvidia.com/gpu",),
    "HIP_VISIBLE_DEVICES": ("amd.com/gpu",),
    "ROCR_VISIBLE_DEVICES": ("amd.com/gpu",),
    "HABANA_VISIBLE_MODULES": ("habana.ai/gaudi",),
    "ASCEND_RT_VISIBLE_DEVICES": ("huawei.com/Ascend910", "huawei.com/Ascend910B"),
}


def accelerator_of(resource: str) -> Accelerator | None:
    """Return what is known about a resource that computes; None for all others."""
    if resource in ACCELERATORS:
        return ACCELERATORS[resource]
    return next(
        (device for form, start, device in _SLICES if resource.startswith(start) and form.fullmatch(resource)), None
    )


def is_slice(resource: str) -> bool:
    """Return whether a resource is a slice of a GPU."""
    return resource not in ACCELERATORS and accelerator_of(resource) is not None


def accelerator(resource: str) -> str:
    """Return what to call one device ("GPU", "TPU"); empty for resources that do not compute (RDMA, CPU)."""
    if (device := accelerator_of(resource)) is not None:
        return device.noun
    if resource.lower() in _SHARES:
        return ""
    return next((noun for part, noun in _NOUNS.items() if part in resource.lower()), "")


_NOUNS = {"gpu": "GPU", "tpu": "TPU"}
# Shares of a GPU's memory and cores, which are not devices.
_SHARES = ("nvidia.com/gpumem", "nvidia.com/gpucores")


def accelerators(resources: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of accelerators of a container by resource name; limits take precedence over requests."""
    amounts = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
    return {
        name: count
        for name, value in amounts.items()
        if "/" in name and accelerator_of(name) is not None and (count := whole_units(value)) > 0
    }


def claimed_devices(template: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of accelerators that a ResourceClaim or ResourceClaimTemplate requests, by device class.

    Empty if it is not a fixed number.
    """
    spec = mapping(template.get("spec"))
    counts: dict[str, int] = {}
    for request in objects(mapping((mapping(spec.get("spec")) or spec).get("devices")).get("requests")):
        exactly = mapping(request.get("exactly")) or request
        name, count = str(exactly.get("deviceClassName", "")), exactly.get("count", 1)
        if not any(part in name for part in _CLASSES):
            continue
        if exactly.get("allocationMode", "ExactCount") != "ExactCount" or not isinstance(count, int):
            return {}
        counts[name] = counts.get(name, 0) + count
    return counts


def whole_units(amount: Any) -> int:
    """Return a quantity in whole units, rounded up, or 0 if it is not a quantity."""
    quantity = read_quantity(amount)
    return quantity.units if quantity is not None else 0


# How many GPUs a node has, by the labels that say so and by the name of its instance type.
#
# Sources: the lists of accelerated instances of Amazon EC2 (P2 to P6, G4dn to G6e), GPU machine types of Compute Engine
# (A2 to A4X, G2) and sizes of Azure (NC, ND), as of 2026. A type to which any number can be attached, such as
# n1-standard-8, is not listed.

TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
# Labels whose value is the number: of GKE, of Karpenter, and of NVIDIA's feature discovery.
COUNT_LABELS = (
    "cloud.google.com/gke-accelerator-count",
    "karpenter.k8s.aws/instance-gpu-count",
    "nvidia.com/gpu.count",
)
# Types of Compute Engine whose last part is the number: a3-megagpu-8g.
_NUMBERED = pattern(r"a\dx?-[a-z]+gpu-(\d{1,2})g")


@cache
def _gpus_by_type() -> Mapping[str, int]:
    rows = read_sections(__file__, "instances.txt")["instances"]
    return {name: int(count) for count, names in rows for name in names.split()}


def gpus_of_type(name: str) -> int | None:
    """Return the number of GPUs of an instance type; None if it is not known."""
    numbered = _NUMBERED.fullmatch(name)
    return int(numbered[1]) if numbered else _gpus_by_type().get(name)


def most_gpus(label: str, values: Sequence[str]) -> int | None:
    """Return the most GPUs of a node whose label has one of these values; None if that is not known."""
    counts = [gpus_of_type(value) if label in TYPE_LABELS else whole_number(value) for value in values]
    return max((count for count in counts if count is not None), default=None) if None not in counts else None
