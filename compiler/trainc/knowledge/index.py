"""Which tables a job names: by its programs, the options that only one of them has, its files, and its variables.

tables/index.txt has, for each table, `programs`: names of programs, with their first argument or without, of scripts, and of
modules; `patterns`: parts of their names; `anchors`: options and keys that no other program has; and `together`: such that
few others have all, one of each group. `files` are known by their keys in the same way. `variables` are those that a row is about, `texts` parts of the commands
that one is about, and `starting` the programs that start the processes of a training themselves. Every job asks, and nearly none of them names anything: then no table is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from trainc.startup.shipped import read_sections

# What every container may concern; the table "shell" is for commands that have one of its texts.
ALWAYS = ("variables", "devices")
_COMMON = "nvidia.com/gpu"


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


def tables_of_program(names: Iterable[str]) -> Iterator[str]:
    """Yield the tables of a program, by its name, the name of its script, or that of its module."""
    by_name, names = _by_name("programs"), tuple(names)
    text = " ".join(names)
    patterns = [(part, tables) for part, tables in _by_name("patterns").items() if part in text]
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
    for name, groups in _index()[section]:
        if all(not keys.isdisjoint(group.split()) for group in groups):
            yield name


def count_anywhere(key: str) -> bool:
    """Return whether a key counts in any section of a file that no table is about."""
    return key in _set("leaves")


def names() -> frozenset[str]:
    """Return the names of all tables that a job may name."""
    kinds = ("programs", "patterns", "anchors", "files")
    return frozenset((*ALWAYS, "shell", *(table for kind in kinds for table, _ in _index()[kind])))


def starts_processes(words: Iterable[str]) -> bool:
    """Return whether a command runs a program that starts the processes of the training itself."""
    return any(word.rpartition("/")[2] in _set("starting") for word in words)


def tables_of_text(text: str) -> Iterator[str]:
    """Yield the tables of which a row may be about the text of a command."""
    for name, parts in _index()["texts"]:
        if any(map(text.__contains__, parts)):
            yield name


def concerns(variables: Iterable[str], device: str, image: str, text: str) -> bool:
    """Return whether a row about variables or devices may concern a container."""
    if not _set("variables").isdisjoint(variables) or "rocm" in image or device not in {_COMMON, ""}:
        return True
    return next(tables_of_text(text), None) is not None
