"""The same documents in other words: every spelling of YAML and JSON that kubectl reads as the same data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml
from hypothesis import strategies as st

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spelling:
    """How documents are written; `shared` writes equal parts once, behind an anchor."""

    as_json: bool
    flow: bool
    quote: str
    indent: int
    shared: bool
    comments: bool
    ending: str
    mark: bool


SPELLINGS = st.builds(
    Spelling,
    as_json=st.booleans(),
    flow=st.booleans(),
    quote=st.sampled_from(["'", '"']),
    indent=st.integers(2, 6),
    shared=st.booleans(),
    comments=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
)


def spelled(documents: list[Json], how: Spelling) -> bytes:
    """`documents` as one file."""
    if how.as_json:
        return "\n---\n".join(json.dumps(document, indent=how.indent) for document in documents).encode()
    text = yaml.dump_all(
        [_interned(document, {}) if how.shared else document for document in documents],
        Dumper=_dumper(how),
        default_flow_style=how.flow,
        indent=how.indent,
        sort_keys=False,
        width=10**9,
        explicit_start=how.mark,
    )
    # kubectl takes nothing but a separator on the line that begins with `---`.
    lines = [part for line in text.splitlines() for part in _separated(line)]
    if how.comments:
        # Every text is quoted and on one line, so that a comment fits between any two.
        lines = [part for line in lines for part in (line if line == "---" else f"{line} # said", "   # more", "")]
    return (("\ufeff" if how.mark else "") + how.ending.join(lines) + how.ending).encode()


def _separated(line: str) -> list[str]:
    return ["---", line.removeprefix("--- ")] if line.startswith("--- ") else [line]


def _interned(value: Any, known: dict[str, Any]) -> Any:
    """A copy in which equal mappings and lists are one object."""
    if isinstance(value, dict):
        value = {key: _interned(item, known) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_interned(item, known) for item in value]
    else:
        return value
    return known.setdefault(json.dumps(value), value) if value else value


def _dumper(how: Spelling) -> type[yaml.SafeDumper]:
    class Dumper(yaml.SafeDumper):
        """Quotes every text, keys included, so that readers of no version of YAML take it for anything else."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        one_line = value.isprintable() and value.isascii()
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=how.quote if one_line else '"')

    ignore: Callable[..., bool] = lambda *_: True  # noqa: E731 - a method of PyYAML's
    Dumper.add_representer(str, text)
    if not how.shared:
        Dumper.ignore_aliases = ignore  # type: ignore[method-assign]
    return Dumper


def shuffled(value: Any, draw: Callable[..., Any]) -> Any:
    """The same data with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(sorted(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    return [shuffled(item, draw) for item in value] if isinstance(value, list) else value


def in_lists(documents: list[Json], draw: Callable[..., Any]) -> list[Json]:
    """The same documents, runs of them wrapped in a List."""
    wrapped: list[Json] = []
    left = documents
    while left:
        count = draw(st.integers(1, len(left)))
        taken, left = left[:count], left[count:]
        as_list = {"apiVersion": "v1", "kind": "List", "items": taken}
        wrapped += [as_list] if draw(st.booleans()) else taken
    return wrapped
