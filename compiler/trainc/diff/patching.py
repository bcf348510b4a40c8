"""One change applied by itself: the manifest as it would be if nothing else had changed."""

from __future__ import annotations

from typing import Any

from trainc.diagnostics import Path
from trainc.diff.changes import Change
from trainc.diff.normal import Manifest


def with_change(before: Manifest, change: Change) -> Manifest:
    """`before`, the manifest that `change` was found in, with that change made; what stays is shared, nothing mutated."""
    is_new_item = len(change.old) < len(change.path)
    patched: Manifest = _put(before, change.old, change.after, append=is_new_item)
    return patched


def _put(tree: Any, path: Path, value: Any, *, append: bool) -> Any:
    if not path:
        return [*tree, value] if append else value
    step, *rest = path
    if isinstance(tree, list):
        assert isinstance(step, int)
        inner = _put(tree[step], tuple(rest), value, append=append)
        kept = [] if inner is None else [inner]
        return [*tree[:step], *kept, *tree[step + 1 :]]
    inner = _put(tree.get(step), tuple(rest), value, append=append)
    if inner is None:
        return {key: old for key, old in tree.items() if key != step}
    return {**tree, step: inner}
