"""Every lint in one list, in the order in which they report: those of no framework here, then those of each plugin.

What a function takes depends on its stage: a lowered, sized or controller lint (job, info), a built one (job, info,
options), one of all jobs (claims, services) as in duplicate_subdomain.py, one of rendered manifests (jobset, objects,
plugins) as in rendered.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from trainc.diagnostics import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import Lint, Plugin, Stage
from trainc.plugins.registry import enabled, loaded
from trainc.startup.records import replace

if TYPE_CHECKING:
    from trainc.lints.duplicate_subdomain import Claim, Services
    from trainc.options import Options


def _gang(job: TrainJob, info: Info) -> bool:
    return info.pod_group_policy is not None


def _processes(job: TrainJob, info: Info) -> bool:
    return job.trainer is not None and job.trainer.num_proc_per_node is not None


LINTS: tuple[Lint, ...] = (
    Lint("lowered", "trainc.lints.nothing_to_run", "nothing_to_run"),
    Lint("lowered", "trainc.lints.missing_ancestor", "missing_trainer_ancestor"),
    Lint("lowered", "trainc.lints.missing_image", "missing_image"),
    Lint("lowered", "trainc.lints.shell_variables", "unexpanded_shell_variables"),
    Lint("lowered", "trainc.lints.gpu_limits", "gpu_without_limit"),
    Lint("lowered", "trainc.lints.gang_scheduler", "scheduler_name_missing", _gang),
    Lint("lowered", "trainc.lints.ignored_values", "processes_ignored", _processes),
    Lint("controller", "trainc.lints.controller_defects", "controller_defects"),
    Lint("sized", "trainc.lints.ignored_values", "values_overridden"),
    Lint("built", "trainc.lints.ttl_rerun", "ttl_rerun"),
    Lint("built", "trainc.lints.duplicate_subdomain", "subdomain_of_every_run"),
    Lint("all_jobs", "trainc.lints.duplicate_subdomain", "duplicate_subdomain"),
    Lint("rendered", "trainc.lints.rendered", "stale_names"),
)


@cache
def _at(stage: Stage, plugins: tuple[str, ...]) -> tuple[tuple[Lint, Plugin | None], ...]:
    """The lints of a stage, each with the plugin that it belongs to, if any."""
    own = ((each, None) for each in LINTS if each.stage == stage)
    return (*own, *((each, plugin) for plugin in enabled(plugins) for each in plugin.lints if each.stage == stage))


def lint(job: TrainJob, info: Info, stage: Stage = "lowered", options: Options | None = None) -> list[Finding]:
    """What the lints of a stage find in one job; `options` is for those of what is built.

    Under `controller`, which refuses only what the controller does, nothing is an error.
    """
    given = (job, info) if options is None else (job, info, options)
    findings = [
        finding
        for each, plugin in _at(stage, info.plugins)
        if _concerns(each, plugin, job, info)
        for finding in loaded(each.module, each.function)(*given)
    ]
    return findings if info.gitops else [_no_error(finding) for finding in findings]


def lint_all_jobs(claims: Iterable[Claim], services: Services, options: Options) -> Iterator[tuple[str, Finding]]:
    """What only all jobs together show, by the label of the object; `services` remembers those of the whole input."""
    for each, _ in _at("all_jobs", options.plugins):
        yield from loaded(each.module, each.function)(claims, services)


def lint_rendered(
    jobset: Mapping[str, Any], objects: Sequence[Mapping[str, Any]], options: Options
) -> Iterator[Finding]:
    """What a JobSet among rendered `objects` says of others that is no longer so, with paths inside it."""
    for each, _ in _at("rendered", options.plugins):
        yield from loaded(each.module, each.function)(jobset, objects, enabled(options.plugins))


def _concerns(each: Lint, plugin: Plugin | None, job: TrainJob, info: Info) -> bool:
    if each.applies_to is not None:
        return each.applies_to(job, info)
    return plugin is None or plugin.policy_of(job, info) is not None


def _no_error(finding: Finding) -> Finding:
    return replace(finding, severity="warning") if finding.severity == "error" else finding
