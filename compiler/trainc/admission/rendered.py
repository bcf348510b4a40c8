"""Manifests that are there already: hand-written or rendered JobSets, checked where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.admission.admit import judge
from trainc.api.names import JOBSET_API
from trainc.api.releases import NEWEST_RELEASE
from trainc.diagnostics import Diagnostic, has_errors
from trainc.ir.release import release_facts
from trainc.lints.registry import lint_rendered
from trainc.options import Options
from trainc.reading.document import Document


def check_rendered(documents: Sequence[Document], options: Options) -> Iterator[Diagnostic]:
    """What JobSet's admission would say of each JobSet among `documents`, and which of its names lead nowhere.

    What would fail after admission is an error under `gitops` and a warning under `controller`.
    """
    release = release_facts(options.release or NEWEST_RELEASE)
    objects = [document.data for document in documents]
    for document in documents:
        if (document.data.get("kind"), document.data.get("apiVersion")) != ("JobSet", JOBSET_API):
            continue
        stored, findings = judge(document.data, release, "error" if options.semantics == "gitops" else "warning")
        if not has_errors(findings):
            findings += lint_rendered(stored, objects, options)
        yield from map(document.place, findings)
