"""What `explain` says about JAX: sizes, coordinator and ranks."""

from __future__ import annotations

from trainc.plugins.rows import (
    COUNTS,
    WITHOUT_TRAINER,
    Row,
    Rows,
    address_deviation,
    master,
    ml_policy,
    trainer_env,
    trainer_nodes,
)

_PASS = (
    *COUNTS,
    Row("...env[JAX_NUM_PROCESSES].value", (trainer_nodes,), WITHOUT_TRAINER),
    Row("...env[JAX_COORDINATOR_ADDRESS].value", (master,), address_deviation),
    Row("...env[JAX_*]", (ml_policy("jax"),), WITHOUT_TRAINER),
    Row("...ports", (ml_policy("jax"),), WITHOUT_TRAINER),
    Row("...env", (trainer_env,)),
)

ROWS: Rows = {"enforce_ml_policy": _PASS}
