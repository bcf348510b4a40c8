"""The report: a self-contained HTML page about a folder of jobs."""
