"""Mutate documents structurally, so that a fuzzer gets past the parser and the schema."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any

import yaml

from trainc.kube.releases import RELEASES
from trainc.schema.shapes import definition, definition_names

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, -1, 7, 2**31 - 1, 2**31, 2**63, 1.5, "", "a", "node", "launcher", "trainer", "auto"),
    *("0", "3", "500m", "16Gi", "1e30", "x" * 64, "a b", "$(X)", "${X}", "\u2028", "\n", "hf://a/b", "example.com/a"),
    *([], {}, [None], [{}], {"a": "b"}, ["a"], [{"name": "node"}]),
)


def mutated(text: bytes, seed: int) -> bytes:
    """The documents of `text` with a few changes; unparsable text is returned unchanged."""
    random = Random(seed)  # noqa: S311 - libFuzzer gives the seed, so that a run can be repeated
    try:
        documents = list(yaml.load_all(text, Loader=_Loader))
        for _ in range(random.randint(1, 4)):
            _change(documents, random)
        return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True).encode()
    except (yaml.YAMLError, LookupError, ValueError, TypeError, RecursionError):
        return text


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Dumper(yaml.SafeDumper):
    """Writes equal values in full instead of as aliases."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


def _change(documents: list[Any], random: Random) -> None:
    """Change a document. Inserted values are copied, because cycles or shared values would grow indefinitely."""
    holder, key = random.choice(list(_places(documents)))
    match random.randrange(8):
        case 0:
            del holder[key]
        case 1 | 2:
            holder[key] = deepcopy(random.choice(_VALUES))
        case 3 if isinstance(holder, list):
            holder.insert(key, deepcopy(holder[key]))
        case 4:
            other, at = random.choice(list(_places(documents)))
            holder[key] = deepcopy(other[at])
        case 5 if isinstance(holder, dict):
            holder[random.choice(_field_names())] = holder.pop(key)
        case 6 if isinstance(holder[key], str) and holder[key]:
            at = random.randrange(len(holder[key]))
            holder[key] = holder[key][:at] + random.choice(("", "-", "x", "\u00e9", " ", "9")) + holder[key][at + 1 :]
        case _ if isinstance(holder[key], dict):
            holder[key] = {**holder[key], random.choice(_field_names()): deepcopy(random.choice(_VALUES))}


def _places(value: Any, depth: int = 0) -> Any:
    """Every container below `value` with each of its keys."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(entries):
        yield value, key
        if isinstance(item, dict | list) and depth < 40:
            yield from _places(item, depth + 1)


@cache
def _field_names() -> tuple[str, ...]:
    """Every field name of any release, of settings, and of the other kinds that occur in the seeds."""
    from fuzz.seeds import seeds

    known = {name for release in RELEASES for d in definition_names(release) for name in definition(release, d).fields}
    for seed in seeds("commands"):
        known |= set(_KEY.findall(seed.decode()))
    return tuple(sorted(known))


_KEY = re.compile(r"(?:^|[{,])[ -]*([a-z][A-Za-z-]+):(?= |$)", re.MULTILINE)
