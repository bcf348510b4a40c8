"""`trainc run`: a compiled job as processes on this machine, planned as data and then run."""
