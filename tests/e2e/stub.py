"""A small stand-in for an API server, on this machine's loopback: enough for kubectl to apply, compare and delete.

It stores what it is sent, with `defaults` of a kind filled in, and refuses what `refuses` says. It validates nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
_CLAIMS = ("persistentvolumeclaims", "PersistentVolumeClaim", True)
KINDS = {
    "v1": (
        ("namespaces", "Namespace", False),
        ("configmaps", "ConfigMap", True),
        ("secrets", "Secret", True),
        ("serviceaccounts", "ServiceAccount", True),
        _CLAIMS,
    ),
    "apps/v1": (("deployments", "Deployment", True),),
    "apiextensions.k8s.io/v1": (("customresourcedefinitions", "CustomResourceDefinition", False),),
    "jobset.x-k8s.io/v1alpha2": (("jobsets", "JobSet", True),),
}
_SHORT = {"customresourcedefinitions": ["crd", "crds"], "persistentvolumeclaims": ["pvc"]}
_VERBS = ["create", "delete", "get", "list", "patch", "update"]


class Stub(ThreadingHTTPServer):
    """The server: `stored` is by path; `changes` what a write does to an object; `refuses` why one is not taken."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.daemon_threads = True
        self.stored: dict[str, Json] = {}
        self.requests: list[tuple[str, str]] = []
        self.changes: Callable[[Json], Json] = lambda document: document
        self.refuses: Callable[[Json], str] = lambda _: ""
        self.number = 0

    def put(self, version: str, kind: str, document: Json) -> None:
        """An object that is there from the beginning."""
        plural = next(plural for plural, name, _ in KINDS[version] if name == kind)
        metadata = document["metadata"]
        space = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
        path = f"{_root(version)}{space}/{plural}/{metadata['name']}"
        self.stored[path] = {"apiVersion": version, "kind": kind, **document}


@contextmanager
def serving(folder: Path) -> Iterator[tuple[Stub, str]]:
    """A stub that runs, and a kubeconfig for it."""
    stub = Stub()
    thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{stub.server_address[1]}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "stub",
        "clusters": [{"name": "stub", "cluster": {"server": address}}],
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "nobody"}}],
        "users": [{"name": "nobody", "user": {}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config), encoding="utf-8")
    try:
        yield stub, str(path)
    finally:
        stub.shutdown()
        thread.join()
        stub.server_close()


def _root(version: str) -> str:
    return f"/api/{version}" if "/" not in version else f"/apis/{version}"


class _Handler(BaseHTTPRequestHandler):
    server: Stub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing: the test says what it wants to know."""

    def do_GET(self) -> None:
        """Discovery, a single object, or a list."""
        path = self._path()
        found = _discovery(path)
        if found is None and path in self.server.stored:
            found = self.server.stored[path]
        if found is None:
            found = self._list(path)
        self._answer(200, found) if found is not None else self._answer(404, _status(404, "NotFound", path))

    def do_POST(self) -> None:
        """A new object."""
        sent = self._body()
        self._write(f"{self._path()}/{sent['metadata']['name']}", sent, 201)

    def do_PATCH(self) -> None:
        """A merge of the patch, whatever its kind, or with server-side apply an object that may be new."""
        before = self.server.stored.get(self._path())
        self._write(self._path(), _merged(before or {}, self._body()), 200 if before else 201)

    def do_DELETE(self) -> None:
        """The object is gone at once."""
        self._body()
        gone = self.server.stored.pop(self._path(), None)
        self._answer(200 if gone else 404, gone or _status(404, "NotFound", self._path()))

    def _write(self, path: str, document: Json, status: int) -> None:
        refused = self.server.refuses(document)
        if refused:
            self._answer(422, _status(422, "Invalid", refused))
            return
        before = self.server.stored.get(path, {})
        after = self.server.changes(document)
        if _without_version(after) != _without_version(before):
            self.server.number += 1
            after = _merged(after, {"metadata": {"resourceVersion": str(self.server.number), "uid": "u-1"}})
        if "dryRun" not in parse_qs(urlsplit(self.path).query):
            self.server.stored[path] = after
        self._answer(status, after)

    def _list(self, path: str) -> Json | None:
        """The objects of a kind, in a namespace or in all."""
        for version, kinds in KINDS.items():
            for plural, kind, _ in kinds:
                if path.startswith(_root(version)) and path.endswith(f"/{plural}"):
                    inside = path.removesuffix(plural)
                    found = [
                        each
                        for place, each in sorted(self.server.stored.items())
                        if place.startswith(inside) and f"/{plural}/" in place
                    ]
                    return {"apiVersion": version, "kind": f"{kind}List", "metadata": {}, "items": found}
        return None

    def _path(self) -> str:
        path = urlsplit(self.path).path
        self.server.requests.append((self.command, self.path))
        return path

    def _body(self) -> Json:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return dict(json.loads(text)) if text else {}

    def _answer(self, status: int, document: Json) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _discovery(path: str) -> Json | None:
    """What kubectl asks before it asks anything."""
    if path == "/version":
        return {"major": "1", "minor": "36", "gitVersion": "v1.36.2"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        groups = [_group(version) for version in KINDS if "/" in version]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    for version, kinds in KINDS.items():
        if path == _root(version):
            resources = [
                {
                    "name": plural,
                    "kind": kind,
                    "namespaced": spaced,
                    "verbs": _VERBS,
                    "shortNames": _SHORT.get(plural, []),
                }
                for plural, kind, spaced in kinds
            ]
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}
        if path == f"/openapi/v3{_root(version)}":
            return _openapi(version)
    if path == "/openapi/v3":
        paths = {_root(v)[1:]: {"serverRelativeURL": f"/openapi/v3{_root(v)}?hash=1"} for v in KINDS}
        return {"paths": paths}
    return None


def _group(version: str) -> Json:
    entry = {"groupVersion": version, "version": version.rpartition("/")[2]}
    return {"name": version.partition("/")[0], "versions": [entry], "preferredVersion": entry}


def _openapi(version: str) -> Json:
    """That the server validates fields itself and knows dry runs, which is all that kubectl looks for."""
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("fieldValidation", "dryRun")]
    group, _, minor = version.rpartition("/")
    paths = {
        f"{_root(version)}/{plural}/{{name}}": {
            "patch": {
                "parameters": parameters,
                "responses": {},
                "x-kubernetes-group-version-kind": {"group": group, "version": minor, "kind": kind},
            }
        }
        for plural, kind, _ in KINDS[version]
    }
    return {
        "openapi": "3.0.0",
        "info": {"title": "stub", "version": "1"},
        "paths": paths,
        "components": {"schemas": {}},
    }


def _merged(before: Any, change: Any) -> Any:
    """A JSON merge patch."""
    if not isinstance(before, dict) or not isinstance(change, dict):
        return change
    kept = {key: value for key, value in before.items() if key not in change}
    return kept | {key: _merged(before.get(key), value) for key, value in change.items() if value is not None}


def _without_version(document: Json) -> Json:
    metadata = {k: v for k, v in document.get("metadata", {}).items() if k not in {"resourceVersion", "uid"}}
    return {**document, "metadata": metadata}


def _status(code: int, reason: str, message: str) -> Json:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
