"""Strategic merges: trainc's two implementations agree, keep the items of both sides, and modify neither."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from fuzz.choices import Choices
from trainc.kube.documents import MERGE_KEYS
from trainc.kube.strategic_merge import PatchFailedError, merge_overlay, strategic_merge

_LISTS = ("containers", "env", "volumes", "volumeMounts", "ports", "replicatedJobs", "imagePullSecrets", "hostAliases")
_FIELDS = ("name", "value", "spec", "template", "labels", "command", "tolerations", "finalizers", *_LISTS)
_SCALARS: tuple[Any, ...] = ("", "a", "b", "c", 0, 1, True, False, 1.5)


def check(data: bytes) -> None:
    """Raise AssertionError if a merge loses, invents or changes something."""
    choices = Choices(data)
    base, patch = _mapping(choices, 4), _mapping(choices, 4)
    before = json.dumps([base, patch])
    merged = strategic_merge(base, patch)
    assert strategic_merge(base, {}) == base
    assert strategic_merge({}, patch) == patch
    _check_mapping(base, patch, merged)
    again = strategic_merge(merged, patch)
    assert _unordered(again) == _unordered(merged)
    overlaid, _ = merge_overlay(base, patch)
    assert overlaid == merged
    directed = _with_directives(patch, choices)
    with suppress(PatchFailedError):
        merge_overlay(base, directed)
    assert json.dumps([base, patch]) == before


def _mapping(choices: Choices, depth: int) -> dict[str, Any]:
    names = {choices.one_of(_FIELDS) for _ in range(choices.below(4))}
    return {name: _value(name, choices, depth - 1) for name in sorted(names)}


def _value(name: str, choices: Choices, depth: int) -> Any:
    if name in MERGE_KEYS:
        return _keyed(MERGE_KEYS[name], choices, depth)
    if name == "finalizers":
        return sorted({choices.one_of("abcd") for _ in range(choices.below(4))}, reverse=bool(choices.below(2)))
    if name in ("command", "tolerations"):
        return [choices.one_of("abcd") for _ in range(choices.below(3))]
    if name in ("spec", "template", "labels"):
        return _mapping(choices, depth) if depth > 0 else {}
    return choices.one_of(_SCALARS)


def _keyed(key: str, choices: Choices, depth: int) -> list[Any]:
    keys: list[Any] = []
    for _ in range(choices.below(5)):
        one: Any = choices.below(4) if key == "containerPort" else choices.one_of("abcde")
        if one not in keys:
            keys.append(one)
    return [{**(_mapping(choices, depth) if depth > 0 else {}), key: one} for one in keys]


def _check_mapping(base: dict[str, Any], patch: dict[str, Any], merged: dict[str, Any]) -> None:
    assert set(merged) == {*base, *patch}
    for name, value in merged.items():
        if name not in patch or name not in base:
            assert value == (base[name] if name in base else patch[name])
        elif isinstance(value, dict) and isinstance(base[name], dict) and isinstance(patch[name], dict):
            _check_mapping(base[name], patch[name], value)
        elif name in MERGE_KEYS:
            _check_keyed(MERGE_KEYS[name], base[name], patch[name], value)
        elif name != "finalizers":
            assert value == patch[name]
        else:
            assert sorted(value) == sorted({*base[name], *patch[name]})


def _check_keyed(key: str, base: list[Any], patch: list[Any], merged: list[Any]) -> None:
    before = {item[key]: item for item in base}
    change = {item[key]: item for item in patch}
    assert [item[key] for item in merged if item[key] in change] == list(change)
    assert [item for item in merged if item[key] not in change] == [i for k, i in before.items() if k not in change]
    for item in merged:
        if item[key] in change:
            _check_mapping(before.get(item[key], {}), change[item[key]], item)


def _unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unordered(item) for name, item in value.items()}
    return sorted((_unordered(item) for item in value), key=repr) if isinstance(value, list) else value


def _with_directives(value: Any, choices: Choices) -> Any:
    """A copy with nulls and directives, valid and invalid, in random places."""
    if isinstance(value, dict):
        copy = {name: _with_directives(item, choices) for name, item in value.items()}
        match choices.below(8):
            case 0:
                copy["$patch"] = choices.one_of(("delete", "replace", "merge", "more", None, 1, []))
            case 1:
                copy[choices.one_of(_FIELDS)] = choices.one_of((None, {}, [], "x", [None], [{"$patch": "delete"}]))
            case 2:
                copy[
                    choices.one_of(("$setElementOrder/env", "$retainKeys", "$deleteFromPrimitiveList/finalizers"))
                ] = []
        return copy
    return [_with_directives(item, choices) for item in value] if isinstance(value, list) else value
