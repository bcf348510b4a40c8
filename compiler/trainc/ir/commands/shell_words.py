"""Tokenizes shell scripts: words with quotes removed, operators, and the bodies of here-documents.

Source: POSIX.1-2017 XCU 2 (quoting, token recognition, here-documents) and bash's extensions.
"""

from __future__ import annotations

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# Placeholders for quoted dollar signs and backquotes in a word, which the shell does not expand.
LITERAL = {"$": "\ue024", "`": "\ue060"}
_OPERATOR = pattern(r"\n|&&|\|\||;;&?|;&|\|&|[;&|()]")
_REDIRECT = pattern(r"\d*(?:<<<|<<-?|>>|>\||>&|<&|<>|&>>|&>|[<>])(?![(])|&>>?")
_BLANKS = pattern(r"(?:[ \t\r]|\\\n)+")
_CLOSING = {"(": ")", "{": "}"}


class UnclosedError(ValueError):
    """An unclosed quote, bracket or here-document; the message is the opening character."""


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
    its operator; the next word is its target. `bare` words contain no quotes.
    """

    kind: str
    text: str
    line: int
    bare: bool = True
    heredoc: Heredoc | None = None


def plain(word: str) -> str:
    """Return the text of a word with LITERAL placeholders replaced."""
    return word.replace(LITERAL["$"], "$").replace(LITERAL["`"], "`")


def tokens(text: str) -> list[Token]:
    """Tokenize a shell script. Raises UnclosedError for an unclosed quote or bracket."""
    return _Scanner(text.replace("\r\n", "\n")).tokens()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[Token] = []
        self.waiting: list[tuple[int, bool]] = []  # Tokens of `<<` whose bodies follow; whether tabs are stripped.

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
                self._add_word()
        if self.waiting:
            self._heredocs()
        return self.found

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.at)

    def _redirect(self, operator: str) -> None:
        self.found.append(Token("to", operator, self.line))
        self.at += len(operator)
        if operator.lstrip("0123456789") in ("<<", "<<-"):
            self.waiting.append((len(self.found) - 1, operator.endswith("-")))

    def _operator(self, operator: str) -> None:
        self.found.append(Token("op", operator, self.line))
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

    def _add_word(self) -> None:
        line, parts, bare = self.line, [], True
        text, end = self.text, len(self.text)
        while self.at < end:
            c = text[self.at]
            if c in " \t\r\n;&|" or (c in "<>" and not text.startswith("(", self.at + 1)) or c in "()":
                break
            if c in "'\"\\":
                bare = False
                parts.append(self._quoted(c))
            elif c in "<>$`":
                parts.append(self._expansion(c))
            else:
                parts.append(c)
                self.at += 1
        self.found.append(Token("word", "".join(parts), line, bare))

    def _quoted(self, c: str) -> str:
        if c == "\\":
            self.at += 2
            kept = self.text[self.at - 1 : self.at]
            return "" if kept == "\n" else LITERAL.get(kept, kept)
        if c == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise UnclosedError("'")
            inside = self.text[self.at + 1 : end]
            self.at = end + 1
            return inside.replace("$", LITERAL["$"]).replace("`", LITERAL["`"])
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
            elif c in "$`":
                parts.append(self._expansion(c))
            else:
                parts.append(c)
                self.at += 1
        raise UnclosedError('"')

    def _expansion(self, c: str) -> str:
        """Consume `$NAME`, `${...}`, `$(...)`, a backquoted command or `<(...)`; return it unchanged."""
        start, text = self.at, self.text
        following = text[start + 1 : start + 2]
        if c == "`":
            end = text.find("`", start + 1)
            if end < 0:
                raise UnclosedError("`")
            self.at = end + 1
        elif c == "$" and following == "'":
            self.at += 1
            return self._quoted("'")
        elif following in _CLOSING:
            self.at += 2
            self._skip_to(_CLOSING[following], following)
        else:
            self.at += 1
        return text[start : self.at]

    def _skip_to(self, closing: str, opening: str) -> None:
        depth = 1
        while self.at < len(self.text):
            c = self.text[self.at]
            if c in "'\"\\":
                self._quoted(c)
                continue
            depth += (c == opening) - (c == closing)
            self.at += 1
            if not depth:
                return
        raise UnclosedError(opening)
