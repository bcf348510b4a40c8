"""The inputs from which plugins count processes: requested numbers, and the devices and CPUs of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainc.api import names
from trainc.api.quantity import parse_quantity
from trainc.diagnostics import Path
from trainc.ir.devices import is_gpu
from trainc.ir.podset import PodSet
from trainc.plugins.readings import jobset_path
from trainc.plugins.rows import FixedRule, JobSetField, Ref, RuntimeField, Situation, TrainJobField

_TRAINER: Path = ("spec", "trainer")
_POLICY: Path = ("spec", "mlPolicy")


def devices(s: Situation) -> Iterator[Ref]:
    """Yield the inputs that decide the number of GPUs per node."""
    yield from amount(s, is_gpu) or (FixedRule("no GPU is requested"),)


def cores(s: Situation) -> Iterator[Ref]:
    """Yield the inputs that decide the number of CPUs per node."""
    yield from amount(s, lambda name: name == "cpu") or (FixedRule("at least one, because no CPU is requested"),)


def requesters(s: Situation, policy: str, default: int | str = 1) -> Iterator[Ref]:
    """Yield the field that sets the number of processes per node: the TrainJob's, else the policy's, if any."""
    if s.job.trainer is not None and s.job.trainer.num_proc_per_node is not None:
        yield TrainJobField((*_TRAINER, "numProcPerNode"))
    elif "numProcPerNode" in (s.info.policy(policy) or {}):
        yield RuntimeField((*_POLICY, policy, "numProcPerNode"))
    else:
        yield FixedRule(f"numProcPerNode is not set: {default}")


def requested(s: Situation, policy: str, default: int | str = 1) -> int | str:
    """Return the requested number of processes per node, or a word such as "auto" that stands for it."""
    if s.job.trainer is not None and s.job.trainer.num_proc_per_node is not None:
        return s.job.trainer.num_proc_per_node
    number: int | str = (s.info.policy(policy) or {}).get("numProcPerNode", default)
    return number


def amount(s: Situation, wanted: Callable[[str], bool]) -> tuple[Ref, ...]:
    """Return the resource amounts from which a count is taken: requests, or limits if requests have none."""
    resources, place = _counted_resources(s)
    for kind in ("requests", "limits"):
        for name, amount in (resources.get(kind) or {}).items():
            if wanted(name):
                if parse_quantity(str(amount)).units:
                    return (place(kind, name),)
                break
    return ()


def _counted_resources(s: Situation) -> tuple[Mapping[str, Any], Callable[[str, str], Ref]]:
    """Return the same as `ir.devices.resources_per_node`, with a function that locates each amount."""
    requested = s.job.trainer.resources_per_node if s.job.trainer else None
    if not s.info.gitops and requested is not None:
        return requested, lambda kind, name: TrainJobField((*_TRAINER, "resourcesPerNode", kind, name))
    for pod_set in s.info.pod_sets:
        if pod_set.role == names.NODE or pod_set.ancestor == names.TRAINER:
            container = pod_set.container(pod_set.main)
            if container is not None:
                return container.resources, _in_container(pod_set)
    return {}, lambda kind, name: FixedRule(f"no {kind} of {name}")


def _in_container(pod_set: PodSet) -> Callable[[str, str], Ref]:
    return lambda kind, name: JobSetField(jobset_path(pod_set, pod_set.main, "resources", kind, name))
