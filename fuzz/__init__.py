"""Fuzzing: hostile bytes into each part that reads what others wrote. `make fuzz SECONDS=60` runs every target."""
