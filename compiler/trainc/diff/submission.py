"""What the API server is sent, as far as it decides about an update: the two ways to apply a manifest.

Client-side apply sends a JSON merge patch for kinds that are no built-ins, in which a list is whole: what a webhook
has filled in inside a list is taken away (kubernetes/kubectl pkg/cmd/apply/patcher.go). Server-side apply merges
lists by their keys, and takes away only what the same applier set before (structured-merge-diff).
Both are modelled with one applier, and no one else who owns a field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.api.strategic_merge import MERGE_KEYS
from trainc.diff.lists import identities
from trainc.diff.normal import Manifest

Apply: TypeAlias = Literal["client", "server", "replace"]
_NOTHING: Mapping[str, Any] = {}


def submitted(apply: Apply, live: Manifest, applied: Manifest, manifest: Manifest) -> Manifest:
    """The object that results from applying `manifest` over `live`, where `applied` was applied before."""
    if apply == "replace":
        return manifest
    if apply == "client":
        return _merge_patched(live, applied, manifest)
    return _merged(live, applied, manifest)


def _merge_patched(live: Mapping[str, Any], applied: Mapping[str, Any], manifest: Mapping[str, Any]) -> Manifest:
    result = {key: value for key, value in live.items() if key in manifest or key not in applied}
    for key, value in manifest.items():
        if isinstance(value, dict) and isinstance(live.get(key), dict):
            before = applied.get(key)
            result[key] = _merge_patched(live[key], before if isinstance(before, dict) else _NOTHING, value)
        else:
            result[key] = value
    return result


def _merged(live: Mapping[str, Any], applied: Mapping[str, Any], manifest: Mapping[str, Any]) -> Manifest:
    result: Manifest = {}
    for key in dict.fromkeys((*live, *manifest)):
        value = _merged_value(key, live.get(key), applied.get(key), manifest.get(key))
        if value is not None:
            result[key] = value
    return result


def _merged_value(field: str, live: Any, applied: Any, manifest: Any) -> Any:
    """One field: as the manifest has it, as it stands where nobody applied it, or what is left without it."""
    if isinstance(manifest, dict) and isinstance(live, dict):
        return _merged(live, applied if isinstance(applied, dict) else _NOTHING, manifest)
    if isinstance(manifest, list) and isinstance(live, list):
        return _merged_list(field, live, applied if isinstance(applied, list) else [], manifest)
    if manifest is not None or applied is None:
        return live if manifest is None else manifest
    if isinstance(live, dict) and isinstance(applied, dict) and applied:
        return _merged(live, applied, _NOTHING) or None
    return None


def _merged_list(field: str, live: Sequence[Any], applied: Sequence[Any], manifest: Sequence[Any]) -> list[Any]:
    names = [identities(field, items) for items in (live, applied, manifest)]
    if field not in MERGE_KEYS or any(name is None for name in names):
        return list(manifest)
    stands, was, wanted = (
        dict(zip(name or (), items, strict=True)) for name, items in zip(names, (live, applied, manifest), strict=True)
    )
    merged = [_merged_value(field, stands.get(name), was.get(name), item) for name, item in wanted.items()]
    return merged + [item for name, item in stands.items() if name not in was and name not in wanted]
