"""Environment variables of NCCL, PyTorch, OpenMP and Hugging Face, to detect misspelled names and values not read.

They are in tables/names.json, with their sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from trainc.knowledge.tables import read
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Names:
    """The variables that are known.

    `known` are all of them by their full names, and `prefixes` what the checked ones begin with. `integers` are read as a
    number: other text is ignored, or an error. `words` have a fixed set of values, whose case does not matter, and `lists`
    a list of such, all of which a leading ^ excludes. `allocators` have settings of PyTorch's allocator, NAME:VALUE.
    """

    prefixes: tuple[str, ...]
    known: frozenset[str]
    integers: frozenset[str]
    words: Mapping[str, Sequence[str]]
    lists: Mapping[str, Sequence[str]]
    allocators: Sequence[str]
    allocator_settings: Sequence[str]


@cache
def variable_names() -> Names:
    """Return the variables that are known."""
    data: Mapping[str, Any] = read("names")
    return Names(
        tuple(data["prefixes"]),
        frozenset(data["known"]),
        frozenset(data["integers"]),
        data["words"],
        data["lists"],
        data["allocators"],
        data["allocator_settings"],
    )
