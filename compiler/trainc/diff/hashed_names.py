"""Names that end in a content hash: the same job under another name, and its objects as if they had the plain one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from trainc.diff.normal import Manifest
from trainc.startup.patterns import pattern

# What target.name_hash appends: six characters of Kubernetes' alphabet for generated names.
_HASHED = pattern(r"(?P<plain>.+)-[bcdfghjklmnpqrstvwxz2456789]{6}")


def plain_names(before: Iterable[str], after: Iterable[str]) -> dict[str, str]:
    """Plain names by the names that only one side has, where both sides have one job of that plain name."""
    was, becomes = set(before), set(after)
    gone, new = sorted(was - becomes), sorted(becomes - was)
    left, right = (Counter(map(_plain, names)) for names in (gone, new))
    return {name: _plain(name) for name in (*gone, *new) if left[_plain(name)] == right[_plain(name)] == 1}


def _plain(name: str) -> str:
    match = _HASHED.fullmatch(name)
    return match["plain"] if match else name


def under_plain_names(manifest: Manifest, plain: Mapping[str, str]) -> Manifest:
    """The manifest with every mention of a hashed name, alone or as the start of a longer one, made plain."""
    mentioned = {name: short for name, short in plain.items() if name != short}
    if not mentioned:
        return manifest
    # Longest first, so that no name is taken for the start of another.
    names = "|".join(map(re.escape, sorted(mentioned, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![a-z0-9-])({names})(?![a-z0-9])")
    renamed: Manifest = _replaced(manifest, pattern, mentioned)
    return renamed


def _replaced(value: Any, pattern: re.Pattern[str], plain: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(inner, pattern, plain) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(item, pattern, plain) for item in value]
    if isinstance(value, str):
        return pattern.sub(lambda match: plain[match[1]], value)
    return value
