r"""Whether a pattern is one that Go's `regexp` compiles: RE2 syntax with Go's limits.

JobSet matches failure messages with it and skips a pattern that does not compile, so that the rule never fires.
Python's `re` is no judge: it takes look-arounds and back-references, which RE2 lacks, and lacks `\z` and `[[:alpha:]]`.
Names of Unicode scripts are not looked up. Source of the grammar: the documentation of Go's regexp/syntax.
"""

from __future__ import annotations

import re

from trainc.startup.patterns import pattern

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


def re2_error(pattern: str) -> str | None:
    """Why Go would not compile `pattern`, or None if it would."""
    try:
        _Reader(pattern).read()
    except _NotRe2 as error:
        return str(error)
    return None


class _NotRe2(Exception):
    """Why the pattern does not compile."""


class _Reader:
    """One pass over a pattern.

    `operand` is what a repetition would repeat: how often the operand's own innermost parts already repeat, or 0 where
    there is no operand. `most` is the largest such number left behind in the open group, `groups` those of the groups around it.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.operand = 0
        self.most = 0
        self.groups: list[int] = []
        self.after_repeat = False

    def read(self) -> None:
        steps = {"(": self._open, ")": self._close, "|": self._alternative, "[": self._class, "\\": self._escape}
        while self.at < len(self.pattern):
            if repeat := _REPEAT.match(self.pattern, self.at):
                self._repeat(repeat)
                continue
            self.after_repeat = False
            steps.get(self.pattern[self.at], self._literal)()
        if self.groups:
            raise _NotRe2("a '(' is not closed")

    def _repeat(self, repeat: re.Match[str]) -> None:
        if self.after_repeat:
            raise _NotRe2(f"{repeat[0]!r} repeats a repetition")
        if not self.operand:
            raise _NotRe2(f"{repeat[0]!r} has nothing to repeat")
        if repeat["least"]:
            least, most = repeat["least"], repeat["most"] or repeat["least"]
            if max(len(least), len(most)) > 4 or not int(least) <= int(most) <= MOST_REPEATS:
                raise _NotRe2(f"{repeat[0]!r} is no range of repetitions up to {MOST_REPEATS}")
            self.operand = self.operand * int(most) or 1
            if self.operand > MOST_REPEATS:
                raise _NotRe2(f"nested repetitions come to more than {MOST_REPEATS}")
        self.after_repeat = True
        self.at = repeat.end()

    def _set_operand(self, repeats: int) -> None:
        """Leave the last operand behind for a new one, or for none (0)."""
        self.most = max(self.most, self.operand)
        self.operand = repeats

    def _open(self) -> None:
        flags = _FLAGS.match(self.pattern, self.at)
        if flags and flags["end"] == ")":  # sets flags for what follows; it is no operand
            self.at = flags.end()
            return
        opening = flags or _NAMED_GROUP.match(self.pattern, self.at)
        if not opening and self.pattern.startswith("(?", self.at):
            raise _NotRe2(f"{self.pattern[self.at : self.at + 4]!r} opens a kind of group that RE2 lacks")
        self.at = opening.end() if opening else self.at + 1
        self._set_operand(0)
        self.groups.append(self.most)
        self.most = 0
        if len(self.groups) > DEEPEST_NESTING:
            raise _NotRe2(f"groups are nested deeper than {DEEPEST_NESTING}")

    def _close(self) -> None:
        if not self.groups:
            raise _NotRe2("a ')' closes nothing")
        self._set_operand(max(self.most, self.operand, 1))
        self.most = self.groups.pop()
        self.at += 1

    def _alternative(self) -> None:
        self._set_operand(0)
        self.at += 1

    def _literal(self) -> None:
        self._set_operand(1)
        self.at += 1

    def _escape(self) -> None:
        if self.pattern.startswith("\\Q", self.at):
            quoted, end, _ = self.pattern[self.at + 2 :].partition("\\E")
            if quoted:
                self._set_operand(1)
            self.at += 2 + len(quoted) + len(end)
            return
        if assertion := _ASSERTION.match(self.pattern, self.at):
            self.at = assertion.end()
        elif not self._escaped_class():
            self._character()
        self._set_operand(1)

    def _escaped_class(self) -> bool:
        """Step over `\\d`, `\\pL` and their like, inside brackets or outside."""
        found = _PERL_CLASS.match(self.pattern, self.at) or _UNICODE_CLASS.match(self.pattern, self.at)
        if found is None:
            return False
        name = found.groupdict().get("name")
        if name and not _CATEGORY_OR_SCRIPT.fullmatch(name):
            raise _NotRe2(f"{found[0]!r} names no Unicode class")
        self.at = found.end()
        return True

    def _class(self) -> None:
        self.at += 2 if self.pattern.startswith("[^", self.at) else 1
        first = True
        while first or not self.pattern.startswith("]", self.at):
            first = False
            if posix := self._posix_class():
                self.at = posix
            elif not self._escaped_class():
                self._range()
        self.at += 1
        self._set_operand(1)

    def _posix_class(self) -> int | None:
        """Where a class such as `[:alpha:]` ends, if one starts here."""
        if not self.pattern.startswith("[:", self.at) or (end := self.pattern.find(":]", self.at + 2)) < 0:
            return None
        if not _POSIX_CLASS.match(self.pattern, self.at):
            raise _NotRe2(f"{self.pattern[self.at : end + 2]!r} names no class")
        return end + 2

    def _range(self) -> None:
        start = self.at
        low = self._character()
        if self.pattern.startswith("-", self.at) and self.pattern[self.at + 1 : self.at + 2] not in ("", "]"):
            self.at += 1
            if self._character() < low:
                raise _NotRe2(f"the range {self.pattern[start : self.at]!r} ends before it starts")

    def _character(self) -> int:
        """Step over one character, escaped or not, and return its code point."""
        char = self.pattern[self.at : self.at + 1]
        if not char:
            raise _NotRe2("a '[' is not closed")
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
            raise _NotRe2(f"RE2 has no escape '\\{escaped}'")
        return ord(escaped)


def _code_point(number: re.Match[str]) -> int:
    groups = number.groupdict()
    digits = groups.get("digits")
    code = int(digits, 8) if digits else int(groups["braced"] or groups["plain"], 16)
    if code > _LARGEST_CODE_POINT:
        raise _NotRe2(f"{number[0]!r} is no character")
    return code
