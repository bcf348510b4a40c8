"""Documents as they are read: files, folders, standard input and YAML, each with its place."""

from trainc.project import dialects as dialects
from trainc.project.dialects import enclosed as enclosed
from trainc.reading import catalog as catalog, files as files, opening as opening, yaml_reader as yaml_reader
from trainc.reading.document import Document as Document, label_of as label_of
from trainc.schema import check as check
