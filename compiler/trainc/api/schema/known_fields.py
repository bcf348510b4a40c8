"""Which releases have a field: for hints like "since 2.3", and to honor fields of older releases."""

from __future__ import annotations

from trainc.api.releases import RELEASES
from trainc.api.schema.shapes import ROOTS, ListOf, MapOf, Shape, Struct, definition
from trainc.diagnostics import Path

# Replacements of fields that a later release removed, relative to the struct that contained them.
REPLACEMENTS = {
    "trainer.TrainJobSpec.labels": "runtimePatches[].trainingRuntimeSpec.template.metadata.labels",
    "trainer.TrainJobSpec.annotations": "runtimePatches[].trainingRuntimeSpec.template.metadata.annotations",
    "trainer.TrainJobSpec.podSpecOverrides": "podTemplateOverrides (2.1) or runtimePatches (from 2.2)",
    "trainer.TrainJobSpec.podTemplateOverrides": "runtimePatches",
    "trainer.TorchMLPolicySource.numProcPerNode": "spec.trainer.numProcPerNode of the TrainJob",
    "trainer.TorchMLPolicySource.elasticPolicy": "numNodes: no release ever scaled by elasticPolicy; with --semantics gitops it becomes torchrun's range of nodes, and the number of pods stays fixed",
}


def known_in(kind: str, path: Path, release: str) -> bool:
    """Return whether `release` has a field at `path` ("spec", "trainer", "env", 0, "name") of `kind`."""
    shape: Shape = Struct(ROOTS[kind])
    for step in path:
        match shape:
            case Struct(name) if step in (fields := definition(release, name).fields):
                shape = fields[str(step)]
            case ListOf(inner) if isinstance(step, int):
                shape = inner
            case MapOf(inner) if isinstance(step, str):
                shape = inner
            case _:
                return False
    return True


def releases_with(definition_name: str, field: str) -> tuple[str, ...]:
    """Return the releases in which `definition_name` has `field`, oldest first."""
    return tuple(release for release in RELEASES if _has(release, definition_name, field))


def _has(release: str, definition_name: str, field: str) -> bool:
    try:
        return field in definition(release, definition_name).fields
    except KeyError:
        return False


def release_hint(definition_name: str, field: str, release: str) -> str:
    """Return a hint about a field that only other releases have; empty if none does."""
    known = releases_with(definition_name, field)
    if not known:
        return ""
    if RELEASES.index(known[0]) > RELEASES.index(release):
        return f"remove it, or compile with --release {known[0]}: the field is new in Trainer {known[0]}"
    removed = RELEASES[RELEASES.index(known[-1]) + 1]
    replacement = REPLACEMENTS.get(f"{definition_name}.{field}")
    gone = f"the field was removed in Trainer {removed}"
    return f"use {replacement}: {gone}" if replacement else f"remove it: {gone}"
