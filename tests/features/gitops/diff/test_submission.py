"""What the two ways to apply make of the live object, the last manifest and the new one."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.features.gitops.diff.delivery import submit

Json = dict[str, Any]

#   live, applied before, manifest, what client-side apply makes of it, what server-side apply makes of it
TABLE: dict[str, tuple[Json, Json, Json, Json, Json]] = {
    "a field that nobody applied stays": ({"a": 1, "d": 2}, {"a": 1}, {"a": 1}, {"a": 1, "d": 2}, {"a": 1, "d": 2}),
    "a field that was applied goes": ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1}, {"a": 1}, {"a": 1}),
    "a field that is new comes": ({"a": 1}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1, "b": 2}),
    "an object that was applied leaves others' fields only to the server": (
        {"o": {"mine": 1, "default": 2}},
        {"o": {"mine": 1}},
        {},
        {},
        {"o": {"default": 2}},
    ),
    "an object of nobody's goes with its last field": ({"o": {"mine": 1}}, {"o": {"mine": 1}}, {}, {}, {}),
    "a field inside an object that another has added to": (
        {"o": {"mine": 1, "default": 2}},
        {"o": {"mine": 1}},
        {"o": {"mine": 3}},
        {"o": {"mine": 3, "default": 2}},
        {"o": {"mine": 3, "default": 2}},
    ),
    "a default inside an item": (
        {"containers": [{"name": "a", "image": "1", "default": True}]},
        {"containers": [{"name": "a", "image": "1"}]},
        {"containers": [{"name": "a", "image": "2"}]},
        {"containers": [{"name": "a", "image": "2"}]},
        {"containers": [{"name": "a", "image": "2", "default": True}]},
    ),
    "an item of somebody else": (
        {"env": [{"name": "mine"}, {"name": "other"}]},
        {"env": [{"name": "mine"}]},
        {"env": [{"name": "new"}]},
        {"env": [{"name": "new"}]},
        {"env": [{"name": "new"}, {"name": "other"}]},
    ),
    "items in another order": (
        {"env": [{"name": "a"}, {"name": "b"}]},
        {"env": [{"name": "a"}, {"name": "b"}]},
        {"env": [{"name": "b"}, {"name": "a"}]},
        {"env": [{"name": "b"}, {"name": "a"}]},
        {"env": [{"name": "b"}, {"name": "a"}]},
    ),
    "a list without identities": ({"args": ["a"]}, {"args": ["a"]}, {"args": ["b"]}, {"args": ["b"]}, {"args": ["b"]}),
    "a list with identities that the server takes whole": (
        {"items": [{"path": "a", "default": 1}]},
        {"items": [{"path": "a"}]},
        {"items": [{"path": "a"}, {"path": "b"}]},
        {"items": [{"path": "a"}, {"path": "b"}]},
        {"items": [{"path": "a"}, {"path": "b"}]},
    ),
    "a list that was applied goes": ({"args": ["a"]}, {"args": ["a"]}, {}, {}, {}),
}


@pytest.mark.parametrize(("live", "applied", "manifest", "client", "server"), TABLE.values(), ids=TABLE)
def test_an_apply_gives(live: Json, applied: Json, manifest: Json, client: Json, server: Json) -> None:
    assert submit("client", live, applied, manifest) == client
    assert submit("server", live, applied, manifest) == server
    assert submit("replace", live, applied, manifest) == manifest
