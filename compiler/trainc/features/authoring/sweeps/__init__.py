"""Sweeps: one TrainJob per combination of values, like the trials of Trainer's OptimizationJob, and their cost."""
