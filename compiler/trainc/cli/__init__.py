"""The command line: the only place that prints, reads arguments and decides exit codes."""
