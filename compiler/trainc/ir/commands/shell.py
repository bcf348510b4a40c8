"""Parses shell scripts to lists of pipelines and compound commands.

The grammar is POSIX.1-2017 XCU 2.9 and 2.10 with bash's `[[`, `function` and `select`, parsed leniently: the parts of a
conditional become one flat list of what may run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from trainc.ir.commands.shell_words import Heredoc, Token, tokens
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_ASSIGNMENT = pattern(r"([A-Za-z_]\w*)\+?=(.*)", 16)  # re.DOTALL
_ENDS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))
_CLAUSES = {"if": "fi", "while": "done", "until": "done"}


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: its words, preceding assignments, redirections, and line (0-based)."""

    words: tuple[str, ...]
    assignments: tuple[tuple[str, str], ...]
    redirects: tuple[tuple[str, str], ...]
    heredocs: tuple[Heredoc, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Compound:
    """`if`, `while`, `until`, `for`, `case`, `function`, `{` or `(`, with everything that may run inside."""

    kind: str
    body: tuple[Item, ...]
    line: int


Stage: TypeAlias = Command | Compound


@dataclass(frozen=True, slots=True)
class Item:
    """A pipeline and the operator after it: `&&`, `||`, `;` (also for a line break), `&`, or empty at the end."""

    stages: tuple[Stage, ...]
    then: str
    negated: bool = False


@lru_cache(maxsize=512)
def read_script(text: str) -> tuple[Item, ...]:
    """Parse a shell script to pipelines, in order. Raises UnclosedError for an unclosed quote or bracket."""
    return _Parser(tokens(text)).items(frozenset())


def commands(items: tuple[Item, ...], *, sure: bool = True) -> Iterator[tuple[Command, bool]]:
    """Yield every simple command and whether it always runs, meaning outside of conditions, loops and functions."""
    for item in items:
        for stage in item.stages:
            if isinstance(stage, Command):
                yield stage, sure
            else:
                yield from commands(stage.body, sure=sure and stage.kind in "{(")


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end", "", 0)

    def _is(self, text: str) -> bool:
        token = self.token
        return token.text == text and (token.kind == "op" or (token.kind == "word" and token.bare))

    def _take(self, text: str) -> bool:
        found = self._is(text)
        self.at += found
        return found

    def items(self, until: frozenset[str]) -> tuple[Item, ...]:
        found: list[Item] = []
        while self.token.kind != "end":
            if self.token.kind == "op" and self.token.text in ("\n", ";", ";;", ";&", ";;&", ")"):
                if self._is(")") and ")" in until:
                    break
                self.at += 1
                continue
            token = self.token
            # A `}` without a matching `{` is an ordinary word.
            if token.kind == "word" and token.bare and token.text in (until | (_ENDS - {"}"})):
                break
            start = self.at
            item = self._item()
            if item.stages:
                found.append(item)
            elif self.at == start:
                self.at += 1
        return tuple(found)

    def _item(self) -> Item:
        negated = self._take("!")
        if self._take("time"):
            self._take("-p")
        stages = [self._stage()]
        while self._is("|") or self._is("|&"):
            self.at += 1
            while self._take("\n"):
                pass
            stages.append(self._stage())
        then = ""
        if self.token.kind == "op" and self.token.text in ("&&", "||", ";", "&", "\n"):
            then = ";" if self.token.text == "\n" else self.token.text
            self.at += 1
            while then in ("&&", "||") and self._take("\n"):
                pass
        return Item(tuple(stage for stage in stages if stage is not None), then, negated)

    def _stage(self) -> Stage | None:
        token, line = self.token, self.token.line
        if token.kind == "word" and token.bare and token.text in ("[[", "(("):
            return self._test(line)
        body = self._compound()
        if body is not None:
            self._redirects()
            return Compound(*body, line)
        return self._simple(line)

    def _compound(self) -> tuple[str, tuple[Item, ...]] | None:
        for kind, end in _CLAUSES.items():
            if self._take(kind):
                return kind, self._clauses(end)
        if self._is("for") or self._is("select"):
            self._skip_until(";", "\n", "do")
            return "for", self._clauses("done")
        if self._take("case"):
            self._skip_until("in")
            return "case", self._clauses("esac")
        if self._take("{"):
            return "{", self._clauses("}")
        if self._take("("):
            body = self.items(frozenset((")",)))
            self._take(")")
            return "(", body
        if self._take("function"):
            self.at += 1
            self._take("("), self._take(")")
            return "function", self._function()
        following = self.tokens[self.at + 1 : self.at + 3]
        if self.token.kind == "word" and [t.text for t in following if t.kind == "op"] == ["(", ")"]:
            self.at += 3
            return "function", self._function()
        return None

    def _function(self) -> tuple[Item, ...]:
        while self._take("\n"):
            pass
        stage = self._stage()
        return () if stage is None else (Item((stage,), ""),)

    def _clauses(self, end: str) -> tuple[Item, ...]:
        found: list[Item] = []
        while self.token.kind != "end":
            found += self.items(frozenset((end,)))
            if self._take(end):
                break
            self.at += 1
        return tuple(found)

    def _skip_until(self, *ends: str) -> None:
        while self.token.kind != "end" and not any(self._take(end) for end in ends):
            self.at += 1

    def _test(self, line: int) -> Command:
        closing = {"[[": "]]", "((": "))"}[self.token.text]
        words = []
        while self.token.kind != "end":
            words.append(self.token.text)
            self.at += 1
            if words[-1] == closing:
                break
        return Command(tuple(words), (), (), (), line)

    def _redirects(self) -> list[tuple[str, str, Heredoc | None]]:
        found = []
        while self.token.kind == "to":
            operator = self.token
            self.at += 1
            target = self.token.text if self.token.kind == "word" else ""
            self.at += self.token.kind == "word"
            found.append((operator.text, target, operator.heredoc))
        return found

    def _simple(self, line: int) -> Command | None:
        words: list[str] = []
        assigned: list[tuple[str, str]] = []
        redirects: list[tuple[str, str, Heredoc | None]] = []
        while self.token.kind in ("word", "to"):
            if self.token.kind == "to":
                redirects += self._redirects()
                continue
            assignment = None if words else _ASSIGNMENT.fullmatch(self.token.text)
            if assignment is not None:
                assigned.append((assignment[1], assignment[2]))
            else:
                words.append(self.token.text)
            self.at += 1
        if not (words or assigned or redirects):
            return None
        targets = tuple((operator, target) for operator, target, _ in redirects)
        heredocs = tuple(heredoc for _, _, heredoc in redirects if heredoc is not None)
        return Command(tuple(words), tuple(assigned), targets, heredocs, line)
