"""The shapes of documents: what they may hold, and what is filled in."""

from trainc.schema import document_kinds as document_kinds, unknown_fields as unknown_fields
from trainc.schema.shapes import defaults_of as defaults_of
