"""Elastic torch: a range of nodes instead of a fixed number, with torchrun's c10d rendezvous. `gitops` only.

No Trainer release has implemented `elasticPolicy`. The variables are those of torch/distributed/run.py, whose default
`static` rendezvous uses the maximum as the only size. The number of pods stays the one that the JobSet starts with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trainc.findings import Finding, Path, remove
from trainc.ir.info import Info
from trainc.ir.provenance import derived
from trainc.ir.trainjob import EnvVariable, TrainJob, literal, master_host
from trainc.kube import names
from trainc.plugins.plugin import Detect
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import Any

RESERVED = frozenset({"PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT", "PET_RDZV_ID", "PET_MAX_RESTARTS"})
_POLICY: Path = ("spec", "mlPolicy", "torch", "elasticPolicy")
_UNSIZED = "one node, because numNodes is not set"


@dataclass(frozen=True, slots=True)
class ElasticRange:
    """The minimum, maximum and initial number of nodes; `restarts` is None if the policy has no maxRestarts."""

    fewest: int
    most: int
    start: int
    restarts: int | None
    metrics: Sequence[Mapping[str, Any]]


def elastic_range(info: Info) -> ElasticRange | None:
    """Return the range of an elastic job, or None without an elasticPolicy or under `controller` semantics.

    A missing bound equals the other one. Without bounds, both are the size that the job would have otherwise.
    """
    policy = (info.policy("torch") or {}).get("elasticPolicy")
    if policy is None or not info.gitops:
        return None
    size = info.nodes.value
    fewest, most = policy.get("minNodes"), policy.get("maxNodes")
    if fewest is None:
        fewest = most if most is not None else (info.made(1, rule=_UNSIZED) if size is None else size)
    if most is None:
        most = fewest
    start = fewest if size is None else size
    return ElasticRange(fewest, most, start, policy.get("maxRestarts"), policy.get("metrics") or ())


def resize(info: Info, elastic: ElasticRange) -> Info:
    """Set the trainer's initial pods, the minimum that its gang waits for, and maxRestarts of the JobSet."""
    trainer = info.trainer
    if trainer is None:
        return info
    info = info.with_pod_set(replace(trainer.with_count(elastic.start), min_count=elastic.fewest))
    policy = info.template.get("failurePolicy") or {}
    if not elastic.restarts or "maxRestarts" in policy:
        return info
    return replace(info, template={**info.template, "failurePolicy": {**policy, "maxRestarts": elastic.restarts}})


def environment(job: TrainJob, info: Info, elastic: ElasticRange, processes: int | str) -> tuple[EnvVariable, ...]:
    """Return torchrun's variables. They have no rank or master address: c10d, unlike `static`, finds both itself."""
    restarts = () if elastic.restarts is None else (literal("PET_MAX_RESTARTS", elastic.restarts),)
    policy = (info.policy("torch") or {})["elasticPolicy"]
    return (
        literal("PET_NNODES", derived(f"{elastic.fewest}:{elastic.most}", elastic.fewest, elastic.most)),
        literal("PET_NPROC_PER_NODE", processes),
        literal(derived("PET_RDZV_BACKEND", policy), derived("c10d", policy)),
        literal("PET_RDZV_ENDPOINT", master_host(job, info, names.TRAINER_PORT)),
        literal("PET_RDZV_ID", job.name),
        *restarts,
    )


def validate(info: Info) -> Iterator[Finding]:
    """Yield errors for a range that torchrun rejects, and warnings for fields of the policy that have no effect."""
    elastic = elastic_range(info)
    if elastic is None:
        return
    yield from _impossible(info, elastic)
    template_restarts = (info.template.get("failurePolicy") or {}).get("maxRestarts")
    if elastic.restarts and template_restarts is not None and template_restarts != elastic.restarts:
        message = f"torchrun restarts its workers up to {elastic.restarts} times, and the JobSet restarts everything up to {template_restarts} times"
        hint = (
            "set elasticPolicy.maxRestarts and failurePolicy.maxRestarts to the same number; note that the two multiply"
        )
        path = (*_POLICY, "maxRestarts")
        yield Finding("ElasticMaxRestartsConflict", "warning", message, hint, path, "runtime")
    if elastic.metrics:
        yield _metrics(elastic, info)


def _impossible(info: Info, elastic: ElasticRange) -> Iterator[Finding]:
    message, path = "", _POLICY
    if not 1 <= elastic.fewest <= elastic.most:
        message = f"minNodes {elastic.fewest} and maxNodes {elastic.most} are not a valid range"
    elif elastic.restarts is not None and elastic.restarts < 0:
        message, path = f"maxRestarts is {elastic.restarts}", (*_POLICY, "maxRestarts")
    if message:
        hint = "use 1 <= minNodes <= maxNodes and maxRestarts >= 0"
        yield Finding("ElasticRangeInvalid", "error", message, hint, path, "runtime")
    elif not elastic.fewest <= elastic.start <= elastic.most:
        message = f"numNodes {elastic.start} is outside the range from {elastic.fewest} to {elastic.most}"
        hint = "set numNodes inside the range, or remove it to start with minNodes"
        yield Finding("ElasticRangeInvalid", "error", message, hint, info.nodes.path, info.nodes.about)


def _metrics(elastic: ElasticRange, info: Info) -> Finding:
    container = info.trainer_container
    requests = (container.resources.get("requests") or {}) if container else {}
    measured = [str((metric.get("resource") or {}).get("name", "")) for metric in elastic.metrics]
    missing = sorted({name for name in measured if name and name not in requests})
    extra = f", and the trainer does not request {', '.join(missing)} to measure it against" if missing else ""
    message = f"these metrics have no effect: no autoscaler can scale a JobSet, which has no scale subresource{extra}"
    hint = remove(f"remove metrics: the job keeps the {elastic.start} nodes it starts with")
    return Finding("ElasticMetricsNotEmitted", "warning", message, hint, (*_POLICY, "metrics"), "runtime")


def _elastic_ignored(job: TrainJob, info: Info) -> Path | None:
    return ("spec", "runtimeRef") if "elasticPolicy" in (info.policy("torch") or {}) else None


DETECTORS: Mapping[str, Detect] = {"elastic-policy-honoured": _elastic_ignored}
