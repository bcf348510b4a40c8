"""The lints that look at every job, in the order in which they report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from trainc.diagnostics import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.lints.gang_scheduler import gang_too_large, scheduler_name_missing
from trainc.lints.gpu_limits import gpu_without_limit
from trainc.lints.ignored_values import processes_ignored, values_overridden
from trainc.lints.initializer_order import initializer_not_ordered
from trainc.lints.missing_ancestor import missing_trainer_ancestor
from trainc.lints.missing_image import missing_image
from trainc.lints.mpi_completion import mpi_nodes_awaited
from trainc.lints.nothing_to_run import nothing_to_run
from trainc.lints.shell_variables import unexpanded_shell_variables
from trainc.lints.torchrun_flags import torchrun_args_override_policy
from trainc.records import replace

Lint: TypeAlias = Callable[[TrainJob, Info], Iterator[Finding]]

# Of a lowered job, before any pass.
LINTS: tuple[Lint, ...] = (
    nothing_to_run,
    missing_trainer_ancestor,
    missing_image,
    unexpanded_shell_variables,
    initializer_not_ordered,
    gpu_without_limit,
    scheduler_name_missing,
    mpi_nodes_awaited,
    processes_ignored,
)
# Of a job whose pods have been counted and told how to meet.
SIZED_LINTS: tuple[Lint, ...] = (gang_too_large, torchrun_args_override_policy, values_overridden)


def lint(job: TrainJob, info: Info, lints: Sequence[Lint] = LINTS) -> list[Finding]:
    """What the lints find. Under `controller`, which refuses only what the controller does, nothing is an error."""
    findings = [finding for each in lints for finding in each(job, info)]
    return findings if info.gitops else [_no_error(finding) for finding in findings]


def _no_error(finding: Finding) -> Finding:
    return replace(finding, severity="warning") if finding.severity == "error" else finding
