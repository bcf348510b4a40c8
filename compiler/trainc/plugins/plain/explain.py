"""What `explain` says about PlainML: sizes."""

from __future__ import annotations

from trainc.plugins.readings import COUNTS
from trainc.plugins.rows import Rows

ROWS: Rows = {"enforce_ml_policy": COUNTS}
