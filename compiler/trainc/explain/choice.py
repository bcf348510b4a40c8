"""Select the fields and objects that an expression names.

An expression is `[KIND[/NAME]:]FIELD`. Without a kind, the JobSet is searched first; without a field, everything
matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainc.explain.model import ExplainedObject, Explanation
from trainc.explain.query import ANY_STEPS, matches, parse, path_ending, suggest_paths
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace

_EXPRESSION = pattern(r"(?:(?P<kind>[A-Za-z]+)(?:/(?P<name>[^:\[\]]+))?:)?(?P<field>.*)", re.DOTALL)
_JOBSET = "JobSet"


@dataclass(frozen=True, slots=True)
class NoMatch:
    """No field matches the expression.

    `near` lists similar expressions that match; `made` lists expressions for output fields derived from a matching
    input field.
    """

    near: tuple[str, ...]
    made: tuple[str, ...] = ()


def choose(explanation: Explanation, expression: str | None) -> Explanation | NoMatch:
    """Reduce the explanation to what `expression` selects. Raises QueryError if the expression is malformed.

    A field is matched from the root first; if nothing matches there, it is matched at any depth, as if after `...`.
    """
    if not expression:
        return explanation
    read = _EXPRESSION.fullmatch(expression)
    assert read is not None
    kind, name, text = read["kind"], read["name"], read["field"]
    requested = [o for o in explanation.objects if _is(o, kind or _JOBSET, name)]
    others = [] if kind else [o for o in explanation.objects if o not in requested]
    pattern = parse(text)
    for candidates in (requested, others):
        for steps in (pattern, (ANY_STEPS, *pattern)):
            objects = tuple(found for o in candidates if (found := _with_fields(o, steps)).fields)
            if objects:
                return replace(explanation, objects=objects)
    candidates = [*requested, *others]
    made = dict.fromkeys(_made(explanation, candidates, (ANY_STEPS, *pattern)))
    return NoMatch(tuple(dict.fromkeys(_near(explanation, candidates, text))), tuple(made))


def prefix(explanation: Explanation, chosen: ExplainedObject) -> str:
    """The prefix for fields of an object: empty for the JobSet, and including the name if the kind is ambiguous."""
    kind = chosen.name.kind
    if kind == _JOBSET:
        return ""
    same = sum(1 for o in explanation.objects if o.name.kind == kind)
    return f"{kind}:" if same == 1 else f"{kind}/{chosen.name.name}:"


def _is(candidate: ExplainedObject, kind: str, name: str | None) -> bool:
    return candidate.name.kind.lower() == kind.lower() and name in (None, candidate.name.name)


def _with_fields(chosen: ExplainedObject, pattern: tuple[str, ...]) -> ExplainedObject:
    return replace(chosen, fields=tuple(f for f in chosen.fields if matches(pattern, f.path, f.index)))


def _made(explanation: Explanation, candidates: list[ExplainedObject], pattern: tuple[str, ...]) -> Iterator[str]:
    """Output fields derived from input fields that the pattern matches."""
    for candidate in candidates:
        before = prefix(explanation, candidate)
        for field in candidate.fields:
            if any(matches(pattern, taken.path) for taken in field.origin.inputs):
                yield before + path_ending(field.path)


def _near(explanation: Explanation, candidates: list[ExplainedObject], text: str) -> Iterator[str]:
    """The same field in objects of other kinds, then similarly spelled fields."""
    for other in explanation.objects:
        if other not in candidates and _with_fields(other, (ANY_STEPS, *parse(text))).fields:
            yield prefix(explanation, other) + text
    for candidate in candidates:
        before = prefix(explanation, candidate)
        yield from (before + name for name in suggest_paths(text, [f.path for f in candidate.fields]))
