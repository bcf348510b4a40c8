"""Compilations in a notebook: the picture of each job, its size, what there is to say of it, and its YAML folded."""
