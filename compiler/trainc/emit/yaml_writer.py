"""Manifests to text, the last stage: equal manifests give equal bytes, which all YAML readers read as the same values.

Block style, two spaces, list dashes in the column of their key as kustomize and kubectl write them, line feeds, no
folding. Keys come in the order of `key_order`, strings in the form of `yaml_scalars`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from trainc.startup.patterns import pattern
from trainc.startup.typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import re

# Scalars as YAML text that YAML 1.1, YAML 1.2 and kubectl all read as the same value.
#
# A string is written without quotes only if its form is known to be safe. The tables here replace Python's Unicode
# data, so that all versions of Python write the same bytes.


# What every YAML version prints, without what a reader of a diff could not see: spaces other than the plain one, line
# and paragraph separators, joiners, direction marks, private and unassigned code points.
_VISIBLE = (
    "\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u180d\u1810-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufdff\ufe10-\ufefe\uff01-\uffef"
    "\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"))


# Compiled on the first text that is not ASCII, because compiling it takes longer than writing a job.
_INVISIBLE = pattern(f"[^ -~{_VISIBLE}]")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_STARTS = _LETTERS | frozenset("_/$(")
# Suffixes of quantities. No YAML dialect has numbers that end with one.
_SUFFIXES = frozenset(("m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))


def inline(text: str) -> str:
    """Return a string on one line, without quotes if that is safe, else in double quotes.

    Raises ValueError for half a surrogate pair.
    """
    return text if text and _is_visible(text) and _is_bare(text) else _quoted(text)


def _quoted(text: str) -> str:
    escaped = text.translate(_SHORT_ESCAPES)
    if not (escaped.isascii() and escaped.isprintable()):
        escaped = _INVISIBLE.sub(_escape, escaped)
    return f'"{escaped}"'


def _is_visible(text: str) -> bool:
    return text.isprintable() if text.isascii() else _INVISIBLE.search(text) is None


def _is_bare(text: str) -> bool:
    """Return whether visible text without quotes is a string in all dialects: ordinary words, or a quantity."""
    first = text[0]
    if first in "0123456789":
        return _is_quantity(text)
    if first == "-":
        starts = text[1:].removeprefix("-")[:1] in _LETTERS
    else:
        starts = first in _STARTS or text.startswith(("./", "../")) or not first.isascii()
    ends = text[-1] not in ": " and " :" not in text and ": " not in text and " #" not in text
    return starts and ends and text.lower() not in _WORDS


def _is_quantity(text: str) -> bool:
    number = text.rstrip("mkKMGTPEi")
    if text[len(number) :] not in _SUFFIXES:
        return False
    integer, point, fraction = number.partition(".")
    return number.isascii() and integer.isdecimal() and (fraction.isdecimal() or not point)


def literal(text: str, indent: str) -> str | None:
    """Return a string of several lines as a `|` block, indented by `indent`; None if a block cannot represent it."""
    if not _is_visible(text.replace("\n", "").replace("\t", "")) or not text.strip("\n"):
        return None
    lines = text.split("\n")
    if lines[-1]:
        chomping = "-"
    else:
        chomping = "+" if lines[-2] == "" else ""
        lines.pop()
    first = next(line for line in lines if line)
    indicator = "2" if first[0] in " \t" else ""
    return "\n".join((f"|{indicator}{chomping}", *(indent + line if line else "" for line in lines)))


def atom(value: object) -> str:
    """Return a number, a boolean or null as text. Raises ValueError for values that YAML readers do not agree on."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float) and abs(value) < _INFINITE:
        mantissa, _, exponent = float.__repr__(value).partition("e")
        if not exponent:
            return mantissa
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"  # YAML 1.1 requires the point.
    raise ValueError(f"{value!r} of type {type(value).__name__} cannot be part of a manifest")


_INFINITE = float("inf")  # `math` is a library of its own, which takes as long to load as a job to write.
# As JSON has them, which YAML has too.
_SHORT_ESCAPES = str.maketrans({
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
})  # fmt: skip


def _escape(match: re.Match[str]) -> str:
    character = ord(match[0])
    if 0xD800 <= character <= 0xDFFF:
        raise ValueError(f"half a surrogate pair, U+{character:04X}, cannot be written")
    return f"\\u{character:04x}" if character <= 0xFFFF else f"\\U{character:08x}"


# YAML readers look 1,024 characters ahead for the colon after a key; a longer key is preceded by `?`.
_LONGEST_KEY = 1000
_LONGEST_CACHED = 200
_LISTS = (list, tuple)


