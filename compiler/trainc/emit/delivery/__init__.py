"""Delivery: the annotations by which a GitOps tool applies a job's objects in order and without harm."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.emit.delivery.annotations import About, Manifest
from trainc.options import Options

__all__ = ["deliver"]


def deliver(manifests: Sequence[Manifest], options: Options) -> tuple[list[Manifest], list[About]]:
    """A job's objects as the tool wants them, and what there is to say about which of them.

    An annotation that the TrainJob's author has written stays. kubectl needs none: it applies in the order written.
    """
    if options.delivery == "argocd":
        from trainc.emit.delivery.argocd import for_argocd

        return for_argocd(manifests, options.sync_options), []
    if options.delivery == "flux":
        from trainc.emit.delivery.flux import for_flux
        from trainc.emit.delivery.substitution import substitution_findings

        delivered = for_flux(manifests, options.sync_options)
        return delivered, list(substitution_findings(delivered))
    return list(manifests), []
