"""Phrases for amounts, pods and topology levels."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.features.fits.cluster import HOSTNAME
from trainc.features.fits.requests import written_amount

_TOPOLOGY_PREFIX = "topology-"


def is_gpu(resource: str) -> bool:
    """Whether a resource counts GPUs, e.g. `nvidia.com/gpu` or `amd.com/gpu`."""
    return resource.rpartition("/")[2] == "gpu"


def amount_with_unit(resource: str, count: int) -> str:
    """An amount with its resource: `8 GPUs`, `1500m CPU`, `512Gi of memory`, `4 rdma/ib`."""
    if is_gpu(resource):
        return "1 GPU" if count == 1 else f"{count} GPUs"
    if resource == "cpu":
        return f"{written_amount(resource, count)} CPU"
    if resource == "pods":
        return counted_pods(count)
    if "/" in resource:
        return f"{count} {resource}"
    return f"{written_amount(resource, count)} of {resource}"


def bare_amount(resource: str, count: int) -> str:
    """An amount without its resource: `128`, `512Gi`."""
    return written_amount(resource, count)


def counted_pods(count: int) -> str:
    """`1 pod`, `8 pods`."""
    return "1 pod" if count == 1 else f"{count} pods"


def requests_text(count: int, one: Mapping[str, int], *, every: bool = False) -> str:
    """Pods with the requests of each; only GPUs if it requests any, unless `every` is set: `8 pods of 8 GPUs`."""
    named = sorted(name for name, amount in one.items() if amount)
    chosen = (not every and [name for name in named if is_gpu(name)]) or named
    parts = " and ".join(amount_with_unit(name, one[name]) for name in chosen)
    return f"{counted_pods(count)} of {parts}" if parts else counted_pods(count)


def level_word(label: str) -> str:
    """A short name for a topology level: `rack` for `cloud.provider.com/topology-rack`, `node` for the hostname."""
    return "node" if label == HOSTNAME else label.rpartition("/")[2].removeprefix(_TOPOLOGY_PREFIX)
