"""The engine: extension points in order, and for each of them the plugins in registry order.

Source: kubeflow/trainer pkg/runtime/framework/core/framework.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from trainc.api.documents import Manifest
from trainc.diagnostics import Finding, has_errors
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import PASSES, ExtensionPoint, Plugin
from trainc.plugins.registry import plugins_for

if TYPE_CHECKING:
    from trainc.ir.provided_secret import ProvidedSecret

Observer: TypeAlias = Callable[[str, ExtensionPoint, Info, Info], None]


def validate(job: TrainJob, info: Info) -> list[Finding]:
    """Every finding of every plugin. What fails only while the controller builds, it sees in accepted jobs only."""
    plugins = plugins_for(job, info)
    findings = [finding for plugin in plugins if plugin.validate for finding in plugin.validate(job, info)]
    if info.gitops or has_errors(findings):
        return findings
    return findings + [f for plugin in plugins if plugin.build_failures for f in plugin.build_failures(job, info)]


def enforce(job: TrainJob, info: Info, plugins: Sequence[Plugin], observe: Observer | None = None) -> Info:
    """The Info after all passes. `observe(plugin, extension point, before, after)` is told of each change."""
    for point in PASSES:
        for plugin in plugins:
            run = getattr(plugin, point)
            if run is None:
                continue
            after = run(job, info)
            if observe is not None and after is not info:
                observe(plugin.name, point, info, after)
            info = after
    return info


def build(job: TrainJob, info: Info, plugins: Sequence[Plugin]) -> list[Manifest]:
    """Every object of every plugin, in registry order."""
    return [manifest for plugin in plugins if plugin.build for manifest in plugin.build(job, info)]


def provided_secrets(job: TrainJob, info: Info, plugins: Sequence[Plugin]) -> tuple[ProvidedSecret, ...]:
    """The Secrets that the built pods mount and that somebody must provide."""
    return tuple(secret for plugin in plugins if plugin.secrets for secret in plugin.secrets(job, info))
