"""Match node affinity, taints and tolerations as Kueue and kube-scheduler do.

Source: kubernetes/component-helpers scheduling/corev1 (helpers.go, nodeaffinity/nodeaffinity.go), v0.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from trainc.api.kube import Json, MalformedSelector
from trainc.api.records import pattern
from trainc.kube.names import is_label_key, is_label_value
from trainc.kube.selectors import int64, read_requirement

Labels: TypeAlias = Mapping[str, str]

_BARRING = ("NoSchedule", "NoExecute")
_DECIMAL = pattern(r"0|-?[1-9][0-9]*")


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
                read_requirement(requirement)
            _fields_hold(term, "")
    except MalformedSelector:
        return False
    labels = (pod.get("nodeSelector") or {}) if selector else {}
    return all(is_label_key(key) and is_label_value(value) for key, value in labels.items())


def _any_term(terms: Iterable[Json], labels: Labels, name: str) -> bool:
    malformed = None
    for term in terms:
        expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
        if not expressions and not fields:
            continue
        try:
            if all(read_requirement(one).holds(labels) for one in expressions) and _fields_hold(term, name):
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
        bound, value = (int64(text) if _DECIMAL.fullmatch(text) else None for text in (given, wanted))
        if bound is None or value is None:
            return False
        return value < bound if operator == "Lt" else value > bound
    return operator == "Exists" or (operator == "Equal" and given == wanted)
