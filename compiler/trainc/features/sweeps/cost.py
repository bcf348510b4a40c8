"""The cost of a sweep: trials, GPUs and hours of the compiled jobs, compared with the budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.api.findings import Finding, counted
from trainc.api.kube import Json, accelerator, pod_requests
from trainc.api.records import dataclass, field
from trainc.features.sweeps.matrix import Budget

_HOUR = 3600


@dataclass(slots=True)
class Cost:
    """The accumulated cost of trials: GPUs per trial, and hours per GPU step (None if unknown)."""

    budget: Budget
    trials: int = 0
    gpus: list[int] = field(default_factory=list)
    hours: list[float | None] = field(default_factory=list)
    gpu_hours: float = 0.0

    def add(self, manifests: Sequence[Json], deadline: int | None) -> None:
        """Add a trial: its manifests, and the `activeDeadlineSeconds` of its TrainJob."""
        self.trials += 1
        jobset = next((manifest for manifest in manifests if manifest["kind"] == "JobSet"), None)
        if jobset is None:
            return
        jobs = jobset["spec"].get("replicatedJobs", ())
        self.gpus.append(sum(map(_gpus, jobs)))
        for job in jobs:
            if gpus := _gpus(job):
                hours = self._hours(job["template"].get("spec", {}).get("activeDeadlineSeconds"), deadline)
                self.hours.append(hours)
                self.gpu_hours += gpus * (hours or 0)

    def _hours(self, *deadlines: int | None) -> float | None:
        known = [seconds / _HOUR for seconds in deadlines if seconds]
        if self.budget.hours_per_trial is not None:
            known.append(self.budget.hours_per_trial)
        return min(known, default=None)

    def findings(self) -> Iterator[Finding]:
        """Yield the total cost, as an error if it exceeds the budget or a budget is set and the cost is unknown."""
        if not self.trials:
            return
        limit, is_known = self.budget.gpu_hours, None not in self.hours
        about = f"{counted(self.trials, 'trial')} {self._sizes()}"
        if not any(self.gpus):
            yield Finding("SweepSize", "info", about)
        elif not is_known:
            hint = "set how long a trial runs: activeDeadlineSeconds in the job, or hoursPerTrial under `budget`"
            together = f"{about}: {sum(self.gpus):,} GPUs together, for an unknown time"
            yield (
                Finding("SweepSize", "info", together, hint)
                if limit is None
                else Finding("OverBudget", "error", together, hint, ("budget", "gpuHours"))
            )
        else:
            yield from self._compared(about, limit)

    def _compared(self, about: str, limit: float | None) -> Iterator[Finding]:
        total = f"{about}: {_number(self.gpu_hours)} GPU-hours without restarts"
        if limit is None:
            yield Finding("SweepSize", "info", total)
        elif self.gpu_hours <= limit:
            yield Finding("SweepSize", "info", f"{total}, of {_number(limit)}", path=("budget", "gpuHours"))
        else:
            each = self.gpu_hours / self.trials
            hint = f"this is enough for {int(limit // each):,} of them; list fewer values, or write gpuHours: {self.gpu_hours:g}"
            message = f"{total}, which is more than {_number(limit)}"
            yield Finding("OverBudget", "error", message, hint, ("budget", "gpuHours"))

    def _sizes(self) -> str:
        low, high = min(self.gpus, default=0), max(self.gpus, default=0)
        size = (
            "without GPUs"
            if not high
            else f"of {counted(high, 'GPU')}"
            if low == high
            else f"of {low:,} to {high:,} GPUs"
        )
        hours = {hours for hours in self.hours if hours is not None}
        return f"{size} for {_number(*hours)} h each" if len(hours) == 1 and None not in self.hours else size


def _gpus(replicated_job: Json) -> int:
    """The compute devices of all pods."""
    spec = replicated_job["template"].get("spec", {})
    requests = pod_requests(spec.get("template", {}).get("spec", {}), limits_count=True)
    each = sum(amount.units for name, amount in requests.items() if accelerator(name))
    return int(replicated_job.get("replicas", 1) * spec.get("parallelism", 1) * each)


def _number(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")
