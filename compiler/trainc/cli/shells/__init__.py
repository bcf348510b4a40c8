"""Completion scripts: what there is to complete, as data taken from the parsers, and one writer for each shell."""
