"""Sweeps: one TrainJob for each combination of values, as Trainer's OptimizationJob makes its trials, and what they cost."""
