"""The objects of a secrets mode: what of them the job decides, and what a sealed Secret in the input does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api.field_path import FieldPath, Leaf
from trainc.diagnostics import Path
from trainc.explain.attribute import row_for, rows_of
from trainc.explain.model import InputDocument, Origin
from trainc.explain.sources import Sources, input_of
from trainc.options import Options
from trainc.plugins.registry import enabled
from trainc.plugins.rows import Situation
from trainc.startup.records import replace

# What mode `sealed` carries over; it writes the rest anew.
_CIPHERTEXT: tuple[FieldPath, ...] = (
    ("spec", "encryptedData"),
    ("spec", "template", "immutable"),
    ("spec", "template", "metadata", "annotations"),
    ("metadata", "annotations"),
)


def by_secrets_mode(
    situation: Situation, sources: Sources, options: Options, sealed: InputDocument | None, leaf: Leaf
) -> Origin:
    """A leaf of an object that a secrets mode adds; `sealed` is the document that it was carried over from."""
    flag = f"--secrets {options.secrets}"
    if sealed is not None and any(leaf.path[: len(field)] == field for field in _CIPHERTEXT):
        return Origin("delivery", "Secrets", leaf.value, rule=flag, inputs=(input_of(sealed, _carried(leaf)),))
    s = replace(situation, path=leaf.path, value=leaf.value)
    row = row_for((row for plugin in enabled(options.plugins) for row in rows_of(plugin, "secrets")), s)
    inputs = sources.inputs(row.refs(s)) if row is not None else ()
    rule = "; ".join((flag, *(given.rule for given in inputs if given.rule)))
    return Origin("delivery", "Secrets", leaf.value, rule=rule, inputs=tuple(i for i in inputs if not i.rule))


def sealed_of(documents: Sequence[InputDocument], manifest: Mapping[str, Any]) -> InputDocument | None:
    """The document of the input that a SealedSecret of the output was carried over from."""
    if manifest["kind"] != "SealedSecret":
        return None
    wanted = _identity(manifest)
    return next((d for d in documents if d.raw.get("kind") == "SealedSecret" and _identity(d.raw) == wanted), None)


def _identity(document: Mapping[str, Any]) -> tuple[Any, Any]:
    metadata = document.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    return known.get("name"), known.get("namespace") or ""


def _carried(leaf: Leaf) -> Path:
    """Where the document has it; the template's scope is that of the document itself."""
    return leaf.index[2:] if leaf.index[:3] == ("spec", "template", "metadata") else leaf.index
