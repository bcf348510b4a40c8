"""The plugins in the order in which they run: order is data, and a change to it is a change of behaviour."""

from __future__ import annotations

from trainc.plugins import coscheduling, flux, initializer, jax, jobset, mpi, plain, torch, volcano, xgboost
from trainc.plugins.plugin import Plugin

# Upstream's registry is a Go map, so its order differs from process to process. This one gives an answer that some
# order of upstream's gives: TrainJob variables (PlainML) before those of the framework, initializers after all
# ML policies, JobSet last.
PLUGINS: tuple[Plugin, ...] = (
    plain.PLUGIN,
    torch.PLUGIN,
    mpi.PLUGIN,
    jax.PLUGIN,
    xgboost.PLUGIN,
    flux.PLUGIN,
    coscheduling.PLUGIN,
    volcano.PLUGIN,
    initializer.PLUGIN,
    jobset.PLUGIN,
)
