"""What plugins read to count processes: the numbers that are asked for, and the devices and cores of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainc.api import names
from trainc.api.quantity import parse_quantity
from trainc.diagnostics import Path
from trainc.explain.situation import Because, InJobSet, InRuntime, InTrainJob, Ref, Situation, jobset_path
from trainc.ir.devices import is_gpu
from trainc.ir.podset import PodSet

_TRAINER: Path = ("spec", "trainer")
_POLICY: Path = ("spec", "mlPolicy")
_AUTO = "auto"


def devices(s: Situation) -> Iterator[Ref]:
    """GPUs per node."""
    yield from _amount(s, is_gpu) or (Because("no GPU is asked for"),)


def cores(s: Situation) -> Iterator[Ref]:
    """CPUs per node."""
    yield from _amount(s, lambda name: name == "cpu") or (Because("at least one, where no CPU is asked for"),)


def torch_processes(s: Situation) -> Iterator[Ref]:
    """Processes per node as torchrun is told: a number that is set, else what the node has."""
    asked = _asked(s, "torch")
    if s.info.release.torch_processes == "limits then requests" and not s.info.gitops:
        yield from _limits_then_requests(s, asked)
        return
    yield from _who_asks(s, "torch")
    has_gpus = bool(_amount(s, is_gpu))
    if asked == "cpu" or (asked == _AUTO and not has_gpus):
        yield from cores(s)
    elif asked == _AUTO:
        yield from devices(s)


def mpi_slots(s: Situation) -> Iterator[Ref]:
    """Slots per host: the TrainJob's number, else the policy's; a policy of 1 rises to the GPUs since 2.1."""
    yield from _who_asks(s, "mpi")
    set_by_job = s.job.trainer is not None and s.job.trainer.num_proc_per_node is not None
    if not set_by_job and s.info.release.mpi_slots_from_gpus and _asked(s, "mpi") == 1:
        yield from _amount(s, is_gpu)


def flux_processes(s: Situation) -> Iterator[Ref]:
    """Processes per node of a Flux job."""
    yield from _who_asks(s, "flux")


def _who_asks(s: Situation, policy: str) -> Iterator[Ref]:
    if s.job.trainer is not None and s.job.trainer.num_proc_per_node is not None:
        yield InTrainJob((*_TRAINER, "numProcPerNode"))
    elif "numProcPerNode" in (s.info.policy(policy) or {}):
        yield InRuntime((*_POLICY, policy, "numProcPerNode"))
    else:
        yield Because(f"numProcPerNode is set nowhere: {_AUTO if policy == 'torch' else 1}")


def _asked(s: Situation, policy: str) -> int | str:
    if s.job.trainer is not None and s.job.trainer.num_proc_per_node is not None:
        return s.job.trainer.num_proc_per_node
    asked: int | str = (s.info.policy(policy) or {}).get("numProcPerNode", _AUTO if policy == "torch" else 1)
    return asked


def _limits_then_requests(s: Situation, asked: int | str) -> Iterator[Ref]:
    """2.0: limits decide when they give a CPU count, else requests; a missing list always answers 1."""
    resources = s.job.trainer.resources_per_node if s.job.trainer else None
    if resources is None:
        yield from _who_asks(s, "torch")
        return
    for kind in ("limits", "requests"):
        amounts = resources.get(kind)
        if amounts is None:
            if kind == "requests":
                yield Because("one process, where resourcesPerNode has no requests (Trainer 2.0)")
            continue
        by_cpu = (asked == _AUTO and not any(map(is_gpu, amounts))) or (asked == "cpu" and "cpu" in amounts)
        if by_cpu or kind == "requests":
            yield from _who_asks(s, "torch")
            found = [name for name in amounts if (by_cpu and name == "cpu") or (asked == _AUTO and is_gpu(name))]
            yield from (InTrainJob((*_TRAINER, "resourcesPerNode", kind, name)) for name in found)
            return


def _amount(s: Situation, wanted: Callable[[str], bool]) -> tuple[Ref, ...]:
    """The amount that a count is taken from: requests first, limits where requests name none."""
    resources, place = _counted_resources(s)
    for kind in ("requests", "limits"):
        for name, amount in (resources.get(kind) or {}).items():
            if wanted(name):
                if parse_quantity(str(amount)).units:
                    return (place(kind, name),)
                break
    return ()


def _counted_resources(s: Situation) -> tuple[Mapping[str, Any], Callable[[str, str], Ref]]:
    """As ir.devices.resources_per_node, with where each amount is written."""
    asked = s.job.trainer.resources_per_node if s.job.trainer else None
    if not s.info.gitops and asked is not None:
        return asked, lambda kind, name: InTrainJob((*_TRAINER, "resourcesPerNode", kind, name))
    for pod_set in s.info.pod_sets:
        if pod_set.role == names.NODE or pod_set.ancestor == names.TRAINER:
            container = pod_set.container(pod_set.main)
            if container is not None:
                return container.resources, _in_container(pod_set)
    return {}, lambda kind, name: Because(f"no {kind} of {name}")


def _in_container(pod_set: PodSet) -> Callable[[str, str], Ref]:
    return lambda kind, name: InJobSet(jobset_path(pod_set, pod_set.main, "resources", kind, name))
