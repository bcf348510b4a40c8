"""Migrate Training Operator v1 jobs so that every pod keeps its rank, peers, resources and termination behavior."""
