"""Revisions of the repository around the current folder, and programs outside of it."""

from trainc.reading.git import commit_of, find_changed_files, find_program, origin_of, repository_of

__all__ = [
    "commit_of",
    "find_changed_files",
    "find_program",
    "origin_of",
    "repository_of",
]
