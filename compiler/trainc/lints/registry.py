"""The lints that look at every job, in the order in which they report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from trainc.api import names
from trainc.diagnostics import Finding
from trainc.ir.entrypoints import Entrypoint, entrypoints
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.startup.records import dataclass, replace

if TYPE_CHECKING:
    from trainc.lints.training import Training

Lint: TypeAlias = Callable[..., Iterator[Finding]]


def _gang(job: TrainJob, info: Info) -> bool:
    return info.pod_group_policy is not None


def _mpi(job: TrainJob, info: Info) -> bool:
    return info.policy("mpi") is not None


def _initializers(job: TrainJob, info: Info) -> bool:
    return any(p.ancestor in (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER) for p in info.pod_sets)


def _processes(job: TrainJob, info: Info) -> bool:
    return job.trainer is not None and job.trainer.num_proc_per_node is not None


def _named(job: TrainJob, info: Info) -> bool:
    """Labels or annotations that somebody wrote, anywhere; or more steps than Kueue takes."""
    if job.labels or job.annotations or info.labels or info.annotations or len(info.pod_sets) > 1:
        return True
    templates = (step["template"] for step in info.template.get("replicatedJobs", ()))
    return any(
        (template.get("metadata") or {}).get("annotations")
        or ((template.get("spec") or {}).get("template") or {}).get("metadata")
        for template in templates
    )


def _volumes(job: TrainJob, info: Info) -> bool:
    return "volumeClaimPolicies" in info.template or any(pod_set.volumes for pod_set in info.pod_sets)


def _initialized(job: TrainJob, info: Info) -> bool:
    return job.dataset is not None or job.model is not None


def _empty(job: TrainJob, info: Info) -> bool:
    return job.trainer is not None and job.trainer.num_nodes == 0


@dataclass(frozen=True, slots=True)
class Registered:
    """A lint's module, its function, and the jobs that concern it: for no other is it even imported.

    The function takes (job, info), or, where it looks `per` container, (job, info, entrypoint); per "training" it takes
    a Training, which is a container that trains with its command read.
    """

    module: str
    function: str
    concerned: Callable[[TrainJob, Info], bool] | None = None
    per: Literal["job", "container", "training"] = "job"


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
    Registered("lints.launch_options", "launch_options", per="training"),
    Registered("lints.launchers", "launchers", per="training"),
    Registered("lints.processes", "processes", per="training"),
    Registered("lints.shell_endings", "shell_endings", per="training"),
    Registered("lints.cannot_start", "cannot_start", per="container"),
    Registered("lints.heredocs", "heredocs", per="container"),
    Registered("lints.cannot_start", "invalid_image", per="container"),
    Registered("lints.variables", "plain_tokens", per="container"),
    Registered("lints.variables", "tokens_of_initializers", _initialized),
    Registered("lints.variables", "misspelt_variables", per="container"),
    Registered("lints.amounts", "unlikely_amounts", per="container"),
    Registered("lints.amounts", "no_nodes", _empty),
    Registered("lints.network", "network"),
    Registered("lints.volumes", "volumes", _volumes),
    Registered("lints.kueue", "kueue", _named),
    Registered("lints.ignored_values", "values_overridden"),
)


def lint(job: TrainJob, info: Info, lints: Sequence[Registered] = LINTS) -> list[Finding]:
    """What the lints find. Under `controller`, which refuses only what the controller does, nothing is an error."""
    findings: list[Finding] = []
    entries: list[Entrypoint] | None = None
    trained: list[Training] | None = None
    for each in lints:
        if each.concerned is not None and not each.concerned(job, info):
            continue
        function = _loaded(each.module, each.function)
        if each.per == "job":
            findings += function(job, info)
            continue
        entries = list(entrypoints(job, info)) if entries is None else entries
        if each.per == "container":
            for entry in entries:
                findings += function(job, info, entry)
            continue
        trained = _trained(job, info, entries) if trained is None else trained
        for training in trained:
            findings += function(training)
    return findings if info.gitops else [_no_error(finding) for finding in findings]


def _trained(job: TrainJob, info: Info, entries: Iterable[Entrypoint]) -> list[Training]:
    from trainc.lints.training import training_of

    return [training for entry in entries if (training := training_of(job, info, entry)) is not None]


def _no_error(finding: Finding) -> Finding:
    return replace(finding, severity="warning") if finding.severity == "error" else finding
