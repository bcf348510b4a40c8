"""Third-party plugins: found through the entry-point group `trainc.plugins`, and used only if they are enabled by name.

The name is that of an entry point, never of a module, so a repository's trainc.yaml can only enable plugins that are
already installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from trainc.diagnostics import Diagnostic
from trainc.diagnostics.near_names import did_you_mean
from trainc.plugins.plugin import Plugin
from trainc.plugins.registry import PLUGINS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "trainc.plugins"


@cache
def choose(names: tuple[str, ...]) -> tuple[tuple[Plugin, ...], tuple[Diagnostic, ...]]:
    """Return the plugins with these names, and an error for each that is not installed or cannot be used."""
    plugins: list[Plugin] = []
    problems: list[Diagnostic] = []
    taken = {plugin.name for plugin in PLUGINS}
    for name in dict.fromkeys(names):
        plugin = _load(name, taken)
        if isinstance(plugin, Plugin):
            plugins.append(plugin)
            taken.add(plugin.name)
        else:
            problems.append(plugin)
    return tuple(plugins), tuple(problems)


def _load(name: str, taken: set[str]) -> Plugin | Diagnostic:
    found = [point for point in _installed() if point.name == name]
    if not found:
        return _unknown(name)
    try:
        plugin = found[0].load()
    except Exception as error:  # noqa: BLE001 - whatever another distribution raises while it is imported
        return _broken(name, f"cannot be imported: {type(error).__name__}: {error}")
    if not isinstance(plugin, Plugin):
        return _broken(name, f"refers to {found[0].value}, which is not a trainc.plugins.plugin.Plugin")
    if plugin.name in taken:
        return _broken(name, f"is called {plugin.name!r}, like another plugin")
    return plugin


def _installed() -> Sequence[EntryPoint]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=GROUP))


def _unknown(name: str) -> Diagnostic:
    known = sorted({point.name for point in _installed()})
    listed = f"installed are {', '.join(known)}" if known else "no installed distribution has plugins for trainc"
    hint = (
        did_you_mean(name, known, 0.5)
        or f"{listed}; install the distribution that provides {name!r}, or remove the name"
    )
    return Diagnostic("UnknownPlugin", "error", f"there is no plugin {name!r}", hint)


def _broken(name: str, reason: str) -> Diagnostic:
    hint = f"update the distribution that provides it, or remove {name!r} from the plugins"
    return Diagnostic("BrokenPlugin", "error", f"plugin {name!r} {reason}", hint)


def folders(names: Sequence[str]) -> list[str]:
    """Return the folder or file with the code of each named plugin. It is part of cache keys, so new code is a miss."""
    from importlib.util import find_spec

    tops = {point.module.partition(".")[0] for point in _installed() if point.name in names}
    specs = [spec for top in sorted(tops) if (spec := find_spec(top)) is not None]
    return [place for spec in specs for place in spec.submodule_search_locations or (spec.origin or "",)]
