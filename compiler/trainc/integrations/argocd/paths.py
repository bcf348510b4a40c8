"""Whether a path that an Application names stays inside its repository."""

from __future__ import annotations

import os
from collections.abc import Mapping

from trainc.reading.confinement import is_inside


def leads_outside(path: str, environment: Mapping[str, str]) -> bool:
    """Whether `path`, from the Application's folder, leaves the repository as far as its depth is known; links count."""
    if os.path.isabs(path):
        return True
    inside = environment.get("ARGOCD_APP_SOURCE_PATH")
    if inside is None:
        return False
    depth = len([step for step in _steps(inside) if step not in ("", os.curdir)])
    top = os.path.realpath(os.path.join(os.curdir, *[os.pardir] * depth))
    return _steps(os.path.normpath(path)).count(os.pardir) > depth or not is_inside(path, top)


def _steps(path: str) -> list[str]:
    return path.split("/")
