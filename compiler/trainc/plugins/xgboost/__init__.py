"""XGBoost: the tracker's address and each worker's rank, in DMLC_ variables."""

from __future__ import annotations

from trainc.plugins.plugin import RANK_DEFECTS, Address, Plugin, Started

PLUGIN = Plugin(
    name="XGBoost",
    passes="trainc.plugins.xgboost.passes",
    policy="xgboost",
    defects=RANK_DEFECTS,
    addresses=(Address("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT"),),
    started=Started("DMLC_NUM_WORKER", total="DMLC_NUM_WORKER"),
    reserved=frozenset({"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"}),
    reserved_for="XGBoost's tracker",
)
