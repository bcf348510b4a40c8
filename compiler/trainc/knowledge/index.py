"""Which tables a job names: by its programs, the options that only one of them has, its files, and its variables.

tables/index.txt has, for each table, `programs`: names of programs, with their first argument or without, of scripts, and of
modules; `patterns`: parts of their names; `anchors`: options and keys that no other program has; and `together`: such that
few others have all, one of each group. `files` are known by their keys in the same way. `variables` are those that a row is about, `texts` parts of the commands
that one is about, and `starting` the programs that start the processes of a training themselves. Every job asks, and nearly none of them names anything: then no table is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache

from trainc.startup.shipped import read_sections
from trainc.startup.typing import TypeAlias

# What every container may concern; the table "shell" is for commands that have one of its texts.
ALWAYS = ("variables", "devices")
_COMMON = "nvidia.com/gpu"
# A part of the name of a program, or of the text of a command: its section and its place there, itself, and its tables.
_Part: TypeAlias = "tuple[str, int, str, Sequence[str]]"


@cache
def _index() -> Mapping[str, Sequence[tuple[str, Sequence[str]]]]:
    """Return the names of each section, in order, each with its list."""
    sections = read_sections(__file__, "tables/index.txt")
    return {section: [(name, listed.split(" | ")) for name, listed in rows] for section, rows in sections.items()}


@cache
def _by_name(kind: str) -> Mapping[str, Sequence[str]]:
    by_name: dict[str, list[str]] = {}
    for table, names in _index()[kind]:
        for name in names:
            by_name.setdefault(name, []).append(table)
    return by_name


@cache
def _set(kind: str) -> frozenset[str]:
    return frozenset(name for _, names in _index()[kind] for name in names)


@cache
def _by_letters() -> tuple[AbstractSet[object], Mapping[object, Sequence[_Part]]]:
    """Return the parts by three letters at their end and by the three before the last; those that are short by the first."""
    by_letters: dict[object, list[_Part]] = {}
    for kind in ("patterns", "texts"):
        for place, (part, tables) in enumerate(_by_name(kind).items()):
            for letters in (tuple(part[-3:]), tuple(part[-4:-1])) if len(part) > 3 else (part[0],):
                by_letters.setdefault(letters, []).append((kind, place, part, tables))
    return frozenset(by_letters), by_letters


@lru_cache(maxsize=64)
def _parts_of(text: str) -> Sequence[_Part]:
    """Return the parts that a text has, in their order: hundreds, which are not looked for one by one.

    One of the threes of a part begins at an even place of the text, wherever the part does.
    """
    known, by_letters = _by_letters()
    letters = known & {*text, *zip(text[::2], text[1::2], text[2::2])}  # noqa: B905 - what is left over has no three
    return sorted({one[:2]: one for each in letters for one in by_letters[each] if one[2] in text}.values())


def tables_of_program(names: Iterable[str], text: str = "") -> Iterator[str]:
    """Yield the tables of a program, by its name, the name of its script, or that of its module.

    `text` has all of them, if somebody asks more about it.
    """
    by_name, names = _by_name("programs"), tuple(names)
    patterns = [(part, tables) for kind, _, part, tables in _parts_of(text or " ".join(names)) if kind == "patterns"]
    for name in names:
        if name in by_name:
            yield from by_name[name]
            return
        for part, tables in patterns:
            if part in name:
                yield from tables
                return


@cache
def commands() -> frozenset[str]:
    """Return the first words of the programs that are known by their first argument, too."""
    return frozenset(name.partition(" ")[0] for name in _by_name("programs") if " " in name)


def tables_of_options(keys: Iterable[str]) -> Iterator[str]:
    """Yield the tables of which a command has an option that no other program has."""
    anchors, keys = _by_name("anchors"), frozenset(keys)
    for key in anchors.keys() & keys:
        yield from anchors[key]
    yield from _marked("together", keys)


def table_of_file(keys: frozenset[str]) -> str | None:
    """Return the table of a file with these keys: the first of which it has one of each group of marks."""
    return next(_marked("files", keys), None)


def _marked(section: str, keys: frozenset[str]) -> Iterator[str]:
    for name, groups in _marks(section):
        if not any(map(keys.isdisjoint, groups)):
            yield name


def count_anywhere(key: str) -> bool:
    """Return whether a key counts in any section of a file that no table is about."""
    return key in _set("leaves")


@cache
def _marks(section: str) -> Sequence[tuple[str, Sequence[Sequence[str]]]]:
    return [(name, [group.split() for group in groups]) for name, groups in _index()[section]]


def starts_processes(words: Iterable[str]) -> bool:
    """Return whether a command runs a program that starts the processes of the training itself."""
    return any(word.rpartition("/")[2] in _set("starting") for word in words)


def tables_of_text(text: str) -> Iterator[str]:
    """Yield the tables of which a row may be about the text of a command."""
    for kind, _, _, tables in _parts_of(text):
        yield from tables if kind == "texts" else ()


def concerns(variables: Iterable[str], device: str, image: str, text: str) -> bool:
    """Return whether a row about variables or devices may concern a container."""
    if not _set("variables").isdisjoint(variables) or "rocm" in image or device not in {_COMMON, ""}:
        return True
    return next(tables_of_text(text), None) is not None
