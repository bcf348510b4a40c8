"""Every regular expression of the package, given texts that make a backtracking matcher try everything.

Run as a program: it prints the name of each expression before it tries it, so that one that never ends is the last.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import resource
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import trainc
from trainc.startup.patterns import pattern

SECONDS = 40
# Enough for an expression that doubles with each character to take a lifetime, and for one of the third degree to show.
FEW, MANY = 40, 1_000
LONG = 6_000
_MOST_CHARACTERS = 11


def expressions() -> Iterator[tuple[str, re.Pattern[str]]]:
    """The expressions that modules hold, alone or in tuples and records, by name."""
    seen: set[re.Pattern[str]] = set()  # Many modules import the same one.
    for module in pkgutil.walk_packages(trainc.__path__, "trainc."):
        if module.name.endswith("__main__") or "testing" in module.name:
            continue
        try:
            members = vars(importlib.import_module(module.name))
        except ModuleNotFoundError:
            continue  # An extra that is not installed.
        for name, value in sorted(members.items()):
            for found, expression in _inside(f"{module.name}.{name}", value, 2):
                if expression not in seen:
                    seen.add(expression)
                    yield found, expression
    for path in sorted((Path(trainc.__file__).parent / "knowledge" / "tables").glob("*.json")):
        table = json.loads(path.read_text(encoding="utf-8"))
        for row in table.get("rows", ()) if isinstance(table, dict) else ():
            yield from ((f"{path.stem}: {row['so']}", re.compile(read)) for read in row.get("reads", {}).values())


def _inside(name: str, value: Any, depth: int) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, pattern) if isinstance(pattern, type) else False:
        yield name, re.compile(*value._source)
    elif depth and isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _inside(f"{name}[{index}]", item, depth - 1)
    elif depth and hasattr(type(value), "_record"):
        for part in type(value)._record.parts:
            yield from _inside(f"{name}.{part.name}", getattr(value, part.name, None), depth - 1)


def characters(expression: str) -> list[str]:
    """Some that the expression knows, and some that it may take for others."""
    known = dict.fromkeys(re.sub(r"\\.|\(\?P?<\w+>|\(\?:|[\[\](){}?*+|^$]", "", expression)[:200])
    return list(dict.fromkeys((" ", "a", "1", "-", "\n", *known)))[:_MOST_CHARACTERS]


def texts(expression: str) -> Iterator[str]:
    """A beginning, something over and over, and an end that fits nothing."""
    known = characters(expression)
    for start, pump in product(("", *known), [*known, *map("".join, product(known, repeat=2))]):
        yield f"{start}{pump * FEW}\0"
    for start, pump in product(("", *known[:3]), known):
        yield f"{start}{pump * MANY}\0"


def own_words(expression: str) -> Iterator[str]:
    """Long texts of the first words that an expression has, over and over: each of them may begin what it looks for."""
    words = re.findall(r"[A-Za-z_./' -]{3,}", re.sub(r"\\[A-Za-z]", " ", expression))
    for unit in {" ".join(words[:3]), "\n"}:
        yield f"{unit} " * (LONG // (len(unit) + 1))


def main() -> None:
    """Try them all."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    for name, expression in expressions():
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        source: Any = expression.pattern
        in_bytes = isinstance(source, bytes)
        for text in texts(source.decode("latin-1") if in_bytes else source):
            given: Any = text.encode("latin-1", "replace") if in_bytes else text
            expression.fullmatch(given)  # It tries all that `match` tries.
            if len(text) > MANY:  # From the middle of a short text, it is a shorter one that is tried, too.
                expression.search(given)
        for text in () if in_bytes else own_words(source):
            expression.search(text)


if __name__ == "__main__":
    main()
