"""What an editor asks while somebody types: edits, parts of documents, and what is said about a line."""

from trainc.admission.admit import check_rendered
from trainc.cli.schema import OWN_KINDS, schema_of
from trainc.knowledge.tables import variable_names
from trainc.lints.manifests import Claim
from trainc.lints.registry import lint_all_jobs
from trainc.pipeline import fragments
from trainc.reading import edits, ignores

__all__ = [
    "OWN_KINDS",
    "Claim",
    "check_rendered",
    "edits",
    "fragments",
    "ignores",
    "lint_all_jobs",
    "schema_of",
    "variable_names",
]
