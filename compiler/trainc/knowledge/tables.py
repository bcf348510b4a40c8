"""The tables, which are data files in tables/: loaded for the programs, files and options that a job names.

A table has these fields, all but the first optional:

- `program`: what messages call it. `space`: what comes before its keys ("ds").
- `options`: what the options of the program take: for each key a type, and the choices if there are any (`name`: there may be others); `generated` names
  the file that has them from the program's package, with the `checks` that the program makes itself: conditions, and last what has to hold then, and `after`, by package, the version that an option is not in yet. `extends` names tables whose options and rows it has as well. `open`
  means that scripts have further options of their own. `strict` are the beginnings of keys of which the table has all:
  the program refuses others, or `ignores` them; `closed_file` means all keys at the top of its file. `base` are the ends of the names of files that come with the program, and have its defaults.
- `renamed`: what keys that a newer version lacks are called there. `classes`: in which space the arguments of a class are, and what comes before them.
- `roles`: the keys by role; `defaults` are not facts, and are used only by checks with `?`.
- `agree`: roles that another program or file must not contradict.
- `alone`: what a program needs on several nodes to find the others: `nodes`, `rank` and `address`, each with its
  keys, and `hint`.
- `sections`: the keys of each section of its file, to name the one where a misplaced key belongs; `closed` those that refuse others.
- `rows`: checks. `if` are conditions that must all hold, `check` is what must hold then (conditions.py); without one, the
  conditions themselves are wrong. `so` is what happens otherwise, `write` what to write instead. `code` and `level` are
  those of the finding. `reads` are patterns by which a number is read from a key's text; `source` is where it is known from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache

from trainc.findings import Severity
from trainc.knowledge.conditions import needed
from trainc.startup.records import dataclass, field
from trainc.startup.shipped import read_data
from trainc.startup.typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """A check of a table, as described above. `keys` have to be given, and `known` of them have to have values that are known."""

    so: str
    check: str = ""
    when: tuple[str, ...] = ()
    write: str = ""
    code: str = ""
    level: Severity = "warning"
    at: str = ""
    keys: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    reads: Mapping[str, str] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()  # Packages of which a version is supposed: where none is known, it is an info.


@dataclass(frozen=True, slots=True)
class Span:
    """The versions of a package that have an option: which is `after` one that has it not yet, and `gone` in another."""

    package: str
    after: str = ""
    gone: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A program, a kind of file, the variables or the devices, as described above."""

    name: str
    program: str
    space: str
    open: bool
    strict: tuple[str, ...]
    ignores: bool
    closed_file: bool
    family: frozenset[str]
    base: tuple[str, ...]
    options: Mapping[str, Sequence[str]]
    spans: Mapping[str, Span]
    renamed: Mapping[str, str]
    roles: Mapping[str, Sequence[str]]
    agree: frozenset[str]
    alone: Mapping[str, Any]
    sections: Mapping[str, Sequence[str]]
    closed: frozenset[str]
    rows: tuple[Row, ...]
    # The numbers of the rows by one of their keys: one that not every job has, if there is such a key.
    rows_by_key: Mapping[str, Sequence[int]]

    def rows_about(self, given: AbstractSet[str], known: AbstractSet[str]) -> Iterator[Row]:
        """Yield the rows, in their order, of which all keys are given, and those known that have to be."""
        rows, by_key = self.rows, self.rows_by_key
        for place in sorted([place for key in given & by_key.keys() for place in by_key[key]]):
            if rows[place].known <= known and rows[place].keys <= given:
                yield rows[place]


@cache
def read(name: str) -> Any:
    """Return the data of a file of the tables."""
    return read_data(__file__, f"tables/{name}.json")


@cache
def table(name: str) -> Table:
    """Return a table with all that it extends."""
    data = read(name)
    parents = [table(parent) for parent in data.get("extends", ())]
    options = {name: takes for parent in parents for name, takes in parent.options.items()}
    roles = {role: keys for parent in parents for role, keys in parent.roles.items()}
    spans = {name: span for parent in parents for name, span in parent.spans.items()}
    renamed = {old: new for parent in parents for old, new in parent.renamed.items()}
    checks: Sequence[Sequence[str]] = ()
    if data.get("generated"):
        generated = read(f"generated/{data['generated']}")
        checks = generated.get("checks", ())
        # What it no longer defines itself it may still have from the others.
        spans |= {name: span for name, span in _spans(generated) if name not in options}
        options |= generated["options"]
    rows = (*(row for parent in parents for row in parent.rows), *map(_row, data.get("rows", ())))
    rows += tuple([_of_check(data["program"], *one) for one in checks])
    rows_by_key: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        rows_by_key.setdefault(min(row.keys, key=lambda key: ("job:" in key, key), default="job:name"), []).append(
            place
        )
    return Table(
        name,
        data["program"],
        data.get("space", ""),
        data.get("open", False) or not options,
        tuple(data.get("strict", ())),
        data.get("ignores", False),
        data.get("closed_file", False),
        frozenset((name, *(each for parent in parents for each in parent.family))),
        tuple(data.get("base", ())),
        options | data.get("options", {}),
        {name: span for name, span in spans.items() if name not in data.get("options", ())}
        | {name: Span(of, version) for of, after in data.get("after", {}).items() for name, version in after.items()},
        renamed | data.get("renamed", {}),
        roles | data.get("roles", {}),
        frozenset((*data.get("agree", ()), *(role for parent in parents for role in parent.agree))),
        data.get("alone", {}),
        data.get("sections", {}),
        frozenset(data.get("closed", ())),
        rows,
        rows_by_key,
    )


def _spans(generated: Mapping[str, Any]) -> Iterator[tuple[str, Span]]:
    versions = generated["versions"]
    for name, (first, last) in generated["spans"].items():
        after = versions[first - 1] if first else ""
        yield name, Span(generated["package"], after, versions[last + 1] if last + 1 < len(versions) else "")


def _of_check(program: str, *texts: str) -> Row:
    """Return the row of a check that a program itself makes."""
    *when, check = texts
    write = "" if " " in check else f"add {check}" if check else "keep one of them" if len(when) > 1 else "remove it"
    so = f"{program} checks this when it starts, and exits"
    return _row({"if": when, "check": check, "so": so, "write": write})


def _row(data: Mapping[str, Any]) -> Row:
    keys = [key for condition in data.get("if", ()) for key in needed(condition)]
    return Row(
        data["so"],
        data.get("check", ""),
        tuple(data.get("if", ())),
        data.get("write", ""),
        data.get("code", ""),
        data.get("level", "warning"),
        data.get("at", ""),
        frozenset(name for name, _ in keys),
        frozenset(name for name, is_known in keys if is_known),
        data.get("reads", {}),
        tuple([one.partition("?")[0] for one in data.get("if", ()) if one.startswith("package:") and "?" in one]),
    )


@cache
def variable_names() -> Mapping[str, Any]:
    """Return the environment variables that are known, to detect misspelled names and values not read.

    `known` are their full names, and `prefixes` what the checked ones begin with. `integers` are read as a number: other
    text is ignored, or an error. `words` have a fixed set of values, whose case does not matter, and `lists` a list of such,
    all of which a leading ^ excludes; `meant` has what others stand for, and `consequences` what happens with them. `allocators` have `allocator_settings` of PyTorch's allocator, NAME:VALUE.
    """
    data: dict[str, Any] = read("names")
    return data | {"known": frozenset(data["known"]), "prefixes": tuple(data["prefixes"])}
