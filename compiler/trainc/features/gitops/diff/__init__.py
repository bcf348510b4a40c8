"""What changes between two sets of manifests, and what a cluster will do about it."""
