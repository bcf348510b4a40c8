"""Benchmarks: `make bench` compares trainc with `kubectl kustomize` and writes docs/benchmarks.md."""
