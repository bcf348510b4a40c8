"""Writing: the same bytes for the same objects."""

from trainc.emit import name_hash, yaml_writer
from trainc.emit.yaml_writer import dump_yaml
from trainc.output import ownership
from trainc.output.keeping import BuildLine, Keeping

__all__ = ["BuildLine", "Keeping", "dump_yaml", "name_hash", "ownership", "yaml_writer"]
