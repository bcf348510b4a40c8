"""Normalize manifests for comparison, dropping what only records who wrote them and how.

Fields that the API server and Argo CD add to a live object are removed, so that the output of `kubectl get -o yaml`
can be compared with the output of trainc.
"""

from __future__ import annotations

from typing import Any

from trainc.api.documents import Manifest
from trainc.api.quantity import canonical

_SERVER_METADATA = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_BOOKKEEPING = ("kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id")
# Go's encoder writes these for empty structs.
_PLACEHOLDERS = ("metadata", "resources", "status", "strategy")
_QUANTITY_MAPS = ("limits", "requests", "overhead", "minResources")
_QUANTITIES = ("sizeLimit", "divisor")


def strip_server_fields(manifest: Manifest) -> Manifest:
    """`manifest` as its author applied it: without status, server-side metadata, nulls and empty placeholders."""
    kept: Manifest = _without_nulls({key: value for key, value in manifest.items() if key != "status"})
    metadata = {key: value for key, value in kept.get("metadata", {}).items() if key not in _SERVER_METADATA}
    if isinstance(metadata.get("annotations"), dict):
        own = {key: value for key, value in metadata["annotations"].items() if key not in _BOOKKEEPING}
        metadata["annotations"] = own
        if not own:
            del metadata["annotations"]
    return {**kept, "metadata": metadata}


def normalize(manifest: Manifest) -> Manifest:
    """A stripped manifest with quantities in canonical form, so that `1024Mi` equals `1Gi`."""
    return {key: _canonical(value) for key, value in manifest.items()}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
        return {key: inner for key, inner in kept.items() if inner != {} or key not in _PLACEHOLDERS}
    return [_without_nulls(item) for item in value] if isinstance(value, list | tuple) else value


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _field(key, inner) for key, inner in value.items()}
    return [_canonical(item) for item in value] if isinstance(value, list) else value


def _field(key: str, value: Any) -> Any:
    if key in _QUANTITY_MAPS and isinstance(value, dict):
        return {name: _amount(amount) for name, amount in value.items()}
    return _amount(value) if key in _QUANTITIES else _canonical(value)


def _amount(value: Any) -> Any:
    """A quantity in canonical form; any other value unchanged."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return _canonical(value)
    try:
        return canonical(value)
    except ValueError:
        return value
