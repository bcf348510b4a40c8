"""Lists that a patch replaces whole: what the runtime had in them is gone, and nothing else says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api.strategic_merge import MERGE_KEYS, MERGED_SETS
from trainc.diagnostics import Finding, Path
from trainc.ir.trainjob import Patch

# Who writes these means to replace them.
_MEANT = frozenset(("command", "args"))


def replaced_lists(template: Mapping[str, Any], patches: Sequence[Patch]) -> Iterator[Finding]:
    """A warning for each list of a JobSetSpec from which a patch takes something away."""
    jobs = {job["name"]: job for job in template.get("replicatedJobs") or ()}
    for patch in patches:
        for patched in patch.jobs:
            job = jobs.get(patched.name)
            if job is None or not patched.pod_spec:
                continue
            job_spec = (job.get("template") or {}).get("spec") or {}
            spec = (job_spec.get("template") or {}).get("spec") or {}
            yield from _replaced(spec, patched.pod_spec, patched.pod_path)


def _replaced(base: Mapping[str, Any], patch: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    for key, value in patch.items():
        before, here = base.get(key), (*path, key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            yield from _replaced(before, value, here)
        elif isinstance(value, list) and isinstance(before, list) and key not in MERGED_SETS | _MEANT:
            yield from (
                _merged(before, value, here, MERGE_KEYS[key]) if key in MERGE_KEYS else _lost(before, value, here, key)
            )


def _merged(before: list[Any], value: list[Any], path: Path, merge_key: str) -> Iterator[Finding]:
    known = {item.get(merge_key): item for item in before if isinstance(item, Mapping)}
    for i, item in enumerate(value):
        if isinstance(item, Mapping) and item.get(merge_key) in known:
            yield from _replaced(known[item.get(merge_key)], item, (*path, i))


def _lost(before: list[Any], value: list[Any], path: Path, key: str) -> Iterator[Finding]:
    lost = [item for item in before if item not in value]
    if lost:
        message = f"a patch replaces {key} whole: {len(lost)} of the runtime's {len(before)} are gone: {_shown(lost)}"
        yield Finding("ListReplaced", "warning", message, hint="repeat in the patch what is to stay", path=path)


def _shown(items: list[Any]) -> str:
    import json

    text = ", ".join(json.dumps(item, sort_keys=True) for item in items[:2])
    return (text[:97] + "...") if len(text) > 100 else text
