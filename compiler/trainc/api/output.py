"""Writing: the same bytes for the same objects."""

from trainc.emit import name_hash as name_hash, yaml_writer as yaml_writer
from trainc.emit.yaml_writer import dump_yaml as dump_yaml
from trainc.output import ownership as ownership
from trainc.output.keeping import BuildLine as BuildLine, Keeping as Keeping
