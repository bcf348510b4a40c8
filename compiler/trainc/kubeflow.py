"""The Kubeflow SDK with trainc behind it: `offline_client`, `OfflineBackend` and `preflight`. Extra: `trainc[kubeflow]`."""

from __future__ import annotations

try:
    from trainc.integrations.kubeflow.backend import OfflineBackend, offline_client
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] not in ("kubeflow", "kubernetes", "kubeflow_trainer_api"):
        raise
    raise ModuleNotFoundError(
        "trainc.kubeflow needs the extra `kubeflow`; run: pip install 'trainc[kubeflow]'", name=missing.name
    ) from None
from trainc.integrations.kubeflow.preflight import PreflightWarning, preflight

__all__ = ["OfflineBackend", "PreflightWarning", "offline_client", "preflight"]
