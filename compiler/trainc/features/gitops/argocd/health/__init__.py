"""Health checks of the compiled kinds, shipped as files for Argo CD (Lua) and Flux (CEL)."""

from __future__ import annotations

from importlib.resources import files

_ARGOCD_KEY = "resource.customizations.health."


def argocd_health_checks() -> dict[str, str]:
    """Return the Lua scripts by their key in the ConfigMap argocd-cm, in sorted order."""
    scripts = sorted((f for f in files(__package__).iterdir() if f.name.endswith(".lua")), key=lambda f: f.name)
    return {_ARGOCD_KEY + script.name.removesuffix(".lua"): script.read_text("utf-8") for script in scripts}


def flux_health_checks() -> str:
    """Return a YAML document with the field `healthCheckExprs` of a Flux Kustomization's spec."""
    return files(__package__).joinpath("flux-healthchecks.yaml").read_text("utf-8")
