"""The engine, which runs the extension points in order and, for each of them, the plugins in registry order.

Source: kubeflow/trainer pkg/runtime/framework/core/framework.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from trainc.api.documents import Manifest
from trainc.diagnostics import Finding, has_errors
from trainc.ir.env import reserved_env
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import POINTS, ExtensionPoint
from trainc.plugins.registry import Applied

if TYPE_CHECKING:
    from trainc.ir.provided_secret import ProvidedSecret

Observer: TypeAlias = Callable[[Applied, ExtensionPoint, Info, Info], None]


def validate(job: TrainJob, info: Info, plugins: Sequence[Applied]) -> list[Finding]:
    """Return the findings of all plugins.

    `build_failures` runs under `controller` semantics only, and only if validation finds no errors: the controller does
    not build a job that its webhook refuses.
    """
    findings = [finding for each in plugins for finding in _validate_one(each, job, info)]
    if info.gitops or has_errors(findings):
        return findings
    failures = ((each, each.passes.build_failures) for each in plugins)
    return findings + [finding for each, fails in failures if fails for finding in fails(job, each.policy, info)]


def _validate_one(each: Applied, job: TrainJob, info: Info) -> Iterator[Finding]:
    plugin, passes = each.plugin, each.passes
    if passes.validate is not None:
        yield from passes.validate(job, each.policy, info)
    names = plugin.reserved if passes.reserved is None else passes.reserved(job, each.policy, info)
    if job.trainer is not None and names:
        yield from reserved_env(job.trainer, names, plugin.reserved_for)


def enforce(job: TrainJob, info: Info, plugins: Sequence[Applied], observe: Observer | None = None) -> Info:
    """Run all passes and return the resulting Info. `observe(plugin, point, before, after)` is called for each change."""
    for point in POINTS:
        for each in plugins:
            run = getattr(each.passes, point)
            if run is None:
                continue
            after = run(job, each.policy, info)
            if observe is not None and after is not info:
                observe(each, point, info, after)
            info = after
    return info


def build(job: TrainJob, info: Info, plugins: Sequence[Applied]) -> list[Manifest]:
    """Return the objects of all plugins, in registry order."""
    builders = ((each, each.passes.build) for each in plugins)
    return [manifest for each, built in builders if built for manifest in built(job, each.policy, info)]


def provided_secrets(job: TrainJob, info: Info, plugins: Sequence[Applied]) -> tuple[ProvidedSecret, ...]:
    """Return the Secrets that the built pods mount and that the user must provide."""
    named = ((each, each.passes.secrets) for each in plugins)
    return tuple(secret for each, secrets in named if secrets for secret in secrets(job, each.policy, info))
