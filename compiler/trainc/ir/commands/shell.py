"""Parses shell scripts to lists of pipelines and compound commands.

The grammar is POSIX.1-2017 XCU 2.9 and 2.10 with bash's `[[`, `function` and `select`, parsed leniently: the parts of a
conditional become one flat list of what may run. Commands inside each other are counted: beyond MOST_DEPTH, the script
is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from trainc.ir.commands.shell_words import Heredoc, Token, UnreadableScriptError, tokens
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# No script that a person writes has more compound commands inside each other.
MOST_DEPTH = 50
_ASSIGNMENT = pattern(r"([A-Za-z_]\w*)(\+?)=(.*)", 16)
# Builtins whose arguments may be assignments.
DECLARING = frozenset(("export", "declare", "readonly", "local", "typeset"))
_TESTS = frozenset((("[",), ("[[",), ("test",)))
_ENDS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac"))
_CLAUSES = {"if": "fi", "while": "done", "until": "done"}
_OPENING = frozenset((*_CLAUSES, "for", "select", "case", "{", "(", "function"))
_END = Token("end", "", 0)
_SEPARATORS = frozenset(("\n", ";", ";;", ";&", ";;&", ")"))
_NEXT_CASE = frozenset((";;", ";&", ";;&"))


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value`, `NAME+=value` if it `appends`, or `NAME=(words)` if it has an `array`."""

    name: str
    value: str
    appends: bool = False
    array: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: its words, preceding assignments, redirections, and line (0-based).

    `quoted` has the indexes of words with quotes, which the shell does not split.
    """

    words: tuple[str, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[tuple[str, str], ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    line: int = 0
    quoted: frozenset[int] = frozenset()


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
    """Parse a shell script to pipelines, in order. Raises UnreadableScriptError."""
    return _Parser(tokens(text)).items(frozenset())


def commands(items: tuple[Item, ...], *, sure: bool = True) -> Iterator[tuple[Command, bool]]:
    """Yield every simple command and whether it always runs.

    That is outside of conditions, loops and functions, and neither behind a test and `&&` nor behind `||`.
    """
    unsure = False
    for item in items:
        always = sure and not unsure
        for stage in item.stages:
            if isinstance(stage, Command):
                yield stage, always
            else:
                yield from commands(stage.body, sure=always and stage.kind in "{(")
        unsure = item.then == "||" or (item.then == "&&" and (unsure or is_test(item.stages[-1])))


def is_test(stage: Stage) -> bool:
    """Return whether a command only tests something."""
    return isinstance(stage, Command) and stage.words[:1] in _TESTS


class _Parser:
    def __init__(self, token_list: list[Token]) -> None:
        self.tokens = token_list
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else _END

    def _is(self, text: str) -> bool:
        token = self.token
        return token.text == text and (token.kind == "op" or (token.kind == "word" and token.bare))

    def _take(self, text: str) -> bool:
        matched = self._is(text)
        self.at += matched
        return matched

    def items(self, until: frozenset[str]) -> tuple[Item, ...]:
        """Parse pipelines until one of these words or operators, or any word that ends or goes on with a clause."""
        items: list[Item] = []
        while (token := self.token).kind != "end":
            if token.kind == "op" and token.text in _SEPARATORS:
                if token.text in until:
                    break
                self.at += 1
                continue
            # A `}` without a matching `{` is an ordinary word.
            if token.kind == "word" and token.bare and (token.text in until or token.text in _ENDS):
                break
            start = self.at
            item = self._item()
            if item.stages:
                items.append(item)
            elif self.at == start:
                self.at += 1
        return tuple(items)

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
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise UnreadableScriptError
        body = self._compound()
        self.depth -= 1
        if body is not None:
            self._redirects()
            return Compound(*body, line)
        return self._simple(line)

    def _compound(self) -> tuple[str, tuple[Item, ...]] | None:
        if self.token.text in _OPENING and (body := self._parse_opening()) is not None:
            return body
        following = self.tokens[self.at + 1 : self.at + 3]
        if self.token.kind == "word" and [t.text for t in following if t.kind == "op"] == ["(", ")"]:
            self.at += 3
            return "function", self._function()
        return None

    def _parse_opening(self) -> tuple[str, tuple[Item, ...]] | None:
        """Parse what a word or bracket opens, unless that is in quotes."""
        for kind, end in _CLAUSES.items():
            if self._take(kind):
                return kind, self._clauses(end)
        if self._is("for") or self._is("select"):
            return "for", self._loop()
        if self._take("case"):
            return "case", self._cases()
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
        return None

    def _function(self) -> tuple[Item, ...]:
        while self._take("\n"):
            pass
        stage = self._stage()
        return () if stage is None else (Item((stage,), ""),)

    def _loop(self) -> tuple[Item, ...]:
        """Parse `for NAME in ...`; its body begins with an assignment of the variable."""
        line = self.token.line
        self.at += 1
        name = self.token.text
        self._skip_until(";", "\n", "do")
        sets = Item((Command((), (Assignment(name, "$*"),), line=line),), ";")
        return (sets, *self._clauses("done"))

    def _cases(self) -> tuple[Item, ...]:
        """Parse `WORD in PATTERN) ...;; esac`, without the patterns."""
        items: list[Item] = []
        self._skip_until("in")
        while self.token.kind != "end" and not self._take("esac"):
            if self.token.kind == "op" and (self.token.text == "\n" or self.token.text in _NEXT_CASE):
                self.at += 1
                continue
            self._take("(")
            self._skip_until(")")
            start = self.at
            items += self.items(_NEXT_CASE | {"esac"})
            if self.at == start and not (self._is("esac") or self.token.text in _NEXT_CASE):
                self.at += 1  # A word such as `fi` that ends something else.
        return tuple(items)

    def _clauses(self, end: str) -> tuple[Item, ...]:
        items: list[Item] = []
        until = frozenset((end,))
        while self.token.kind != "end":
            items += self.items(until)
            if self._take(end):
                break
            self.at += 1
        return tuple(items)

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
        return Command(tuple(words), line=line)

    def _redirects(self) -> list[tuple[str, str, Heredoc | None]]:
        redirects = []
        while self.token.kind == "to":
            operator = self.token
            self.at += 1
            target = self.token.text if self.token.kind == "word" else ""
            self.at += self.token.kind == "word"
            redirects.append((operator.text, target, operator.heredoc))
        return redirects

    def _simple(self, line: int) -> Command | None:
        words: list[str] = []
        quoted: set[int] = set()
        assigned: list[Assignment] = []
        redirects: list[tuple[str, str, Heredoc | None]] = []
        while (token := self.token).kind in ("word", "to"):
            if token.kind == "to":
                redirects += self._redirects()
                continue
            may_assign = not words or words[0] in DECLARING
            parts = _ASSIGNMENT.fullmatch(token.text) if may_assign else None
            if parts is not None:
                assigned.append(Assignment(parts[1], parts[3], bool(parts[2]), token.array))
            else:
                if not token.bare:
                    quoted.add(len(words))
                words.append(token.text)
            self.at += 1
        if not (words or assigned or redirects):
            return None
        targets = tuple((operator, target) for operator, target, _ in redirects)
        heredocs = tuple(heredoc for _, _, heredoc in redirects if heredoc is not None)
        return Command(tuple(words), tuple(assigned), targets, heredocs, line, frozenset(quoted))
