"""The lints that look at every job, in the order in which they report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TypeAlias, cast

from trainc.api import names
from trainc.diagnostics import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.startup.records import dataclass, replace

Lint: TypeAlias = Callable[[TrainJob, Info], Iterator[Finding]]


def _always(job: TrainJob, info: Info) -> bool:
    return True


def _gang(job: TrainJob, info: Info) -> bool:
    return info.pod_group_policy is not None


def _mpi(job: TrainJob, info: Info) -> bool:
    return info.policy("mpi") is not None


def _initializers(job: TrainJob, info: Info) -> bool:
    return any(p.ancestor in (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER) for p in info.pod_sets)


def _processes(job: TrainJob, info: Info) -> bool:
    return job.trainer is not None and job.trainer.num_proc_per_node is not None


@dataclass(frozen=True, slots=True)
class Registered:
    """A lint's module, its function, and the jobs that concern it: for no other is it even imported."""

    module: str
    function: str
    concerned: Callable[[TrainJob, Info], bool] = _always


@cache
def _loaded(module: str, function: str) -> Lint:
    return cast("Lint", getattr(import_module(f"trainc.{module}"), function))


# Of a lowered job, before any pass.
LINTS: tuple[Registered, ...] = (
    Registered("lints.nothing_to_run", "nothing_to_run"),
    Registered("lints.missing_ancestor", "missing_trainer_ancestor"),
    Registered("lints.missing_image", "missing_image"),
    Registered("lints.shell_variables", "unexpanded_shell_variables"),
    Registered("plugins.initializer.lints", "initializer_not_ordered", _initializers),
    Registered("lints.gpu_limits", "gpu_without_limit"),
    Registered("lints.gang_scheduler", "scheduler_name_missing", _gang),
    Registered("plugins.mpi.completion", "mpi_nodes_awaited", _mpi),
    Registered("lints.ignored_values", "processes_ignored", _processes),
)
# Of a job whose pods have been counted and told how to meet.
SIZED_LINTS: tuple[Registered, ...] = (
    Registered("lints.gang_scheduler", "gang_too_large", _gang),
    Registered("lints.launch_options", "launch_options"),
    Registered("lints.launchers", "launchers"),
    Registered("lints.processes", "processes"),
    Registered("lints.cannot_start", "cannot_start"),
    Registered("lints.shell_endings", "shell_endings"),
    Registered("lints.heredocs", "heredocs"),
    Registered("lints.images", "invalid_images"),
    Registered("lints.network", "network"),
    Registered("lints.variables", "plain_tokens"),
    Registered("lints.variables", "misspelt_variables"),
    Registered("lints.amounts", "unlikely_amounts"),
    Registered("lints.volumes", "volumes"),
    Registered("lints.kueue", "kueue"),
    Registered("lints.ignored_values", "values_overridden"),
)


def lint(job: TrainJob, info: Info, lints: Sequence[Registered] = LINTS) -> list[Finding]:
    """What the lints find. Under `controller`, which refuses only what the controller does, nothing is an error."""
    findings = [
        f for each in lints if each.concerned(job, info) for f in _loaded(each.module, each.function)(job, info)
    ]
    return findings if info.gitops else [_no_error(finding) for finding in findings]


def _no_error(finding: Finding) -> Finding:
    return replace(finding, severity="warning") if finding.severity == "error" else finding
