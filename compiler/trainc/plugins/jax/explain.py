"""What `explain` says about JAX: sizes, coordinator and ranks."""

from __future__ import annotations

from trainc.plugins.rows import (
    COUNTS,
    UNASKED,
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
    Row("...env[JAX_NUM_PROCESSES].value", (trainer_nodes,), UNASKED),
    Row("...env[JAX_COORDINATOR_ADDRESS].value", (master,), address_deviation),
    Row("...env[JAX_*]", (ml_policy("jax"),), UNASKED),
    Row("...ports", (ml_policy("jax"),), UNASKED),
    Row("...env", (trainer_env,)),
)

ROWS: Rows = {"enforce_ml_policy": _PASS}
