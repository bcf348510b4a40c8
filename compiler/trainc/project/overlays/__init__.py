"""Overlays: per-environment changes to documents, applied before anything else happens to them."""
