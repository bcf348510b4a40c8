"""Flux CD: no waves, but two dangers to keep away from a job: variable substitution and forced re-creation.

Flux applies a Kustomization's objects together, in its own order of kinds, and orders whole Kustomizations by
`dependsOn` (fluxcd/kustomize-controller docs/spec/v1/kustomizations.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.sync_options import sync_options_of
from trainc.emit.delivery.annotations import Manifest, with_annotations
from trainc.emit.delivery.substitution import SUBSTITUTE, variables_of


def for_flux(manifests: Sequence[Manifest], chosen: Sequence[str]) -> list[Manifest]:
    """The objects with the chosen options; those with `${VAR}` in them are exempt from substitution."""
    return [_annotated(manifest, chosen) for manifest in manifests]


def _annotated(manifest: Manifest, chosen: Sequence[str]) -> Manifest:
    added = {
        option.annotation: option.value
        for option in sync_options_of("flux")
        if option.name in chosen and (option.scope == "all" or manifest["kind"] == "JobSet")
    }
    if variables_of(manifest):
        added[SUBSTITUTE] = "disabled"
    return with_annotations(manifest, added)
