"""Facts about a run: the values of its options, variables, fields and files, by key or by role."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_NUMBER = pattern(r"[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_FALSE = frozenset(("false", "0", "no", "off", "none", "null", ""))


@dataclass(frozen=True, slots=True)
class Fact:
    """A value, and where it is set.

    `key` has the space of its table in front ("ds:train_batch_size"). `value` is None if it is known only in the pod. `text`
    names it in a message, and `form` is how to write it with another value in the place of `{}`. One of `word`, `variable`
    and `file` is the place: the index of a word of the command, a variable of the container, or a file and the key in it.
    """

    key: str
    value: Any
    text: str
    form: str = "{}"
    word: int = -1
    variable: str = ""
    file: Any = None

    @property
    def name(self) -> str:
        """The key without its space."""
        return self.key.rpartition(":")[2]

    @property
    def is_placed(self) -> bool:
        """Return whether somebody wrote it, so that a finding can be about it."""
        return self.word >= 0 or bool(self.variable) or self.file is not None


def number(value: Any) -> int | float | None:
    """Return a value as a number, or None."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return value
    text = str(value).strip().strip("\"'")
    if not _NUMBER.fullmatch(text) or len(text) > 30:
        return None
    parsed = float(text)
    return int(parsed) if parsed.is_integer() else parsed


def is_on(value: Any) -> bool:
    """Return whether a value switches something on, as an option without a value does."""
    return str(value).strip().lower() not in _FALSE if not isinstance(value, bool) else value


class Facts:
    """All facts about one run. What is added later takes precedence; a role has the values of its keys.

    `hidden` means that there may be more: a word such as `$EXTRA_ARGS`, or a file that is not visible. `spaces` are those
    of which all is visible, apart from that.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, Fact] = {}
        self.roles: dict[str, list[str]] = {}
        self.hidden = False
        self.spaces: set[str] = set()

    def add(self, sayings: Iterable[Fact]) -> None:
        """Add values in the order of their precedence, the strongest last."""
        for fact in sayings:
            self.by_key[fact.key] = fact

    def add_roles(self, roles: Mapping[str, Iterable[str]]) -> None:
        """Add the keys of roles; the first of them takes precedence."""
        for role, keys in roles.items():
            self.roles.setdefault(role, []).extend(keys)

    def all_of(self, name: str) -> Iterator[Fact]:
        """Yield all values of a key or a role, the strongest first."""
        if name in self.by_key:
            yield self.by_key[name]
        for key in self.roles.get(name, ()):
            if key in self.by_key:
                yield self.by_key[key]

    def find(self, name: str) -> Fact | None:
        """Return the value of a key or a role, or None."""
        return next(self.all_of(name), None)

    def is_absent(self, name: str) -> bool:
        """Return whether a key is certainly not given, or switched off."""
        fact = self.find(name)
        if fact is not None:
            return fact.value is not None and not is_on(fact.value)
        space = name.rpartition(":")[0]
        if space in ("env", "job"):
            return True
        return not self.hidden and (not space or space in self.spaces)
