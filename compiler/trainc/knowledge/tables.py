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

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cache, lru_cache

from trainc.findings import Severity
from trainc.startup.records import dataclass, field
from trainc.startup.shipped import read_data, read_sections
from trainc.startup.typing import Any, TypeAlias


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
    from trainc.knowledge.conditions import needed  # Most jobs have nothing that a row is about.

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


# Which tables a job names: by its programs, the options that only one of them has, its files, and its variables.
#
# tables/index.txt has, for each table, `programs`: names of programs, with their first argument or without, of scripts, and of
# modules; `patterns`: parts of their names; `anchors`: options and keys that no other program has; and `together`: such that
# few others have all, one of each group; with `with`, a name of `programs` or `patterns` counts beside one of these. `files` are known by their keys in the same way. `variables` are those that a row is about, `texts` parts of the commands
# that one is about, `starting` the programs that start the processes of a training themselves, `own work` is in scripts that need no launcher to share theirs, `all devices` where one process uses all, and `one device` where each has one. Every job asks, and nearly none of them names anything: then no table is read.

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


def is_meant(table: str, keys: Iterable[str]) -> bool:
    """Return whether a program of a table's name is the one that the table is about, by its options."""
    marks = dict(_marks("with")).get(table)
    return marks is None or not frozenset(keys).isdisjoint(marks[0])


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


def mentions(section: str, text: str) -> bool:
    """Return whether a text has one of the parts that a section lists."""
    return any(part in text for part in _set(section))


def tables_of_text(text: str) -> Iterator[str]:
    """Yield the tables of which a row may be about the text of a command."""
    for kind, _, _, tables in _parts_of(text):
        yield from tables if kind == "texts" else ()


def concerns(variables: Iterable[str], device: str, image: str, text: str) -> bool:
    """Return whether a row about variables or devices may concern a container."""
    if not _set("variables").isdisjoint(variables) or "rocm" in image or device not in {_COMMON, ""}:
        return True
    return next(tables_of_text(text), None) is not None
