"""Documents as they are read: files, folders, standard input and YAML, each with its place."""

from trainc.project import dialects
from trainc.project.dialects import enclosed
from trainc.reading import catalog, files, opening, yaml_reader
from trainc.reading.document import Document, label_of
from trainc.schema import check

__all__ = ["Document", "catalog", "check", "dialects", "enclosed", "files", "label_of", "opening", "yaml_reader"]
