"""Revisions of the repository around the current folder, and programs outside of it."""

from trainc.cli import revisions as revisions
from trainc.reading import git as git
