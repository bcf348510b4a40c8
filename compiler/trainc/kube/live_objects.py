"""Objects of a running cluster: the state of a job, who set a field, and what other tools are known to add."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from trainc.findings import Path
from trainc.kube.documents import POD_TEMPLATE, Unchecked, mapping, objects, read_json, value_at
from trainc.kube.names import QUEUE_LABEL

State: TypeAlias = Literal["suspended", "running", "succeeded", "failed", "unknown", "none"]
KINDS_WITH_STATE = ("JobSet", "TrainJob")
KUEUE = "kueue"
KUEUE_PREFIX = "kueue.x-k8s.io/"

# The conditions that decide, the final ones first. A JobSet is Completed, a TrainJob Complete; both can be Suspended.
# Source: kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go; kubeflow/trainer pkg/apis/trainer/v1alpha1.
_DECIDING: Mapping[str, State] = {
    "Failed": "failed",
    "Completed": "succeeded",
    "Complete": "succeeded",
    "Suspended": "suspended",
}
FINISHED: tuple[State, ...] = ("succeeded", "failed")


def state_of(document: Unchecked) -> tuple[State, Unchecked | None]:
    """Return the state of a JobSet or TrainJob and the condition that says so; `none` for objects of other kinds."""
    if document.get("kind") not in KINDS_WITH_STATE:
        return "none", None
    conditions = {str(condition.get("type")): condition for condition in true_conditions(document)}
    for kind, state in _DECIDING.items():
        if kind in conditions:
            return state, conditions[kind]
    if mapping(document.get("spec")).get("suspend") is True:
        return "suspended", None
    return ("running" if isinstance(document.get("status"), dict) else "unknown"), None


def true_conditions(document: Unchecked) -> Iterator[Unchecked]:
    """Yield the conditions in the status of an object that hold."""
    for condition in objects(mapping(document.get("status")).get("conditions")):
        if condition.get("status") == "True":
            yield condition


def controller_of(document: Unchecked) -> Unchecked | None:
    """Return the owner reference to the controller that made an object."""
    owners = objects(mapping(document.get("metadata")).get("ownerReferences"))
    return next((owner for owner in owners if owner.get("controller") is True), None)


def labels_of(document: Unchecked) -> Unchecked:
    """Return the labels of an object, in which anything may be wrong."""
    return mapping(mapping(document.get("metadata")).get("labels"))


def annotations_of(document: Unchecked) -> Unchecked:
    """Return the annotations of an object, in which anything may be wrong."""
    return mapping(mapping(document.get("metadata")).get("annotations"))


# Who set a field, by `metadata.managedFields`.

# An API server merges all but the last ten managers that update into one entry; those that apply are few.
# Source: kubernetes/kubernetes staging/src/k8s.io/apiserver pkg/endpoints/handlers/fieldmanager (DefaultMaxUpdateManagers).
_MOST_MANAGERS = 50


class Owners:
    """Who set the fields of an object. Without managedFields nobody is known."""

    def __init__(self, document: Unchecked) -> None:
        """Index the managedFields of an object; those of the status do not count."""
        self._object = document
        entries = objects(mapping(document.get("metadata")).get("managedFields"))
        oldest_first = sorted(
            (entry for entry in entries if not entry.get("subresource")), key=lambda entry: str(entry.get("time", ""))
        )
        newest = oldest_first[: -_MOST_MANAGERS - 1 : -1]
        # The owners of each path, looked up once.
        self._owners: dict[Path, list[tuple[str, Unchecked]]] = {
            (): [(str(entry.get("manager", "")), mapping(entry.get("fieldsV1"))) for entry in newest]
        }
        self._items: dict[int, Mapping[frozenset[tuple[str, str]], Any]] = {}
        self._keys: dict[int, tuple[str, ...]] = {}

    @property
    def are_known(self) -> bool:
        """Return whether the dump has managedFields."""
        return bool(self._owners[()])

    def of(self, path: Path) -> str | None:
        """The manager that set the field at `path` last; None for what nobody sent, which admission added."""
        return next((manager for manager, _ in self._owners_of(path)), None)

    def _owners_of(self, path: Path) -> Iterator[tuple[str, Unchecked]]:
        """The managers that own the field, the newest first, each with its entry for the field."""
        if not path:
            yield from self._owners[()]
            return
        parent, step = path[:-1], path[-1]
        if parent not in self._owners:
            self._owners[parent] = list(self._owners_of(parent))
        for manager, node in self._owners[parent]:
            if isinstance(step, str):
                inner = node.get(f"f:{step}")
            else:
                inner = self._item(node, value_at(self._object, path), step)
            if isinstance(inner, Mapping):
                yield manager, inner
            elif inner is None and not node and parent:
                yield manager, node  # An atomic map or list is owned as a whole, and its entry is empty.

    def _item(self, node: Unchecked, value: Any, index: int) -> Any:
        """The entry of a list item, which goes by its keys, by its value if that is a scalar, or by its index."""
        if id(node) not in self._items:
            self._index_items(node)
        keys = self._keys[id(node)]
        if keys and isinstance(value, Mapping):
            return self._items[id(node)].get(_identity({key: value.get(key) for key in keys}))
        entry = None if isinstance(value, Mapping | list) else node.get(f"v:{json.dumps(value)}")
        return node.get(f"i:{index}") if entry is None else entry

    def _index_items(self, node: Unchecked) -> None:
        by_identity: dict[frozenset[tuple[str, str]], Any] = {}
        keys: tuple[str, ...] = ()
        for name, inner in node.items():
            if name.startswith("k:"):
                try:
                    identity = read_json(name[2:])
                except ValueError:
                    continue
                if isinstance(identity, dict):
                    keys = tuple(identity)
                    by_identity[_identity(identity)] = inner
        self._items[id(node)], self._keys[id(node)] = by_identity, keys


def _identity(keys: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset((key, str(value)) for key, value in keys.items())


# What others add to an object of ours.

# Below a pod template of a JobSet: Kueue's marks, and where it sends the pods.
# Source: kubernetes-sigs/kueue pkg/podset/podset.go (Merge).
_PLACED_BY_KUEUE = (("spec", "nodeSelector"), ("spec", "tolerations"), ("spec", "schedulingGates"))
_MARKED_BY_KUEUE = (("metadata", "labels"), ("metadata", "annotations"))
# Labels and annotations with which tools mark what they apply.
# Sources: argoproj/argo-cd common/common.go; fluxcd/pkg ssa/manager.go; kubernetes/kubectl pkg/util/apply.go.
_MARKS = (
    "argocd.argoproj.io/tracking-id",
    "argocd.argoproj.io/installation-id",
    "kustomize.toolkit.fluxcd.io/name",
    "kustomize.toolkit.fluxcd.io/namespace",
    "helm.toolkit.fluxcd.io/name",
    "helm.toolkit.fluxcd.io/namespace",
    "kubectl.kubernetes.io/last-applied-configuration",
)
# Argo CD's label for tracking, which is also one that people set.
_INSTANCE = "app.kubernetes.io/instance"


def is_mark(path: Path, manager: str | None) -> bool:
    """Return whether the field is a label or annotation with which a tool marks the objects that it applies."""
    if path[:1] != ("metadata",) or path[1:2] not in (("labels",), ("annotations",)) or len(path) != 3:
        return False
    return path[2] in _MARKS or (path[2] == _INSTANCE and (manager is None or manager.startswith("argocd")))


def gitops_tool_of(document: Unchecked) -> str:
    """Return the GitOps tool that applied an object, by its marks: `Argo CD`, `Flux CD`, or empty."""
    if "argocd.argoproj.io/tracking-id" in annotations_of(document):
        return "Argo CD"
    by_flux = any(f"{tool}.toolkit.fluxcd.io/name" in labels_of(document) for tool in ("kustomize", "helm"))
    return "Flux CD" if by_flux else ""


def is_set_by_kueue(document: Unchecked, path: Path) -> bool:
    """Return whether Kueue is known to set the field of a JobSet that is in a queue."""
    if document.get("kind") != "JobSet" or QUEUE_LABEL not in labels_of(document):
        return False
    if path == ("spec", "suspend"):
        return True
    if path[:2] != ("spec", "replicatedJobs") or path[3:6] != POD_TEMPLATE:
        return False
    inside = path[6:]
    if inside[:2] in _PLACED_BY_KUEUE:
        return True
    return inside[:2] in _MARKED_BY_KUEUE and len(inside) > 2 and str(inside[2]).startswith(KUEUE_PREFIX)
