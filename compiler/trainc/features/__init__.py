"""Products beside the compiler, one folder each."""
