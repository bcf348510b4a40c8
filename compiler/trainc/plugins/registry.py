"""The plugins in the order in which they run: order is data, and a change to it is a change of behaviour."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TypeAlias, cast

from trainc.ir.commands.launcher import SRUN, Launcher, Starting
from trainc.ir.commands.programs import Programs
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import Plugin
from trainc.startup.records import dataclass

Concerned: TypeAlias = Callable[[TrainJob, Info], bool]


@dataclass(frozen=True, slots=True)
class Registered:
    """A plugin's name, its module beside this one, and the jobs that concern it: for no other is it even imported.

    `policy` is the key of mlPolicy that chooses it; `starts` whether its folder holds `launchers`, apart from the
    plugin because a lint asks for those of every framework.
    """

    name: str
    module: str
    concerned: Concerned
    policy: str = ""
    starts: bool = False


@cache
def _loaded(module: str) -> Plugin:
    return cast("Plugin", import_module(f"trainc.plugins.{module}").PLUGIN)


def _always(job: TrainJob, info: Info) -> bool:
    return True


def _policy(name: str) -> Concerned:
    def concerned(job: TrainJob, info: Info) -> bool:
        return info.policy(name) is not None

    return concerned


def _initializes(job: TrainJob, info: Info) -> bool:
    return job.dataset is not None or job.model is not None


def _gang(job: TrainJob, info: Info) -> bool:
    # v2.0.1's Coscheduling looks at every pod group policy, an empty one included.
    return info.pod_group_policy is not None


# Upstream's registry is a Go map, so its order differs from process to process. This one gives an answer that some
# order of upstream's gives: TrainJob variables (PlainML) before those of the framework, initializers after all
# ML policies, JobSet last.
PLUGINS: tuple[Registered, ...] = (
    Registered("PlainML", "plain", _always),
    Registered("Torch", "torch", _policy("torch"), "torch", starts=True),
    Registered("MPI", "mpi", _policy("mpi"), "mpi", starts=True),
    Registered("JAX", "jax", _policy("jax"), "jax"),
    Registered("XGBoost", "xgboost", _policy("xgboost"), "xgboost"),
    Registered("Flux", "flux", _policy("flux"), "flux", starts=True),
    Registered("CoScheduling", "coscheduling", _gang),
    Registered("Volcano", "volcano", _gang),
    Registered("Initializer", "initializer", _initializes),
    Registered("JobSet", "jobset", _always),
)


def plugins_for(job: TrainJob, info: Info) -> Sequence[Plugin]:
    """The plugins that a job concerns, in order; which they are is settled before any pass."""
    return [_loaded(plugin.module) for plugin in PLUGINS if plugin.concerned(job, info)]


def plugin_named(name: str) -> Plugin:
    """The plugin of that name."""
    return _loaded(next(plugin.module for plugin in PLUGINS if plugin.name == name))


@cache
def starting(policy: str) -> Starting | None:
    """How the processes of the framework that `mlPolicy.<policy>` chooses start; None where it has no launchers."""
    module = next((plugin.module for plugin in PLUGINS if plugin.starts and plugin.policy == policy), None)
    return None if module is None else cast("Starting", import_module(f"trainc.plugins.{module}.launchers").STARTING)


def launching() -> Iterator[tuple[str, Starting]]:
    """The policy of each framework that has launchers, and how its processes start."""
    for plugin in PLUGINS:
        own = starting(plugin.policy) if plugin.starts else None
        if own is not None:
            yield plugin.policy, own


@cache
def programs(policy: str) -> Programs:
    """The launchers of a framework, and where they are asked for those of all others, by what starts them."""
    own = starting(policy)
    return Programs(own.launchers if own else (), _every_launcher)


def _every_launcher() -> list[Launcher]:
    return [SRUN, *(launcher for _, each in launching() for launcher in each.launchers)]
