"""The settings of a program: options and overrides in the words of a command, and the keys of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from posixpath import normpath

from trainc.findings import Fix, Hint, remove
from trainc.findings.text import correct_spelling
from trainc.knowledge.conditions import Fact, Items, Nested
from trainc.knowledge.tables import read
from trainc.reading.settings import Expression
from trainc.startup.patterns import pattern
from trainc.startup.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.ir.commands.shell import Command

# Variables with further arguments, by their names.
_FURTHER = pattern(r"\$\{?(?:\w*(?:ARG|OPT|FLAG|EXTRA|PARAM|OVERRIDE|CONFIG)\w*|[@*])|\[@\]", 2)
# Several of them with commas are the value of one option, such as `--model_args dtype=bfloat16,revision=main`.
_OVERRIDE = pattern(r"(?![\w.]+=[\w./:-]*,[A-Za-z_][\w.]*=)[+~]{0,2}([A-Za-z_][\w.@/-]*)=(.*)", 16)  # re.DOTALL
_YACS = pattern(r"[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)+|(?:NUM|SHARD|OUTPUT)_[A-Z]+")
_BYTES, _DURATION = pattern(r"(\d{1,9})\s*([kmg])i?b\w*"), pattern(r"(\d{1,9})\s*([smh])\w*")
_NEGATIVE = pattern(r"-[\d.]+(?:e-?\d+)?")
_LONGEST = 30  # Of an expression that a message has whole.
_PATH = pattern(r".*/.*|.*\.(?:py|sh|ya?ml|json|toml)|[^=]+=.*", 16)


def options_of(words: Sequence[str], first: int, space: str = "") -> tuple[list[Fact], list[tuple[int, str]], bool]:
    """Return the options and overrides of a program, its other words, and whether a word may hide further ones."""
    facts: list[Fact] = []
    others: list[tuple[int, str]] = []
    hidden = False
    index = 0
    while index < len(words):
        word, at = words[index], index
        index += 1
        if word.startswith("-") and len(word.lstrip("-")) > 1 - (word[1:2] != "-") and not _NEGATIVE.fullmatch(word):
            spelling, equals, text = word.partition("=")
            value: Any = text if equals else True
            if not equals:
                values: list[str] = []
                while index < len(words) and (not words[index].startswith("-") or _NEGATIVE.fullmatch(words[index])):
                    ends = _PATH if values else _OVERRIDE
                    if ends.fullmatch(words[index]) or (values and _YACS.fullmatch(words[index])):
                        break
                    values.append(words[index])
                    index += 1
                value = " ".join(values) if values else True
            key = spelling.lstrip("-").replace("-", "_")
            unknown = isinstance(value, str) and ("$" in value or "`" in value)
            hidden = hidden or (unknown and _FURTHER.search(str(value)) is not None)
            form = f"{spelling}={{}}" if equals else f"{spelling} {{}}"
            facts.append(Fact(f"{space}{key}", None if unknown else value, spelling, form, word=first + at))
        elif _YACS.fullmatch(word) and index < len(words) and not words[index].startswith("-"):
            index += 1
            facts.append(Fact(f"{space}{word}", words[at + 1], word, f"{word} {{}}", word=first + at))
        elif (override := _OVERRIDE.fullmatch(word)) is not None:
            value = None if "$" in override[2] or "`" in override[2] else override[2]
            text = word[: override.end(1)]
            facts.append(Fact(f"{space}{override[1]}", value, text, f"{text}={{}}", word=first + at))
        else:
            others.append((first + at, word))
            hidden = hidden or "$" in word or "`" in word
    return facts, others, hidden


def written_by(command: Command) -> Iterator[str]:
    """Yield the absolute paths that a command of a shell writes: where > leads, and what its program is known to write."""
    words = command.words[command.words[:1] == ("sudo",) :]
    # All that it names, the last one, all with -i, or what is behind an option.
    place = read("names")["writing"].get(words[0].rpartition("/")[2], "") if words else ""
    plain = [word for word in words[1:] if word.startswith("/")]
    if place == "last":
        plain = [word for word in words[1:][-1:] if word.startswith("/")]
    elif place != "all" and (place != "-i" or not any(word.startswith("-i") for word in words)):
        plain = [word for before, word in pairwise(words) if before in place.split() and before != "-i"]
    redirected = [target for operator, target in command.redirects if ">" in operator]
    yield from (normpath(path) for path in (*redirected, *plain) if path.startswith("/"))


def meant(condition: str, fact: Fact | None) -> str:
    """Return how to write what a value means that is none of the words of a condition: another program calls it so."""
    name, _, listed = condition.partition(" not in ")
    if not listed or fact is None or not isinstance(fact.value, str) or " " in name:
        return ""
    choices, value = [one for one in listed.split("|") if not one.isdecimal() or len(one) > 1], fact.value.lower()
    same = next((group for group in read("names")["same"] if value.removeprefix("torch.") in group), ())
    lower = {choice.lower(): choice for choice in choices[::-1]}
    near = next((lower[one] for one in same if one in lower), "") or correct_spelling(fact.value, choices)
    quoted = f"'{near}'" if near in ("no", "off", "on", "yes") and fact.form.endswith(": {}") else near
    form = '"{}"' if fact.variable else fact.form
    return f"write {form.format(quoted)}" if near else ""


def number_meant(value: str) -> str:
    """Return the hint for a text in the place of a number: the number that it means, or to remove it."""
    text = value.strip().lower()
    if (match := _BYTES.fullmatch(text)) is not None:
        return _instead(str(int(match[1]) << {"k": 10, "m": 20, "g": 30}[match[2]]))
    if (match := _DURATION.fullmatch(text)) is not None:
        return _instead(str(int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]))
    if text in ("true", "yes", "on", "enable", "enabled"):
        return _instead("1")
    if text in ("false", "no", "off", "disable", "disabled", "none"):
        return _instead("0")
    return remove("remove it, or write a number")


def _instead(value: str) -> str:
    text = f'"{value}"'
    if '"' in value or "\\" in value:
        return f"write {text}"
    return Hint(f"write {text}", Fix("set", text, "value"))


def flat(value: Any, *, into_lists: bool = False) -> dict[str, Any]:
    """Return the scalars and lists of nested mappings by their dotted keys, and what stands for a mapping or its list.

    With `into_lists`, mappings of a list are read as well, and the first that has a key counts.
    """
    scalars: dict[str, Any] = {}
    waiting = [("", value)]
    while waiting:
        prefix, current = waiting.pop()
        for key, inner in current.items() if isinstance(current, Mapping) else ():
            if isinstance(inner, Mapping):
                scalars[f"{prefix}{key}"] = Nested("{...}")
                waiting.append((f"{prefix}{key}.", inner))
            elif isinstance(inner, (str, int, float, bool)):
                scalars[f"{prefix}{key}"] = inner
            elif isinstance(inner, list) and all(isinstance(item, (str, int, float)) for item in inner):
                scalars[f"{prefix}{key}"] = Items(map(str, inner))
            elif isinstance(inner, list):
                scalars[f"{prefix}{key}"] = Nested("[...]")
                waiting += [(f"{prefix}{key}.", item) for item in inner[::-1]] if into_lists else ()
    return scalars


def shown(fact: Fact) -> str:
    """Return a setting as a message names it: with its value, unless it is an option that has none."""
    if fact.value is None or (fact.value is True and fact.word >= 0) or fact.text.lstrip("-") == fact.value:
        return fact.text
    if fact.key.endswith(("/@", ":volume")) or (isinstance(fact.value, Expression) and len(fact.value) > _LONGEST):
        return fact.text
    if fact.file is not None or " " in fact.text:
        return f"{fact.text} is {fact.value}" if not isinstance(fact.value, bool) else fact.text
    return f"{fact.text}{' ' if fact.text.startswith('-') else '='}{fact.value}"
