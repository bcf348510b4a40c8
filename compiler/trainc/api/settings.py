"""What trainc.yaml, its environments and the command line say."""

from trainc.cli.settings import Settings, environment_name, environments_of, limits_of, settings_of
from trainc.options import Limits, Options
from trainc.project.configuration import Configuration, merge_diagnostics
from trainc.project.settings_file import read_configuration

__all__ = [
    "Configuration",
    "Limits",
    "Options",
    "Settings",
    "environment_name",
    "environments_of",
    "limits_of",
    "merge_diagnostics",
    "read_configuration",
    "settings_of",
]
