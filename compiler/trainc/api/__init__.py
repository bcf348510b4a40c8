"""Definitions from Kubernetes, JobSet and Trainer by release: schemas, names, quantities, field paths and merge rules."""
