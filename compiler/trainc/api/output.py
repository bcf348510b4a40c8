"""Writing: the same bytes for the same objects."""

from trainc.emit.name_hash import name_in_file
from trainc.emit.yaml_writer import dump_yaml, inline

__all__ = [
    "dump_yaml",
    "inline",
    "name_in_file",
]
