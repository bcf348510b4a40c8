"""Match labels, node affinity, taints and tolerations as Kueue and kube-scheduler do.

Source: kubernetes/apimachinery pkg/labels/selector.go, kubernetes/component-helpers scheduling/corev1 (helpers.go,
nodeaffinity/nodeaffinity.go), v0.36.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from trainc.kube.documents import Json
from trainc.startup.patterns import pattern

Labels: TypeAlias = Mapping[str, str]

_BARRING = ("NoSchedule", "NoExecute")
_INTEGER = pattern(r"([+-]?)([0-9]+)")
_DECIMAL = pattern(r"0|-?[1-9][0-9]*")
_NAME = pattern(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LABEL_VALUE = pattern(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_SUBDOMAIN = pattern(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def is_subdomain(text: str) -> bool:
    """Whether `text` is a DNS-1123 subdomain, the format of most object names."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def is_label_name(text: str) -> bool:
    """Whether `text` is a valid label key: a name of up to 63 characters with an optional `prefix/`."""
    prefix, slash, name = text.rpartition("/")
    return (not slash or is_subdomain(prefix)) and len(name) <= 63 and _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether `text` is a valid label value."""
    return len(text) <= 63 and _LABEL_VALUE.fullmatch(text) is not None


class MalformedSelector(ValueError):
    """A requirement that Kubernetes cannot parse, such as `Gt` with a value that is not a number."""


def matches_selector(selector: Json | None, labels: Labels) -> bool:
    """Whether a LabelSelector matches: a missing one matches nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(requirement, labels) for requirement in selector.get("matchExpressions") or ())


def _holds(requirement: Json, labels: Labels) -> bool:
    """Whether a label requirement holds. Raises MalformedSelector if Kubernetes cannot parse it."""
    key, values = requirement.get("key", ""), [str(value) for value in requirement.get("values") or ()]
    operator = requirement.get("operator")
    test = _OPERATORS.get(str(operator))
    if test is None or not is_label_name(key) or not all(is_label_value(value) for value in values):
        raise MalformedSelector(f"{key} {operator} {values}")
    _check_count(str(operator), values)
    return test(labels.get(key), values)


def _check_count(operator: str, values: Sequence[str]) -> None:
    if operator in ("In", "NotIn"):
        fits = bool(values)
    elif operator in ("Gt", "Lt"):
        fits = len(values) == 1 and _int64(values[0]) is not None
    else:
        fits = not values
    if not fits:
        raise MalformedSelector(f"{operator} {list(values)}")


def _int64(text: str | None) -> int | None:
    """Parse like Go's strconv.ParseInt(text, 10, 64); None on error. Python's int() fails for thousands of digits."""
    found = None if text is None else _INTEGER.fullmatch(text)
    if found is None or len(digits := found[2].lstrip("0") or "0") > 19:
        return None
    number = int(found[1] + digits)
    return number if -(2**63) <= number < 2**63 else None


def _compares(greater: bool) -> Callable[[str | None, Sequence[str]], bool]:
    def test(value: str | None, values: Sequence[str]) -> bool:
        left, right = _int64(value), _int64(values[0])
        if left is None or right is None:
            return False
        return left > right if greater else left < right

    return test


_OPERATORS: dict[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": _compares(greater=True),
    "Lt": _compares(greater=False),
}


def required_terms(pod: Json) -> Sequence[Json] | None:
    """The terms of a pod's required node affinity; None if it has none."""
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else required.get("nodeSelectorTerms") or ()


def flavor_matches(pod: Json, labels: Labels) -> bool:
    """Whether a pod's node selector and required affinity allow a flavor with these node labels.

    Only keys that the flavor defines are considered; a term that uses only other keys matches every flavor.
    Raises MalformedSelector if no term matches and one of them cannot be parsed.
    """
    if any(key in labels and labels[key] != value for key, value in (pod.get("nodeSelector") or {}).items()):
        return False
    terms = []
    for term in required_terms(pod) or ():
        known = [one for one in term.get("matchExpressions") or () if one.get("key") in labels]
        if not known:
            return True
        terms.append({"matchExpressions": known})
    return not terms or _any_term(terms, labels, "")


def node_matches(pod: Json, labels: Labels, name: str) -> bool:
    """Whether a node satisfies a pod's node selector and required affinity. Raises MalformedSelector as above."""
    if any(labels.get(key) != value for key, value in (pod.get("nodeSelector") or {}).items()):
        return False
    terms = required_terms(pod)
    return terms is None or _any_term(terms, labels, name)


def is_readable(pod: Json, *, selector: bool) -> bool:
    """Whether every term of a pod's affinity can be parsed and, with `selector`, its node selector too."""
    try:
        for term in required_terms(pod) or ():
            for requirement in term.get("matchExpressions") or ():
                _holds(requirement, {})
            _fields_hold(term, "")
    except MalformedSelector:
        return False
    labels = (pod.get("nodeSelector") or {}) if selector else {}
    return all(is_label_name(key) and is_label_value(value) for key, value in labels.items())


def _any_term(terms: Iterable[Json], labels: Labels, name: str) -> bool:
    malformed = None
    for term in terms:
        expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
        if not expressions and not fields:
            continue
        try:
            if all(_holds(one, labels) for one in expressions) and _fields_hold(term, name):
                return True
        except MalformedSelector as error:
            malformed = error
    if malformed:
        raise malformed
    return False


def _fields_hold(term: Json, name: str) -> bool:
    holds = True
    for one in term.get("matchFields") or ():
        values: Sequence[str] = one.get("values") or ()
        if one.get("operator") not in ("In", "NotIn") or len(values) != 1:
            raise MalformedSelector(str(one))
        actual = name if one.get("key") == "metadata.name" else ""
        holds &= (actual == values[0]) == (one["operator"] == "In")
    return holds


def barring_taint(taints: Iterable[Json], tolerations: Collection[Json]) -> Json | None:
    """The first NoSchedule or NoExecute taint that no toleration covers."""
    for taint in taints:
        if taint.get("effect") in _BARRING and not any(_tolerates(one, taint) for one in tolerations):
            return taint
    return None


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    given, wanted = str(toleration.get("value") or ""), str(taint.get("value") or "")
    operator = toleration.get("operator") or "Equal"
    if operator in ("Lt", "Gt"):
        bound, value = (_int64(text) if _DECIMAL.fullmatch(text) else None for text in (given, wanted))
        if bound is None or value is None:
            return False
        return value < bound if operator == "Lt" else value > bound
    return operator == "Exists" or (operator == "Equal" and given == wanted)
