"""Writing: the same bytes for the same objects."""

from trainc.emit.name_hash import name_in_file
from trainc.emit.yaml_writer import dump_yaml

__all__ = [
    "dump_yaml",
    "name_in_file",
]
