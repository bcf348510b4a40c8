"""What overlays say about how to compile: fields of Options, later overlays over earlier ones, the caller over all."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from trainc.diagnostics import Diagnostic
from trainc.frontend.overlays.loaded import Loaded
from trainc.options import Options


def overlaid_options(
    options: Options, overlays: Sequence[Loaded], given: Container[str]
) -> tuple[Options, list[Diagnostic]]:
    """`options` with the overlays' settings where the caller has not decided: `given` names the fields that he has."""
    settings = {name: value for overlay in overlays for name, value in overlay.settings.items() if name not in given}
    try:
        return replace(options, **settings), []
    except ValueError as contradiction:
        hint = "change the settings of the overlays, or those that they meet"
        return options, [Diagnostic("InvalidOverlay", "error", str(contradiction), hint)]


def decided(options: Options) -> frozenset[str]:
    """The fields in which `options` differ from the defaults: what a caller of the Python interface has decided."""
    default = Options()
    return frozenset(name for name in Options.__slots__ if getattr(options, name) != getattr(default, name))
