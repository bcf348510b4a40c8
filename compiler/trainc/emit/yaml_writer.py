"""Manifests to text, the last stage: the same manifests give the same bytes everywhere, and every reader the same values.

Block style, two spaces, list dashes in the column of their key as kustomize and kubectl write them, line feeds, no
folding. Keys come in the order of `key_order`, strings in the form of `yaml_scalars`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from trainc.emit.key_order import ELSEWHERE, TOP, in_order, leading
from trainc.emit.yaml_scalars import atom, inline, literal

# A reader looks 1,024 characters ahead for the colon after a key; a longer one is announced by `?`.
_LONGEST_KEY = 1000
_LONGEST_KNOWN = 200
_LISTS = (list, tuple)


def dump_yaml(manifests: Iterable[Mapping[str, Any]]) -> str:
    """One YAML document per manifest, with `---` between them. ValueError for what YAML cannot hold."""
    return "---\n".join(map(_document, manifests))


def _document(manifest: Mapping[str, Any]) -> str:
    if not manifest:
        return "{}\n"
    lines: list[str] = []
    _mapping(lines, manifest, "", "", TOP)
    lines.append("")
    return "\n".join(lines)


# `lead` is what stands before a collection's first entry, `indent` before all others.
def _mapping(lines: list[str], mapping: Mapping[str, Any], lead: str, indent: str, first: tuple[str, ...]) -> None:
    deeper = indent + "  "
    for key, text, is_long, inside in _entries(tuple(mapping), first):
        value = mapping[key]
        name = f"? {text}\n{indent}" if is_long else text
        kind = value.__class__
        if kind is str:
            lines.append(f"{lead}{name}: {_text(value, indent)}")
        elif kind is int:
            lines.append(f"{lead}{name}: {value}")
        elif isinstance(value, dict) and value:
            lines.append(f"{lead}{name}:")
            _mapping(lines, value, deeper, deeper, inside)
        elif isinstance(value, _LISTS) and value:
            lines.append(f"{lead}{name}:")
            _sequence(lines, value, indent, indent)
        else:
            lines.append(f"{lead}{name}: {_leaf(value, indent)}")
        lead = indent


def _sequence(lines: list[str], items: Sequence[Any], lead: str, indent: str) -> None:
    deeper = indent + "  "
    for item in items:
        if isinstance(item, dict) and item:
            _mapping(lines, item, lead + "- ", deeper, ELSEWHERE)
        elif isinstance(item, _LISTS) and item:
            _sequence(lines, item, lead + "- ", deeper)
        else:
            lines.append(f"{lead}- {_leaf(item, indent)}")
        lead = indent


@lru_cache(maxsize=4096)  # As in `in_order`.
def _entries(keys: tuple[str, ...], first: tuple[str, ...]) -> tuple[tuple[str, str, bool, tuple[str, ...]], ...]:
    """The keys of a mapping in the order of the text, each with its own, whether that is long, and what leads below."""
    texts = {key: inline(key) for key in in_order(keys, first)}
    return tuple((key, text, len(text) >= _LONGEST_KEY, leading(key)) for key, text in texts.items())


@lru_cache(maxsize=20_000)  # Values repeat a lot, from job to job too.
def _known(text: str) -> str | None:
    """A string on one line; None where a block may be better, which depends on the indent."""
    return None if "\n" in text else inline(text)


def _text(text: str, indent: str) -> str:
    known = _known(text) if len(text) < _LONGEST_KNOWN else None
    return known or (literal(text, indent + "  ") if "\n" in text else None) or inline(text)


def _leaf(value: object, indent: str) -> str:
    if isinstance(value, str):
        return _text(value, indent)
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, _LISTS) else atom(value)
