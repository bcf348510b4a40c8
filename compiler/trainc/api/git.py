"""Revisions of the repository around the current folder."""

from trainc.reading.git import Repository, commit_of, find_changed_files, origin_of, repository_of

__all__ = [
    "Repository",
    "commit_of",
    "find_changed_files",
    "origin_of",
    "repository_of",
]
