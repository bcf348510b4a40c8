"""Notebook output for compilations: each job's picture, size and diagnostics, with its YAML collapsed."""
