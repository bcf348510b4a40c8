"""Validates pods and Jobs offline, like a Kubernetes 1.36 API server after defaulting."""

from __future__ import annotations

from trainc.pods.job import validate_job

__all__ = ["validate_job"]
