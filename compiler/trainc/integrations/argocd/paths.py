"""Whether a path that an Application names stays inside its repository."""

from __future__ import annotations

import os
from collections.abc import Mapping


def leads_outside(path: str, environment: Mapping[str, str]) -> bool:
    """Whether `path`, from the Application's folder, leaves the repository as far as its depth is known."""
    if os.path.isabs(path):
        return True
    above = _steps(os.path.normpath(path)).count(os.pardir)
    inside = environment.get("ARGOCD_APP_SOURCE_PATH")
    return inside is not None and above > len([step for step in _steps(inside) if step not in ("", os.curdir)])


def _steps(path: str) -> list[str]:
    return path.split("/")
