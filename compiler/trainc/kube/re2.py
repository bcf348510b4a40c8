r"""Parser for RE2 syntax: whether Go's `regexp` compiles a pattern, and the parts of the pattern.

JobSet matches failure messages with RE2, and skips patterns that do not compile, so that their rules never match;
kustomize selects documents with it. Python's `re` cannot check this: it accepts look-around and backreferences, which
RE2 lacks, and lacks `\z` and `[[:alpha:]]`. The names of Unicode scripts are not checked. Source of the grammar: the
documentation of Go's regexp/syntax.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

MOST_REPEATS = 1000
DEEPEST_NESTING = 1000

_REPEAT = pattern(r"(?:[*+?]|\{(?P<least>0|[1-9]\d*)(?P<comma>,(?P<most>0|[1-9]\d*)?)?\})\??", re.ASCII)
_FLAGS = pattern(r"\(\?(?:[imsU]*|[imsU]*-[imsU]+)(?P<end>[:)])")
_NAMED_GROUP = pattern(r"\(\?P?<\w+>", re.ASCII)
_UNICODE_CLASS = pattern(r"\\[pP](?:\{\^?(?P<name>[A-Za-z_]+)\}|(?P<letter>[CLMNPSZ]))")
_POSIX_CLASS = pattern(
    r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]"
)
_PERL_CLASS = pattern(r"\\[dDsSwW]")
_ASSERTION = pattern(r"\\[AbBz]")
_HEX = pattern(r"\\x(?:\{(?P<braced>[0-9A-Fa-f]+)\}|(?P<plain>[0-9A-Fa-f]{2}))")
_OCTAL = pattern(r"\\(?P<digits>0[0-7]{0,2}|[1-7][0-7]{1,2})")
_CONTROL = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_CATEGORY_OR_SCRIPT = pattern(r"C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?|[A-Z][A-Za-z_]{2,}")
_LARGEST_CODE_POINT = 0x10FFFF


class NotRE2Error(ValueError):
    """The pattern does not compile; the message says why."""


@dataclass(frozen=True, slots=True)
class Character:
    """A single character. `fits` is the equivalent regular expression for `re`, or None if there is none."""

    fits: str | None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Assertion:
    """A zero-width assertion: `^`, `$`, `\\A`, `\\z`, `\\b` or `\\B`."""

    text: str
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Group:
    """A group of alternatives, each a sequence of parts."""

    alternatives: list[list[Part]]
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Repeat:
    """`part` repeated from `least` to `most` times (None: unbounded). `weight` is the product of nested repetitions."""

    part: Part
    least: int
    most: int | None
    weight: int = 1


Part: TypeAlias = "Character | Assertion | Group | Repeat"


@dataclass(frozen=True, slots=True)
class Expression:
    """A whole pattern, and whether it sets any flags."""

    group: Group
    has_flags: bool


def parse_re2(text: str) -> Expression:
    """Parse a pattern. Raises NotRE2Error if Go would not compile it."""
    return _Reader(text).read()


def re2_error(text: str) -> str | None:
    """Return why Go would not compile the pattern, or None if it would."""
    try:
        parse_re2(text)
    except NotRE2Error as error:
        return str(error)
    return None


class _Reader:
    """A single pass over a pattern. `open` holds the alternatives of all open groups, outermost (the pattern) first."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.open: list[list[list[Part]]] = [[[]]]
        self.after_repeat = False
        self.has_flags = False

    def read(self) -> Expression:
        steps = {"(": self._open, ")": self._close, "|": self._alternative, "[": self._class, "\\": self._escape}
        while self.at < len(self.pattern):
            if repeat := _REPEAT.match(self.pattern, self.at):
                self._repeat(repeat)
                continue
            self.after_repeat = False
            steps.get(self.pattern[self.at], self._literal)()
        if len(self.open) > 1:
            raise NotRE2Error("a '(' is not closed")
        return Expression(Group(self.open[0]), self.has_flags)

    def _add(self, part: Part) -> None:
        self.open[-1][-1].append(part)

    def _repeat(self, repeat: re.Match[str]) -> None:
        parts = self.open[-1][-1]
        if self.after_repeat:
            raise NotRE2Error(f"{repeat[0]!r} repeats a repetition")
        if not parts:
            raise NotRE2Error(f"{repeat[0]!r} has nothing to repeat")
        parts.append(_make_repeat(parts.pop(), repeat))
        self.after_repeat = True
        self.at = repeat.end()

    def _open(self) -> None:
        flags = _FLAGS.match(self.pattern, self.at)
        self.has_flags |= flags is not None and flags[0] != "(?:"
        if flags and flags["end"] == ")":  # only sets flags for what follows
            self.at = flags.end()
            return
        opening = flags or _NAMED_GROUP.match(self.pattern, self.at)
        if not opening and self.pattern.startswith("(?", self.at):
            raise NotRE2Error(f"{self.pattern[self.at : self.at + 4]!r} starts a kind of group that RE2 does not have")
        self.at = opening.end() if opening else self.at + 1
        self.open.append([[]])
        if len(self.open) > DEEPEST_NESTING + 1:
            raise NotRE2Error(f"groups are nested deeper than {DEEPEST_NESTING}")

    def _close(self) -> None:
        if len(self.open) == 1:
            raise NotRE2Error("a ')' closes nothing")
        alternatives = self.open.pop()
        self._add(Group(alternatives, max((part.weight for parts in alternatives for part in parts), default=1)))
        self.at += 1

    def _alternative(self) -> None:
        self.open[-1].append([])
        self.at += 1

    def _literal(self) -> None:
        char = self.pattern[self.at]
        self._add(Assertion(char) if char in "^$" else Character("." if char == "." else re.escape(char)))
        self.at += 1

    def _escape(self) -> None:
        if self.pattern.startswith("\\Q", self.at):
            quoted, end, _ = self.pattern[self.at + 2 :].partition("\\E")
            self.open[-1][-1] += [Character(re.escape(char)) for char in quoted]
            self.at += 2 + len(quoted) + len(end)
        elif assertion := _ASSERTION.match(self.pattern, self.at):
            self._add(Assertion(assertion[0]))
            self.at = assertion.end()
        elif (class_text := self._named_class()) is not None:
            self._add(Character(class_text or None))
        else:
            self._add(Character(re.escape(chr(self._character()))))

    def _named_class(self) -> str | None:
        """Consume `\\d`, `\\pL` etc.; return the equivalent for `re` ("" if none), or None if no class is here."""
        if perl := _PERL_CLASS.match(self.pattern, self.at):
            self.at = perl.end()
            return perl[0]
        match = _UNICODE_CLASS.match(self.pattern, self.at)
        if match is None:
            return None
        if match["name"] and not _CATEGORY_OR_SCRIPT.fullmatch(match["name"]):
            raise NotRE2Error(f"{match[0]!r} is not a Unicode class")
        self.at = match.end()
        return ""

    def _class(self) -> None:
        opening = "[^" if self.pattern.startswith("[^", self.at) else "["
        self.at += len(opening)
        members: list[str] = []  # as written for `re`; empty if `re` has no equivalent
        while not members or not self.pattern.startswith("]", self.at):
            if posix := self._posix_class():
                self.at = posix
                members.append("")
            else:
                class_text = self._named_class()
                members.append(self._range() if class_text is None else class_text)
        self.at += 1
        self._add(Character(f"{opening}{''.join(members)}]" if all(members) else None))

    def _posix_class(self) -> int | None:
        """Return the end of a class like `[:alpha:]`, or None if there is none here."""
        if not self.pattern.startswith("[:", self.at) or (end := self.pattern.find(":]", self.at + 2)) < 0:
            return None
        if not _POSIX_CLASS.match(self.pattern, self.at):
            raise NotRE2Error(f"{self.pattern[self.at : end + 2]!r} is not a character class")
        return end + 2

    def _range(self) -> str:
        start = self.at
        low = self._character()
        if not self.pattern.startswith("-", self.at) or self.pattern[self.at + 1 : self.at + 2] in ("", "]"):
            return re.escape(chr(low))
        self.at += 1
        high = self._character()
        if high < low:
            raise NotRE2Error(f"the range {self.pattern[start : self.at]!r} ends before it starts")
        return f"{re.escape(chr(low))}-{re.escape(chr(high))}"

    def _character(self) -> int:
        """Consume one character, escaped or not, and return its code point."""
        char = self.pattern[self.at : self.at + 1]
        if not char:
            raise NotRE2Error("a '[' is not closed")
        if char != "\\":
            self.at += 1
            return ord(char)
        escaped = self.pattern[self.at + 1 : self.at + 2]
        number = _HEX.match(self.pattern, self.at) or _OCTAL.match(self.pattern, self.at)
        self.at = number.end() if number else self.at + 2
        if number:
            return _code_point(number)
        if escaped in _CONTROL:
            return _CONTROL[escaped]
        if not escaped or not escaped.isascii() or escaped.isalnum():
            raise NotRE2Error(f"RE2 has no escape '\\{escaped}'")
        return ord(escaped)


def _make_repeat(part: Part, repeat: re.Match[str]) -> Repeat:
    if not repeat["least"]:
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[repeat[0][0]]
        return Repeat(part, least, most, part.weight)
    fewest, largest = repeat["least"], repeat["most"] or repeat["least"]
    if max(len(fewest), len(largest)) > 4 or not int(fewest) <= int(largest) <= MOST_REPEATS:
        raise NotRE2Error(f"{repeat[0]!r} is not a valid number of repetitions (at most {MOST_REPEATS})")
    weight = part.weight * int(largest) or 1
    if weight > MOST_REPEATS:
        raise NotRE2Error(f"nested repetitions multiply to more than {MOST_REPEATS}")
    return Repeat(part, int(fewest), None if repeat["comma"] and not repeat["most"] else int(largest), weight)


def _code_point(number: re.Match[str]) -> int:
    groups = number.groupdict()
    digits = groups.get("digits")
    code = int(digits, 8) if digits else int(groups["braced"] or groups["plain"], 16)
    if code > _LARGEST_CODE_POINT:
        raise NotRE2Error(f"{number[0]!r} is not a character")
    return code
