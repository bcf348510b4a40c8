"""Mutation testing of the code that decides what a cluster is told; `make mutants` runs it."""
