"""Fuzzing: hostile bytes for every parser of external input. `make fuzz SECONDS=60` runs all targets."""
