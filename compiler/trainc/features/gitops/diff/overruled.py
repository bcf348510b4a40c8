"""What a change of an overlay changes nothing by, because another overlay replaces it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from trainc.api.documents import Document
from trainc.api.kube import mapping
from trainc.api.records import pattern
from trainc.features.gitops.diff.sides import ReadSide

_WORD = pattern(r"\w+")


def overruled_values(before: ReadSide, after: ReadSide) -> Iterator[str]:
    """Yield the values that differ in an overlay, that templates here are filled with, and that a later overlay replaces."""
    was = {os.path.normpath(document.file): document for document in _overlays(before)}
    now = list(_overlays(after))
    used = {word for text in after.templates.values() for word in _WORD.findall(text)} if now else set()
    for i, document in enumerate(now):
        old = was.get(os.path.normpath(document.file), document)
        for name, value in mapping(document.data.get("values")).items():
            # Mappings are merged.
            later = [one for one in now[i + 1 :] if not isinstance(_value(one, name), (type(None), Mapping))]
            is_replaced = later and before.values.get(name) == after.values.get(name)
            if _value(old, name) != value and is_replaced and name in used:
                here, there = (_place(one, name) for one in (document, later[-1]))
                yield f"{name} is another value at {here}, which changes nothing here: {there} replaces it."


def _overlays(side: ReadSide) -> Iterator[Document]:
    """The overlays of a side, of which a later one overrides an earlier one."""
    return (loaded.overlay.document for overlay in side.overlays for loaded in overlay.in_order)


def _value(document: Document, name: str) -> object:
    return mapping(document.data.get("values")).get(name)


def _place(document: Document, name: str) -> str:
    source = document.locate(("values", name))
    return f"{document.file}:{source.line}" if source else document.file
