"""Manifests to text, the last stage: the same manifests give the same bytes everywhere, and every reader the same values.

Block style, two spaces, list dashes in the column of their key as kustomize and kubectl write them, line feeds, no
folding. Keys come in the order of `key_order`, strings in the form of `yaml_scalars`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from trainc.target.key_order import TOP, in_order, leading
from trainc.target.yaml_scalars import atom, inline, literal
from trainc.typing import Any

# A reader looks 1,024 characters ahead for the colon after a key; a longer one is announced by `?`.
_LONGEST_KEY = 1000
_LONGEST_KEPT = 200


def dump_yaml(manifests: Iterable[Mapping[str, Any]]) -> str:
    """One YAML document per manifest, with `---` between them. ValueError for what YAML cannot hold."""
    return "---\n".join(map(_Writer().document, manifests))


def _inline(text: str) -> str:
    return _short(text) if len(text) < _LONGEST_KEPT else inline(text)


_short = lru_cache(maxsize=20_000)(inline)  # Keys and values repeat a lot, from job to job too.


class _Writer:
    """Writes documents. `lead` is what stands before a collection's first entry, `indent` before all others."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def document(self, manifest: Mapping[str, Any]) -> str:
        self._lines = []
        if manifest:
            self._mapping(manifest, "", "", TOP)
        else:
            self._lines.append("{}")
        return "\n".join((*self._lines, ""))

    def _mapping(self, mapping: Mapping[str, Any], lead: str, indent: str, first: tuple[str, ...]) -> None:
        for key in in_order(mapping, first):
            value = mapping[key]
            name = _inline(key)
            head = f"{lead}{name}:" if len(name) < _LONGEST_KEY else f"{lead}? {name}\n{indent}:"
            lead = indent
            if isinstance(value, str):
                text = self._text(value, indent) if "\n" in value else _inline(value)
                self._lines.append(f"{head} {text}")
            elif isinstance(value, dict) and value:
                self._lines.append(head)
                deeper = indent + "  "
                self._mapping(value, deeper, deeper, leading(key))
            elif isinstance(value, list | tuple) and value:
                self._lines.append(head)
                self._sequence(value, indent, indent)
            else:
                self._lines.append(f"{head} {_empty_or_atom(value)}")

    def _sequence(self, items: Sequence[Any], lead: str, indent: str) -> None:
        for item in items:
            if isinstance(item, str):
                self._lines.append(f"{lead}- {self._text(item, indent)}")
            elif isinstance(item, dict) and item:
                self._mapping(item, lead + "- ", indent + "  ", leading(""))
            elif isinstance(item, list | tuple) and item:
                self._sequence(item, lead + "- ", indent + "  ")
            else:
                self._lines.append(f"{lead}- {_empty_or_atom(item)}")
            lead = indent

    def _text(self, text: str, indent: str) -> str:
        return (literal(text, indent + "  ") if "\n" in text else None) or _inline(text)


def _empty_or_atom(value: object) -> str:
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list | tuple) else atom(value)
