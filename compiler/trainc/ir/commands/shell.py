"""Parses shell scripts: words, operators and here-documents, then pipelines and compound commands.

The grammar is POSIX.1-2017 XCU 2 with bash's `[[`, `function`, `select` and arrays, parsed leniently: the parts of a
conditional become one flat list of what may run. The work is linear in the script. Quotes and substitutions inside each
other are kept on a stack, and compound commands inside each other are counted: beyond MOST_DEPTH, the script is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# Placeholders for quoted dollar signs and backquotes in a word, which the shell does not expand.
LITERAL = {"$": "\ue024", "`": "\ue060"}
# No script that a person writes has more compound commands inside each other.
MOST_DEPTH = 50
_BLANKS = pattern(r"(?:[ \t\r]|\\\n)+")
_BLANKS_AND_COMMENTS = pattern(r"(?:[ \t\r\n]|\\\n|#[^\n]*)+")
_OPERATOR = pattern(r"\n|&&|\|\||;;&?|;&|\|&|[;&|()]")
_REDIRECT = pattern(r"\d*(?:<<<|<<-?|>>|>\||>&|<&|<>|&>>|&>|[<>])(?![(])|&>>?")
# Characters that mean nothing to a shell.
_LETTERS = pattern(r"[^\s;&|<>()'\"\\$`]+")
_ANSI_QUOTED = pattern(r"\$'((?:[^'\\]|\\.)*)'", 16)  # re.DOTALL
_ARRAY = pattern(r"[A-Za-z_]\w*\+?=")
_ASSIGNMENT = pattern(r"([A-Za-z_]\w*)(\+?)=(.*)", 16)
_OPENING = {")": "(", "}": "{", '"': '"'}
# Builtins whose arguments may be assignments.
DECLARING = frozenset(("export", "declare", "readonly", "local", "typeset"))
_ENDS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac"))
_CLAUSES = {"if": "fi", "while": "done", "until": "done"}
_SEPARATORS = frozenset(("\n", ";", ";;", ";&", ";;&", ")"))
_NEXT_CASE = frozenset((";;", ";&", ";;&"))


class UnreadableScriptError(ValueError):
    """A script that cannot be parsed; the message is what is never closed, or empty if it is nested too deeply."""


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A here-document; `rewritten` means that the shell expands its `body`."""

    delimiter: str
    body: str
    rewritten: bool


@dataclass(frozen=True, slots=True)
class Token:
    """A word ("word"), operator ("op") or redirection ("to"), with its text and its first line (0-based).

    Quotes in words are removed, and quoted `$` and backquotes are replaced by LITERAL. The `text` of a redirection is
    its operator; the next word is its target. `bare` words contain no quotes. `array` has the words of `NAME=(...)`.
    """

    kind: str
    text: str
    line: int
    bare: bool = True
    heredoc: Heredoc | None = None
    array: tuple[str, ...] | None = None


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


def plain(word: str) -> str:
    """Return the text of a word with LITERAL placeholders replaced."""
    return word.replace(LITERAL["$"], "$").replace(LITERAL["`"], "`")


@lru_cache(maxsize=512)
def read_script(text: str) -> tuple[Item, ...]:
    """Parse a shell script to pipelines, in order. Raises UnreadableScriptError."""
    return _Parser(_Scanner(text.replace("\r\n", "\n")).tokens()).items(frozenset())


