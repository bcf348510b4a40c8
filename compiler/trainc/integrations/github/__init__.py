"""The workflow with which GitHub Actions checks a repository of TrainJobs."""

from __future__ import annotations

from importlib.resources import files
from string import Template


def workflow(version: str) -> str:
    """The workflow's text, for a version of trainc."""
    return Template(files(__package__).joinpath("workflow.yaml").read_text("utf-8")).substitute(version=version)
