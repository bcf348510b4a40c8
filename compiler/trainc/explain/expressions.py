"""Expressions for fields of the output, such as `spec...resources`, and what of an explanation they choose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from trainc.explain.model import ExplainedObject, Explanation
from trainc.findings.text import near_names
from trainc.kube.documents import FieldPath, Item, format_field
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace


def names_of(expression: str | None) -> Callable[[str], bool] | None:
    """Return what tells steps of fields that an expression asks for by name."""
    parts = _EXPRESSION.fullmatch(expression or "")
    try:
        steps = [step for step in parse(parts["field"]) if step.strip("*.")] if parts else []
    except QueryError:
        return None
    return (lambda step: any(_glob(pattern, step) for pattern in steps)) if steps else None


def choose(explanation: Explanation, expression: str | None) -> Explanation | NoMatch:
    """Reduce the explanation to what `expression` selects. Raises QueryError if the expression is malformed.

    A field is matched from the root first; if nothing matches there, it is matched at any depth, as if after `...`.
    """
    if not expression:
        return explanation
    parts = _EXPRESSION.fullmatch(expression)
    assert parts is not None
    kind, name, text = parts["kind"], parts["name"], parts["field"]
    of_kind = [o for o in explanation.objects if o.name.kind.lower() == (kind or _JOBSET).lower()]
    requested = [o for o in of_kind if name in (None, o.name.name)]
    other_objects = [] if kind else [o for o in explanation.objects if o not in requested]
    pattern = parse(text)
    for candidates in (requested, other_objects):
        for steps in (pattern, (ANY_STEPS, *pattern)):
            objects = tuple(reduced for o in candidates if (reduced := _with_fields(o, steps)).fields)
            if objects:
                return replace(explanation, objects=objects)
    candidates = [*requested, *other_objects]
    derived = dict.fromkeys(
        explanation.prefix(candidate) + path_ending(field.path)
        for candidate in candidates
        for field in candidate.fields
        if any(matches((ANY_STEPS, *pattern), origin_input.path) for origin_input in field.origin.inputs)
    )
    return NoMatch(tuple(dict.fromkeys(_near(explanation, candidates, text))), tuple(derived))


# In field expressions, any number of steps.
ANY_STEPS = "..."
_TOKEN = pattern(r"""\.\.\.|\["((?:[^"\\]|\\.)*)"\]|\[([^\]]*)\]|\.?([^.\[]+)""")


class QueryError(ValueError):
    """A malformed field expression."""


@cache
def parse(text: str) -> tuple[str, ...]:
    """The steps of an expression: `...`, or a key or item with the wildcards `*` and `?`. Raises QueryError."""
    steps: list[str] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise QueryError(f"cannot parse {text[position:]!r} in {text!r} as a field path")
        quoted, item, key = token.groups()
        if quoted is not None:
            steps.append(re.sub(r"\\(.)", r"\1", quoted))
        else:
            steps.append(item if item is not None else key or ANY_STEPS)
        position = token.end()
    return tuple(steps)


def matches(pattern: Sequence[str], path: FieldPath, index: FieldPath | None = None, *, exact: bool = False) -> bool:
    """Return whether `pattern` matches `path` or, unless `exact`, a parent of it. `index` is the path with indexes."""
    names = tuple(map(str, path))
    numbers = names if index is None else tuple(map(str, index))
    # Most patterns name a step that a path does not have.
    if not _fixed_steps(tuple(pattern)).issubset(names if index is None else {*names, *numbers}):
        return False
    return _matches(tuple(pattern), tuple(zip(names, numbers, strict=True)), exact)


def field_matches(expression: str, path: FieldPath) -> bool:
    """Return whether a field expression selects the field at `path`."""
    return matches(parse(expression), path)


@cache
def _fixed_steps(pattern: tuple[str, ...]) -> frozenset[str]:
    return frozenset(step for step in pattern if step != ANY_STEPS and "*" not in step and "?" not in step)