def commands(items: tuple[Item, ...], *, sure: bool = True) -> Iterator[tuple[Command, bool]]:
    """Yield every simple command and whether it always runs, meaning outside of conditions, loops and functions."""
    for item in items:
        for stage in item.stages:
            if isinstance(stage, Command):
                yield stage, sure
            else:
                yield from commands(stage.body, sure=sure and stage.kind in "{(")


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[Token] = []
        self.waiting: list[tuple[int, bool]] = []  # Tokens of `<<` whose bodies follow; whether tabs are stripped.
        self._line, self._line_end = 0, self._next_line_end(0)

    def tokens(self) -> list[Token]:
        text, end = self.text, len(self.text)
        while self.at < end:
            if (blank := _BLANKS.match(text, self.at)) is not None:
                self.at = blank.end()
            elif text[self.at] == "#":
                line_end = text.find("\n", self.at)
                self.at = end if line_end < 0 else line_end
            elif (redirect := _REDIRECT.match(text, self.at)) is not None:
                self._redirect(redirect.group())
            elif (operator := _OPERATOR.match(text, self.at)) is not None:
                self._operator(operator.group())
            else:
                self.found.append(self._word())
        if self.waiting:
            self._heredocs()
        return self.found

    def _here(self) -> int:
        """Return the current line, counted on from the last call."""
        while self._line_end < self.at:
            self._line += 1
            self._line_end = self._next_line_end(self._line_end + 1)
        return self._line

    def _next_line_end(self, start: int) -> int:
        end = self.text.find("\n", start)
        return len(self.text) if end < 0 else end

    def _redirect(self, operator: str) -> None:
        self.found.append(Token("to", operator, self._here()))
        self.at += len(operator)
        if operator.lstrip("0123456789") in ("<<", "<<-"):
            self.waiting.append((len(self.found) - 1, operator.endswith("-")))

    def _operator(self, operator: str) -> None:
        self.found.append(Token("op", operator, self._here()))
        self.at += len(operator)
        if operator == "\n" and self.waiting:
            self._heredocs()

    def _heredocs(self) -> None:
        for index, strips in self.waiting:
            token, target = self.found[index], self.found[index + 1] if index + 1 < len(self.found) else None
            if target is None or target.kind != "word":
                continue
            delimiter = plain(target.text)
            body: list[str] = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if strips else line) == delimiter:
                    break
                body.append(line)
            heredoc = Heredoc(delimiter, "\n".join(body), target.bare)
            self.found[index] = Token("to", token.text, token.line, True, heredoc)
        self.waiting = []

    def _word(self, *, in_array: bool = False) -> Token:
        line, parts, bare = self._here(), [], True
        text, start = self.text, self.at
        while self.at < len(text):
            if (letters := _LETTERS.match(text, self.at)) is not None:
                parts.append(letters.group())
                self.at = letters.end()
                continue
            c = text[self.at]
            if c == "(" and not in_array and _ARRAY.fullmatch(text, start, self.at):
                return Token("word", "".join(parts), line, bare, array=self._array())
            if c in "$`" or (c in "<>" and text.startswith("(", self.at + 1)):
                parts.append(self._expansion())
            elif c in "'\"\\":
                bare = False
                parts.append(self._quoted(c))
            else:
                break
        return Token("word", "".join(parts), line, bare)

    def _array(self) -> tuple[str, ...]:
        """Consume `(word ...)`."""
        self.at += 1
        words: list[str] = []
        while True:
            if (blank := _BLANKS_AND_COMMENTS.match(self.text, self.at)) is not None:
                self.at = blank.end()
            if self.at >= len(self.text):
                raise UnreadableScriptError("(")
            if self.text[self.at] == ")":
                self.at += 1
                return tuple(words)
            start = self.at
            words.append(self._word(in_array=True).text)
            if self.at == start:
                self.at += 1  # An operator, which is a syntax error there.

    def _quoted(self, c: str) -> str:
        if c == "\\":
            self.at += 2
            kept = self.text[self.at - 1 : self.at]
            return "" if kept == "\n" else LITERAL.get(kept, kept)
        if c == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise UnreadableScriptError("'")
            inside = self.text[self.at + 1 : end]
            self.at = end + 1
            return _literally(inside)
        return self._double_quoted()

    def _double_quoted(self) -> str:
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            c = self.text[self.at]
            if c == '"':
                self.at += 1
                return "".join(parts)
            if c == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                parts.append(self._quoted(c))
            elif c == "`" or (c == "$" and not self.text.startswith("'", self.at + 1)):
                parts.append(self._expansion())
            else:
                parts.append(c)
                self.at += 1
        raise UnreadableScriptError('"')

    def _expansion(self) -> str:
        """Consume `$NAME`, `${...}`, `$(...)`, a backquoted command or `<(...)`; return it unchanged."""
        start, text = self.at, self.text
        following = text[start + 1 : start + 2]
        if text[start] == "`":
            end = text.find("`", start + 1)
            if end < 0:
                raise UnreadableScriptError("`")
            self.at = end + 1
        elif (ansi := _ANSI_QUOTED.match(text, start)) is not None:
            self.at = ansi.end()
            return _literally(ansi[1])
        elif following == "(":
            self._skip_to(")")
        elif following == "{":
            self._skip_to("}")
        else:
            self.at += 1
        return text[start : self.at]

    def _skip_to(self, closing: str) -> None:
        """Move behind the bracket that closes the one after `at`, which quotes and others may be inside of."""
        open_ones = [closing]
        self.at += 2
        text = self.text
        while open_ones:
            if self.at >= len(text):
                raise UnreadableScriptError(_OPENING[open_ones[-1]])
            c, inside = text[self.at], open_ones[-1]
            self.at += 1
            if c == inside:
                open_ones.pop()
            elif c == "\\":
                self.at += 1
            elif inside == '"':
                if c == "$" and text[self.at : self.at + 1] in ("(", "{"):
                    open_ones.append(")" if text[self.at] == "(" else "}")
                    self.at += 1
            elif c == "'":
                end = text.find("'", self.at)
                if end < 0:
                    raise UnreadableScriptError("'")
                self.at = end + 1
            elif c == '"' or c == _OPENING[inside]:
                open_ones.append(c if c == '"' else inside)


def _literally(text: str) -> str:
    return text.replace("$", LITERAL["$"]).replace("`", LITERAL["`"])


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.at = 0
        self.depth = 0

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
        """Parse pipelines until one of these words or operators, or any word that ends or goes on with a clause."""
        found: list[Item] = []
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
        found: list[Item] = []
        self._skip_until("in")
        while self.token.kind != "end" and not self._take("esac"):
            if self.token.kind == "op" and (self.token.text == "\n" or self.token.text in _NEXT_CASE):
                self.at += 1
                continue
            self._take("(")
            self._skip_until(")")
            start = self.at
            found += self.items(_NEXT_CASE | {"esac"})
            if self.at == start and not (self._is("esac") or self.token.text in _NEXT_CASE):
                self.at += 1  # A word such as `fi` that ends something else.
        return tuple(found)

    def _clauses(self, end: str) -> tuple[Item, ...]:
        found: list[Item] = []
        until = frozenset((end,))
        while self.token.kind != "end":
            found += self.items(until)
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
        return Command(tuple(words), line=line)

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
