"""The plugins as they run: their records, those that act on a job, the engine, and plugins of other distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from trainc.findings import Diagnostic, Finding, has_errors
from trainc.findings.text import did_you_mean
from trainc.ir.commands.programs import SRUN, Launcher, Programs, Starting
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob, reserved_env
from trainc.kube.documents import Json, Manifest
from trainc.plugins import FOLDERS
from trainc.plugins.plugin import POINTS, ExtensionPoint, Passes, Plugin
from trainc.startup import import_module
from trainc.startup.records import dataclass
from trainc.startup.typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from trainc.ir.info import ProvidedSecret

PLUGINS: tuple[Plugin, ...] = tuple(import_module(f"trainc.plugins.{folder}").PLUGIN for folder in FOLDERS)


@dataclass(frozen=True, slots=True)
class Applied:
    """A plugin that acts on a job, with its functions and the policy that makes it act."""

    plugin: Plugin
    passes: Passes
    policy: Json


@cache
def enabled(names: tuple[str, ...]) -> tuple[Plugin, ...]:
    """Return all enabled plugins: trainc's own, then the third-party ones named in `names`."""
    return (*PLUGINS, *choose(names)[0]) if names else PLUGINS


def plugins_for(job: TrainJob, info: Info) -> Sequence[Applied]:
    """Return the plugins that act on a job, in order. They and their policies are fixed before the first pass."""
    policies = ((plugin, plugin.policy_of(job, info)) for plugin in enabled(info.plugins))
    pairs = [(plugin, policy) for plugin, policy in policies if policy is not None]
    spans = (plugin.carries_env for plugin, _ in pairs)
    carries_env = any(span is not None and info.release.minor in span for span in spans)
    return [
        Applied(plugin, load_attribute(plugin.passes, "PASSES"), policy)
        for plugin, policy in pairs
        if not (carries_env and plugin.yields)
    ]


@cache
def load_attribute(module: str, name: str) -> Any:
    """Return the attribute `name` of a plugin's module, which is imported on first use."""
    return getattr(import_module(module), name)


@cache
def starting(policy: str) -> Starting | None:
    """Return how the framework of `mlPolicy.<policy>` starts its processes, or None if it has no launchers."""
    module = next((plugin.launchers for plugin in PLUGINS if plugin.launchers and plugin.policy == policy), None)
    return None if module is None else load_attribute(module, "STARTING")


def launching() -> Iterator[tuple[str, Starting]]:
    """Yield (policy, how its processes start) for each framework that has launchers."""
    for plugin in PLUGINS:
        framework = starting(plugin.policy) if plugin.launchers else None
        if framework is not None:
            yield plugin.policy, framework


@cache
def programs(policy: str) -> Programs:
    """Return the launchers of a framework; those of all frameworks are loaded when they are first needed."""
    framework = starting(policy)

    def all_launchers() -> list[Launcher]:
        return [SRUN, *(launcher for _, other in launching() for launcher in other.launchers)]

    return Programs(framework.launchers if framework else (), all_launchers)


# The engine, which runs the extension points in order and, for each of them, the plugins in registry order.
# Source: kubeflow/trainer pkg/runtime/framework/core/framework.go.


Observer: TypeAlias = Callable[[Applied, ExtensionPoint, Info, Info], None]


def validate(job: TrainJob, info: Info, plugins: Sequence[Applied]) -> list[Finding]:
    """Return the findings of all plugins.

    `build_failures` runs under `controller` semantics only, and only if validation finds no errors: the controller does
    not build a job that its webhook refuses.
    """
    findings: list[Finding] = []
    for applied in plugins:
        plugin, passes = applied.plugin, applied.passes
        if passes.validate is not None:
            findings += passes.validate(job, applied.policy, info)
        names = plugin.reserved if passes.reserved is None else passes.reserved(job, applied.policy, info)
        findings += reserved_env(job.trainer, names, plugin.reserved_for)
    if info.gitops or has_errors(findings):
        return findings
    return [*findings, *_results("build_failures", job, info, plugins)]


def _results(
    point: Literal["build_failures", "build", "secrets"], job: TrainJob, info: Info, plugins: Sequence[Applied]
) -> Iterator[Any]:
    for applied in plugins:
        if (function := getattr(applied.passes, point)) is not None:
            yield from function(job, applied.policy, info)


