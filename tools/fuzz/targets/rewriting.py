"""`migrate` and `krm`: any bytes are rewritten or refused with diagnostics; migrating again changes nothing.

The first byte selects between the file itself and its documents as items of a kustomize ResourceList.
"""

from __future__ import annotations

import json

from trainc import CompileError
from trainc.features.gitops.krm.transform import read_resource_list, results_of, transform
from trainc.features.migration.v1.migrate import migrate_text
from trainc.findings import has_errors
from trainc.options import Limits
from trainc.reading.yaml_reader import decode, read_documents

LIMITS = Limits(document_bytes=100_000, documents=20, depth=60, alias_expansions=500)


def check(data: bytes) -> None:
    """Raise AssertionError for an unsound rewritten file, and any other exception for input that breaks a command."""
    if data[:1] in (b"1", b"3", b"5", b"7"):
        _check_function(data[1:])
    else:
        _check_migration(decode(data[1:]))


def _check_migration(text: str) -> None:
    first = migrate_text(text, "input.yaml", LIMITS)
    assert all(d.code and d.message and str(d) for d in first.diagnostics)
    if first.text == text or has_errors(first.diagnostics):
        return
    _, problems = read_documents(first.text.encode("utf-8", "surrogateescape"), "output.yaml", Limits())
    assert not problems, problems
    assert migrate_text(first.text, "input.yaml", LIMITS).text == first.text, "migrating twice changes more"


def _check_function(data: bytes) -> None:
    documents, problems = read_documents(data, "input.yaml", LIMITS)
    if problems:
        return
    items = [document.data for document in documents]
    wrapped = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}
    try:
        request = read_resource_list(json.dumps(wrapped).encode())
        done = transform(request.items, request.configuration, ".", allow_empty=True)
    except CompileError as refused:
        assert refused.diagnostics
        return
    results_of(done.diagnostics, [*request.items, *done.items])