def _matches(pattern: tuple[str, ...], steps: tuple[tuple[str, str], ...], exact: bool) -> bool:
    if not pattern:
        return not (exact and steps)
    if pattern[0] == ANY_STEPS:
        return any(_matches(pattern[1:], steps[skip:], exact) for skip in range(len(steps) + 1))
    if not steps or not any(_glob(pattern[0], name) for name in steps[0]):
        return False
    return _matches(pattern[1:], steps[1:], exact)


def _glob(pattern: str, text: str) -> bool:
    """Return whether `text` matches, where `*` is any text and `?` any character. Only the last `*` is backtracked to."""
    at = here = 0
    star, after_star = -1, 0
    while here < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, after_star, at = at, here, at + 1
        elif at < len(pattern) and pattern[at] in ("?", text[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            after_star += 1
            at, here = star + 1, after_star
        else:
            return False
    return not pattern[at:].strip("*")


def suggest_paths(text: str, paths: Iterable[FieldPath], count: int = 3) -> list[str]:
    """Suggest existing fields, or parts of them, that are spelled like `text`."""
    steps = [step for step in parse(text) if step != ANY_STEPS]
    if not steps:
        return []
    by_name: dict[str, str] = {}
    for path in paths:
        for end in range(1, len(path) + 1):
            for start in range(max(0, end - len(steps)), end):
                by_name.setdefault(".".join(map(str, path[start:end])), _shortest(path, start, end))
    near = near_names(".".join(steps), by_name, count) or near_names(steps[-1], by_name, count)
    return list(dict.fromkeys(by_name[name] for name in near))


def path_ending(path: FieldPath) -> str:
    """The end of a path, from the last field or the list item that it belongs to, as an expression."""
    return _shortest(path, len(path) - (2 if isinstance(path[-2:][0], int | Item) else 1), len(path))


def _shortest(path: FieldPath, start: int, end: int) -> str:
    """Part of a path that is a complete expression by itself."""
    while start and isinstance(path[start], int | Item):
        start -= 1
    return format_field(path[start:end])


# `[KIND[/NAME]:]FIELD`. Without a kind, the JobSet is searched first; without a field, everything matches.
_EXPRESSION = pattern(r"(?:(?P<kind>[A-Za-z]+)(?:/(?P<name>[^:\[\]]+))?:)?(?P<field>.*)", re.DOTALL)
_JOBSET = "JobSet"


@dataclass(frozen=True, slots=True)
class NoMatch:
    """No field matches the expression.

    `near` lists similar expressions that match; `derived` lists expressions for output fields derived from a matching
    input field.
    """

    near: tuple[str, ...]
    derived: tuple[str, ...] = ()


def _with_fields(chosen: ExplainedObject, pattern: tuple[str, ...]) -> ExplainedObject:
    is_named = all(step.strip("*") for step in pattern if step != ANY_STEPS)
    fields = tuple(f for f in chosen.fields if matches(pattern, f.path, f.index))
    # What is asked for by name is recorded.
    return replace(chosen, fields=fields, left_out=0 if is_named and pattern else chosen.left_out)


def _near(explanation: Explanation, candidates: list[ExplainedObject], text: str) -> Iterator[str]:
    """Fields of the input in other letters, the same field in objects of other kinds, then similarly spelled fields."""
    for candidate in candidates:
        for explained in candidate.fields:
            names = (str(origin_input.path[-1]) for origin_input in explained.origin.inputs if origin_input.path)
            yield from (name for name in names if name.lower() == text.lower())
    for other in explanation.objects:
        if other not in candidates and _with_fields(other, (ANY_STEPS, *parse(text))).fields:
            yield explanation.prefix(other) + text
    for candidate in candidates:
        before = explanation.prefix(candidate)
        yield from (before + name for name in suggest_paths(text, [f.path for f in candidate.fields]))
