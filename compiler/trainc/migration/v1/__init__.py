"""Training Operator v1: what its jobs become, so that every pod keeps its rank, its peers, its resources and its end."""
