"""Revisions of the repository around the current folder, and programs outside of it."""

from trainc.cli.revisions import copy_of_revision, path_from_top
from trainc.reading.git import commit_of, find_changed_files, find_program, origin_of, repository_of

__all__ = [
    "commit_of",
    "copy_of_revision",
    "find_changed_files",
    "find_program",
    "origin_of",
    "path_from_top",
    "repository_of",
]
