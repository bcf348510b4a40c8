"""A stand-in for the API server that the SDK talks to: it has runtimes, and keeps the TrainJobs that it is sent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from trainc.api.documents import Manifest

_RUNTIMES, _CLUSTER_RUNTIMES = "trainingruntimes", "clustertrainingruntimes"
_KINDS = {_RUNTIMES: "TrainingRuntime", _CLUSTER_RUNTIMES: "ClusterTrainingRuntime"}
_NOT_FOUND = 404


class _Answer:
    """What a call with async_req gives back."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask

    def get(self, _timeout: float | None = None) -> Any:
        """The answer, at once."""
        return self._ask()


class OfflineObjects:
    """The methods of kubernetes.client.CustomObjectsApi that the SDK calls for runtimes and new TrainJobs."""

    def __init__(self, runtimes: Sequence[Manifest], create: Callable[[str, Manifest], Manifest]) -> None:
        """`create` is told the namespace and the body of each new TrainJob."""
        self._runtimes, self._create = runtimes, create

    # The client's methods take the group and the version first, then what is asked for.

    def get_cluster_custom_object(self, *words: str, **requested: Any) -> Any:
        """A ClusterTrainingRuntime by its plural and name, or the API server's 404."""
        *_, plural, name = words
        return _answered(lambda: self._find(plural, name, ""), requested)

    def get_namespaced_custom_object(self, *words: str, **requested: Any) -> Any:
        """A TrainingRuntime by namespace, plural and name, or the API server's 404."""
        *_, namespace, plural, name = words
        return _answered(lambda: self._find(plural, name, namespace), requested)

    def list_cluster_custom_object(self, *words: str, **requested: Any) -> Any:
        """All ClusterTrainingRuntimes."""
        return _answered(lambda: self._list(words[-1], ""), requested)

    def list_namespaced_custom_object(self, *words: str, **requested: Any) -> Any:
        """The TrainingRuntimes of a namespace."""
        *_, namespace, plural = words
        return _answered(lambda: self._list(plural, namespace), requested)

    def create_namespaced_custom_object(self, *words: Any, **requested: Any) -> Any:
        """Keep a TrainJob, by namespace, plural and body. Raises CompileError where it is refused."""
        *_, namespace, _, body = words
        return _answered(lambda: self._create(namespace, copy.deepcopy(body)), requested)

    def _find(self, plural: str, name: str, namespace: str) -> Manifest:
        found = (item for item in self._list(plural, namespace)["items"] if item["metadata"]["name"] == name)
        for item in found:
            return item  # type: ignore[no-any-return]
        from kubernetes.client import ApiException

        raise ApiException(status=_NOT_FOUND, reason=f"there is no {_KINDS.get(plural, plural)} {name}")

    def _list(self, plural: str, namespace: str) -> Manifest:
        items = [
            copy.deepcopy(runtime)
            for runtime in self._runtimes
            if runtime.get("kind") == _KINDS.get(plural)
            if not namespace or runtime["metadata"].get("namespace", namespace) == namespace
        ]
        kind = f"{_KINDS.get(plural, 'Object')}List"
        return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "metadata": {}, "items": items}


def _answered(ask: Callable[[], Any], requested: dict[str, Any]) -> Any:
    return _Answer(ask) if requested.get("async_req") else ask()
