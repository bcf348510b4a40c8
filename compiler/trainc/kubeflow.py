"""The Kubeflow SDK backed by trainc: `offline_client`, `OfflineBackend` and `preflight` (extra `trainc[kubeflow]`).

`sweep` works without the extra. It expands a TrainJob into the trials of a sweep, as Trainer's OptimizationJob would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.features.authoring.sdk.backend import OfflineBackend, PreflightWarning, offline_client, preflight
    from trainc.features.authoring.sweeps.matrix import sweep

__all__ = ["OfflineBackend", "PreflightWarning", "offline_client", "preflight", "sweep"]
_HOMES = {
    "OfflineBackend": "trainc.features.authoring.sdk.backend",
    "PreflightWarning": "trainc.features.authoring.sdk.backend",
    "offline_client": "trainc.features.authoring.sdk.backend",
    "preflight": "trainc.features.authoring.sdk.backend",
    "sweep": "trainc.features.authoring.sweeps.matrix",
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
        message = f"trainc.kubeflow.{name} needs the extra `kubeflow`; run: pip install 'kubeflow>=0.3,<0.6'"
        raise ModuleNotFoundError(message, name=missing.name) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
