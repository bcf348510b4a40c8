"""An overlay with everything it refers to, and what a whole stack of them says together."""

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
    """An overlay with what it refers to: `bases` are overlays among its resources, which are applied first.

    `files` are its other resources, each with its place in the list of resources; `texts` is everything that was read
    to load it and those beside it, by path. `root` is the folder that nothing of it leads out of.
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
        """This overlay and all its bases, in the order in which they apply."""
        return (*(loaded for base in self.bases for loaded in base.in_order), self)

    @property
    def has_resources(self) -> bool:
        """Whether it has resources, so that nothing else needs to be read."""
        return any(one.overlay.resources for one in self.in_order)

    @property
    def resource_files(self) -> set[str]:
        """The files that its resources, and those of its bases, were read from."""
        return {document.file for one in self.in_order for document in one.resources}

    @property
    def settings(self) -> dict[str, Any]:
        """What it and its bases say about how to compile: fields of Options."""
        return layered(*(one.overlay.settings for one in self.in_order))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it and its bases say about diagnostics, the last of which wins."""
        return tuple(rule for one in self.in_order for rule in one.overlay.rules)

    @property
    def all_runtimes(self) -> tuple[str, ...]:
        """The folders of runtimes that it and its bases name."""
        return tuple(path_from(one.folder, path) for one in reversed(self.in_order) for path in one.overlay.runtimes)


def path_from(folder: str, path: str) -> str:
    """A path that an overlay in `folder` names."""
    return os.path.normpath(os.path.join(folder, path))


def values_of(overlays: Sequence[Loaded]) -> dict[str, Any]:
    """The values that every template sees: those of all overlays, later ones over earlier ones, mappings merged."""
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


# What overlays say about how to compile: fields of Options, later overlays over earlier ones, the caller over all.


def overlaid_options(options: Options, overlays: Sequence[Loaded]) -> tuple[Options, list[Diagnostic]]:
    """`options` with the overlays' settings in place of defaults."""
    settings = layered(*(overlay.settings for overlay in overlays), _options_set(options))
    try:
        return replace(options, **settings), []
    except ValueError as contradiction:
        hint = "change the setting in one of the overlays, or on the command line"
        return options, [Diagnostic("InvalidOverlay", "error", str(contradiction), hint=hint)]


def _options_set(options: Options) -> dict[str, Any]:
    """The fields in which options differ from the defaults: what a caller of the Python interface has decided."""
    default = Options()
    return {
        f.name: getattr(options, f.name)
        for f in fields(Options)
        if getattr(options, f.name) != getattr(default, f.name)
    }
