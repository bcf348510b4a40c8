"""What trainc.yaml, its environments and the command line say."""

from trainc.cli.causes import merge_diagnostics as merge_diagnostics
from trainc.cli.settings import Settings as Settings
from trainc.options import Limits as Limits, Options as Options, settings_in as settings_in
from trainc.project import settings_file as settings_file
from trainc.project.boundaries import describe_loosening as describe_loosening
from trainc.project.configuration import Configuration as Configuration
from trainc.project.overlays import patterns as patterns, stack as stack
from trainc.project.overlays.overlay import is_overlay as is_overlay
