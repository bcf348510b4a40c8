"""Documents as they are read: files, folders, standard input and YAML, each with its place."""

from trainc.project.dialects import is_trainer_document
from trainc.reading.document import Document, label_of
from trainc.reading.files import STDIN, TEMPLATE_SUFFIXES, is_overlay_folder, read_paths, shown_path
from trainc.reading.opening import is_inside, read_file, root_around
from trainc.reading.yaml_reader import decode, encode, read_documents, read_value
from trainc.schema import check
from trainc.schema.document_kinds import DocumentKind, struct
from trainc.schema.shapes import ROOTS

__all__ = [
    "ROOTS",
    "STDIN",
    "TEMPLATE_SUFFIXES",
    "Document",
    "DocumentKind",
    "check",
    "decode",
    "encode",
    "is_inside",
    "is_overlay_folder",
    "is_trainer_document",
    "label_of",
    "read_documents",
    "read_file",
    "read_paths",
    "read_value",
    "root_around",
    "shown_path",
    "struct",
]
