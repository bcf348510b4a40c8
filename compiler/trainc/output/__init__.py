"""The output folder: one file per TrainJob, and which of its files are trainc's to replace or remove."""
