"""The table of jobs on the report page: a row for each job, and totals by namespace, queue and runtime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from trainc.api.devices import accelerator
from trainc.api.documents import Json
from trainc.api.quantity import NANOS_PER_UNIT, ZERO, Quantity
from trainc.graph.model import Graph
from trainc.startup.records import dataclass

_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"


@dataclass(frozen=True, slots=True)
class Size:
    """The total requests of jobs: pods, devices by display name, cores and bytes."""

    jobs: int
    pods: int
    devices: Counter[str]
    cpu: Quantity
    memory: Quantity

    def __add__(self, other: Size) -> Size:
        return Size(
            self.jobs + other.jobs,
            self.pods + other.pods,
            self.devices + other.devices,
            self.cpu + other.cpu,
            self.memory + other.memory,
        )


NOTHING = Size(0, 0, Counter(), ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class Row:
    """The table row of one job. `queue` and `priority` are Kueue's or Volcano's, empty if it has none."""

    namespace: str
    name: str
    runtime: str
    queue: str
    priority: str
    size: Size


def row_of(graph: Graph, runtime: str, manifests: Sequence[Json]) -> Row:
    """Build the row of a job from its graph and its manifests."""
    jobset = next(manifest for manifest in manifests if manifest["kind"] == "JobSet")
    labels = jobset["metadata"].get("labels", {})
    group: Json = next((manifest["spec"] for manifest in manifests if manifest["kind"] == "PodGroup"), {})
    return Row(
        graph.namespace,
        graph.name,
        runtime,
        labels.get(_QUEUE_LABEL) or group.get("queue", ""),
        labels.get(_PRIORITY_LABEL) or group.get("priorityClassName", ""),
        _size(graph),
    )


def _size(graph: Graph) -> Size:
    devices: Counter[str] = Counter()
    host = dict.fromkeys(("cpu", "memory"), ZERO)
    for step in graph.steps:
        for resource, amount in step.requests:
            if resource in host:
                host[resource] += amount * step.all_pods
            elif "/" in resource:
                devices[accelerator(resource) or resource] += amount.units * step.all_pods
    return Size(1, graph.pods, devices, host["cpu"], host["memory"])


def device_columns(rows: Sequence[Row]) -> list[str]:
    """All device types of any job, most frequent first."""
    found = sum((row.size.devices for row in rows), Counter[str]())
    return [device for device, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))]


def totals(rows: Sequence[Row]) -> list[tuple[str, list[tuple[str, Size]]]]:
    """Sums by namespace, by queue and by runtime, where there are two to tell apart or one with a name."""
    return [
        (title, sums) for title, key in _GROUPS.items() if (sums := _sums(rows, key)) and sums != [("", sums[0][1])]
    ]


def _sums(rows: Sequence[Row], key: Callable[[Row], str]) -> list[tuple[str, Size]]:
    names = sorted({key(row) for row in rows})
    return [(name, sum((row.size for row in rows if key(row) == name), NOTHING)) for name in names]


_GROUPS: dict[str, Callable[[Row], str]] = {
    "namespace": lambda row: row.namespace,
    "queue": lambda row: row.queue,
    "runtime": lambda row: row.runtime,
}


def readable(amount: Quantity) -> str:
    """An amount for people: `1,536`, `29.7Ti`; as Kubernetes writes it where it is neither whole nor in bytes."""
    if amount.family == "binary":
        units = amount.units
        power = min((units.bit_length() - 1) // 10, len(_BINARY) - 1)
        return f"{units / 1024**power:,.4g}{_BINARY[power]}"
    return f"{amount.units:,}" if amount == Quantity(amount.units * NANOS_PER_UNIT, amount.family) else str(amount)


_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
