"""What `explain` says about PlainML: sizes."""

from __future__ import annotations

from trainc.plugins.rows import COUNTS, Rows

ROWS: Rows = {"enforce_ml_policy": COUNTS}
