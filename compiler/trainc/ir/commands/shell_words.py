"""Splits shell scripts into words without their quotes, operators, and the bodies of here-documents.

The grammar is POSIX.1-2017 XCU 2 (quoting, token recognition, here-documents) with bash's arrays. The work is linear in
the script: quotes and substitutions inside each other are kept on a stack.
"""

from __future__ import annotations

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# Placeholders for quoted dollar signs and backquotes in a word, which the shell does not expand.
LITERAL = {"$": "\ue024", "`": "\ue060"}
_OF_KUBERNETES = pattern(r"\ue024\(([A-Z_][A-Z0-9_]*)\)")
_BLANKS = pattern(r"(?:[ \t\r]|\\\n)+")
_BLANKS_AND_COMMENTS = pattern(r"(?:[ \t\r\n]|\\\n|#[^\n]*(?:\n|\Z))+")
_OPERATOR = pattern(r"\n|&&|\|\||;;&?|;&|\|&|[;&|()]")
_REDIRECT = pattern(r"\d*(?:<<<|<<-?|>>|>\||>&|<&|<>|&>>|&>|[<>])(?![(])|&>>?")
# Characters that mean nothing to a shell, other kinds of white space among them.
_LETTERS = pattern(r"[^ \t\r\n;&|<>()'\"\\$`]+")
_ANSI_QUOTED = pattern(r"\$'((?:[^'\\]|\\.)*)'", 16)  # re.DOTALL
_ARRAY = pattern(r"[A-Za-z_]\w*\+?=")
_OPENING = {")": "(", "}": "{", '"': '"'}


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


def plain(word: str) -> str:
    """Return the text of a word with LITERAL placeholders replaced."""
    return word.replace(LITERAL["$"], "$").replace(LITERAL["`"], "`")


def tokens(text: str) -> list[Token]:
    """Split a shell script. Raises UnreadableScriptError for a quote or bracket that is never closed."""
    return _Scanner(text.replace("\r\n", "\n")).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.tokens: list[Token] = []
        self.pending: list[tuple[int, bool]] = []  # Tokens of `<<` whose bodies follow; whether tabs are stripped.
        self._line, self._line_end = 0, self._next_line_end(0)

    def scan(self) -> list[Token]:
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
                self.tokens.append(self._word())
        if self.pending:
            self._heredocs()
        return self.tokens

    def _current_line(self) -> int:
        """Return the current line, counted on from the last call."""
        while self._line_end < self.at:
            self._line += 1
            self._line_end = self._next_line_end(self._line_end + 1)
        return self._line

    def _next_line_end(self, start: int) -> int:
        end = self.text.find("\n", start)
        return len(self.text) if end < 0 else end

    def _redirect(self, operator: str) -> None:
        self.tokens.append(Token("to", operator, self._current_line()))
        self.at += len(operator)
        if operator.lstrip("0123456789") in ("<<", "<<-"):
            self.pending.append((len(self.tokens) - 1, operator.endswith("-")))

    def _operator(self, operator: str) -> None:
        self.tokens.append(Token("op", operator, self._current_line()))
        self.at += len(operator)
        if operator == "\n" and self.pending:
            self._heredocs()

    def _heredocs(self) -> None:
        for index, strips in self.pending:
            token, target = self.tokens[index], next(iter(self.tokens[index + 1 : index + 2]), None)
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
            self.tokens[index] = Token("to", token.text, token.line, True, heredoc)
        self.pending = []

    def _word(self, *, in_array: bool = False) -> Token:
        line, parts, bare = self._current_line(), [], True
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
                parts.append(self._read_quoted(c))
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

    def _read_quoted(self, c: str) -> str:
        if c == "\\":
            self.at += 2
            escaped = self.text[self.at - 1 : self.at]
            return "" if escaped == "\n" else LITERAL.get(escaped, escaped)
        if c == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise UnreadableScriptError("'")
            inside = self.text[self.at + 1 : end]
            self.at = end + 1
            return _literally(inside)
        return self._read_double_quoted()

    def _read_double_quoted(self) -> str:
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            c = self.text[self.at]
            if c == '"':
                self.at += 1
                return "".join(parts)
            if c == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                parts.append(self._read_quoted(c))
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
        open_brackets = [closing]
        self.at += 2
        text = self.text
        while open_brackets:
            if self.at >= len(text):
                raise UnreadableScriptError(_OPENING[open_brackets[-1]])
            c, inside = text[self.at], open_brackets[-1]
            self.at += 1
            if c == inside:
                open_brackets.pop()
            elif c == "\\":
                self.at += 1
            elif inside == '"':
                if c == "$" and text[self.at : self.at + 1] in ("(", "{"):
                    open_brackets.append(")" if text[self.at] == "(" else "}")
                    self.at += 1
            elif c == "'":
                end = text.find("'", self.at)
                if end < 0:
                    raise UnreadableScriptError("'")
                self.at = end + 1
            elif c == '"' or c == _OPENING[inside]:
                open_brackets.append(c if c == '"' else inside)


def _literally(text: str) -> str:
    text = text.replace("$", LITERAL["$"]).replace("`", LITERAL["`"])
    # Kubernetes replaces $(NAME) before a shell sees it, also in quotes.
    return _OF_KUBERNETES.sub(r"$(\1)", text) if f"{LITERAL['$']}(" in text else text
