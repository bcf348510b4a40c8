"""Flux's launcher, `flux run`.

Source: flux-framework/flux-core doc/man1/flux-run.rst.
"""

from __future__ import annotations

from trainc.ir.commands.programs import Launcher, Starting

FLUX = Launcher(
    name="flux run",
    programs=("flux",),
    subcommands=("run", "submit", "start", "proxy"),
    flags=frozenset(("verbose", "v", "exclusive", "x", "dry-run", "label-io", "l", "unbuffered", "u", "help", "h")),
    nodes=frozenset(("N", "nodes")),
    total=frozenset(("n", "ntasks")),
    reaches="hosts",
)
STARTING = Starting((FLUX,), needed=False, hosts=True)
