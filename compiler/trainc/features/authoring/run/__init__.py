"""`trainc run`: run a compiled job as local processes. The plan is built as data first."""
