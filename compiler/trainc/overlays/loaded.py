"""A loaded overlay, and the settings and values of several overlays combined."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from trainc.diagnostics import Diagnostic
from trainc.diagnostics.policy import Rule
from trainc.options import Options, layered
from trainc.overlays.overlay import Overlay, Patch
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field, fields, replace


@dataclass(frozen=True, slots=True)
class Loaded:
    """An overlay with the content of everything it refers to.

    `bases` are the overlays among its resources, which are applied first. `files` are its other resources, with their
    index in `resources`. `texts` are all files read to load it and the overlays loaded with it, by path. `root` is the
    directory that its references may not leave.
    """

    overlay: Overlay
    folder: str
    bases: tuple[Loaded, ...] = ()
    files: tuple[tuple[int, str], ...] = ()
    patches: tuple[Patch, ...] = ()
    resources: tuple[Document, ...] = ()
    texts: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    root: str = ""

    @property
    def in_order(self) -> tuple[Loaded, ...]:
        """This overlay and all its bases, in the order of application."""
        return (*(loaded for base in self.bases for loaded in base.in_order), self)

    @property
    def has_resources(self) -> bool:
        """Whether it or a base lists resources, in which case no other input is needed."""
        return any(one.overlay.resources for one in self.in_order)

    @property
    def resource_files(self) -> set[str]:
        """The files of its resources and those of its bases."""
        return {document.file for one in self.in_order for document in one.resources}

    @property
    def settings(self) -> dict[str, Any]:
        """The `Options` fields that it and its bases set."""
        return layered(*(one.overlay.settings for one in self.in_order))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Its rules for diagnostics and those of its bases; the last one wins."""
        return tuple(rule for one in self.in_order for rule in one.overlay.rules)

    @property
    def all_runtimes(self) -> tuple[str, ...]:
        """The runtime directories that it and its bases list."""
        return tuple(path_from(one.folder, path) for one in reversed(self.in_order) for path in one.overlay.runtimes)


def path_from(folder: str, path: str) -> str:
    """Resolve a path in an overlay located in `folder`."""
    return os.path.normpath(os.path.join(folder, path))


def values_of(overlays: Sequence[Loaded]) -> dict[str, Any]:
    """Merge the template values of all overlays recursively; later overlays override earlier ones."""
    from deepmerge import Merger

    merger = Merger([(dict, [_merge_values])], ["override"], ["override"])
    values: dict[str, Any] = {}
    for loaded in (one for overlay in overlays for one in overlay.in_order):
        values = merger.merge(values, dict(loaded.overlay.values))
    return values


def _merge_values(config: Any, path: list[Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    merged = dict(before)
    for name, value in after.items():
        merged[name] = config.value_strategy([*path, name], merged[name], value) if name in merged else value
    return merged


# Options from overlays: later overlays override earlier ones, and the caller overrides all.


def overlaid_options(options: Options, overlays: Sequence[Loaded]) -> tuple[Options, list[Diagnostic]]:
    """Return `options` with the settings of overlays instead of defaults, and any conflicts."""
    settings = layered(*(overlay.settings for overlay in overlays), _options_set(options))
    try:
        return replace(options, **settings), []
    except ValueError as contradiction:
        hint = "change the setting in one of the overlays, or on the command line"
        return options, [Diagnostic("InvalidOverlay", "error", str(contradiction), hint=hint)]


def _options_set(options: Options) -> dict[str, Any]:
    """Return the fields that differ from the defaults, which is how the Python API detects explicit choices."""
    default = Options()
    return {
        f.name: getattr(options, f.name)
        for f in fields(Options)
        if getattr(options, f.name) != getattr(default, f.name)
    }
