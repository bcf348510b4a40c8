"""What JobSet's admission does to a compiled JobSet, offline, for the JobSet minor that goes with a Trainer release."""
