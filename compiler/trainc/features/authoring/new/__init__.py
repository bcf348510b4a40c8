"""`trainc new`: a TrainJob from a few words, which checks clean."""
