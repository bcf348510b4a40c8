"""What a change does to documents, and to the rules that judge jobs: its first difference, and whether it loosens any."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

from trainc.findings import Diagnostic, Path, Source, format_path
from trainc.findings.text import first_of
from trainc.kube.documents import Json, identity_of, mapping, path_exists, value_at, walk, with_value
from trainc.kube.selectors import MalformedSelector, matches_selector
from trainc.reading.document import Document, label_of
from trainc.reading.opening import CONFIGURATION_FILE
from trainc.startup.patterns import pattern

# A value is said up to this number of letters.
_LONG = 60
_READERS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ClusterQueue")
_OURS = pattern(r"(k8s|kubernetes)\.io/")
# A parameter of that kind, or an expression that reads more of a Namespace than labels and annotations that it names.
_READS_ALL = pattern(
    r"\"Namespace\"|namespaceObject(?!\.metadata\.(?:name\b|(?:labels|annotations)(?:\.\w+\b(?!\()|\[\??\\?['\"][^'\"\\]+\\?['\"]\])))"
)
_WORD = pattern(r"[\w./-]+")
_OF_BINDING = ("spec", "matchResources", "namespaceSelector")
_OF_POLICY = ("spec", "matchConstraints", "namespaceSelector")
_LEVELS = ("privileged", "baseline", "restricted")


def changed_rules(
    before: Sequence[Document], now: Sequence[Document], base: str, readers: Sequence[Document] = ()
) -> Iterator[Diagnostic]:
    """Yield where and how rules are others than before, apart from the texts that they print: looser, or of no known direction.

    The `readers` are the documents that may read labels of Namespaces: those of all folders, and of the clusters.
    """
    hint = f"jobs that this change builds have to meet the rules as they are and as {base} has them"

    def about(source: Source | None, sentence: str, *, is_looser: bool = False, lost: str = "") -> Diagnostic:
        code, message = "SettingsLoosened" if is_looser or lost else "RulesChanged", f"since {base}: {sentence}{lost}"
        more = f"undo it, if they are to be judged once this is merged; until then, {hint}" if lost else hint
        return Diagnostic(code, "warning" if lost else "info", message, more, CONFIGURATION_FILE, source=source)

    @cache
    def read() -> frozenset[str] | None:
        """Return all words of what reads labels of Namespaces; None if all labels may be read."""
        text = json.dumps([d.data for d in readers if d.data.get("kind") in _READERS], default=str)
        words = _WORD.findall(text)
        return None if _READS_ALL.search(text) else frozenset(part for one in words for part in (one, *one.split(".")))

    there, here = ({label_of(d.data): d for d in side} for side in (before, now))
    unjudged = cache(lambda: _judged(before) - _judged(now))
    for label, document in there.items():
        was = _without_texts(document.data)
        new = _without_stricter(was, _without_texts(here[label].data)) if label in here else None
        if new is not None and was != new and new.get("kind") == "Namespace" and (named := read()) is not None:
            was, new = _as_read(was, named), _as_read(new, named)
        if new is None:
            source = next((d.locate(()) for d in now if d.file == document.file), None) or _place_of_name(document, now)
            yield about(source, f"{label} is gone", is_looser=label.startswith("ValidatingAdmissionPolicy"))
        elif (at := first_difference(was, new)) is not None:
            old, value = value_at(was, at), value_at(new, at)
            gone = lost_keys(was, new, at)
            at, old = ((*at, gone[0]), old[gone[0]]) if gone else (at, old)
            is_short = isinstance(old, str | int) and len(str(old)) < _LONG
            shown = (value, old) if type(value) is type(old) else (json.dumps(value, default=str), json.dumps(old))
            what = f"is {'gone' if gone else shown[0]}; it was {shown[1]}" if is_short else "has changed"
            if lost := () if gone else _lost_items(value_at(document.data, at), value_at(here[label].data, at)):
                what = f"has lost {', '.join(lost)}"
            source = here[label].locate(at[:-1] if gone else at)
            # Of these, one that is stricter counts as the same.
            known = [path for kind, path, _ in _STRICTER if kind == new.get("kind") and value_at(was, path) is not None]
            is_looser = any(at == path[: len(at)] for path in known)
            lost_jobs = _no_longer_judged(document.data, unjudged())
            yield about(source, f"{label}: {format_path(at)} {what}", is_looser=is_looser, lost=lost_jobs)
    for label in here.keys() - there.keys():
        if not label.startswith("ValidatingAdmissionPolicy"):
            yield about(here[label].locate(()), f"{label} is new")


# A policy, its binding and a namespace that both of them select.
_Judged: TypeAlias = tuple[str, str, str]


def _judged(documents: Sequence[Document]) -> set[_Judged]:
    """Return which policies judge jobs in which namespaces, as far as the documents say it."""
    named: dict[str, dict[str, Json]] = {}
    for one in documents:
        named.setdefault(str(one.data.get("kind")), {})[identity_of(one.data)[1]] = one.data
    policies, judged = named.get("ValidatingAdmissionPolicy", {}), set()
    for binding, data in named.get("ValidatingAdmissionPolicyBinding", {}).items():
        policy = str(value_at(data, ("spec", "policyName")))
        selectors = [value_at(data, _OF_BINDING), value_at(policies.get(policy, {}), _OF_POLICY)]
        for name, namespace in named.get("Namespace", {}).items():
            written = mapping(value_at(namespace, ("metadata", "labels")))
            labels: dict[str, Any] = {"kubernetes.io/metadata.name": name, **written}
            try:
                selects = all(one is None or matches_selector(mapping(one), labels) for one in selectors)
            except MalformedSelector:
                selects = True  # What is malformed is said elsewhere.
            if policy in policies and selects:
                judged.add((policy, binding, name))
    return judged


def _no_longer_judged(changed: Json, unjudged: set[_Judged]) -> str:
    """Return what a Namespace, policy or binding that has changed no longer has judged."""
    kind, name = changed.get("kind"), identity_of(changed)[1]
    if kind == "Namespace":
        policies = sorted({policy for policy, _, namespace in unjudged if namespace == name})
        return f"; {first_of(policies, 5)} no longer judge{'s' * (len(policies) == 1)} its jobs" if policies else ""
    at = 0 if kind == "ValidatingAdmissionPolicy" else 1
    spaces = sorted({one[2] for one in unjudged if one[at] == name and kind in _READERS[:2]})
    return f"; it no longer judges jobs in {first_of(spaces, 5)}" if spaces else ""


def _as_read(namespace: Json, named: Container[str]) -> Json:
    """Return a Namespace without the labels and annotations that nothing names."""
    metadata = mapping(namespace.get("metadata"))
    parts = {
        part: {
            key: value
            for key, value in mapping(metadata.get(part)).items()
            if _OURS.search(str(key)) or str(key) in named or not _WORD.fullmatch(str(key))
        }
        for part in ("labels", "annotations")
    }
    return {**namespace, "metadata": {**metadata, **parts}}


def _place_of_name(document: Document, now: Sequence[Document]) -> Source | None:
    """Where the rules that are left name one that is gone."""
    name = identity_of(document.data)[1]
    places = (
        d.locate(at) for d in now for at, value in walk(d.data) if value == name and at[-2:] == ("paramRef", "name")
    )
    return next(places, None)


def _lost_items(was: Any, now: Any) -> list[str]:
    """What a list no longer has, in its own words."""
    if not (isinstance(was, list) and isinstance(now, list)):
        return []
    left = {repr(_without_texts(one)) for one in now}
    lost = [one for one in was if repr(_without_texts(one)) not in left]
    named = [
        [one.get(key) for key in ("message", "name", "expression")] if isinstance(one, dict) else [one] for one in lost
    ]
    return [json.dumps(next(filter(None, texts), one), default=str) for texts, one in zip(named, lost, strict=True)]


def _without_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_texts(v) for key, v in value.items() if key not in ("message", "messageExpression")}
    return [*map(_without_texts, value)] if isinstance(value, list) else value


# Whether a field of any shape refuses all that it refused: nothing has checked what the base has.
_Refuses: TypeAlias = Callable[[Any, Any], bool]


def _has_all(was: Any, now: Any) -> bool:
    if not (isinstance(was, list) and isinstance(now, list)):
        return False
    texts = [{json.dumps(one, sort_keys=True, default=str) for one in side} for side in (was, now)]
    return texts[0] <= texts[1]


def _is_as_high(was: Any, now: Any) -> bool:
    return now in _LEVELS[_LEVELS.index(was) if was in _LEVELS else len(_LEVELS) :]


_STRICTER: Sequence[tuple[str, Path, _Refuses]] = (
    ("ValidatingAdmissionPolicy", ("spec", "validations"), _has_all),
    ("ValidatingAdmissionPolicy", ("spec", "failurePolicy"), lambda _, now: now in (None, "Fail")),
    (
        "ValidatingAdmissionPolicyBinding",
        ("spec", "validationActions"),
        lambda was, now: _has_all(["Deny"], now) or _has_all(was, now),
    ),
    ("Namespace", ("metadata", "labels", "pod-security.kubernetes.io/enforce"), _is_as_high),
)


def _without_stricter(was: Json, now: Json) -> Json:
    """Return a rule as it is now, with what only refuses more as it was."""
    for kind, path, refuses in _STRICTER:
        if now.get("kind") == kind and path_exists(was, path) and refuses(value_at(was, path), value_at(now, path)):
            now = with_value(now, path, value_at(was, path))
    return now


def first_difference(before: Any, now: Any) -> Path | None:
    """Return the path of the first value that differs, in what there is now."""
    if before == now:
        return None
    pairs: Iterator[tuple[Any, Any, Any]] = iter(())
    if isinstance(before, dict) and isinstance(now, dict):
        pairs = ((key, before.get(key), now.get(key)) for key in (*now, *before))
    elif isinstance(before, list) and isinstance(now, list) and len(before) <= len(now):
        pairs = zip(range(len(now)), [*before, *[None] * (len(now) - len(before))], now, strict=True)
    for step, old, new in pairs:
        if old != new:
            return () if new is None else (step, *(first_difference(old, new) or ()))
    return ()


def lost_keys(before: Any, now: Any, at: Path) -> list[str]:
    """Return the keys that a mapping had and no longer has."""
    old, new = value_at(before, at), value_at(now, at)
    return [key for key in old if key not in new] if isinstance(old, dict) and isinstance(new, dict) else []
