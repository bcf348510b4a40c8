"""What each plugin reads for what it writes: one table per plugin, declared here and held to the passes by tests."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.explain.inputs import flux, gangs, initializer, jobset, mpi, ranks
from trainc.explain.inputs.row import Row

# By plugin and extension point, the rows in order: the first whose pattern names a leaf speaks for it.
TABLES: Mapping[tuple[str, str], tuple[Row, ...]] = {
    ("PlainML", "enforce_ml_policy"): jobset.COUNTS,
    ("Torch", "enforce_ml_policy"): ranks.TORCH,
    ("JAX", "enforce_ml_policy"): ranks.JAX,
    ("XGBoost", "enforce_ml_policy"): ranks.XGBOOST,
    ("MPI", "enforce_ml_policy"): mpi.PASS,
    ("MPI", "build"): mpi.BUILD,
    ("Flux", "enforce_ml_policy"): flux.PASS,
    ("Flux", "build"): flux.BUILD,
    ("CoScheduling", "enforce_pod_group_policy"): gangs.COSCHEDULING_PASS,
    ("CoScheduling", "build"): gangs.COSCHEDULING_BUILD,
    ("Volcano", "enforce_pod_group_policy"): gangs.VOLCANO_PASS,
    ("Volcano", "build"): gangs.VOLCANO_BUILD,
    ("Initializer", "pre_build_sync"): initializer.PASS,
    ("JobSet", "build"): jobset.BUILD,
}
