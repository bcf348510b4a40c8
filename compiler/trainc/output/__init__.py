"""The output folder: one file per TrainJob, and which of its files trainc may replace or remove."""
