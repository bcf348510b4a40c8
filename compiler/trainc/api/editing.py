"""What an editor asks while somebody types: edits, parts of documents, and what is said about a line."""

from trainc.admission.admit import check_rendered as check_rendered
from trainc.cli.schema import OWN_KINDS as OWN_KINDS, schema_of as schema_of
from trainc.knowledge.tables import variable_names as variable_names
from trainc.lints.manifests import Claim as Claim
from trainc.lints.registry import lint_all_jobs as lint_all_jobs
from trainc.pipeline import fragments as fragments
from trainc.reading import edits as edits, ignores as ignores
