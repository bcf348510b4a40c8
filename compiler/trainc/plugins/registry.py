"""The plugins, in the order in which they run. The order is data, and changing it changes behavior."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trainc.api.documents import Json
from trainc.ir.commands.launcher import SRUN, Launcher, Starting
from trainc.ir.commands.programs import Programs
from trainc.plugins.plugin import Passes, Plugin
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from trainc.ir.info import Info
    from trainc.ir.trainjob import TrainJob

# Upstream's registry is a Go map, so its order differs from process to process. The order here is one that upstream can
# have: the TrainJob's variables (PlainML) before those of the framework, initializers after all ML policies, and JobSet
# last.
FOLDERS = (
    "plain",
    "torch",
    "mpi",
    "jax",
    "xgboost",
    "flux",
    "coscheduling",
    "volcano",
    "workload",
    "initializer",
    "jobset",
)
PLUGINS: tuple[Plugin, ...] = tuple(import_module(f"trainc.plugins.{folder}").PLUGIN for folder in FOLDERS)


@dataclass(frozen=True, slots=True)
class Applied:
    """A plugin that acts on a job, with its functions and the policy that makes it act."""

    plugin: Plugin
    passes: Passes
    policy: Json


@cache
def enabled(others: tuple[str, ...]) -> tuple[Plugin, ...]:
    """Return all enabled plugins: trainc's own, then the third-party ones named in `others`."""
    if not others:
        return PLUGINS
    from trainc.plugins.entry_points import choose

    return (*PLUGINS, *choose(others)[0])


def _policies(job: TrainJob, info: Info) -> Iterator[tuple[Plugin, Json | None]]:
    """Yield each enabled plugin with its `Plugin.policy_of`."""
    chosen, gang = info.ml_policy or {}, info.pod_group_policy or {}
    for plugin in enabled(info.plugins):
        if plugin.applies_to is not None:
            yield plugin, plugin.applies_to(job, info)
        else:
            yield plugin, (chosen if plugin.gang is None else gang).get(plugin.policy)


def plugins_for(job: TrainJob, info: Info) -> Sequence[Applied]:
    """Return the plugins that act on a job, in order. They and their policies are fixed before the first pass."""
    found = [(plugin, policy) for plugin, policy in _policies(job, info) if policy is not None]
    carried = any(plugin.carries_env is not None and info.release.minor in plugin.carries_env for plugin, _ in found)
    return [
        Applied(plugin, loaded(plugin.passes, "PASSES"), policy)
        for plugin, policy in found
        if not (carried and plugin.yields)
    ]


@cache
def loaded(module: str, name: str) -> Any:
    """Return the attribute `name` of a plugin's module, which is imported on first use."""
    return getattr(import_module(module), name)


@cache
def starting(policy: str) -> Starting | None:
    """Return how the framework of `mlPolicy.<policy>` starts its processes, or None if it has no launchers."""
    module = next((plugin.launchers for plugin in PLUGINS if plugin.launchers and plugin.policy == policy), None)
    return None if module is None else loaded(module, "STARTING")


def launching() -> Iterator[tuple[str, Starting]]:
    """Yield (policy, how its processes start) for each framework that has launchers."""
    for plugin in PLUGINS:
        own = starting(plugin.policy) if plugin.launchers else None
        if own is not None:
            yield plugin.policy, own


@cache
def programs(policy: str) -> Programs:
    """Return the launchers of a framework; those of all frameworks are loaded when they are first needed."""
    own = starting(policy)
    return Programs(own.launchers if own else (), _every_launcher)


def _every_launcher() -> list[Launcher]:
    return [SRUN, *(launcher for _, each in launching() for launcher in each.launchers)]
