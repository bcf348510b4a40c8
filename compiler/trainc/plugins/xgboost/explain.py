"""What `explain` says about XGBoost: sizes, tracker and ranks."""

from __future__ import annotations

from trainc.plugins.rows import (
    COUNTS,
    WITHOUT_TRAINER,
    Row,
    Rows,
    address_deviation,
    counts_deviation,
    devices,
    master,
    ml_policy,
    trainer_nodes,
)

_PASS = (
    *COUNTS,
    Row("...env[DMLC_TRACKER_URI].value", (master,), address_deviation),
    Row("...env[DMLC_NUM_WORKER].value", (trainer_nodes, devices), counts_deviation),
    Row("...env[DMLC_*]", (ml_policy("xgboost"),), WITHOUT_TRAINER),
    Row("...ports", (ml_policy("xgboost"),), WITHOUT_TRAINER),
)

ROWS: Rows = {"enforce_ml_policy": _PASS}
