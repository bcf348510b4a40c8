"""The plugins in the order in which they run: order is data, and a change to it is a change of behaviour."""

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

# Upstream's registry is a Go map, so its order differs from process to process. This one gives an answer that some
# order of upstream's gives: TrainJob variables (PlainML) before those of the framework, initializers after all
# ML policies, JobSet last.
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
    """A plugin that acts on a job, its functions, and the policy for which it does."""

    plugin: Plugin
    passes: Passes
    policy: Json


@cache
def enabled(others: tuple[str, ...]) -> tuple[Plugin, ...]:
    """Every plugin: trainc's own, then those of other distributions that are chosen by name."""
    if not others:
        return PLUGINS
    from trainc.plugins.entry_points import choose

    return (*PLUGINS, *choose(others)[0])


def _policies(job: TrainJob, info: Info) -> Iterator[tuple[Plugin, Json | None]]:
    """As Plugin.policy_of, for all plugins at once."""
    chosen, gang = info.ml_policy or {}, info.pod_group_policy or {}
    for plugin in enabled(info.plugins):
        if plugin.applies_to is not None:
            yield plugin, plugin.applies_to(job, info)
        else:
            yield plugin, (chosen if plugin.gang is None else gang).get(plugin.policy)


def plugins_for(job: TrainJob, info: Info) -> Sequence[Applied]:
    """The plugins that act on a job, in order; which they are, and for which policy, is settled before any pass."""
    found = [(plugin, policy) for plugin, policy in _policies(job, info) if policy is not None]
    carried = any(plugin.carries_env is not None and info.release.minor in plugin.carries_env for plugin, _ in found)
    return [
        Applied(plugin, loaded(plugin.passes, "PASSES"), policy)
        for plugin, policy in found
        if not (carried and plugin.yields)
    ]


@cache
def loaded(module: str, name: str) -> Any:
    """What a module of a plugin calls `name`, imported when it is first asked for."""
    return getattr(import_module(module), name)


@cache
def starting(policy: str) -> Starting | None:
    """How the processes of the framework that `mlPolicy.<policy>` chooses start; None where it has no launchers."""
    module = next((plugin.launchers for plugin in PLUGINS if plugin.launchers and plugin.policy == policy), None)
    return None if module is None else loaded(module, "STARTING")


def launching() -> Iterator[tuple[str, Starting]]:
    """The policy of each framework that has launchers, and how its processes start."""
    for plugin in PLUGINS:
        own = starting(plugin.policy) if plugin.launchers else None
        if own is not None:
            yield plugin.policy, own


@cache
def programs(policy: str) -> Programs:
    """The launchers of a framework, and where they are asked for those of all others, by what starts them."""
    own = starting(policy)
    return Programs(own.launchers if own else (), _every_launcher)


def _every_launcher() -> list[Launcher]:
    return [SRUN, *(launcher for _, each in launching() for launcher in each.launchers)]
