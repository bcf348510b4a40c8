"""How many GPUs a node has, by the labels that say so and by the name of its instance type.

Sources: the lists of accelerated instances of Amazon EC2 (P2 to P6, G4dn to G6e), GPU machine types of Compute Engine (A2 to
A4X, G2) and sizes of Azure (NC, ND), as of 2026. A type to which any number can be attached, such as n1-standard-8, is not
listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from trainc.kube.quantity import whole_number
from trainc.startup.patterns import pattern

TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
# Labels whose value is the number: of GKE, of Karpenter, and of NVIDIA's feature discovery.
COUNT_LABELS = (
    "cloud.google.com/gke-accelerator-count",
    "karpenter.k8s.aws/instance-gpu-count",
    "nvidia.com/gpu.count",
)
_SMALL = "xlarge 2xlarge 4xlarge 8xlarge 16xlarge"
_AMAZON: Mapping[str, Mapping[int, str]] = {
    "p2": {1: "xlarge", 8: "8xlarge", 16: "16xlarge"},
    "p3": {1: "2xlarge", 4: "8xlarge", 8: "16xlarge"},
    "p3dn": {8: "24xlarge"},
    "p4d": {8: "24xlarge"},
    "p4de": {8: "24xlarge"},
    "p5": {1: "4xlarge", 8: "48xlarge"},
    "p5e": {8: "48xlarge"},
    "p5en": {8: "48xlarge"},
    "p6-b200": {8: "48xlarge"},
    "p6-b300": {8: "48xlarge"},
    "p6e-gb200": {4: "36xlarge"},
    "g4dn": {1: _SMALL, 4: "12xlarge", 8: "metal"},
    "g5": {1: _SMALL, 4: "12xlarge 24xlarge", 8: "48xlarge"},
    "g6": {1: _SMALL, 4: "12xlarge 24xlarge", 8: "48xlarge"},
    "g6e": {1: _SMALL, 4: "12xlarge 24xlarge", 8: "48xlarge"},
    "gr6": {1: "4xlarge 8xlarge"},
}
_OTHERS: Mapping[int, str] = {
    1: "g2-standard-4 g2-standard-8 g2-standard-12 g2-standard-16 g2-standard-32 Standard_NC6s_v3 Standard_NC4as_T4_v3 "
    "Standard_NC8as_T4_v3 Standard_NC16as_T4_v3 Standard_NC24ads_A100_v4 Standard_NC40ads_H100_v5",
    2: "g2-standard-24 Standard_NC12s_v3 Standard_NC48ads_A100_v4 Standard_NC80adis_H100_v5",
    4: "g2-standard-48 Standard_NC24s_v3 Standard_NC24rs_v3 Standard_NC64as_T4_v3 Standard_NC96ads_A100_v4 "
    "Standard_ND128isr_NDR_GB200_v6",
    8: "g2-standard-96 Standard_ND40rs_v2 Standard_ND96asr_v4 Standard_ND96amsr_A100_v4 Standard_ND96isr_H100_v5 "
    "Standard_ND96isr_H200_v5 Standard_ND96isr_MI300X_v5",
}
# Types of Compute Engine whose last part is the number: a3-megagpu-8g.
_NUMBERED = pattern(r"a\dx?-[a-z]+gpu-(\d{1,2})g")


@cache
def _gpus_by_type() -> Mapping[str, int]:
    others = {name: count for count, names in _OTHERS.items() for name in names.split()}
    return others | {
        f"{family}.{size}": count
        for family, counts in _AMAZON.items()
        for count, sizes in counts.items()
        for size in sizes.split()
    }


def gpus_of_type(name: str) -> int | None:
    """Return the number of GPUs of an instance type; None if it is not known."""
    numbered = _NUMBERED.fullmatch(name)
    return int(numbered[1]) if numbered else _gpus_by_type().get(name)


def most_gpus(label: str, values: Sequence[str]) -> int | None:
    """Return the most GPUs of a node whose label has one of these values; None if that is not known."""
    counts = [gpus_of_type(value) if label in TYPE_LABELS else whole_number(value) for value in values]
    return max((count for count in counts if count is not None), default=None) if None not in counts else None
