"""The cluster's own ValidatingAdmissionPolicies, evaluated against what a job compiles to.

docs/policies.md says what is evaluated. The extra `policy` has the grammar of CEL (cel-python) and regular expressions
that take linear time (google-re2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainc.diagnostics import Diagnostic
from trainc.options import Limits
from trainc.reading.document import Document

if TYPE_CHECKING:
    from trainc.policies.verdicts import Judge

_EXTRA = ("celpy", "lark", "re2")


def read_policies(
    folders: Sequence[str], documents: Sequence[Document], limits: Limits = Limits()
) -> tuple[Judge | None, list[Diagnostic]]:
    """What asks the policies in `folders` about objects, and what is wrong with them; None where nothing can be asked.

    `documents` are those of the input: their Namespaces are known, too.
    """
    from trainc.policies.loading import load
    from trainc.policies.verdicts import Judge
    from trainc.reading.files import read_paths

    found, diagnostics = read_paths(folders, limits, everything=True)
    try:
        loaded = load(found)
    except ModuleNotFoundError as missing:
        if missing.name not in _EXTRA:
            raise
        message = "`policies:` in trainc.yaml needs the extra `policy`"
        hint = "run: pip install 'trainc[policy]'"
        return None, [*diagnostics, Diagnostic("PolicyNeedsExtra", "error", message, hint)]
    return Judge.of(loaded, documents), [*diagnostics, *loaded.diagnostics]
