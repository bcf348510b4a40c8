"""Policies for the failure and success of a Job: podFailurePolicy, successPolicy, podReplacementPolicy.

Source: kubernetes pkg/apis/batch/validation/validation.go, validatePodFailurePolicy and validateSuccessPolicy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.pods import mistakes
from trainc.pods.checks import one_of, qualified_name, struct

_MOST_RULES = 20
_MOST_EXIT_CODES = 255
_LONGEST_INDEXES = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


def check_policies(spec: Json, template: Json, path: Path) -> Iterator[Finding]:
    """Check the policies of a Job, given its spec and pod template; `path` is the path of the spec."""
    failure, success = spec.get("podFailurePolicy"), spec.get("successPolicy")
    replacement = spec.get("podReplacementPolicy")
    if isinstance(replacement, str):
        allowed = ("Failed",) if failure is not None else ("Failed", "TerminatingOrFailed")
        yield from one_of(*allowed)(replacement, (*path, "podReplacementPolicy"))
    if isinstance(failure, dict):
        yield from _failure_policy(failure, spec, template, (*path, "podFailurePolicy", "rules"))
    if isinstance(success, dict) and spec.get("completionMode") == "Indexed":
        yield from _success_policy(success, spec.get("completions"), (*path, "successPolicy", "rules"))


def _failure_policy(policy: Json, spec: Json, template: Json, path: Path) -> Iterator[Finding]:
    rules, pod = items(policy.get("rules")), mapping(template.get("spec"))
    names = [str(mapping(c).get("name")) for kind in ("containers", "initContainers") for c in items(pod.get(kind))]
    if len(rules) > _MOST_RULES:
        yield mistakes.too_many(path, len(rules), _MOST_RULES)
    for i, rule in enumerate(map(mapping, rules)):
        place = (*path, i)
        yield from _action(rule, spec, (*place, "action"))
        codes, conditions = rule.get("onExitCodes"), items(rule.get("onPodConditions"))
        if isinstance(codes, dict):
            yield from _exit_codes(codes, (*place, "onExitCodes"), names)
        if len(conditions) > _MOST_RULES:
            yield mistakes.too_many((*place, "onPodConditions"), len(conditions), _MOST_RULES)
        for k, condition in enumerate(conditions):
            yield from _CONDITION(condition, (*place, "onPodConditions", k))
        if codes is not None and conditions:
            yield mistakes.bad_policy(
                place, "a rule has both onExitCodes and onPodConditions", "split it into two rules"
            )
        elif codes is None and not conditions:
            yield mistakes.bad_policy(place, "a rule has no condition", "add onExitCodes or onPodConditions")


_CONDITION = struct({"type": qualified_name, "status": one_of("", "True", "False", "Unknown")}, needs=("type",))


def _action(rule: Json, spec: Json, path: Path) -> Iterator[Finding]:
    action = rule.get("action")
    if not action:
        yield mistakes.missing(path)
    elif action not in _ACTIONS:
        yield mistakes.unsupported(path, action, _ACTIONS)
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        message = "FailIndex needs retries that are counted per index"
        yield mistakes.bad_policy(path, message, "set backoffLimitPerIndex, or use FailJob")


def _exit_codes(codes: Json, path: Path, containers: Collection[str]) -> Iterator[Finding]:
    operator, name, values = codes.get("operator"), codes.get("containerName"), items(codes.get("values"))
    if operator not in ("In", "NotIn"):
        yield mistakes.unsupported((*path, "operator"), operator, ("In", "NotIn"))
    if name is not None and name not in containers:
        yield mistakes.not_in_pod((*path, "containerName"), "container", str(name), containers)
    place = (*path, "values")
    if not values:
        yield mistakes.missing(place)
    elif len(values) > _MOST_EXIT_CODES:
        yield mistakes.too_many(place, len(values), _MOST_EXIT_CODES)
    seen: set[str] = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            yield mistakes.bad_policy((*place, i), "exit code 0 means success", "remove it")
        if str(value) in seen:
            yield mistakes.duplicate((*place, i), value)
        seen.add(str(value))
    whole = [value for value in values if isinstance(value, int)]
    if whole != sorted(whole):
        written = f"write {sorted(set(whole))}"
        yield mistakes.bad_policy(place, "the exit codes are not in ascending order", written)


def _success_policy(policy: Json, completions: object, path: Path) -> Iterator[Finding]:
    rules = items(policy.get("rules"))
    if not rules:
        yield mistakes.missing(path, "a success policy has at least one")
    elif len(rules) > _MOST_RULES:
        yield mistakes.too_many(path, len(rules), _MOST_RULES)
    most = completions if isinstance(completions, int) else 1
    for i, rule in enumerate(map(mapping, rules)):
        yield from _success_rule(rule, most, (*path, i))


def _success_rule(rule: Json, completions: int, path: Path) -> Iterator[Finding]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        yield mistakes.missing_choice(path, ("succeededCount", "succeededIndexes"), "a rule of a success policy")
    named = completions
    if isinstance(indexes, str):
        place = (*path, "succeededIndexes")
        if len(indexes) > _LONGEST_INDEXES:
            yield mistakes.too_long(place, len(indexes), _LONGEST_INDEXES)
        try:
            named = _count_indexes(indexes, completions)
        except ValueError as error:
            named = 0
            yield mistakes.bad_policy(place, f"{indexes!r}: {error}", 'write indexes in ascending order, as in "0,2-4"')
    if isinstance(count, int) and not 0 <= count <= min(completions, named):
        yield mistakes.out_of_range((*path, "succeededCount"), count, 0, max(0, min(completions, named)))


def _count_indexes(text: str, completions: int) -> int:
    """Count the indexes in "0,2-4". Raises ValueError unless they are ascending and below `completions`."""
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        limits = [_index(limit, completions) for limit in interval.split("-")]
        first, end = limits[0], limits[-1]
        if len(limits) > 2 or (len(limits) == 2 and first >= end) or first <= last:
            raise ValueError(f"{interval!r} is out of order")
        total, last = total + end - first + 1, end
    return total


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise ValueError(f"{text!r} is not an index")
    if int(text) >= completions:
        raise ValueError(f"the Job has {completions} indexes, so the last one is {completions - 1}")
    return int(text)
