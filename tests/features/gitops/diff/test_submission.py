"""What the two ways to apply make of the live object, the last manifest and the new one."""

from __future__ import annotations

from typing import Any

from tables import cases

from trainc.features.gitops.diff.delivery import submit

Json = dict[str, Any]


@cases("live", "applied", "manifest", "client", "server")
def test_an_apply_gives(live: Json, applied: Json, manifest: Json, client: Json, server: Json) -> None:
    assert submit("client", live, applied, manifest) == client
    assert submit("server", live, applied, manifest) == server
    assert submit("replace", live, applied, manifest) == manifest
