"""Documents as they are read: files, folders, standard input and YAML, each with its place."""

from trainc.project.dialects import claimed_by, is_legacy, is_sweep, is_trainer_document
from trainc.reading import catalog, opening
from trainc.reading.document import Document, label_of
from trainc.reading.files import STDIN, TEMPLATE_SUFFIXES, is_overlay_folder, read_paths, shown_path
from trainc.reading.yaml_reader import decode, encode, read_documents, read_value
from trainc.schema import check

__all__ = [
    "STDIN",
    "TEMPLATE_SUFFIXES",
    "Document",
    "catalog",
    "check",
    "claimed_by",
    "decode",
    "encode",
    "is_legacy",
    "is_overlay_folder",
    "is_sweep",
    "is_trainer_document",
    "label_of",
    "opening",
    "read_documents",
    "read_paths",
    "read_value",
    "shown_path",
]
