"""Pods and Jobs as a Kubernetes 1.36 API server validates them, after its defaults, offline."""

from __future__ import annotations

from trainc.api.pods.job import validate_job

__all__ = ["validate_job"]
