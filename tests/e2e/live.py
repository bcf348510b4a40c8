"""A live API server, asked by way of kubectl: what it has, what it makes of manifests, and what its controllers create.

Everything stands in one namespace that is made for the run and deleted after it, and JobSets are suspended: no pod starts.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trainc.features.cluster.doctor.command import QUESTIONS, Kubectl as Questions
from trainc.features.cluster.doctor.comparison import Component, components

Json = dict[str, Any]
MANAGER = "trainc-e2e"
_PATIENCE = 60
# What the API server adds to an object, anew at each creation.
_OF_THE_SERVER = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "ownerReferences")
# Structs without `omitempty`: whatever passes through Go's types has them, and without content they mean nothing.
_GO_STRUCTS = ("metadata", "resources", "status")
_BUILT_IN = ("v1", "rbac.authorization.k8s.io/v1", "batch/v1")


class RefusedError(Exception):
    """kubectl failed; the message is its own."""


@dataclass
class Live:
    """The cluster of a kubeconfig, and the namespace of the run."""

    program: str
    kubeconfig: str
    namespace: str
    _kinds: dict[tuple[str, str], bool] = field(default_factory=dict)

    def call(self, *words: str, given: Sequence[Json] | None = None, statuses: Sequence[int] = (0,)) -> str:
        """What kubectl prints for these words; RefusedError for another status."""
        done = subprocess.run(
            [self.program, f"--kubeconfig={self.kubeconfig}", f"--request-timeout={_PATIENCE}s", *words],
            # No List: of that kubectl asks another endpoint what is valid.
            input=None if given is None else "\n".join(map(json.dumps, given)),
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            text=True,
            timeout=2 * _PATIENCE,
            check=False,
        )
        if done.returncode not in statuses:
            raise RefusedError((done.stderr or done.stdout).strip())
        return done.stdout

    @cached_property
    def documents(self) -> tuple[Json, ...]:
        """What `trainc doctor` would ask for."""
        return Questions(self.program, kubeconfig=self.kubeconfig, seconds=_PATIENCE).ask(QUESTIONS).documents

    @cached_property
    def components(self) -> dict[str, Component]:
        """What is installed, by name."""
        return components(self.documents)

    def runs(self, deployment: str) -> bool:
        """Whether a controller of that name is up."""
        found = (d for d in self.documents if d.get("kind") == "Deployment" and deployment in d["metadata"]["name"])
        return any((d.get("status") or {}).get("availableReplicas", 0) > 0 for d in found)

    def missing_kinds(self, documents: Iterable[Json]) -> list[str]:
        """Those of the documents' kinds that the cluster does not serve."""
        kinds = {(d["apiVersion"], d["kind"]) for d in documents}
        return sorted(f"{kind} of {version}" for version, kind in kinds if not self._serves(version, kind))

    def _serves(self, version: str, kind: str) -> bool:
        if version in _BUILT_IN:
            return True
        if (version, kind) not in self._kinds:
            try:
                resources = json.loads(self.call("get", f"--raw=/apis/{version}"))["resources"]
            except RefusedError:
                resources = []
            self._kinds[version, kind] = any(resource["kind"] == kind for resource in resources)
        return self._kinds[version, kind]

    def here(self, documents: Iterable[Json]) -> list[Json]:
        """The documents in the namespace of the run, JobSets suspended."""
        return [self._moved(document) for document in documents]

    def delete_claims(self) -> None:
        """Delete the claims that JobSet has created: the next JobSet may have the same name, and claims last longer."""
        self.call("delete", "persistentvolumeclaims", "--all", f"--namespace={self.namespace}", "--wait=true")

    def _moved(self, document: Json) -> Json:
        moved = {**document, "metadata": {**document["metadata"], "namespace": self.namespace}}
        if document["kind"] in {"JobSet", "TrainJob"}:
            moved["spec"] = {**document["spec"], "suspend": True}
        return moved


def dry_run(live: Live, documents: Sequence[Json]) -> list[Json]:
    """The objects as the API server would store them, less what it makes up. RefusedError if it would not."""
    words = ("apply", "--server-side", "--dry-run=server", f"--field-manager={MANAGER}", "--validate=strict", "-o=json")
    answer = json.loads(live.call(*words, "--filename=-", given=documents))
    return [settled(each) for each in (answer["items"] if answer["kind"] == "List" else [answer])]


def settled(document: Json) -> Json:
    """An object less what the server makes up, less its status, and less the empty structs that Go writes."""
    metadata = {key: value for key, value in document["metadata"].items() if key not in _OF_THE_SERVER}
    kept: Json = _without_empty_structs({key: value for key, value in document.items() if key != "status"})
    return {**kept, "metadata": metadata}


def _without_empty_structs(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty_structs(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_empty_structs(item) for key, item in value.items() if key != "creationTimestamp"}
    return {key: item for key, item in kept.items() if item != {} or key not in _GO_STRUCTS}


def problems(live: Live, documents: Sequence[Json]) -> Iterator[str]:
    """What is wrong with manifests in a cluster: refused, changed by a second apply, or different from what is stored."""
    try:
        if dry_run(live, documents) != dry_run(live, documents):
            yield "two dry runs differ"
        live.call("apply", "--validate=strict", "--filename=-", given=documents)
        again = live.call("apply", "--validate=strict", "--dry-run=server", "--filename=-", given=documents)
        yield from (line for line in again.splitlines() if "unchanged" not in line)
        differs = live.call("diff", "--filename=-", given=documents, statuses=(0, 1))
        if differs.strip():
            yield f"kubectl diff: {differs.strip()}"
    except RefusedError as refused:
        yield str(refused)
    finally:
        words = ("delete", "--ignore-not-found", "--wait=true", "--filename=-")
        live.call(*words, given=documents, statuses=(0, 1))
        live.delete_claims()


def created(live: Live, kind: str, name: str) -> Json | None:
    """An object that a controller creates, once it is there; None if it never is."""
    for _ in range(_PATIENCE):
        found = live.call("get", kind, name, f"--namespace={live.namespace}", "--ignore-not-found", "--output=json")
        if found.strip():
            answer: Json = json.loads(found)
            return answer
        time.sleep(1)
    return None
