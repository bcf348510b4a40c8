"""Definitions of Kubernetes, JobSet and Trainer by release: schemas, names, quantities, field paths, merge rules."""