def enforce(job: TrainJob, info: Info, plugins: Sequence[Applied], observe: Observer | None = None) -> Info:
    """Run all passes and return the resulting Info. `observe(plugin, point, before, after)` is called for each change."""
    for point in POINTS:
        for applied in plugins:
            run = getattr(applied.passes, point)
            if run is None:
                continue
            after = run(job, applied.policy, info)
            if after is not info and observe is not None:
                observe(applied, point, info, after)
            info = after
    return info


def build(job: TrainJob, info: Info, plugins: Sequence[Applied]) -> list[Manifest]:
    """Return the objects of all plugins, in registry order."""
    return list(_results("build", job, info, plugins))


def provided_secrets(job: TrainJob, info: Info, plugins: Sequence[Applied]) -> tuple[ProvidedSecret, ...]:
    """Return the Secrets that the built pods mount and that the user must provide."""
    return tuple(_results("secrets", job, info, plugins))


@cache
def choose(names: tuple[str, ...]) -> tuple[tuple[Plugin, ...], tuple[Diagnostic, ...]]:
    """Return the installed plugins with these names of entry points, and an error for each that is not installed or cannot be used."""
    from importlib.metadata import entry_points

    plugins, problems = list[Plugin](), list[Diagnostic]()
    points = entry_points(group="trainc.plugins") if names else ()
    for name in dict.fromkeys(names):
        plugin = _load(name, {plugin.name for plugin in (*PLUGINS, *plugins)}, points)
        if isinstance(plugin, Plugin):
            plugins.append(plugin)
        else:
            problems.append(plugin)
    return tuple(plugins), tuple(problems)


def _load(name: str, used_names: set[str], installed: Sequence[EntryPoint]) -> Plugin | Diagnostic:
    points = [point for point in installed if point.name == name]
    if not points:
        return _unknown(name, installed)
    try:
        plugin = points[0].load()
        if not isinstance(plugin, Plugin):
            return _broken(name, f"refers to {points[0].value}, which is not a trainc.api.plugins.Plugin")
        if not isinstance(load_attribute(plugin.passes, "PASSES"), Passes):
            return _broken(name, f"has no PASSES in {plugin.passes} that are trainc.api.plugins.Passes")
        for lint in plugin.lints:
            load_attribute(lint.module, lint.function)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever another distribution raises while it is imported
        return _broken(name, f"cannot be imported: {type(error).__name__}: {error}")
    if plugin.name in used_names:
        return _broken(name, f"is called {plugin.name!r}, like another plugin")
    return plugin


def failure(error: BaseException, names: Sequence[str]) -> Finding:
    """Say that a plugin failed at a job, so that the others go on: in its last function, if the traceback has one."""
    from traceback import walk_tb

    places = [(frame.f_globals.get("__name__"), line) for frame, line in walk_tb(error.__traceback__)]
    at = [f" in {module}, line {line}" for module, line in places if not str(module).startswith("trainc.")][-1:]
    message = f"a plugin failed at this job ({', '.join(names)}): {type(error).__name__}: {error}{''.join(at)}"
    hint = "report this to the authors of the plugin, or remove it from `plugins` to see what trainc alone does"
    return Finding("BrokenPlugin", "error", message, hint, ("metadata", "name"), stage="validation")


def check_results(findings: Iterable[Any], manifests: Iterable[object]) -> None:
    """Raise TypeError for what a plugin must not return, while it is known that one has."""
    import json

    for one in findings:
        is_one = isinstance(one, Finding) and one.severity in ("error", "warning", "info") and type(one.path) is tuple
        if not is_one or not all(isinstance(text, str) for text in (one.code, one.message, one.hint, one.about)):
            raise TypeError(f"{one!r} is not a Finding as trainc.api.findings describes it")
    json.dumps(list(manifests))


def _unknown(name: str, points: Sequence[EntryPoint]) -> Diagnostic:
    installed = sorted({point.name for point in points})
    there = f"installed are {', '.join(installed)}" if installed else "no installed distribution has plugins for trainc"
    near = did_you_mean(name, installed, 0.5)
    hint = (
        near
        or f"{there}; install the distribution that provides {name!r}, also where CI installs trainc (as in requirements-trainc.txt), or remove the name"
    )
    return Diagnostic("UnknownPlugin", "error", f"there is no plugin {name!r}", hint)


def _broken(name: str, reason: str) -> Diagnostic:
    hint = f"update the distribution that provides it, or remove {name!r} from the plugins"
    return Diagnostic("BrokenPlugin", "error", f"plugin {name!r} {reason}", hint)
