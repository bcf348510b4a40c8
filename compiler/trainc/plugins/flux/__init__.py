"""Flux: a Flux Framework cluster inside the job, with its broker configuration and start scripts."""

from __future__ import annotations

from trainc.plugins.plugin import Plugin, RendezvousFile

PLUGIN = Plugin(
    name="Flux",
    passes="trainc.plugins.flux.passes",
    policy="flux",
    launchers="trainc.plugins.flux.launchers",
    detectors="trainc.plugins.flux.lints",
    # The lead broker listens on the port.
    files=(RendezvousFile("-flux-entrypoint", "init.sh", port=r"(?m)^default_port = (\d+)$", called="broker.toml"),),
    reads_processes=True,
    contained="its entrypoint installs Flux and writes to the file system of its container",
)
