"""The Kubeflow SDK backed by trainc: `offline_client`, `OfflineBackend` and `preflight` (extra `trainc[kubeflow]`).

`sweep` works without the extra. It expands a TrainJob into the trials of a sweep, as Trainer's OptimizationJob would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.integrations.kubeflow.backend import OfflineBackend, offline_client
    from trainc.integrations.kubeflow.preflight import PreflightWarning, preflight
    from trainc.sweeps.trials import sweep

__all__ = ["OfflineBackend", "PreflightWarning", "offline_client", "preflight", "sweep"]
_HOMES = {
    "OfflineBackend": "trainc.integrations.kubeflow.backend",
    "PreflightWarning": "trainc.integrations.kubeflow.preflight",
    "offline_client": "trainc.integrations.kubeflow.backend",
    "preflight": "trainc.integrations.kubeflow.preflight",
    "sweep": "trainc.sweeps.trials",
}
_EXTRA = ("kubeflow", "kubernetes", "kubeflow_trainer_api")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _EXTRA:
            raise
        message = f"trainc.kubeflow.{name} needs the extra `kubeflow`; run: pip install 'trainc[kubeflow]'"
        raise ModuleNotFoundError(message, name=missing.name) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
