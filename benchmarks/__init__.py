"""Benchmarks: `make bench` measures trainc beside `kubectl kustomize` and writes docs/benchmarks.md."""
