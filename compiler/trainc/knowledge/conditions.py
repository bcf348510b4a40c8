"""The language of rows: conditions and checks over keys and roles, and the message of a check that fails.

    num_generations >= 2            a relation between two terms, separated by spaces
    train_batch_size % micro * 2    a % b: the first is a multiple of the second; also == != < <= > >=
    layer is model:layer            the same text, also in its case
    optim in adam|adamw             one of several words (not in); model ~ meta-llama/*: a pattern, whatever its case (!~)
    use_peft, !use_peft, not use_peft  is given and not switched off; is not; is not given at all
    package:transformers >= 4.46    a version, where it is known (software.py)
    accumulation?1                  with the value that it has if it is not given
    count(devices) > max(devices)   how many items a list such as 0,1,2 has, and the highest of its numbers
    product(shape) <= job:gpus      what its numbers multiply to
    text(targets) ~ * *             a text, and no list of a file

A term is a number, a word, a key or a role; a product, a quotient, or a sum of products. Where a value is known only in the
pod, or may be given in a place that is not visible, a condition is neither true nor false.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from math import prod
from operator import eq, ge, gt, le, lt, ne

from trainc.knowledge.software import Version
from trainc.reading.settings import Expression
from trainc.startup.patterns import matcher, pattern
from trainc.startup.records import dataclass
from trainc.startup.typing import Any, Self

_RELATIONS = ("is", "==", "!=", "<=", ">=", "<", ">", "%", "~", "!~", "in", "not")
_WORDS = {
    "is": "has to be",
    "==": "has to be",
    "!=": "must not be",
    "<=": "has to be at most",
    ">=": "has to be at least",
    "<": "has to be less than",
    ">": "has to be more than",
    "%": "has to be a multiple of",
    "in": "has to be one of",
    "not": "must not be one of",
}
_COMPARED = {"==": eq, "!=": ne, "<=": le, ">=": ge, "<": lt, ">": gt}
_OPERATORS = frozenset(("+", "*", "/"))
# How large a size may be for which a better one is looked for, and how many better ones are tried.
_LARGEST, _MOST_TRIED = 4_096, 8
_ITEM_ENDS = pattern(r"[,\s]+")
_reading = lru_cache(maxsize=1024)(pattern)


@dataclass(slots=True)
class Term:
    """A term with its value (None if it is unknown), the values that it is made of, and how a message names it."""

    value: Any
    parts: tuple[Fact, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A condition with both of its terms. `right` is empty for a single key. `tests` are those of a text, one of which it passes."""

    left: tuple[str, ...]
    operator: str
    right: tuple[str, ...]
    tests: Sequence[Callable[[str], bool]] = ()


@lru_cache(maxsize=4096)
def parse(text: str) -> Relation:
    """Return a condition as a relation."""
    words = text.split()
    at = next((i for i, word in enumerate(words) if word in _RELATIONS), None)
    if at is None:
        return Relation((text.removeprefix("!"),), "!" if text.startswith("!") else "", ())
    after = at + 2 if words[at] == "not" and at else at + 1
    texts = " ".join(words[after:]).lower().split("|")
    tests: Sequence[Callable[[str], bool]] = ()
    if at and words[at] in ("in", "not", "~", "!~"):
        tests = [frozenset(texts).__contains__] if words[at] in ("in", "not") else [*map(matcher, texts)]
    return Relation(tuple(words[:at]), words[at], tuple(words[after:]), tests)


