"""Budgets of trainc.yaml: the GPU-hours that the jobs of some namespaces may take at most, as their deadlines bound them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainc.findings import Diagnostic, Finding, Path, Severity, Source
from trainc.findings.policy import matches
from trainc.findings.text import counted, first_of
from trainc.kube.bounds import Bound, decimal
from trainc.kube.documents import Json, qualified, value_at
from trainc.kube.jobset import JobSet
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import TypeAlias

_NAMED = 3
# Namespace and name.
Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Budget:
    """The GPU-hours for the namespaces of a glob, all together, and the line that says so."""

    gpu_hours: float
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Account:
    """What the jobs of a budget may take until their deadlines; `jobs` are those with one, the most expensive one first."""

    glob: str
    budget: Budget
    gpu_hours: float
    jobs: Sequence[Key]
    without_deadline: Sequence[Key]

    @property
    def is_over(self) -> bool:
        """Return whether that is more than the budget."""
        return self.gpu_hours > self.budget.gpu_hours

    @property
    def sentence(self) -> str:
        """`ads: at most 3,400 of 5,000 GPU-hours, 1,600 are left`."""
        left = self.budget.gpu_hours - self.gpu_hours
        rest = f"{decimal(left)} are left" if left >= 0 else f"{decimal(-left)} too many"
        text = f"{self.glob}: at most {decimal(self.gpu_hours)} of {decimal(self.budget.gpu_hours)} GPU-hours, {rest}"
        if not (unknown := self.without_deadline):
            return text
        return (
            f"{text}, without {counted(len(unknown), 'job')} that {'has' if len(unknown) == 1 else 'have'} no deadline"
        )


def stricter(budgets: Mapping[str, Budget], at_base: Mapping[str, Budget]) -> dict[str, Budget]:
    """Return the budgets of both, of the same glob the smaller one. Those of the base alone have no line of their own."""
    both = {glob: min(budget.gpu_hours, at_base.get(glob, budget).gpu_hours) for glob, budget in budgets.items()}
    gone = {glob: budget for glob, budget in at_base.items() if glob not in budgets}
    return {
        **{
            glob: replace(budget, source=budget.source and Source(budget.source.file, 1, 1))
            for glob, budget in gone.items()
        },
        **{glob: Budget(hours, budgets[glob].source) for glob, hours in both.items()},
    }


def accounts_of(budgets: Mapping[str, Budget], jobs: Iterable[tuple[str, str, Bound]]) -> Iterator[Account]:
    """Yield what jobs, each with its namespace and name, may take of each budget.

    One that sets no namespace may be delivered to any, so leaving it out is no way around a budget.
    """
    with_devices = [job for job in jobs if job[2].devices]
    for glob, budget in budgets.items():
        of_glob = [
            ((space, name), bound.gpu_hours) for space, name, bound in with_devices if not space or matches(space, glob)
        ]
        hours = {key: of_job for key, of_job in of_glob if of_job is not None}
        largest = sorted(hours, key=lambda key: -hours[key])
        yield Account(glob, budget, sum(hours.values()), largest, [key for key, of_job in of_glob if of_job is None])


def takes_more(now: Bound, before: Bound | None) -> bool:
    """Return whether a job with a deadline may take more than it might before; None if it is new."""
    if before is None or before.gpu_hours is None or now.gpu_hours is None:
        return before is None
    return now.gpu_hours > before.gpu_hours


def no_deadline(account: Account, key: Key, job: Json, endless: Sequence[str]) -> Finding:
    """The error about a job that may hold its devices for ever; `job` may be a JobSet, and `endless` are its steps."""
    message = f"nothing keeps {qualified(*key)} within the budget of {account.glob}: it has no deadline"
    path: Path = ("spec", "activeDeadlineSeconds")
    where = "under spec, or in its runtime"
    if job.get("kind") == "JobSet":
        index = next(i for i, step in enumerate(JobSet.read(job).jobs) if step.name == endless[0])
        path = ("spec", "replicatedJobs", index, "template", *path)
        where = "under spec of the template of each Job"
    elif value_at(job, path) is not None:
        message = f"nothing keeps {qualified(*key)} within the budget of {account.glob}: its deadline does not reach the Jobs {', '.join(endless)}"
        where = f"in the runtime, under template.spec of the replicatedJobs {', '.join(endless)}"
    hint = f"write after how many seconds it ends, as in `activeDeadlineSeconds: 86400` {where}"
    return Finding("DeadlineMissing", "error", message, hint, path)


def exceeded(account: Account, more: Sequence[Key], largest: Bound | None, is_of_base: bool) -> Diagnostic:
    """What is wrong with a budget: an error if this change takes more of it, with these jobs, otherwise an info.

    The first of these jobs is bounded by `largest`. A budget that this change raises is that of the base until then.
    """
    taken, limit = (decimal(hours) for hours in (account.gpu_hours, account.budget.gpu_hours))
    most, grown = (first_of([qualified(*key) for key in keys], _NAMED) for keys in (account.jobs, more))
    about = f"new or larger: {grown}" if more else "none of them is new or larger"
    message = (
        f"jobs in {account.glob} may take {taken} GPU-hours until their deadlines, of a budget of {limit}; {about}"
    )
    message += "; so say the rules of the base, which count until the change of them is merged" * is_of_base
    hint = f"shorten deadlines, or delete jobs that have finished; the most is for {most}"
    if largest is not None and largest.hours and largest.gpu_hours:
        left = account.budget.gpu_hours - account.gpu_hours + largest.gpu_hours
        hours = int(left / largest.gpu_hours * largest.hours)
        if hours > 0:
            hint = f"write a deadline of at most {counted(hours, 'hour')} ({hours * 3600} s) for {qualified(*more[0])}, or delete jobs that have finished; the most is for {most}"
    if is_of_base and more:
        hint = f"merge the change of the budget first; or {hint}"
    if not more:  # None of these jobs has changed.
        hint = f"write at least {taken}, or no job here can be changed or added until some have ended; the most is for {most}"
    severity: Severity = "error" if more else "info"
    path = f"budgets.{account.glob}"
    return Diagnostic("BudgetExceeded", severity, message, hint, "trainc.yaml", path, account.budget.source)