def dump_yaml(manifests: Iterable[Mapping[str, Any]]) -> str:
    """Return one YAML document per manifest, with `---` between them. Raises ValueError for what YAML cannot represent."""
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
    for key, name, is_long, inside in _entries(tuple(mapping), first):
        value = mapping[key]
        if is_long:
            name = f"? {name}\n{indent}"  # noqa: PLW2901 - it leads the same entry
        kind = value.__class__
        if kind is str:
            one_line = _one_line(value) if len(value) < _LONGEST_CACHED else None
            lines.append(f"{lead}{name}: {one_line or _text(value, indent)}")
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
        elif item.__class__ is str:
            one_line = _one_line(item) if len(item) < _LONGEST_CACHED else None
            lines.append(f"{lead}- {one_line or _text(item, indent)}")
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
def _one_line(text: str) -> str | None:
    """Return a string on one line, or None if a block may be better, which depends on the indent."""
    return None if "\n" in text else inline(text)


def _text(text: str, indent: str) -> str:
    return (literal(text, indent + "  ") if "\n" in text else None) or inline(text)


def _leaf(value: object, indent: str) -> str:
    if isinstance(value, str):
        return _text(value, indent)
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, _LISTS) else atom(value)


def block_lines(value: Any) -> list[str]:
    """Return a value as lines in block style, like a part of a manifest. Raises ValueError like `dump_yaml`."""
    lines: list[str] = []
    if isinstance(value, dict) and value:
        _mapping(lines, value, "", "", ELSEWHERE)
    elif isinstance(value, _LISTS) and value:
        _sequence(lines, value, "", "")
    else:
        lines.append(_leaf(value, ""))
    return "\n".join(lines).split("\n")


def flow(value: Any) -> str:
    """Return a value on one line, its keys in the order that they have. Raises ValueError like `dump_yaml`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, _LISTS):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return inline(value) if _FLOW_SIGNS.isdisjoint(value) else _quoted(value)
    return atom(value)


_FLOW_SIGNS = frozenset("[]{},")


# The order of a manifest's keys, independent of the order in its input.
#
# - at the top: apiVersion, kind, metadata;
# - in `metadata`: name, namespace, labels, annotations;
# - anywhere else: name;
#
# each of them first, and then all others by code point.


TOP = ("apiVersion", "kind", "metadata")
_METADATA = ("name", "namespace", "labels", "annotations")
ELSEWHERE = ("name",)


def leading(key: str) -> tuple[str, ...]:
    """Return the keys that come first in the mapping under `key`."""
    return _METADATA if key == "metadata" else ELSEWHERE


@lru_cache(maxsize=4096)  # The mappings of one job have the keys of those of the next.
def in_order(keys: tuple[str, ...], first: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sorted keys of a mapping, with those in `first` in front. Raises ValueError if one is not a string."""
    if not all(isinstance(key, str) for key in keys):
        raise ValueError("a manifest's keys are all strings")
    return (*(key for key in first if key in keys), *sorted(key for key in keys if key not in first))


def with_ordered_keys(value: Any, first: tuple[str, ...] = ELSEWHERE) -> Any:
    """Return a copy of `value` with the keys of all mappings in order. Raises ValueError like `in_order`."""
    if isinstance(value, dict):
        return {key: with_ordered_keys(value[key], leading(key)) for key in in_order(tuple(value), first)}
    return [with_ordered_keys(item) for item in value] if isinstance(value, list | tuple) else value


# All jobs' manifests as one stream, written job by job, so that only one job is in memory at a time.


Form: TypeAlias = Literal["yaml", "json"]

_LIST_HEAD = b'{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": ['


def text_of(manifests: Sequence[Mapping[str, Any]], form: Form) -> bytes:
    """Return one job's part of a stream; empty if it has no manifests. Raises ValueError for what cannot be written."""
    if form == "yaml":
        return dump_yaml(manifests).encode()
    import json  # For those who ask for it.

    options: dict[str, Any] = {"indent": 2, "ensure_ascii": False, "allow_nan": False, "default": atom}
    texts = (json.dumps(with_ordered_keys(manifest, TOP), **options) for manifest in manifests)
    return ",\n".join("    " + text.replace("\n", "\n    ") for text in texts).encode()


def join_stream(texts: Iterable[bytes], form: Form) -> Iterator[bytes]:
    """Yield the pieces of the stream: YAML documents with `---` between them, or one v1 List in JSON."""
    contents = (text for text in texts if text)
    if form == "yaml":
        yield next(contents, b"")
        for text in contents:
            yield b"---\n"
            yield text
        return
    yield _LIST_HEAD
    between = b"\n"
    for text in contents:
        yield between
        yield text
        between = b",\n"
    yield b"]\n}\n" if between == b"\n" else b"\n  ]\n}\n"
