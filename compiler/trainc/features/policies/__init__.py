"""Evaluate the cluster's own ValidatingAdmissionPolicies against the compiled objects of a job.

docs/policies.md lists what is supported. The extra `policy` provides the CEL grammar (cel-python) and regular
expressions that run in linear time (google-re2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainc.findings import Diagnostic
from trainc.options import Limits
from trainc.reading.document import Document

if TYPE_CHECKING:
    from trainc.features.policies.verdicts import Judge

_EXTRA = ("celpy", "lark", "re2")


def read_policies(
    folders: Sequence[str], documents: Sequence[Document], limits: Limits = Limits()
) -> tuple[Judge | None, list[Diagnostic]]:
    """Read the policies in `folders`; return a judge (None if there is nothing to evaluate) and the problems found.

    `documents` are those of the input, whose Namespaces are known to the judge as well.
    """
    from trainc.features.policies.loading import load
    from trainc.features.policies.verdicts import Judge
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
