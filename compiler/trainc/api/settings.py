"""What trainc.yaml, its environments and the command line say."""

from trainc.cli.causes import merge_diagnostics
from trainc.cli.settings import Settings
from trainc.options import Limits, Options, settings_in
from trainc.project import settings_file
from trainc.project.boundaries import describe_loosening
from trainc.project.configuration import Configuration
from trainc.project.overlays import patterns, stack
from trainc.project.overlays.overlay import is_overlay

__all__ = [
    "Configuration",
    "Limits",
    "Options",
    "Settings",
    "describe_loosening",
    "is_overlay",
    "merge_diagnostics",
    "patterns",
    "settings_file",
    "settings_in",
    "stack",
]