def needed(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the keys and roles without which a condition cannot hold: those on its left, unless they have a default.

    Each says whether its value has to be known: a relation to another one is neither true nor false.
    """
    relation = parse(text)
    for word in relation.left if relation.operator != "!" else ():
        constant, _, name, default = _parts(word)
        if word not in _OPERATORS and constant is None and not default:
            yield name, bool(relation.right)


@lru_cache(maxsize=4096)
def _parts(word: str) -> tuple[int | float | None, str, str, str]:
    """Return an atom as a number, or as the name of a function, if any, that of a fact, and its default."""
    name, _, default = word.partition("?")
    function, _, listed = name.partition("(") if name.endswith(")") else ("", "", name)
    return number(name), function, listed.rstrip(")"), default


def _atom(facts: Facts, word: str, reads: Mapping[str, str]) -> Term:
    constant, function, name, default = _parts(word)
    if constant is not None:
        return Term(constant, (), name)
    fact = facts.find(name)
    if fact is not None and function == "text":
        return Term(None if isinstance(fact.value, Items) else fact.value, (fact,), fact.text)
    if fact is not None and function:
        items = [item for item in _ITEM_ENDS.split(str(fact.value).strip("[]()\"' ")) if item]
        numbers = [int(item) for item in items if item.isdecimal() and len(item) < 10]
        counted = len(items) if function == "count" else max(numbers, default=-1)
        counted = prod(numbers) if function == "product" else counted
        whole = fact.value is not None and (function == "count" or len(numbers) == len(items))
        noun = {"count": "the number of items of", "max": "the highest of"}.get(function, "the product of")
        return Term(counted if whole else None, (fact,), f"{noun} {fact.text}")
    if fact is None:
        known = default != "" and (facts.is_absent(name) or (name in facts.roles and not facts.hidden))
        parsed = number(default)
        text = f"{next(iter(facts.roles.get(name, (name,)))).rpartition(':')[2]} by default"
        return Term(None if not known else default if parsed is None else parsed, (), text if default else name)
    value = fact.value
    if name in reads and value is not None:
        match = _reading(reads[name]).search(str(value))
        value = match[1] if match else None
    return Term(value, (fact,), fact.text)


def term(facts: Facts, words: Sequence[str], reads: Mapping[str, str]) -> Term:
    """Return the value of a term: sums of products, without brackets."""
    if len(words) == 1:
        return _atom(facts, words[0], reads)
    total: Any = 0
    product: Any = None
    parts: tuple[Fact, ...] = ()
    texts: list[str] = []
    operator = ""
    for word in (*words, "+"):
        if word in _OPERATORS:
            operator = word
            if word == "+":
                total, product = (None if total is None or product is None else total + product), None
            texts.append({"*": "x"}.get(word, word))
            continue
        atom = _atom(facts, word, reads)
        value = number(atom.value)
        parts += atom.parts
        # A default that changes nothing is not worth a word.
        if value == 1 and not atom.parts and texts and "?" in word:
            texts.pop()
            continue
        texts.append(atom.text if number(atom.text) is not None else f"{atom.text} {value}")
        if value is None or (operator in ("*", "/") and product is None) or (operator == "/" and value == 0):
            return Term(None, parts, "")
        product = value if operator not in ("*", "/") else product * value if operator == "*" else product // value
    return Term(total, parts, " ".join(texts[:-1]))


def holds(facts: Facts, text: str, reads: Mapping[str, str]) -> bool | None:
    """Return whether a condition holds; None if that is unknown. Many rows have the same conditions."""
    if reads:
        return _holds(facts, text, reads)
    if text not in facts.held:
        facts.held[text] = _holds(facts, text, reads)
    return facts.held[text]


def _holds(facts: Facts, text: str, reads: Mapping[str, str]) -> bool | None:
    relation = parse(text)
    if not relation.left:
        return facts.is_absent(relation.right[0]) and facts.find(relation.right[0]) is None
    if not relation.right:
        fact = facts.find(relation.left[0])
        if fact is not None and fact.value is None:
            return None if relation.operator else True  # It is given, whatever it is.
        if fact is None:
            return bool(relation.operator) if facts.is_absent(relation.left[0]) else None
        return is_on(fact.value) != bool(relation.operator)
    left = _value(facts, relation.left, {} if relation.tests else reads)
    if left is None or (relation.operator == "not" and isinstance(left, Expression)):
        return None
    if relation.tests:
        value = str(left).strip("\"'").lower()
        for test in relation.tests:
            if test(value):
                return relation.operator in ("~", "in")
        return relation.operator in ("!~", "not")
    if isinstance(left, Version):
        other = facts.find(relation.right[0])
        return left.compare(relation.operator, relation.right[0] if other is None else str(other.value))
    right = _value(facts, relation.right, reads)
    return _compare(left, relation.operator, right if right is not None else _word(facts, relation.right))


def _value(facts: Facts, words: Sequence[str], reads: Mapping[str, str]) -> Any:
    """Return the value of a term, which most often is a number or a fact."""
    constant, function, name, _ = _parts(words[0])
    if len(words) == 1 and not function and name not in reads:
        if constant is not None:
            return constant
        if (fact := facts.find(name)) is not None:
            return fact.value
    return term(facts, words, reads).value


def _word(facts: Facts, words: Sequence[str]) -> Any:
    """Return the value of a right side that has none itself: a word that is no key stands for itself."""
    is_word = len(words) == 1 and not any(map(words[0].__contains__, "?:.(")) and facts.find(words[0]) is None
    return words[0] if is_word else None


def _compare(left: Any, operator: str, right: Any) -> bool | None:
    if right is None:
        return None
    a, b = number(left), number(right)
    if operator == "is":
        return str(left) == str(right)
    if a is None or b is None:
        if operator not in ("==", "!="):
            return None
        return (str(left).strip("\"'").lower() == str(right).strip("\"'").lower()) == (operator == "==")
    return _COMPARED[operator](a, b) if operator != "%" else b > 0 and a % b == 0


def failure(
    facts: Facts, text: str, reads: Mapping[str, str]
) -> tuple[str, tuple[Fact, ...], Mapping[str, Sequence[Any]]] | None:
    """Return what is wrong by a check that fails: the message, what it is about, and values of its keys that would pass."""
    if holds(facts, text, reads) is not False:
        return None
    relation = parse(text)
    left = term(facts, relation.left, reads)
    if not relation.right:
        return f"{relation.left[0].rpartition(':')[2]} is not given", left.parts, {}
    if relation.operator in ("in", "not", "~", "!~"):
        choices = " ".join(relation.right).split("|")
        listed = ", ".join(choices[:8])
        words = _WORDS.get(relation.operator, "has to be like" if relation.operator == "~" else "must not be like")
        better = {part.key: choices[:1] for part in left.parts if relation.operator == "in"}
        return f"{left.text} is {left.value!r}, and {words} {listed}", left.parts, better
    right = term(facts, relation.right, reads)
    value = right.value if right.value is not None else _word(facts, relation.right)
    other = f"{right.text} = {value}" if len(relation.right) > 1 else f"{value}"
    if len(relation.right) == 1 and right.parts:
        other = f"{value} ({right.text})"
    message = (
        f"{left.text}{' =' if len(relation.left) > 1 else ' is'} {left.value}, and {_WORDS[relation.operator]} {other}"
    )
    return message, (*left.parts, *right.parts), _better(left, right, relation, value)


def _better(left: Term, right: Term, relation: Relation, value: Any) -> Mapping[str, Sequence[Any]]:
    """Return, for the key of a left side of one, and for those that a left side is divided by, values that would pass."""
    given, wanted = number(left.value), number(value)
    found: dict[str, Sequence[Any]] = {}
    divides = relation.operator == "%" and not {"+", "/"} & {*relation.right}
    for part in right.parts if divides else ():
        size = number(part.value)
        if isinstance(given, int) and isinstance(wanted, int) and isinstance(size, int) and 0 < size <= _LARGEST:
            sizes = (*range(size, 1, -1), *range(size + 1, 4 * size + 1), 1)
            found[part.key] = [*islice((one for one in sizes if given % (wanted // size * one) == 0), _MOST_TRIED)]
    if len(relation.left) == 1 and left.parts and relation.operator != "!=" and "(" not in relation.left[0]:
        better = [value]
        if given is not None and wanted is not None and relation.operator == "%":
            better = [max(given - given % wanted, wanted), given - given % wanted + wanted] if wanted > 0 else []
        elif given is not None and wanted is not None:
            better = [wanted + {"<": -1, ">": 1}.get(relation.operator, 0)]
            is_alone = len(right.parts) == len(relation.right) == 1 and not _parts(relation.right[0])[1]
            if is_alone and relation.operator in ("<=", ">="):
                found[right.parts[0].key] = [given]
        found[left.parts[0].key] = better
    return found


# Facts about a run: the values of its options, variables, fields and files, by key or by role.


_NUMBER = pattern(r"[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_FALSE = frozenset(("false", "0", "no", "off", "none", "null", ""))


class Nested(str):
    """A mapping of a file, or a list of them, whose own values are further facts."""

    __slots__ = ()


class Items(str):
    """A list of a file, as its items with spaces between them."""

    __slots__ = ()

    def __new__(cls, items: Iterable[str]) -> Self:
        """Join the items."""
        return str.__new__(cls, " ".join(items))


@dataclass(slots=True)  # Dozens are made for each job, and one that is not frozen costs half as much.
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
    return _number(str(value))


@lru_cache(maxsize=4096)
def _number(text: str) -> int | float | None:
    text = text.strip().strip("\"'")
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
    of which all is visible, apart from that, and `certain` those of which it is anyway.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, Fact] = {}
        self.roles: Mapping[str, Collection[str]] = {}
        self.hidden = False
        self.spaces: set[str] = set()
        self.certain = {"env", "job", "package", "call", "call1"}
        # What `holds` found.
        self.held: dict[str, bool | None] = {}

    def add(self, sayings: Iterable[Fact]) -> None:
        """Add values in the order of their precedence, the strongest last."""
        self.held.clear()
        for fact in sayings:
            self.by_key[fact.key] = fact

    def all_of(self, name: str) -> Iterator[Fact]:
        """Yield all values of a key or a role, the strongest first."""
        if name in self.by_key:
            yield self.by_key[name]
        for key in self.roles.get(name, ()):
            if key in self.by_key:
                yield self.by_key[key]

    def find(self, name: str) -> Fact | None:
        """Return the value of a key or a role, or None."""
        fact = self.by_key.get(name)
        if fact is None and name in self.roles:
            for key in self.roles[name]:
                if key in self.by_key:
                    return self.by_key[key]
        return fact

    def names(self) -> tuple[set[str], set[str]]:
        """Return the keys that are given, and the roles of which one is; and those of them whose value is known."""
        given, known = {*self.by_key}, {key for key, fact in self.by_key.items() if fact.value is not None}
        for role in self.roles.keys() - given:
            fact = self.find(role)
            if fact is not None:
                given.add(role)
                if fact.value is not None:
                    known.add(role)
        return given, known

    def placed(self) -> Mapping[str, Sequence[Fact]]:
        """Return what somebody wrote, but for variables, by its space with the colon."""
        by_space: dict[str, list[Fact]] = {}
        for key, fact in self.by_key.items():
            if not fact.variable and fact.is_placed:
                by_space.setdefault(key[: key.rfind(":") + 1], []).append(fact)
        return by_space

    def is_absent(self, name: str) -> bool:
        """Return whether a key is certainly not given, or switched off."""
        fact = self.find(name)
        if fact is not None:
            return fact.value is not None and not is_on(fact.value)
        space = name.rpartition(":")[0]
        if space in self.certain:
            return True
        return not self.hidden and (not space or space in self.spaces)
