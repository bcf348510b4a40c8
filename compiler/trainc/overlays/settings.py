"""What overlays say about how to compile: fields of Options, later overlays over earlier ones, the caller over all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainc.diagnostics import Diagnostic
from trainc.options import Options, layered
from trainc.overlays.loaded import Loaded
from trainc.startup.records import fields, replace


def overlaid_options(options: Options, overlays: Sequence[Loaded]) -> tuple[Options, list[Diagnostic]]:
    """`options` with the overlays' settings in place of defaults."""
    settings = layered(*(overlay.settings for overlay in overlays), _decided(options))
    try:
        return replace(options, **settings), []
    except ValueError as contradiction:
        hint = "change the settings of the overlays, or those that they meet"
        return options, [Diagnostic("InvalidOverlay", "error", str(contradiction), hint)]


def _decided(options: Options) -> dict[str, Any]:
    """The fields in which options differ from the defaults: what a caller of the Python interface has decided."""
    default = Options()
    return {
        f.name: getattr(options, f.name)
        for f in fields(Options)
        if getattr(options, f.name) != getattr(default, f.name)
    }
