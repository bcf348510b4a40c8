"""Provenance: who set each field of the output, and from what. Computed beside the passes, which know nothing of it."""
