"""Lints that compare the settings of programs with their tables: own checks, types, roles set twice, and the other nodes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from posixpath import join, normpath

from trainc.findings import Finding, Severity, choose, suggest
from trainc.findings.text import comparable, correct_spelling, edit_distance, near_names
from trainc.ir.entrypoints import pod_path
from trainc.knowledge.conditions import Fact, Facts, Items, Nested, failure, holds, number, parse, term
from trainc.knowledge.tables import Row, Table, table
from trainc.knowledge.words import flat, meant, shown
from trainc.kube.documents import mapping
from trainc.lints.config_files import ConfigFile, folders, visible_files
from trainc.lints.runs import Run, runs
from trainc.lints.storage import volume_at
from trainc.lints.training import Training
from trainc.reading.settings import syntax_problem
from trainc.startup.patterns import pattern
from trainc.startup.records import replace
from trainc.startup.typing import Any

_NAMED = pattern(r"\{([\w.:/-]+(?: [*/] [\w.:?/-]+)*)\}")
_BOOLEANS = frozenset(("true", "false", "1", "0", "yes", "no", "on", "off", "y", "n", "t", "f"))
_WORDS_OF_YAML = {True: ("on", "yes", "true"), False: ("no", "off", "false", "none")}
_OFF = frozenset(("auto", "none", "null", ""))
_INTEGER = pattern(r"\s*[+-]?\d+(?:_\d+)*\s*")
_NODES = pattern(r"\bNODES\b")
_MENTIONED = pattern(r"(/[\w./-]+\.(?:json|ya?ml|toml|py|sh))(?!\w)")
# Programs that fill in files before others read them.
_FILLING = ("envsubst", "jinja", "gomplate", "sed -i", "yq ")
# How many options of an open table a command has to have, and how long a name is that no other script has by chance.
_FEWEST_SHARED = 5
_SPECIFIC = 12
_WORKING = ("/workspace", "/app", "/code", "/src", "/work", "/home", "/root", "/opt")  # Where images may run a command.
_MOST_LISTED = 16
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "0.0.0.0"))  # noqa: S104


def programs(training: Training) -> Iterator[Finding]:
    """Yield findings about all programs of a command."""
    reported: set[str] = set()
    for place, run in enumerate(runs(training)):
        for finding in _of_run(run, whole=place == 0):
            if finding.message not in reported:
                reported.add(finding.message)
                yield finding
    if training.around:
        yield from _missing_files(training)


def _of_run(run: Run, *, whole: bool) -> Iterator[Finding]:
    """Yield findings about a program; with `whole`, also about the script that runs it, which has one text."""
    given, values = run.facts.names()
    covered: set[object] = set()
    for known in run.tables:
        if known.name == "shell" and not whole:
            continue
        for row in known.rows_about(given, values):
            if _applies(run.facts, row):
                yield from _check(run, row, covered)
        yield from _types(run, known, covered)
        yield from _other_versions(run, known, covered)
        if known.alone and run.training.nodes > 1:
            yield from _alone(run, known)
        elif known.alone:
            yield from _others_announced(run, known)
        yield from _misplaced(run, known)
    yield from _agreement(run)
    for space, facts in run.placed.items():
        if space.startswith(("call", "maybe")) and space != "call:":
            yield from _of_other_calls(
                run, [replace(one, key=f"call:{one.name}") for one in facts], maybe=space[0] == "m"
            )


def _of_other_calls(run: Run, again: Sequence[Fact], *, maybe: bool) -> Iterator[Finding]:
    """Yield findings about a script that calls a function more than once, with the arguments of another call."""
    facts, keys = copy(run.facts), {one.key for one in again}
    names = {key.partition("/")[0] for key in keys}
    keys |= {role for role, of in facts.roles.items() if not keys.isdisjoint(of)}
    facts.by_key = {key: one for key, one in facts.by_key.items() if key.partition("/")[0] not in names}
    facts.held = {}
    facts.add(again)
    for row in table("calls").rows_about(*facts.names()):
        # Of a call that may not be made, what it is given is wrong in any case.
        about = row.keys <= keys and all("/" in key for key in row.keys) if maybe else not row.keys.isdisjoint(keys)
        if about and _applies(facts, row):
            yield from _check(replace(run, facts=facts), row, set())


def _applies(facts: Facts, row: Row) -> bool:
    for condition in row.when:  # noqa: SIM110 - `all` costs more, and each job asks many rows
        if not holds(facts, condition, row.reads):
            return False
    return True


def _check(run: Run, row: Row, covered: set[object]) -> Iterator[Finding]:
    """Yield a finding if a row does not hold. What several settings do to each other is said once, by the first row."""
    facts = run.facts
    subjects = [facts.find(parse(condition).left[0]) for condition in row.when if parse(condition).left]
    values: Mapping[str, Sequence[Any]] = {}
    parts = tuple[Fact, ...]()
    if row.check:
        failed = failure(facts, row.check, row.reads)
        if failed is None:
            return
        message, parts, values = failed
        subjects = [*parts, *subjects]
        if not parse(row.check).right:
            given = next((one for one in subjects if one is not None and one.is_placed), None)
            message = f"{shown(given)} needs {parse(row.check).left[0].rpartition(':')[2]}" if given else message
    else:
        message = " with ".join(dict.fromkeys(shown(one) for one in subjects if one is not None and one.is_placed))
    placed = [one for one in subjects if one is not None and one.is_placed]
    about: Fact | None = facts.find(row.at) if row.at else None
    about = about if about is not None and (about.is_placed or run.place(about.key)) else next(iter(placed), None)
    if about is None and not row.at:
        return
    compared = [one for one in parts if one.is_placed] if row.check else placed
    covered.update(one.key for one in compared if len(compared) == 1 and row.level != "info")
    keys = frozenset(one.key for one in compared)
    together = keys, row.level, row.write if len(compared) == 1 else ""
    if compared and (together in covered or (row.level == "info" and keys in covered)):
        return
    covered.update((together, keys))
    write = (meant(row.when[-1], about) or _filled(row.write, row, facts)) if row.write else ""
    wanted = () if write or about is None else values.get(about.key, ())
    better = next((one for one in wanted if about is not None and (len(wanted) == 1 or _suits(run, about, one))), None)
    if about is not None and better is not None:
        other = next((one for one in placed if one.key != about.key and len(values.get(one.key, ())) == 1), None)
        write = _written(about, better, other.form.format(values[other.key][0]) if other is not None else "")
        if (about.key, write, row.level) in covered:
            return
        covered.add((about.key, write, row.level))
    code = row.code or ("SettingWithoutEffect" if row.level == "info" else "SettingRefused")
    message = f"{message}: {_filled(row.so, row, facts)}" if message else _filled(row.so, row, facts)
    # Where it may not run, a launcher that exits is no error.
    level = "warning" if row.level == "error" and not run.start.sure else row.level
    if row.assumed and all(facts.find(package) is None for package in row.assumed):
        level = "info"
    finding = run.finding(code, level, message, write, about)
    if about is not None and about.key == "call:TEXT" and finding.about == "file":  # At what the row reads in it.
        match = pattern(row.reads["call:TEXT"]).search(str(about.value))
        before = str(about.value)[: match.start(match.lastindex or 0)] if match else ""
        finding = replace(finding, line=before.count("\n"))
    yield finding


def _written(about: Fact, better: Any, also: str) -> str:
    """Return the hint to write a better value, or to change what it was compared with."""
    text = f"write {about.form.format(better)}" if not about.variable else f'write "{better}"'
    text += f", or {also}" if also and also != str(better) else ""
    if about.word < 0 or "=" not in about.form:
        return text
    return suggest(about.form.format(about.value), [about.form.format(better)], text)


def _suits(run: Run, fact: Fact, value: Any) -> bool:
    """Return whether all checks of a setting pass with another value."""
    run.facts.add([replace(fact, value=value)])
    rows = [row for known in run.tables for row in known.rows_about(*run.facts.names()) if row.check]
    failed = [failure(run.facts, row.check, row.reads) for row in rows if _applies(run.facts, row)]
    run.facts.add([fact])
    return not any(one is not None and fact.key in {part.key for part in one[1]} for one in failed)


def _filled(text: str, row: Row, facts: Facts) -> str:
    def value(name: str) -> str:
        fact = facts.find(name)
        if " " in name or name == "job:script":  # Of a script, what the row has read in it.
            return str(term(facts, name.split(), row.reads).value)
        return name if fact is None else str(name.rpartition(":")[2].upper() if fact.value is None else fact.value)

    return _NAMED.sub(lambda match: value(match[1]), text) if "{" in text else text


# What the options of a program take.


def _types(run: Run, known: Table, covered: Container[object]) -> Iterator[Finding]:
    """Yield findings about values that an option does not take, and about options that are nearly written like one."""
    unknown = []
    for fact in run.placed.get(known.space, ()) if known.options else ():
        name = fact.name
        if fact.key in covered:
            continue
        if fact.file is not None and not known.space and run.files.get(fact.file[0].path) not in known.family:
            continue
        takes = known.options.get(name)
        if takes is None:
            unknown.append(fact)
        elif fact.value is not None and fact.value not in _OFF:
            problem = _refused(known, fact, takes[0], takes[1:])
            if problem is not None:
                yield run.finding("SettingRefused", "warning", *problem, fact)
    if unknown:
        yield from _unknown(run, known, unknown)


def _refused(known: Table, fact: Fact, kind: str, choices: Sequence[str]) -> tuple[str, str] | None:
    """Return what is wrong with a value, and a hint; None if the option takes it."""
    value, program = fact.value, known.program
    bare = value is True and fact.word >= 0
    if kind == "flag" and fact.word >= 0 and not bare:
        word = (str(value).split() or [""])[0]
        if "=" not in fact.form and (word in ("true", "false") or "/" in word or "." in word):
            return None  # It may be a file that follows.
        return f"{fact.text} takes no value, so {program} refuses {word!r}", f"write {fact.text} alone"
    if not bare and (isinstance(value, (Nested, Items)) or kind in ("map", "bool")):
        problem = _of_other_form(known, fact, kind)
        if problem is not None or isinstance(value, Nested):
            return problem
    quoted = isinstance(value, str) and fact.file is not None and known.space == "ds:"
    if kind == "list" and choices and isinstance(value, (str, Items)):
        kind, value = "str", next((each for each in str(value).split() if each not in choices), choices[0])
    if kind in ("int", "float"):
        better = number(value)
        # An argument parser of Python takes neither 2.5 nor 1e3 for an integer.
        whole = kind == "float" or not fact.text.startswith("--") or _INTEGER.fullmatch(str(value)) is not None
        again = fact.file is not None and fact.file[0].document is None and "$PET_" in str(value)  # Of a heredoc.
        if (better is not None and not quoted and whole) or (bare and not fact.text.startswith("--")) or again:
            return None
        noun = "an integer" if kind == "int" else "a number"
        better = better if whole or isinstance(better, int) else None
        given = "without a value" if bare else f"the text {value!r}" if quoted else repr(value)
        hint = f"write {fact.form.format(better)}" if better is not None else f"write {noun}"
        hint = f"nothing replaces {value} there: set it in the command" if fact.file and "$" in str(value) else hint
        return f"{fact.text} is {given}, and {program} takes {noun}", hint
    if choices and kind in ("str", "name") and not bare and str(value) not in choices:
        near = correct_spelling(str(value), choices)
        if kind == "name" and not near:
            return None  # A newer release may have it.
        # The common ones are first.
        alike = sorted(near_names(str(value), choices, 8, 0.75), key=choices.index)
        nearest = alike or near_names(str(value), choices, 8, 0.5) or choices
        # A list that is written with commas, and not with spaces, has all of its items.
        parts = str(value).replace(",", " ")
        joined = f'"{parts}"' if {*parts.split()} <= {*choices} else nearest[0]
        # YAML reads these words as true and false.
        words = _WORDS_OF_YAML[value] if isinstance(value, bool) and fact.file is not None else ()
        joined = next((f'"{word}"' for word in words if word in choices), joined)
        hint = suggest(str(value), [near]) if near else f"write {fact.form.format(joined)}"
        listed = ", ".join(dict.fromkeys((*nearest, *choices)) if len(choices) < _MOST_LISTED else nearest[:8])
        more = " and others" if len(choices) >= _MOST_LISTED else ""
        return f"{fact.text} is {value!r}, and {program} takes {listed}{more}", hint
    return None


def _of_other_form(known: Table, fact: Fact, kind: str) -> tuple[str, str] | None:
    """Return what is wrong with a section, a list or a switch; None if the option takes it."""
    value, program = fact.value, known.program
    if isinstance(value, Nested) or (isinstance(value, Items) and kind in ("int", "float", "bool", "map")):
        nouns = {"int": "an integer", "float": "a number", "bool": "true or false", "str": "a single text"}
        found = "a section" if value == "{...}" else "a list"
        if kind == "list" and found == "a section":
            return f"{fact.text} is a section, and {program} takes a list", "write a list: each item begins with -"
        if kind in nouns or (kind in ("map", "single") and found == "a list"):
            wanted = nouns.get(kind, "one value, or a section")
            return f"{fact.text} is {found}, and {program} takes {wanted}", f"write {wanted}"
        return None
    if kind == "map":
        return f"{fact.text} is {value}, and {program} takes a section there", "write its keys below it"
    quoted = isinstance(value, str) and fact.file is not None and known.space == "ds:"
    if kind == "bool" and (quoted or str(value).lower() not in _BOOLEANS):
        return f"{fact.text} is {value!r}, and {program} takes true or false", f"write {fact.form.format('true')}"
    return None


def _unknown(run: Run, known: Table, facts: Iterable[Fact]) -> Iterator[Finding]:
    """Yield a finding for a key that no table has: one that nearly is another, and in a strict table each one."""
    of_space = [one for one in run.tables if one.space == known.space and one.options]
    if known is not next(one for one in of_space if one.strict == known.strict):
        return
    tables = tuple(one.name for one in of_space)
    names = _options(tables)
    placed = {key for keys in known.sections.values() for key in keys}
    refused, of_class = set(), known.space.endswith("_calls:")
    for fact in facts:
        name, is_option = fact.name, fact.word >= 0 and fact.text.startswith("-")
        section, _, last = name.rpartition(".")
        if section in refused or (fact.file is not None and last in placed and section in known.sections):
            continue  # It is in the wrong section.
        strict = any(name.startswith(start) or fact.text.startswith(start or "-") for start in known.strict)
        strict = strict and fact.text[:1] not in ("+", "~")
        if known.closed_file and fact.file is not None:
            strict = "." not in name
        # Short names of a script's own options are close to others by chance.
        short = is_option and not fact.text.startswith("--")
        if short or (len(name) < 8 and not strict) or _has(tables, name, is_option):
            continue
        others = _near(tables, name, 2 if len(name) > 13 or strict else 1)
        if of_class:  # What another class is made with says nothing.
            others = [
                *filter(None, [known.renamed.get(name)]),
                *(one for one in others if one.startswith(f"{section}.")),
            ]
        elif known.open and not strict:  # A script's own list of what an option of the program has one of is no slip.
            others = [one for one in others if one.rstrip("s") != name.rstrip("s")]
        given = {fact.name for fact in run.facts.by_key.values()} if others else ()
        near = next((one for one in others if one not in given and not (is_option and name.startswith(one))), "")
        if not near and strict and not of_class:
            near = min((other for other in names if other.rpartition(".")[2] == last and last != name), default="")
        if near or strict:
            ignored = f"{known.program} ignores {fact.text}, which it does not know"
            message = ignored if known.ignores else f"{known.program} has no setting {fact.text}"
            refused.add(name)
            hint = _respelled(fact, near) if near else f"remove it, or write what {known.program} calls it"
            yield run.finding("SettingRefused", "warning", message, hint, fact)


def _other_versions(run: Run, known: Table, covered: Container[object]) -> Iterator[Finding]:
    """Yield a finding for each option that the version of the program, where it is known, lacks."""
    versions = {
        package: fact
        for package in {span.package for span in known.spans.values()}
        if (fact := run.facts.find(f"package:{package}")) is not None and fact.value is not None
    }
    placed = [fact for fact in run.placed.get(known.space, ()) if fact.key not in covered] if versions else []
    # A script with options of its own shares some names with a program that it does not use.
    shared = sum(fact.name in known.options for fact in placed)
    own_options = known.open and not known.space and run.start.kind != "unknown"
    if own_options and (shared < _FEWEST_SHARED or 2 * shared <= len(placed) or "no_trainer" in run.training.text):
        return
    for fact in placed:
        span = known.spans.get(fact.name)
        others = (other.options for other in run.tables if other is not known and fact.name not in other.spans)
        if span is None or span.package not in versions or any(fact.name in options for options in others):
            continue
        if own_options and len(fact.name) < _SPECIFIC and fact.name not in known.renamed:
            continue
        version = versions[span.package]
        if span.gone and version.value.compare(">=", span.gone):
            new = known.renamed.get(fact.name, "")
            why, hint = f"it was removed by {span.gone}", _respelled(fact, new) if new else f"remove {fact.text}"
        elif span.after and version.value.compare("<=", span.after):
            why = f"it came after {span.after}"
            old = next((old for old, new in known.renamed.items() if new == fact.name), "")
            newer = f"remove {fact.text}, or install {span.package} newer than {span.after}"
            hint = _respelled(fact, old) if old else newer
        else:
            continue
        message = f"{version.text}, has no setting {fact.text}: {why}"
        yield run.finding("SettingRefused", "warning", message, hint, fact)


# Jobs of one program have the same options of their script, so that each of these is looked for once.


@lru_cache(maxsize=64)
def _options(tables: tuple[str, ...]) -> frozenset[str]:
    return frozenset(option for name in tables for option in table(name).options)


@lru_cache(maxsize=1024)
def _near(tables: tuple[str, ...], name: str, most: int) -> Sequence[str]:
    """Return the options that a name misspells by so many edits at most, the nearest first."""
    distances = sorted((edit_distance(name, other, most), other) for other in _options(tables))
    return [other for distance, other in distances if 0 < distance <= most]


@lru_cache(maxsize=1024)
def _has(tables: tuple[str, ...], name: str, is_option: bool) -> bool:
    """Return whether a key is known, is a section of known ones, or is below one that takes any keys.

    A parser takes the beginning of an option, too.
    """
    known, begins = _options(tables), name if is_option else f"{name}."
    if name in known or name.removeprefix("no_") in known or any(other.startswith(begins) for other in known):
        return True
    parts = name.split(".")
    above = [".".join(parts[:depth]) for depth in range(1, len(parts))]
    return any(table(one).options.get(key, ("map",))[0] != "map" for one in tables for key in above)


def _respelled(fact: Fact, near: str) -> str:
    spelled = near.replace("_", "-") if "-" in fact.text.lstrip("-") else near
    if fact.file is None:
        return suggest(fact.text, [f"--{spelled}" if fact.text.startswith("--") else spelled])
    (above, _, old), (above_near, _, last) = fact.name.rpartition("."), near.rpartition(".")
    return suggest(old, [last if above_near == above else spelled])


def _misplaced(run: Run, known: Table) -> Iterator[Finding]:
    """Yield a finding for a key of a file that stands in another section than the one from which it is read."""
    for fact in run.placed.get(known.space, ()) if known.sections and known.space else ():
        if fact.file is None:
            continue
        parts = fact.name.split(".")
        for depth, part in enumerate(parts):
            section = ".".join(parts[:depth])
            homes = [home for home, keys in known.sections.items() if part in keys]
            if not homes or section in homes or (section and section not in known.sections):
                continue
            wrong = f"{section}.{part}" if section else part
            where = f"in {homes[0]}" if homes[0] else "at the top of the file"
            there = f"inside {section}" if section else "at the top of the file"
            does = "refuses" if section in known.closed else "ignores"
            message = f"{part} is {there}, where {known.program} {does} it: it belongs {where}"
            hint = f"move {part} {'into ' + homes[0] if homes[0] else 'one level up, out of ' + section}"
            file, _ = fact.file
            yield run.finding("MisplacedSetting", "warning", message, hint, file.fact(wrong, None, known.space))
            break


# Roles that are set twice.


def _agreement(run: Run) -> Iterator[Finding]:
    """Yield a finding for each role that a program and another one, or a file, set differently."""
    roles = dict.fromkeys(role for known in run.tables for role in known.agree)
    for role in roles:
        facts = [one for one in run.facts.all_of(role) if str(one.value).strip().lower() not in _OFF]
        facts = [one for one in facts if one.value is not None and one.is_placed]
        if len(facts) < 2:
            continue
        first, other = facts[0], next((one for one in facts[1:] if _differ(facts[0], one)), None)
        if other is None:
            continue
        if first.file is None and other.file is not None:
            first, other = other, first
        program = next((known.program for known in run.tables if role in known.agree), "the program")
        message = f"{first.text} is {first.value}, but {other.text} is {other.value}: {program} refuses the difference"
        hint = f"write {first.form.format(other.value)}"
        if first.file is not None and first.key.startswith("ds:"):
            hint += ', or "auto"'
        yield run.finding("SettingsDisagree", "warning", message, hint, first)


def _differ(left: Fact, right: Fact) -> bool:
    a, b = number(left.value), number(right.value)
    if a is not None and b is not None:
        return a != b
    return (a is None) == (b is None) and str(left.value).lower() != str(right.value).lower()


# The other nodes.


def _alone(run: Run, known: Table) -> Iterator[Finding]:
    facts, training = run.facts, run.training
    needed = {
        part: [facts.find(key) for key in known.alone.get(part, ())]
        for part in ("nodes", "processes", "rank", "address")
    }
    needed = {part: found for part, found in needed.items() if part in known.alone}
    given = {part: next((one for one in found if one is not None), None) for part, found in needed.items()}
    if any(facts.find(key) is not None for key in known.alone.get("unless", ())):
        return
    missing = [part for part, one in given.items() if one is None]
    hint = _NODES.sub(str(training.nodes), str(known.alone["hint"]))
    rank, address, nodes = given.get("rank"), given.get("address"), given.get("nodes")
    place = next((one for one in given.values() if one is not None), None)
    if facts.hidden and missing:
        return
    if len(missing) == len(given):
        message = f"{known.program} does not get the address of the other nodes, so each of the {training.nodes} pods trains alone"
        yield run.finding("ForeignLauncher", "warning", message, hint, None)
    elif missing:
        names = " and ".join(str(known.alone[part][0]).rpartition(":")[2] for part in missing)
        message = f"{known.program} on {training.nodes} nodes needs {names} too, which nothing sets: the pods do not find each other"
        yield run.finding("RanksDoNotMeet", "warning", message, hint, place)
    elif rank is not None and number(rank.value) is not None:
        message = f"{rank.text} is {rank.value} in all {training.nodes} pods, which wait for the other ranks"
        yield run.finding("RanksDoNotMeet", "warning", message, hint, rank)
    elif nodes is not None and number(nodes.value) not in (None, training.nodes):
        message = f"{nodes.text} is {nodes.value}, but the job has {training.nodes} nodes"
        yield run.finding("RanksDoNotMeet", "warning", message, f"write {nodes.form.format(training.nodes)}", nodes)
    elif address is not None and str(address.value).split(":")[0] in _LOOPBACK:
        message = f"with {address.text} {address.value}, each of the {training.nodes} pods waits at its own address"
        yield run.finding("RanksDoNotMeet", "warning", message, hint, address)


def _others_announced(run: Run, known: Table) -> Iterator[Finding]:
    """Yield a finding if a program of the only node is told of others, or of more processes than there are devices."""
    for part, most in (("nodes", 1), ("processes", run.training.devices)):
        given = next((fact for key in known.alone.get(part, ()) if (fact := run.facts.find(key)) is not None), None)
        count = number(given.value) if given is not None else None
        if given is not None and count is not None and most and count > most and run.training.nodes == 1:
            message = f"{given.text} is {count}, and the job has one node{f' with {most} devices' if most > 1 else ''}: {known.program} waits for the others"
            hint = f"write {given.form.format(most)}, or set numNodes to the number of nodes"
            yield run.finding("RanksDoNotMeet", "warning", message, hint, given)


# Files that are not there.


def _missing_files(training: Training) -> Iterator[Finding]:
    """Yield a finding for each word that names a file in a folder whose files are all visible, and not among them."""
    yield from _unreadable(training)
    yield from _elsewhere(training)
    yield from _misnamed(training)
    known = dict(folders(training))
    texts: list[tuple[str, ConfigFile | None, int, str]] = [(w, None, i, "") for i, w in enumerate(training.line.argv)]
    for read in visible_files(training):
        if read.document is not None and read.path in training.text:
            texts += [(str(value), read, 0, key) for key, value in flat(read.value).items()]
    for text, file, index, key in texts if known else ():
        for path in dict.fromkeys(_MENTIONED.findall(text)):
            folder, _, name = path.rpartition("/")
            if folder not in known or name in known[folder] or f">{path}" in text.replace(" ", ""):
                continue
            has = ", ".join(sorted(known[folder]))
            alone = has if len(known[folder]) == 1 and has.endswith(path[path.rfind(".") :]) else ""
            near = correct_spelling(name, known[folder], 4) or alone
            message = f"{path} is not in the ConfigMap that is mounted at {folder}, which has {has}"
            hint = suggest(name, [near], f"write {folder}/{near}") if near else "add it to the ConfigMap"
            if not near and name.endswith((".py", ".sh")):
                message += ", and hides what the image has there"
                hint += f"; or mount each file alone, with mountPath: {folder}/{min(known[folder])} and its name as subPath, or all of them at another folder"
            place = 0 if training.line.script is not None else index
            finding = training.finding("FileNotMounted", "warning", message, hint, place)
            yield finding if file is None else file.at(key, finding)


def _misnamed(training: Training) -> Iterator[Finding]:
    """Yield a finding for a mount of one file that a ConfigMap lacks, and for a ConfigMap that lacks what another one has.

    The other has nearly its name, and the file that the command wants; the first is not in the input.
    """
    entry, documents = training.entry, training.around.of("ConfigMap", training.job.namespace)
    for volume in entry.pod_set.volumes:
        name = str(mapping(volume.get("configMap")).get("name") or "")
        mounts = [mount for mount in entry.container.mounts if mount.get("name") == volume.get("name")]
        data = mapping(getattr(documents.get(name), "data", None))
        has = {**mapping(data.get("data")), **mapping(data.get("binaryData"))}
        for mount in mounts if has and "items" not in volume["configMap"] else ():
            sub_path = str(mount.get("subPath") or "").rstrip("/")
            place = entry.at("volumeMounts", ("mountPath", mount.get("mountPath")), "subPath")
            if sub_path in has and f"{mount.get('mountPath')}/{sub_path}" in training.text:
                message = f"subPath {sub_path} is a file, so {mount.get('mountPath')} is this file, and no folder"
                hint = f"write mountPath: {mount.get('mountPath')}/{sub_path}"
                yield Finding("FileNotMounted", "warning", message, hint, *place)
            if sub_path and sub_path not in has and "$" not in sub_path:
                message = f"the ConfigMap {name} has no key {sub_path}, so {mount.get('mountPath')} is an empty folder"
                hint = choose(sub_path, sorted(has), "write one of its keys:")
                yield Finding("FileNotMounted", "warning", message, hint, *place)
        folders_of_it = [str(m.get("mountPath")) for m in mounts if str(m.get("mountPath")) in training.text]
        for other in comparable(name, documents) if name and name not in documents and folders_of_it else ():
            keys = mapping(documents[other].data.get("data"))
            paths = [normpath(join(one, str(key))) for one in folders_of_it for key in keys]
            short, long = sorted((name, other), key=len)
            letters = iter(long)
            near = correct_spelling(name, [other]) or all(letter in letters for letter in short)
            if near and (path := next((path for path in paths if path in training.text), "")):
                message = f"{path} is in the ConfigMap {other} of this input, and the volume {volume.get('name')!r} is of another one, {name}"
                place = pod_path(training.job, training.info, entry.pod_set.name, "volumes", ("name", volume["name"]))
                yield Finding("FileNotMounted", "warning", message, suggest(name, [other]), *place)


def _unreadable(training: Training) -> Iterator[Finding]:
    """Yield a finding for each file that a command names and no parser takes. DeepSpeed itself reads more than JSON."""
    if any(name in training.text for name in _FILLING):
        return
    files = visible_files(training)
    text = "\n".join((training.text, *(file.text or "" for file in files if file.path in training.text)))
    for file in files:
        named = file.path in text and not (file.name.endswith("json") and "deepspeed_config" in training.text)
        problem = syntax_problem(file.name, file.text) if named and file.document is not None and file.text else None
        if problem is not None:
            message = f"{file.name} {problem[1]}"
            finding = training.finding("SettingRefused", "warning", message, "correct the line", 0)
            yield replace(file.at("", finding), line=problem[0])


def _elsewhere(training: Training) -> Iterator[Finding]:
    """Yield a finding for a word that names a file of a ConfigMap in a place where it is not mounted, and nothing else does."""
    texts = (training.text, *(value or "" for value in training.variables.values()))
    words = training.line.argv if training.line.script is None else [w for s in training.line.starts for w in s.argv]
    for file in visible_files(training):
        folder = file.path.removesuffix(f"/{file.name}")
        at_work = folder.startswith(_WORKING) and "workingDir" not in training.entry.container.fields
        if file.document is None or at_work or any(folder in text for text in texts):
            continue
        for index, word in enumerate(words):
            path = word.rpartition("=")[2]
            if (
                path.rpartition("/")[2] != file.name
                or normpath(join(training.folder, path)) == file.path
                or "$" in path
            ):
                continue
            if volume_at(training, normpath(join(training.folder, path)))[0] is None:
                message = f"{path} is not the file of the ConfigMap {file.document.data['metadata']['name']}, which is mounted at {file.path}"
                hint = suggest(path, [file.path])
                # The image may have another folder with such a file, but hardly one with nearly the same name.
                severity: Severity = "info" if "/" in path and not correct_spelling(path, [file.path]) else "warning"
                yield training.finding("FileNotMounted", severity, message, hint, index)
