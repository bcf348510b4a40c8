"""YAML as people write it: an indentation for each mapping and list, comments, flow style, quotes, odd spaces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from trainc.emit.yaml_writer import inline
from trainc.reading.yaml_reader import read_value


def written(document: dict[str, Any], random: Random) -> str:
    """`document` in a style that `random` decides. Each comment holds a number of its own: `# 17`."""
    text = "".join(f"{line}\n" for line in _Writer(random).mapping(document, 0))
    assert read_value(text) == document
    return text


class _Writer:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._comments = 0

    def mapping(self, value: dict[str, Any], indent: int) -> Iterator[str]:
        deeper = indent + self._random.choice((2, 2, 4, 3))
        for key, item in value.items():
            yield from self._above(indent)
            yield from self._entry(f"{' ' * indent}{inline(key)}:", item, deeper, indent)

    def _entry(self, head: str, item: Any, deeper: int, indent: int) -> Iterator[str]:
        if isinstance(item, dict | list) and item and self._random.random() > 0.1:
            yield head + self._beside()
            if isinstance(item, dict):
                yield from self.mapping(item, deeper)
            else:
                yield from self._list(item, self._random.choice((indent, deeper)))
        elif isinstance(item, str) and "\n" in item and "\t" not in item and item.strip() == item:
            yield f"{head} |-"
            yield from (f"{' ' * deeper}{line}".rstrip() for line in item.split("\n"))
        else:
            yield f"{head}{self._random.choice((' ', ' ', '   '))}{self._flow(item)}{self._beside()}"

    def _list(self, items: list[Any], indent: int) -> Iterator[str]:
        gap = self._random.choice((1, 1, 3))
        for item in items:
            yield from self._above(indent)
            dash = f"{' ' * indent}-{' ' * gap}"
            if isinstance(item, dict) and item and self._random.random() > 0.2:
                first, *rest = self.mapping(item, indent + 1 + gap)
                while first.lstrip().startswith("#"):
                    yield f"{' ' * indent}{first.lstrip()}"
                    first, *rest = rest
                yield dash + first.lstrip()
                yield from rest
            else:
                yield f"{dash}{self._flow(item)}{self._beside()}"

    def _flow(self, value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{inline(k)}: {self._flow(v)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self._flow, value)) + "]"
        if not isinstance(value, str):
            return json.dumps(value)
        bare = inline(value)
        plain = value.isascii() and value.isprintable()
        return self._random.choice(
            (bare if bare.isalnum() else json.dumps(value), _single(value) if plain else json.dumps(value))
        )

    def _above(self, indent: int) -> Iterator[str]:
        if self._random.random() < 0.1:
            yield f"{' ' * indent}{self._comment()}"
        elif self._random.random() < 0.05:
            yield ""

    def _beside(self) -> str:
        return f"  {self._comment()}" if self._random.random() < 0.1 else ""

    def _comment(self) -> str:
        self._comments += 1
        return f"# {self._comments}"


def _single(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
