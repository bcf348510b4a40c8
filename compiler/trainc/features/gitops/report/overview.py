"""The first screen of the report: what is requested of queues and what they have, and who requests which devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.findings import Diagnostic
from trainc.api.jobs import ReplicatedJob
from trainc.api.kube import bounds, devices
from trainc.api.records import dataclass, field
from trainc.api.settings import Configuration
from trainc.features.gitops.report.page import Job

# Of a LocalQueue, by namespace and name: its ClusterQueue, and the quota of that by resource.
Quotas: TypeAlias = Mapping[tuple[str, str], tuple[str, Mapping[str, int]]]
# Node labels that name a type of node, by parts of their keys, the most telling first.
_TELLING = ("accelerator", "gpu.product", "instance-type", "nodepool", "node-pool", "nodegroup")
_MOST_SERIES = 6
_FINISHED = ("succeeded", "failed", "finished")


@dataclass(frozen=True, slots=True)
class Queue:
    """What the jobs of a queue ask for at the same time, by device; its quota is empty if it is not known."""

    name: str
    environment: str
    jobs: int
    requested: Mapping[str, int]
    quota: Mapping[str, int]

    def share(self, device: str) -> str:
        """`306 %` of the quota; empty without one."""
        return f"{100 * self.requested[device] / self.quota[device]:,.0f} %" if self.quota.get(device) else ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A labeled bar with a part for each node type."""

    name: str
    total: int
    parts: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Overview:
    """The parts of the first screen. `scale` is the longest bar of queues without a quota, `longest` that of teams.

    `now` has, by environment, what the queues held when the snapshot was made, by whom, and what waited.
    """

    queues: Sequence[Queue] = ()
    teams: Sequence[Bar] = ()
    types: Sequence[str] = ()
    states: Mapping[str, int] = field(default_factory=dict)
    codes: Sequence[tuple[Diagnostic, int]] = ()
    now: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # By environment, what unfinished jobs may take of each budget of trainc.yaml.
    budgets: Sequence[tuple[str, Any]] = ()

    @property
    def scale(self) -> int:
        """The largest number of devices that is requested of a queue."""
        return max((max(queue.requested.values(), default=0) for queue in self.queues), default=0)

    @property
    def longest(self) -> int:
        """The devices of the largest team."""
        return max((bar.total for bar in self.teams), default=0)


def overview_of(
    jobs: Sequence[Job],
    quotas: Mapping[str, Quotas],
    now: Mapping[str, Mapping[str, Any]],
    configured: Mapping[str, Configuration],
) -> Overview:
    """Add up the jobs. `quotas` and `configured` settings are those of each environment, `now` is what its queues hold."""
    types = Counter[str]()
    for job in jobs:
        types.update(job.row.types)
    types_by_size = [name for name, _ in types.most_common()]
    return Overview(
        _queues(jobs, quotas),
        _teams(jobs, types_by_size),
        [*types_by_size[: _MOST_SERIES - 1], "other"] if len(types_by_size) > _MOST_SERIES else types_by_size,
        Counter(job.state for job in jobs if job.state),
        _codes(jobs),
        now,
        [
            (environment, account)
            for environment, of_one in configured.items()
            for account in of_one.accounts(
                (job.row.namespace, job.row.name, bounds.bound_of(job.steps))
                for job in jobs
                if job.environment == environment and job.state not in _FINISHED
            )
        ],
    )


def _queues(jobs: Sequence[Job], quotas: Mapping[str, Quotas]) -> list[Queue]:
    """The queues by what unfinished jobs request. A LocalQueue that the snapshot lacks goes by its own name."""
    by_queue: dict[tuple[str, str], list[Job]] = {}
    capacities: dict[tuple[str, str], Mapping[str, int]] = {}
    for environment in quotas:
        for name, quota in quotas[environment].values():
            capacities[environment, name] = capacity = Counter[str]()
            for resource, amount in quota.items():
                if noun := devices.accelerator(resource):
                    capacity[noun] += amount
            by_queue.setdefault((environment, name), [])
    for job in jobs:
        if job.row.queue and job.state not in _FINISHED:
            local = quotas.get(job.environment, {}).get((job.row.namespace, job.row.queue))
            by_queue.setdefault((job.environment, local[0] if local else job.row.queue), []).append(job)
    queues = []
    for (environment, name), its in by_queue.items():
        requested: Counter[str] = Counter()
        for job in its:
            # The others, such as rdma/hca, have the name of the resource.
            requested.update({noun: count for noun, count in job.row.size.devices.items() if "/" not in noun})
        queues.append(Queue(name, environment, len(its), requested, capacities.get((environment, name), {})))
    return sorted(queues, key=lambda queue: (queue.environment, -sum(queue.requested.values()), queue.name))


def _teams(jobs: Sequence[Job], types: Sequence[str]) -> list[Bar]:
    """The devices of each team, or namespace where no job says its team, by node type."""
    have_teams = any(job.row.team for job in jobs)
    by_team: dict[str, Counter[str]] = {}
    for job in jobs:
        name = job.row.team if have_teams else job.row.namespace
        by_team.setdefault(name or "none", Counter()).update(job.row.types)
    few = types[: _MOST_SERIES - 1] if len(types) > _MOST_SERIES else types
    bars = []
    for name, counts in by_team.items():
        parts = [(node_type, counts[node_type]) for node_type in few]
        other = sum(count for node_type, count in counts.items() if node_type not in few)
        bars.append(Bar(name, counts.total(), [*parts, ("other", other)] if other else parts))
    return sorted((bar for bar in bars if bar.total), key=lambda bar: (-bar.total, bar.name))


def _codes(jobs: Iterable[Job]) -> list[tuple[Diagnostic, int]]:
    """The first finding of each code with the number of jobs that have it, the most serious first."""
    first: dict[str, Diagnostic] = {}
    counts: Counter[str] = Counter()
    for job in jobs:
        by_code = {diagnostic.code: diagnostic for diagnostic in reversed(job.diagnostics)}
        counts.update(by_code.keys())
        for code, diagnostic in by_code.items():
            first.setdefault(code, diagnostic)
    rank = {"error": 0, "warning": 1, "info": 2}
    order = sorted(first, key=lambda code: (rank.get(first[code].severity, 3), -counts[code], code))
    return [(first[code], counts[code]) for code in order]


def node_types(jobs: Sequence[ReplicatedJob], flavors: Mapping[str, str]) -> Counter[str]:
    """Devices by type of node: the flavor that Kueue would assign, else what the pods' node selector names."""
    counts: Counter[str] = Counter()
    for job in jobs:
        selector = job.pod_spec.get("nodeSelector") or {}
        for resource, count in job.devices.items():
            if count:
                selected = (str(selector[key]) for part in _TELLING for key in selector if part in key)
                counts[flavors.get(job.name) or next(selected, "") or devices.accelerator(resource)] += count * job.pods
    return counts
