"""Bring the jobs of a cluster into git, from a dump."""
