"""Which of a TrainJob's labels and annotations are its author's, and so belong to the JobSet that stands for it."""

from __future__ import annotations

from collections.abc import Mapping

# What kubectl, kustomize and kpt write for their own use.
_TOOL_PREFIXES = (
    "kubectl.kubernetes.io/",
    "config.kubernetes.io/",
    "internal.config.kubernetes.io/",
    "config.k8s.io/",
    "kustomize.config.k8s.io/",
)
_TOOL_KEYS = frozenset({"argocd.argoproj.io/tracking-id"})


def carried(metadata: Mapping[str, str]) -> dict[str, str]:
    """The labels or annotations of a TrainJob that its JobSet takes over."""
    return {k: v for k, v in metadata.items() if k not in _TOOL_KEYS and not k.startswith(_TOOL_PREFIXES)}
