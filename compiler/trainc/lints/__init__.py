"""Lints: what compiles but will not do what its author wants. Each looks at a lowered job and changes nothing."""
