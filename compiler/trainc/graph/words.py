"""What is said about a step in the same words in every form of the picture."""

from __future__ import annotations

from trainc.graph.model import Gang, Graph, Step

_TIMES = " \N{MULTIPLICATION SIGN} "


def counted(count: int, noun: str) -> str:
    """`1 pod`, `2,000 pods`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def total(graph: Graph) -> str:
    """Pods and GPUs of the whole job."""
    return counted(graph.pods, "pod") + (f", {counted(graph.gpus, 'GPU')}" if graph.gpus else "")


def size(step: Step) -> str:
    """Replicas where there are several, pods of one, and GPUs of each where it has some, multiplied."""
    factors = [f"{step.replicas:,}"] if step.replicas != 1 else []
    factors.append(counted(step.pods, "pod"))
    if step.gpus_per_pod:
        factors.append(counted(step.gpus_per_pod, "GPU"))
    return _TIMES.join(factors)


def devices(step: Step) -> str:
    """`8 nvidia.com/gpu` for one pod."""
    return ", ".join(f"{count:,} {name}" for name, count in step.gpus)


def gang(found: Gang) -> str:
    """`gang llm: 4 pods together (coscheduling)`."""
    return f"gang {found.name}: {counted(found.members, 'pod')} together ({found.scheduler})"
