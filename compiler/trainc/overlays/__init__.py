"""Overlays: what an environment changes in documents as they were written, before anything is made of them."""
