"""The report: one self-contained HTML page about a folder of jobs."""
